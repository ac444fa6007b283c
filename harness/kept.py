"""What a run has finished, kept as it comes: on the board, and in a journal beside its JSON; --resume reads it back.

The journal holds a line of JSON for the run and one for each row. It is there while the run is: the JSON takes its
place at the end, also at that of an interrupted run. After a kill the journal is what is left.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import board, rows
from harness.document import read_run
from harness.errors import UsageError
from harness.judge import Options
from harness.report import finite
from harness.rows import Row
from harness.submission import Submission
from harness.timing import Plan


def head(machine: dict, options: Options, plan: Plan | None) -> dict:
    """What must be the same for another run to go on with the rows of this one, as JSON values."""
    plan = plan or Plan()
    found = {
        "backend": machine["backend"],
        "gpu": (machine.get("gpu") or {}).get("name"),
        **asdict(options),
        "sizes": plan.sizes,
        "hot": plan.hot,
        "anatomy": plan.anatomy,
        "against": plan.against and str(plan.against.path),
    }
    return json.loads(json.dumps(found))


class Keeper:
    """Keeps the rows of a run. `head` is what must be the same for another run to go on with them."""

    def __init__(self, json_path: Path | None, head: dict, entries: sqlite3.Connection | None, machine: dict) -> None:
        self._entries, self._machine = entries, machine
        self.board_failure = ""  # the sentence about what the board could not take
        self.journal_failure = ""  # the same of the journal
        self._head, self._journal = head, None
        # Where the JSON goes to a pipe or a device, no run could read back what lies beside it.
        self._path = _journal(json_path) if json_path and (json_path.is_file() or not json_path.exists()) else None
        if self._path:
            self._path.unlink(missing_ok=True)

    def add(self, row: Row, *, clocks: dict | None = None, is_on_board: bool = False) -> None:
        """Keeps a row, judged or timed, with the GPU's clocks at its times.

        If the board or the journal cannot be written, the run goes on, to say so at its end.
        """
        if self._path and not self.journal_failure:
            try:
                if self._journal is None:
                    self._journal = open(self._path, "w", encoding="utf-8")  # noqa: SIM115 (open as long as the run)
                    self._write(self._head)
                self._write(row.to_json())
            except OSError as error:
                self.journal_failure = f"{self._path} could not be written ({error.strerror})"
        if self._entries and not is_on_board and not self.board_failure:
            try:
                board.record(self._entries, [row], {**self._machine, "clocks": clocks})
            except UsageError as error:
                self.board_failure = str(error)

    def drop_journal(self) -> None:
        """To be called when the JSON is written."""
        if self._journal and self._path:
            self._journal.close()
            self._path.unlink(missing_ok=True)

    def _write(self, record: dict) -> None:
        json.dump(finite(record), self._journal, allow_nan=False)
        self._journal.write("\n")
        self._journal.flush()


def _journal(json_path: Path) -> Path:
    return json_path.with_name(f".{json_path.name}.rows")


def read_kept(json_path: Path) -> tuple[dict, list[Row]]:
    """Head and rows of the run that wrote a JSON, or began to; ({}, []) where none did. Raises UsageError."""
    journal = _journal(json_path)
    try:
        if journal.exists():
            head, *records = _lines(journal)
        elif json_path.exists() and json_path.stat().st_size > 0:
            document = read_run(json_path)
            head, records = document.get("options"), document["rows"]
            if not isinstance(head, dict):
                raise UsageError(
                    f"{json_path} does not say how it was judged: --resume goes on with submit, check, bench"
                )
        else:
            return {}, []
        return head, [Row.from_json(record) for record in records]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{json_path} is no run to go on with ({error}): leave --resume out to judge anew") from None


def _lines(journal: Path) -> list[dict]:
    """The records of a journal; what comes last may have been cut off by the end of its run."""
    *lines, _ = journal.read_text(encoding="utf-8").split("\n")
    if not lines:
        raise ValueError("its journal is empty")
    return [json.loads(line) for line in lines]


def check_same(head: dict, saved: dict, json_path: Path) -> None:
    """Raises UsageError if a run cannot go on with rows of a saved one."""
    for name, value in head.items():
        if saved.get(name) != value:
            raise UsageError(
                f"{json_path} is of a run with {name} {saved.get(name)}, this one has {value}: "
                "leave --resume out to judge anew, or name another file"
            )


def take_over(
    submissions: Iterable[Submission],
    saved: list[Row],
    entries: sqlite3.Connection | None,
    machine: dict,
    from_board: bool,
) -> dict[int, tuple[Row, bool]]:
    """Of the submissions that need not be judged again, by place: the row, and whether the board has it.

    A row is that of a submission if the file's name and contents, the problem and its version are the same; that
    backend and GPU are has been checked, or, of the board's lines, is part of the question. Only with `from_board` are
    the board's lines taken.
    """
    by_key: dict[tuple, Row] = {_key(row): row for row in saved if not row.label and _is_final(row)}
    found: dict[int, tuple[Row, bool]] = {}
    for place, submission in enumerate(submissions):
        key = (str(submission.path), submission.source_hash, submission.problem.name, submission.problem.version)
        on_board = board.find_row(entries, *key, machine) if entries else None
        row = by_key.get(key) or (on_board if from_board else None)
        if row:
            found[place] = (row, on_board is not None and (not row.timings or bool(on_board.timings)))
    return found


def _key(row: Row) -> tuple[Any, ...]:
    return row.file, row.source_hash, row.problem, row.problem_version


def _is_final(row: Row) -> bool:
    """Whether the verdict is the file's: neither the judge's fault nor a missing tool was in the way."""
    return row.verdict not in (rows.INTERNAL_ERROR, rows.NOT_RUN)
