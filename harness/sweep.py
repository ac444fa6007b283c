"""Times contestants over a range of sizes, point by point: a contestant that fails goes on at the next point.

What has been measured is on disk after every point, so that an interrupted sweep can be resumed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness import cliffs, gpu, rows
from harness.anatomy import take_apart
from harness.backend import Backend
from harness.errors import UsageError
from harness.judge import Options, Session, does_not_fit
from harness.noise import Monitor
from harness.problems import Case, Problem
from harness.progress import Progress
from harness.report import SCHEMA
from harness.rows import Row
from harness.submission import Submission, as_typed
from harness.timing import (
    CPU_METHOD,
    EMPTY_SOLVE,
    GPU_METHOD,
    Contestant,
    Measurement,
    Race,
    Stopping,
    contestant,
    suspicion,
    timing_of,
)

# A sweep has many points, and a cliff is 20 %: less is known of each than on the leaderboard.
STOPPING = Stopping(relative_width=0.01, min_seconds=0.15, max_seconds=3.0, batch_seconds=0.05)

MAX_POINTS = 10_000
LARGEST_SIZE = 2**31 - 1  # sizes are C ints


# ---- the axis ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """The size that grows, from `low` to at most `high`: by adding `step`, or by multiplying with it if `geometric`.

    `rows` is the number of rows where columns grow, else None.
    """

    name: str
    low: int
    high: int
    step: float
    geometric: bool
    rows: int | None = None

    def values(self) -> list[int]:
        if not self.geometric:
            return list(range(self.low, self.high + 1, int(self.step)))
        values, value = [], float(self.low)
        while value <= self.high * (1 + 1e-12):
            if not values or round(value) > values[-1]:
                values.append(round(value))
            value *= self.step
        return values

    def shape(self, value: int) -> tuple[int, ...]:
        return (value,) if self.rows is None else (self.rows, value)


def read_axis(problem: Problem, n: str | None, cols: str | None, row_count: int | None) -> Axis:
    """The axis that the flags name. Raises UsageError for a wrong combination."""
    has_rows = "n_rows" in problem.dimensions
    if n and cols:
        raise UsageError("--n and --cols name two axes: give one of them")
    if has_rows and (n or not cols or row_count is None):
        raise UsageError(f"{problem.name} has rows and columns: give --cols LOW:HIGH:STEP and --rows R")
    if not has_rows and (cols or row_count is not None or not n):
        raise UsageError(f"{problem.name} has one size: give --n LOW:HIGH:STEP, and neither --cols nor --rows")
    flag, text = ("--cols", cols) if has_rows else ("--n", n)
    match = re.fullmatch(r"(\d+):(\d+):(x?)(\d+(?:\.\d+)?)", str(text).replace("_", ""))
    if not match:
        raise UsageError(f"{flag} {text} is no LOW:HIGH:STEP such as 256:12672:128, or 1024:16777216:x2 to multiply")
    low, high, geometric, step = int(match[1]), int(match[2]), bool(match[3]), float(match[4])
    if not 1 <= low <= high <= LARGEST_SIZE:
        raise UsageError(f"{flag} {text}: 1 <= LOW <= HIGH <= {LARGEST_SIZE:,} must hold")
    if geometric and not step > 1:
        raise UsageError(f"{flag} {text}: a factor must be above 1")
    if not geometric and (step < 1 or step != int(step)):
        cure = f", a factor is written x{match[4]}" if step > 1 else ""
        raise UsageError(f"{flag} {text}: a step must be a whole number above 0{cure}")
    if row_count is not None and not 1 <= row_count <= LARGEST_SIZE:
        raise UsageError(f"--rows lies between 1 and {LARGEST_SIZE:,}")
    axis = Axis(problem.dimensions[-1], low, high, step, geometric, row_count)
    count = np.log(high / low) / np.log(step) if geometric else (high - low) // step
    if not count < MAX_POINTS:
        raise UsageError(f"{flag} {text} has more than {MAX_POINTS:,} points: take a larger step")
    return axis


def check_fits(problem: Problem, axis: Axis, backend: Backend) -> None:
    """Raises UsageError if not even the smallest point fits into memory."""
    too_large = does_not_fit(problem, problem.timing_case(*axis.shape(axis.low)), backend)
    if too_large:
        raise UsageError(f"no point fits: {axis.name} = {axis.low:,} {too_large}")


# ---- the document -----------------------------------------------------------------------------------------------


Contestants = list[tuple[str, Submission]]  # with the name that stands in the row: the file's, or the reference's


def contestants(problem: Problem, submissions: list[Submission]) -> Contestants:
    """The reference, then the files."""
    named = [(problem.reference_label, Submission(as_typed(problem.reference_solve), problem))]
    named += [(os.fspath(submission.path), submission) for submission in submissions]
    for name, _ in named:
        if [other for other, _ in named].count(name) > 1:
            raise UsageError(f"{name} is named twice: name it once")
    return named


def identity(problem: Problem, axis: Axis, named: Contestants, machine: dict, options: Options) -> dict:
    """What must be the same for a sweep to be resumed; it stands in the document."""
    device = machine["gpu"] or {}
    return {
        "problem": problem.name,
        "problem_version": problem.version,
        "axis": asdict(axis),
        "seed": options.seed,
        "backend": machine["backend"],
        "gpu": device.get("name"),
        "driver": device.get("driver"),
        "torch": machine["torch"],
        "triton": machine["triton"],
        "sources": {name: submission.source_hash for name, submission in named},
        "stopping": asdict(STOPPING),
    }


def new_document(same: dict, machine: dict, judged: list[Row], named: Contestants) -> dict:
    """The document of a sweep that has judged its contestants, the reference first, and timed nothing yet."""
    reference = named[0][0]
    judged = [replace(judged[0], file=reference, label=reference), *judged[1:]]
    method = GPU_METHOD.format(cache="cold") if machine["backend"] == "gpu" else CPU_METHOD
    sweep = {**same, "method": method, "points": [], "cliffs": [], "sittings": [], "limits": None, "copying": False}
    return {"schema": SCHEMA, "machine": machine, "rows": [row.to_json() for row in judged], "sweep": sweep}


def seed_of(document: dict, path: Path) -> int:
    """The seed of the sweep in a document that is to be resumed."""
    seed = document.get("sweep", {}).get("seed")
    if type(seed) is not int:
        raise UsageError(f"{path} is no sweep: leave out --resume to write a new one there")
    return seed


_ANEW = "leave out --resume to write a new one there, or name another file"


def _words(value: object) -> str:
    return ", ".join(f"{name} {item}" for name, item in value.items()) if isinstance(value, dict) else str(value)


def check_same(document: dict, same: dict, path: Path) -> None:
    """Raises UsageError if the document is of another sweep, and says what differs."""
    seed_of(document, path)
    sweep = document["sweep"]
    for key, wanted in same.items():
        saved = sweep.get(key)
        if saved == wanted:
            continue
        if key == "sources" and isinstance(saved, dict):
            files = [name for name in {**saved, **wanted} if saved.get(name) != wanted.get(name)]
            raise UsageError(f"{path} is another sweep: {', '.join(files)} differs, was added or left out; {_ANEW}")
        if key == "axis" and isinstance(saved, dict):
            changed = [name for name in wanted if saved.get(name) != wanted[name]]
            saved, wanted = ({name: axis.get(name) for name in changed} for axis in (saved, wanted))
        name = key.replace("_", " ")
        raise UsageError(
            f"{path} is another sweep: its {name} was {_words(saved)}, now it is {_words(wanted)}; {_ANEW}"
        )


# ---- the sweep --------------------------------------------------------------------------------------------------


def run(
    document: dict,
    axis: Axis,
    named: Contestants,
    session: Session,
    monitor: Monitor | None,
    progress: Progress,
    save: Callable[[dict], None],
    date: str,
) -> None:
    """Times what the document lacks, and calls `save` after every point; then looks at the cliffs."""
    sweep = document["sweep"]
    problem = named[0][1].problem
    accepted = {row["file"] for row in document["rows"] if row["verdict"] == rows.ACCEPTED}
    entrants = [(name, submission) for name, submission in named if name in accepted]
    if not accepted & {name for name, _ in named[1:]}:
        entrants = []  # with nobody to compare it with, the reference is not timed alone
    on_gpu = session.backend.name == "gpu"
    cases = {value: problem.timing_case(*axis.shape(value)) for value in axis.values()}
    # What did not fit then may fit now.
    sweep["points"] = [point for point in sweep["points"] if not point.get("left_out")]
    known = {point["value"] for point in sweep["points"]}
    left_out = {}
    for value in cases.keys() - known:
        too_large = does_not_fit(problem, cases[value], session.backend)
        if too_large:
            left_out[value] = {"value": value, "failures": {}, "left_out": too_large}
    for value in sorted(left_out):
        progress.note(f"{axis.name} = {value:,} is left out: it {left_out[value]['left_out']}")
    sweep["points"] = sorted([*sweep["points"], *left_out.values()], key=lambda point: point["value"])
    sweep["cliffs"] = _cliffs(document, axis)
    save(document)
    fitting = {value: case for value, case in cases.items() if value not in left_out}
    todo = [value for value in fitting if value not in known]
    unexplained = on_gpu and any(not record["looked_at"] for record in sweep["cliffs"])
    if not entrants or not (todo or unexplained):
        return
    # Judging finds out whether CUDA IPC is refused, and a resumed sweep does not judge again.
    session.copying = sweep["copying"] = session.copying or sweep["copying"]
    lanes = [contestant(submission, session, file) for file, submission in entrants]
    lanes.append(Contestant("copy", problem.copy_solve, checked=False))
    if on_gpu:
        lanes.append(Contestant("empty", EMPTY_SOLVE, checked=False))
        sweep["limits"] = asdict(gpu.multiprocessor())
    sitting = {"date": date, "points": 0, "clocks": None}
    sweep["sittings"].append(sitting)
    progress.start(f"{problem.name} over {axis.name}")
    advance = progress.cases(len(todo))
    with Race(session, problem, list(fitting.values()), lanes, monitor, STOPPING) as race:
        for value in todo:
            progress.describe(f"{problem.name} at {axis.name} = {value:,}")
            race.renew()
            # Checking that no answer is remembered takes as long as a point itself: once it is enough.
            raced = race.run(fitting[value], altered=value == todo[0])
            measured = dict(zip((lane.label for lane in lanes), raced, strict=True))
            point = _take(document, problem, fitting[value], value, entrants, measured, session)
            sweep["points"] = sorted([*sweep["points"], point], key=lambda point: point["value"])
            sitting["points"] += 1
            if monitor:
                sitting["clocks"] = document["machine"]["clocks"] = monitor.summary()
            sweep["cliffs"] = _cliffs(document, axis)
            save(document)
            advance()
            failed = sum(name in point["failures"] for name, _ in entrants)
            words = f", {failed} failed" if failed else ""
            progress.note(f"{axis.name} = {value:,}: {len(entrants) - failed} timed{words}")
        if on_gpu:
            _explain(document, axis, fitting, race, progress, save)


def _row(document: dict, file: str) -> dict:
    return next(row for row in document["rows"] if row["file"] == file)


def _take(
    document: dict,
    problem: Problem,
    case: Case,
    value: int,
    entrants: Contestants,
    measured: dict[str, Measurement],
    session: Session,
) -> dict:
    """Enters a point's timings into the rows; returns the point, with why contestants failed at it."""
    on_gpu = session.backend.name == "gpu"
    copy, empty = measured["copy"], measured.get("empty")
    axis = document["sweep"]["axis"]["name"]
    reference = next(row["file"] for row in document["rows"] if row["label"])
    failures = {}
    for file, _ in entrants:
        one, row = measured[file], _row(document, file)
        if one.failure:
            failures[file] = one.failure
            continue
        timing = timing_of(problem, case, one, measured.get(reference), copy if on_gpu else None, empty)
        row["timings"].append(timing.to_json())
        row["timings"].sort(key=lambda timing: timing[axis])
        if session.backend.gpu and not copy.failure:
            floor = problem.ideal_bytes(case.sizes) / session.backend.gpu.peak_bandwidth * 1e6
            doubt = suspicion(one, copy, floor)
            if doubt:
                row["flags"] = sorted({*row["flags"], rows.SUSPICIOUS})
                row["warnings"].append(f"suspicious at {value:,}: {doubt}")
        if one.throttled:
            count = f"{one.throttled} of {len(one.device)}"
            row["warnings"].append(f"at {value:,} {count} samples were taken while throttled")
    if copy.failure:
        failures["copy"] = copy.failure
    copy_us = None if copy.failure else float(np.median(copy.main))
    return {
        "value": value,
        "sizes": dict(case.sizes),
        "failures": failures,
        "copy_us": copy_us,
        "copy_gbps": problem.ideal_bytes(case.sizes) / copy_us / 1e3 if on_gpu and copy_us else None,
        "empty_us": None if empty is None or empty.failure else float(np.median(empty.main)),
    }


def _cliffs(document: dict, axis: Axis) -> list[dict]:
    """The cliffs of the points so far, as records; what is known of their launches is kept.

    On the CPU backend only failures count: emulated times say nothing about a GPU.
    """
    sweep = document["sweep"]
    order = [point["value"] for point in sweep["points"] if not point.get("left_out")]
    kept = {(record["file"], record["after"]): record for record in sweep["cliffs"]}
    found = []
    for row in document["rows"]:
        rates = {timing[axis.name]: timing["gbps"] for timing in row["timings"] if timing["gbps"] is not None}
        failures = {
            point["value"]: point["failures"][row["file"]]
            for point in sweep["points"]
            if row["file"] in point["failures"]
        }
        for cliff in cliffs.find_cliffs(row["file"], order, rates, failures):
            old = kept.get((cliff.file, cliff.after), {})
            facts = {side: old.get(f"facts_{side}") for side in ("before", "after")}
            record = {**asdict(cliff), "facts_before": facts["before"], "facts_after": facts["after"]}
            record["looked_at"] = old.get("looked_at", False)
            record["text"] = cliffs.explain(cliff, axis.name, facts["before"], facts["after"])
            found.append(record)
    return found


def _explain(
    document: dict, axis: Axis, cases: dict[int, Case], race: Race, progress: Progress, save: Callable[[dict], None]
) -> None:
    """Takes a call apart on both sides of each cliff that has not been looked at."""
    sweep = document["sweep"]
    sweep["cliffs"] = _cliffs(document, axis)
    limits = gpu.Multiprocessor(**sweep["limits"])
    multiprocessors = document["machine"]["gpu"]["multiprocessors"]
    while new := [record for record in sweep["cliffs"] if not record["looked_at"]]:
        record = new[0]
        progress.describe(f"{record['file']} around {axis.name} = {record['after']:,}")
        for side in ("before", "after"):
            value = record[side]
            if value is None or (side == "after" and record["kind"] == "failure"):
                continue
            race.renew()
            records = race.records_at(cases[value], record["file"])
            record[f"facts_{side}"] = cliffs.launch_facts(records, limits, multiprocessors)
            _keep_anatomy(_row(document, record["file"]), axis.name, value, records, multiprocessors)
        record["looked_at"] = True
        sweep["cliffs"] = _cliffs(document, axis)  # the same, with words
        save(document)


def _keep_anatomy(row: dict, axis: str, value: int, records: list[dict], multiprocessors: int) -> None:
    """Puts the anatomy of a call beside the timing of its point."""
    timing: Any = next((timing for timing in row["timings"] if timing[axis] == value), None)
    if timing is None or not records:
        return
    try:
        anatomy = take_apart(records, timing["call_us"], timing["of_ceiling"] or 0.0, multiprocessors)
    except (KeyError, TypeError, ValueError, IndexError) as error:  # the records come from the submission's process
        row["warnings"].append(f"no anatomy at {value:,}: the worker sent a malformed record ({error!r})")
        return
    timing["anatomy"] = vars(anatomy)


# ---- in words ---------------------------------------------------------------------------------------------------


def lines(document: dict) -> list[str]:
    """The sweep for a terminal: a line a point, then verdicts of those that were not timed, then the cliffs."""
    sweep, emulated = document["sweep"], document["machine"]["backend"] == "cpu"
    axis = sweep["axis"]["name"]
    timed = [row for row in document["rows"] if row["verdict"] == rows.ACCEPTED]
    names = [row["file"] for row in timed] + ["copy kernel"]
    table = [[axis, *names]]
    for point in sweep["points"]:
        if point.get("left_out"):
            continue
        cells = [f"{point['value']:,}"]
        for row in timed:
            timing = next((t for t in row["timings"] if t[axis] == point["value"]), None)
            cells.append("fails" if timing is None else _rate(timing["call_us"], timing["gbps"], emulated))
        cells.append("fails" if point["copy_us"] is None else _rate(point["copy_us"], point["copy_gbps"], emulated))
        table.append(cells)
    widths = [max(len(line[i]) for line in table) for i in range(len(names) + 1)]
    unit = "emulated call time, ms: it says nothing about a GPU" if emulated else "GB/s, cold L2"
    shown = [f"{sweep['problem']}: {unit}"]
    shown += ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
    for row in document["rows"]:
        if row["verdict"] != rows.ACCEPTED:
            shown += ["", f"{row['file']} was not timed: {row['verdict']}: {row['message']}"]
            shown += [f"  replay: {c['replay']}" for c in row["cases"] if c["message"] == row["message"]][:1]
    for record in sweep["cliffs"]:
        shown += ["", f"cliff: {record['text']}"]
    shown += [f"warning: {row['file']}: {warning}" for row in document["rows"] for warning in row["warnings"]]
    return shown


def _rate(us: float, gbps: float | None, emulated: bool) -> str:
    if emulated or gbps is None:
        return f"{us / 1e3:,.3f}"
    return f"{gbps:,.0f}"
