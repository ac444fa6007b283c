"""A run as JSON on disk: written whole or not at all, and read back only if it has the shape of one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.locks import sole_holder
from harness.report import SCHEMA, json_text
from harness.submission import LANGUAGES

_REQUIRED = {
    "row": {
        "file": str,
        "problem": str,
        "backend": str,
        "verdict": str,
        "message": str,
        "flags": list,
        "warnings": list,
        "cases": list,
        "timings": list,
    },
    "case": {"name": str, "group": str, "verdict": str, "message": str, "replay": str},
    "timing": {"call_us": float, "low_us": float, "high_us": float, "samples": list, "method": str},
    "duel": {"a": str, "b": str, "ratio": float, "low": float, "high": float, "rounds": int, "method": str},
    "profile": {"file": str, "problem": str, "sizes": dict, "kernels": list},
    "sweep": {"problem": str, "axis": dict, "points": list, "cliffs": list},
}


def read_run(path: Path) -> dict:
    """The document that a verb wrote with --json. Raises UsageError in one sentence if it is none."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is a device or a pipe: name a file that --json wrote")  # which may have no end
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a file that --json wrote") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON ({error}): name a file that --json wrote") from None
    if not isinstance(document, dict) or "schema" not in document:
        raise UsageError(f"{path} is JSON, but no run of this judge: name a file that --json wrote")
    if document["schema"] != SCHEMA:
        raise UsageError(
            f"{path} has schema {document['schema']!r}, this version reads {SCHEMA}: use the one it is from"
        )
    try:
        _validate(document)
    except ValueError as error:
        raise UsageError(f"{path} is no run of this judge: {error}") from None
    return document


def _validate(document: dict) -> None:
    machine = _expect(document.get("machine"), dict, "machine")
    _expect(machine.get("backend"), str, "machine.backend")
    _expect(machine.get("date"), str, "machine.date")
    if machine.get("gpu") is not None:
        _expect(_expect(machine["gpu"], dict, "machine.gpu").get("name"), str, "machine.gpu.name")
    _expect(machine.get("clocks", {}), dict, "machine.clocks")
    for row in _records(document.get("rows"), "row"):
        _records(row["cases"], "case")
        for timing in _records(row["timings"], "timing"):
            if timing.get("anatomy") is not None:
                anatomy = _expect(timing["anatomy"], dict, "anatomy")
                _expect(anatomy.get("calls"), dict, "anatomy.calls")
                for activity in _expect(anatomy.get("activities"), list, "anatomy.activities"):
                    _expect(activity, dict, "an activity")
    _records(document.get("duels", []), "duel")
    for profile in _records(document.get("profiles", []), "profile"):
        for kernel in profile["kernels"]:
            _expect(kernel, dict, "a kernel of a profile")
    if "sweep" in document:
        (sweep,) = _records([document["sweep"]], "sweep")
        for point in _expect(sweep["points"], list, "sweep.points"):
            _expect(_expect(point, dict, "a point").get("value"), int, "the value of a point")
            _expect(point.get("failures", {}), dict, "the failures of a point")
        for cliff in _expect(sweep["cliffs"], list, "sweep.cliffs"):
            _expect(cliff, dict, "a cliff")


def _expect(value: Any, kind: type, what: str) -> Any:
    wanted = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise ValueError(f"{what} is missing or of another kind")
    return value


def _records(value: Any, kind: str) -> list[dict]:
    for record in _expect(value, list, f"the list of {kind}s"):
        _expect(record, dict, f"a {kind}")
        for name, wanted in _REQUIRED[kind].items():
            _expect(record.get(name), wanted, f"{name} of a {kind}")
    return value


@contextmanager
def claimed(path: Path, flag: str, others: Iterable[Path] = ()) -> Iterator[None]:
    """Until its end this run alone writes to `path`, which is none of the `others`, and no solve file.

    Raises UsageError where that is so, or where `write_whole` could not write: before any work is done, so that no
    result is lost to it, and nothing that was there before to a slip of the fingers.
    """
    if path.suffix in LANGUAGES:
        raise UsageError(f"{flag} {path} would overwrite a solve file: name another file after {flag}")
    for other in others if _is_replaced(path) else ():
        if path.resolve() == other.resolve():
            raise UsageError(f"{flag} {path} would overwrite {other}, which this run needs: name another file")
    if path.is_dir():
        raise _unwritable(path, flag, "it is a directory")
    if path.exists() and not os.access(path, os.W_OK):
        raise _unwritable(path, flag, os.strerror(errno.EACCES))
    with ExitStack() as stack:
        if _is_replaced(path):
            try:
                _beside(path).open("w").close()
                _beside(path).unlink()
                stack.enter_context(sole_holder(path.with_name(f".{path.name}.lock")))
            except BlockingIOError:
                raise UsageError(
                    f"{flag} {path} is being written by another run: wait for it, or name another file"
                ) from None
            except OSError as error:
                raise _unwritable(path, flag, error.strerror) from None
        yield


def _is_replaced(path: Path) -> bool:
    """Whether a file takes the place of this one, as it does not of a device or a pipe: they are written to."""
    return path.is_file() or not path.exists()


def _beside(path: Path) -> Path:
    target = path.resolve()  # of a link: what it leads to is replaced, the link stays
    return target.with_name(f".{target.name}.part")


def _unwritable(path: Path, flag: str, why: str | None) -> UsageError:
    return UsageError(f"{flag} {path} cannot be written ({why}): name another file after {flag}")


def write_whole(path: Path, contents: dict | bytes, flag: str = "--json") -> None:
    """Replaces the file in one step: whoever reads it, and whatever ends this process, finds it old or new.

    A device or a pipe is written to, never replaced. Raises UsageError where there is no room.
    """
    data = contents if isinstance(contents, bytes) else json_text(contents).encode("utf-8")
    try:
        if not _is_replaced(path):
            path.write_bytes(data)
            return
        beside = _beside(path)
        try:
            with open(beside, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path.resolve())
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, flag, error.strerror) from None
