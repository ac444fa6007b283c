"""Reduces a failing case to a small one, sizes first, then values, and keeps it in a file that `replay` runs."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness import rows
from harness.build import cache_directory
from harness.challenge import find_directory, load_challenge
from harness.errors import NoReference, UsageError
from harness.judge import Session, judge
from harness.problems import Arrays, Case, find_problem
from harness.rows import CaseResult, Row
from harness.submission import Submission, as_argument, read_submissions

SHRINK_SECONDS = 10.0
BATCH = 6  # candidates judged by one worker: after as many crashes a run ends
SCHEMA = 1


@dataclass(frozen=True)
class Failing:
    """A case with its inputs, and how the solve failed in it."""

    case: Case
    inputs: Arrays
    verdict: str
    message: str


class _OutOfTime(Exception):
    """The time for shrinking is over."""


class Shrinker:
    """Tries smaller cases of one submission until none fails in the same way, or the time is over."""

    def __init__(self, submission: Submission, session: Session, seconds: float = SHRINK_SECONDS) -> None:
        self._submission = submission
        self._session = session
        self._deadline = time.monotonic() + seconds
        self._tried = 0

    def shrink(self, case: Case) -> Failing | None:
        """The smallest failing case that was found from `case`; None if that does not fail by itself."""
        inputs = self._submission.problem.inputs(case, self._session.options.seed)
        (result,) = run_given(self._submission, [(replace(case, group="main"), inputs)], self._session)
        if result.verdict in (rows.ACCEPTED, rows.NOT_RUN):
            return None
        self._found = Failing(case, inputs, result.verdict, result.message)
        try:
            while self._sizes() or self._values():
                pass
        except _OutOfTime:
            pass
        return self._found

    def _attempt(self, candidates: list[tuple[Case, Arrays]]) -> list[bool]:
        """Which candidates fail as the original did; the first of them becomes what was found."""
        if time.monotonic() > self._deadline:
            raise _OutOfTime
        named = []
        for case, inputs in candidates:
            self._tried += 1
            named.append((replace(case, name=f"smaller-{self._tried}", group="main"), inputs))
        results = run_given(self._submission, named, self._session)
        fails = [result.verdict == self._found.verdict for result in results]
        for (case, inputs), result, failed in zip(named, results, fails, strict=True):
            if failed:
                self._found = Failing(case, inputs, result.verdict, result.message)
                break
        return fails

    def _sizes(self) -> bool:
        """Whether a dimension became smaller. The sizes of a challenge are not known to depend on each other."""
        became_smaller = False
        if self._submission.problem.challenge:
            return False
        for name in self._submission.problem.dimensions:
            became_smaller |= self._dimension(name)
        return became_smaller

    def _dimension(self, name: str) -> bool:
        start = size = self._found.case.sizes[name]
        passing = 0  # no smaller size is known to fail
        first = [1, 2, 3, size // 8, size // 4, size // 2]
        while size - passing > 1:
            even = [passing + (size - passing) * i // (BATCH + 1) for i in range(1, BATCH + 1)]
            tried = sorted({n for n in (first if passing == 0 and size == start else even) if passing < n < size})
            if not tried:
                break
            fails = self._attempt([self._cut(name, n) for n in tried])
            smallest = fails.index(True) if True in fails else len(tried)
            passing = tried[smallest - 1] if smallest > 0 else passing
            size = self._found.case.sizes[name]
        return size < start

    def _cut(self, name: str, size: int) -> tuple[Case, Arrays]:
        """The case with one dimension cut to `size`: what remains of the inputs stays where it was."""
        problem, case = self._submission.problem, self._found.case
        smaller = replace(case, sizes={**case.sizes, name: size})
        before, after = problem.layouts(case.sizes), problem.layouts(smaller.sizes)
        inputs = {}
        for buffer, array in self._found.inputs.items():
            cut = array[: after[buffer].length].copy()
            shape = after[buffer].shape
            after[buffer].payload(cut)[...] = before[buffer].payload(array)[tuple(slice(n) for n in shape)]
            inputs[buffer] = cut
        return smaller, inputs

    def _values(self) -> bool:
        """Whether some input became simpler."""
        simpler = False
        candidates = [candidate for candidate in self._simpler() if self._has_answer(*candidate)]
        for begin in range(0, len(candidates), BATCH):
            simpler |= any(self._attempt(candidates[begin : begin + BATCH]))
            if simpler:
                break
        return simpler

    def _has_answer(self, case: Case, inputs: Arrays) -> bool:
        """Whether simpler values are still a question: a challenge's reference may refuse some (an index, say)."""
        if self._submission.problem.challenge is None:
            return True
        try:
            self._submission.problem.reference(inputs, case.sizes)
        except (UsageError, NoReference):
            return False
        return True

    def _simpler(self) -> Iterator[tuple[Case, Arrays]]:
        """The inputs with simpler values, the simplest first: zeros everywhere, in halves, ..., then whole numbers."""
        layouts = self._submission.problem.layouts(self._found.case.sizes)
        starts = {p.name for p in self._submission.problem.buffers if p.role == "out"}  # of a challenge's outputs
        changes: list[Callable[[np.ndarray, int], np.ndarray]] = []
        for parts in (1, 2, 4, 8):
            for part in range(parts):
                changes.append(lambda flat, n, parts=parts, part=part: _zeroed(flat, n, parts, part))
        changes.append(lambda flat, n: np.rint(flat))
        for change in changes:
            inputs = {}
            for name, array in self._found.inputs.items():
                changed = array.copy()
                inputs[name] = changed
                if name in starts:
                    continue
                payload = layouts[name].payload(changed)
                payload[...] = change(payload.reshape(-1).copy(), payload.size).reshape(payload.shape)
            if any(not _same(inputs[name], array) for name, array in self._found.inputs.items()):
                yield self._found.case, inputs


def _zeroed(flat: np.ndarray, n: int, parts: int, part: int) -> np.ndarray:
    flat[n * part // parts : n * (part + 1) // parts] = 0
    return flat


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() == b.tobytes()


def run_given(submission: Submission, given: list[tuple[Case, Arrays]], session: Session) -> list[CaseResult]:
    """The results of cases whose inputs are given, in their order; a case that was not reached is not-run."""
    row = judge_given(submission, given, session)
    by_name = {result.name: result for result in row.cases}
    return [by_name[case.name] for case, _ in given]


def judge_given(submission: Submission, given: list[tuple[Case, Arrays]], session: Session, file: str = "") -> Row:
    """The row of a submission judged by cases whose inputs are given; `file` is the replay file they come from."""
    inputs = {case.name: arrays for case, arrays in given}
    problem = replace(
        submission.problem,
        fill=lambda case, _: {name: array.copy() for name, array in inputs[case.name].items()},
    )
    cases = [case for case, _ in given]
    row = judge(replace(submission, problem=problem), session, lambda _: lambda: None, cases=cases)
    again = f"python -m harness replay {shlex.quote(as_argument(file))}" if file else ""
    return replace(row, cases=[replace(result, replay=again) for result in row.cases])


# ---- files ------------------------------------------------------------------------------------------------------


def save(failing: Failing, submission: Submission, session: Session) -> Path:
    """Writes a replay file into the cache and returns its path; the same case gets the same name."""
    case = failing.case
    about = {
        "schema": SCHEMA,
        "file": os.path.abspath(submission.path),
        "source_hash": submission.source_hash,
        "problem": submission.problem.name,
        "problem_version": submission.problem.version,
        "challenge": str(submission.problem.challenge.directory) if submission.problem.challenge else None,
        "backend": session.backend.name,
        "sizes": dict(case.sizes),
        "poison": case.poison,
        "shift": case.shift,
        "verdict": failing.verdict,
        "message": failing.message,
    }
    directory = cache_directory() / "replays"
    directory.mkdir(exist_ok=True)
    text = json.dumps(about)
    digest = hashlib.sha256(text.encode())
    for array in failing.inputs.values():
        digest.update(array.tobytes())
    path = directory / f"{submission.path.stem}-{digest.hexdigest()[:12]}.npz"
    scratch = path.with_suffix(f".{os.getpid()}")
    with open(scratch, "wb") as file:
        contents = {name: array.view(np.uint8) for name, array in failing.inputs.items()}
        np.savez_compressed(file, about=np.frombuffer(text.encode(), np.uint8), **contents)
    os.replace(scratch, path)
    return path


@dataclass(frozen=True)
class Replay:
    """What a replay file holds. `about` as `save` writes it."""

    submission: Submission
    case: Case
    inputs: Arrays
    about: dict


def load(path: Path) -> Replay:
    """Reads a replay file. Raises UsageError where it is none, or the file it is about has gone."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no file: name one that check --shrink has written")
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        about = json.loads(arrays.pop("about").tobytes())
        if about["schema"] != SCHEMA:
            raise UsageError(f"{path} was written by another version of the judge: shrink the case again")
        challenge = about.get("challenge")
        problem = load_challenge(find_directory(challenge, None)) if challenge else find_problem(about["problem"])
        case = Case("replay", "main", about["sizes"], "given", "given", about["poison"], about["shift"])
        lengths = problem.lengths(case.sizes)
        inputs = {p.name: arrays[p.name].view(p.dtype) for p in problem.buffers if p.role != "out" or p.name in arrays}
        if problem.version != about["problem_version"] or any(len(a) != lengths[n] for n, a in inputs.items()):
            raise UsageError(f"{path} is about another version of {problem.name}: shrink the case again")
        (submission,) = read_submissions(Path(about["file"]), problem.name, challenge=problem if challenge else None)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist: check --shrink writes replay files") from None
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is no replay file ({type(error).__name__}): check --shrink writes them") from None
    return Replay(submission, case, inputs, about)


def shrink_row(row: Row, submission: Submission, session: Session) -> Row:
    """The row with a warning that tells of the smallest failing case, where its verdict comes from a case."""
    failed = next((case for case in row.cases if case.message and case.message == row.message), None)
    if failed is None:
        return row
    every = {case.name: case for case in submission.problem.cases(session.options.seed)}
    if submission.problem.challenge:  # whose sizes cannot be cut: the smallest of those that fail alike
        alike = [each for each in row.cases if each.verdict == failed.verdict]
        failed = min(alike, key=lambda each: submission.problem.elements(every[each.name].sizes))
    case = every[failed.name]
    failing = Shrinker(submission, session).shrink(case)
    if failing is None:
        text = f"{failed.name} does not fail when it is run alone: it takes the calls before it"
    else:
        path = save(failing, submission, session)
        size = rows.size_text(submission.problem.shape(failing.case))
        words = failing.message.partition(": ")[2]
        text = f"smallest failing case, of size {size}: {words}; python -m harness replay {shlex.quote(str(path))}"
    return replace(row, warnings=[*row.warnings, text])
