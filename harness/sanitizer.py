"""What NVIDIA's compute-sanitizer sees in one call on a GPU: accesses outside exact bounds, races, unwritten memory."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness import judge, rows
from harness.alone import prepared, run_under
from harness.bare import SOLVE_FAILED, UNWRITTEN, WATCHED
from harness.build import find_nvcc, find_tool
from harness.errors import UsageError
from harness.judge import CHECKED_ELEMENTS, Finding, Session
from harness.problems import Arrays, Case, Problem
from harness.rows import CaseResult, Row
from harness.submission import Submission
from harness.worker import FENCE

SANITIZE_SECONDS = 120.0  # for each of its tools: compute-sanitizer makes kernels slower, and starting takes seconds

# Of each tool the first few errors say it all. CUDA's own errors are the ordinary run's to judge, and what a compiler
# does that Triton starts is nobody's.
COMMON = ("--print-limit", "20", "--demangle", "simple", "--show-backtrace", "device", "--report-api-errors", "no")
COMMON += ("--target-processes", "application-only", "--launch-timeout", "60")

# Without padding two allocations may lie next to each other, and one past the end of the first is the second.
MEMCHECK = ("--tool", "memcheck", "--padding", "1024")

# What gives a flag and no verdict, in the words of judge.py: looked for only where memcheck has found nothing.
FOR_FLAGS = (
    (("--tool", "racecheck", "--racecheck-report", "analysis"), WATCHED),
    (("--tool", "initcheck"), UNWRITTEN),
)

# torch's own memory is then allocated in exact sizes, too.
VARIABLES = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


# Verdicts beside which it is worth a look where an access went.
WATCHABLE = (rows.ACCEPTED, rows.OUT_OF_BOUNDS, rows.RUNTIME_ERROR, rows.INPUT_MODIFIED, rows.WRONG_ANSWER)

SENTENCES = 5  # of undefined behaviour in a row


class SanitizeError(Exception):
    """compute-sanitizer could not watch the call; the text says why."""


@dataclass(frozen=True)
class Record:
    """One error as compute-sanitizer prints it: its first line, and the indented ones below."""

    head: str
    details: tuple[str, ...]

    def find(self, pattern: str) -> re.Match | None:
        """The first line of the details that begins like `pattern`."""
        return next(filter(None, (re.match(pattern, line) for line in self.details)), None)


@dataclass(frozen=True)
class Buffers:
    """Where the buffers of a problem were: their addresses and bytes by name."""

    problem: Problem
    addresses: dict[str, int]
    sizes: dict[str, int]


def find_sanitizer() -> str:
    """The compute-sanitizer program. Raises UsageError where there is none."""
    nvcc = find_nvcc()
    places = ["/usr/local/cuda/bin"] + ([str(Path(nvcc).resolve().parent)] if nvcc else [])
    found = find_tool("compute-sanitizer") or next(
        filter(None, (shutil.which("compute-sanitizer", path=place) for place in places)), None
    )
    if found is None:
        raise UsageError(
            "--sanitize needs compute-sanitizer (of the CUDA toolkit), which was not found: add its directory to PATH"
        )
    return found


# ---- its output -------------------------------------------------------------------------------------------------


def parse(log: str) -> list[Record]:
    """The errors in compute-sanitizer's text output, in its order.

    Every line of it begins with "=========": the first one of an error is followed by one space, the others by more.
    """
    records: list[Record] = []
    for line in log.splitlines():
        match = re.match(r"=========( *)(.*\S)", line)
        if not match:
            continue
        indent, text = len(match[1]), match[2]
        if indent > 1 and records:
            records[-1] = replace(records[-1], details=(*records[-1].details, text))
        elif indent <= 1:
            records.append(Record(text, ()))
    return records


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _kernel_name(text: str) -> str:
    """Without its parameters: "void scale<(int)4>(float *)" is "scale<(int)4>"."""
    text = text.removeprefix("void ")
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0 and index > 0:
            return text[:index]
    return text


# "at scale(float *)+0x70 in file.cu:6"; before CUDA 12.x "at 0x70 in /path/file.cu:6:scale(float *)".
PLACES = (
    r"(?:at )?(?P<kernel>\S.*?)(?:\+|:)0x[0-9a-f]+(?: in (?P<line>\S.*:\d+))?(?: \[.*)?$",
    r"(?:at )?0x[0-9a-f]+ in (?:(?P<line>\S+:\d+):)?(?P<kernel>.+?)(?: \[.*)?$",
)


def _place(text: str, frames: Sequence[str] = ()) -> str:
    """ "in kernel k at file.cu:6", as far as the lines "at ..." and "Device Frame: ..." tell."""
    match = next(filter(None, (re.match(pattern, text) for pattern in PLACES)), None)
    if match is None:
        return ""
    kernel = match["kernel"]
    if frames:  # the last one is the kernel, the first line may be a function that it calls
        outer = next(filter(None, (re.match(pattern, frames[-1]) for pattern in PLACES)), None)
        kernel = outer["kernel"] if outer else kernel
    where = f" at {Path(match['line']).name}" if match["line"] else ""
    return f"in kernel {_kernel_name(kernel)}{where}"


def _where(record: Record) -> str:
    """ "by thread (0, 0, 0) of block (16, 0, 0) in kernel k at file.cu:6", as far as the record tells."""
    parts = []
    thread = record.find(r"by thread \((\d+), ?(\d+), ?(\d+)\) in block \((\d+), ?(\d+), ?(\d+)\)")
    if thread:
        numbers = tuple(map(int, thread.groups()))
        parts.append(f"by thread {numbers[:3]} of block {numbers[3:]}")
    at = record.find(r"at ")
    frames = [line.removeprefix("Device Frame:").strip() for line in record.details if line.startswith("Device Frame:")]
    if at:
        parts.append(_place(at.string, frames))
    return " ".join(filter(None, parts))


def find_fault(record: Record, buffers: Buffers) -> Finding | None:
    """What an error of memcheck asks for; None for one that is about no access."""
    where = _where(record)
    head = re.match(r"Invalid __(\w+)__ (read|write|\S+) of size ([\d,]+)", record.head)
    if head is None:
        has_thread = record.find(r"by thread ") is not None
        return Finding(rows.RUNTIME_ERROR, f"{record.head}, {where}", True) if has_thread else None
    space, way, size = head[1], head[2], _number(head[3])
    verb = {"read": "read", "write": "wrote"}.get(way, "accessed")
    address = record.find(r"(?:Address|Access (?:at|to)) (0x[0-9a-f]+) is (.*)")
    if address and address[2].startswith("misaligned"):
        text = f"{verb} {size} bytes at an address that is not a multiple of its size, {where}"
        return Finding(rows.RUNTIME_ERROR, text.rstrip(", "), True)
    if space != "global" or address is None:
        place = f"address {address[1]} of " if address else ""
        text = f"{verb} {size} bytes at {place}{space} memory, outside what the kernel has of it, {where}"
        return Finding(rows.OUT_OF_BOUNDS, text.rstrip(", "), True)
    target = _target(int(address[1], 16), record, buffers)
    if target is None:
        text = f"an illegal memory access: {verb} {size} bytes at {address[1]}, {where}"
        return Finding(rows.RUNTIME_ERROR, text.rstrip(", "), True)
    return Finding(rows.OUT_OF_BOUNDS, f"{verb} {size} bytes at {target}, {where}".rstrip(", "), True)


def _target(address: int, record: Record, buffers: Buffers) -> str | None:
    """The element of a buffer, or the byte of other memory, at an address outside; None where it is near nothing."""
    known = {begin: name for name, begin in buffers.addresses.items()}
    nearest = record.find(r"and is .* the nearest allocation at (0x[0-9a-f]+) of size ([\d,]+)")
    if nearest:
        begin = int(nearest[1], 16)
    elif known:
        begin = min(known, key=lambda each: abs(address - each))
    else:
        return None
    name = known.get(begin)
    extent = buffers.sizes[name] if name else _number(nearest[2]) if nearest else 0
    offset = address - begin
    if not -FENCE <= offset < extent + FENCE:
        return None
    # Of an access of several elements the first one outside is named.
    outside = max(offset, extent) if offset >= 0 else offset
    if name is None:
        return judge.distance(outside, extent) + "memory from cudaMalloc"
    dtype = next(p.dtype for p in buffers.problem.buffers if p.name == name)
    return judge.element(name, dtype, outside, extent)


def find_undefined(record: Record) -> str:
    """The sentence for an error of racecheck or initcheck, or "" for what is none.

    Racecheck calls the same race an error in one run and a warning in the next, by the order that it saw.
    """
    race = re.match(r"(?i:error|warning): Race reported between (Read|Write) access (at .*)", record.head)
    if race:
        others = [record.find(r"and (Read|Write) access (at .*)")]
        words = [f"a {race[1].lower()} {_place(race[2])}"]
        words += [f"a {other[1].lower()} {_place(other[2])}" for other in others if other]
        return f"data race on shared memory, between {' and '.join(words)}"
    unwritten = re.match(r"Uninitialized __(\w+)__ memory read of size ([\d,]+)", record.head)
    if unwritten:
        return f"read {_number(unwritten[2])} bytes of {unwritten[1]} memory that nobody has written, {_where(record)}"
    return ""


# ---- a call under it --------------------------------------------------------------------------------------------


def choose_case(row: Row, submission: Submission, seed: int) -> Case | None:
    """The case to watch: the one a row's verdict comes from, else the largest of the small ones; None for no case.

    A size at which a buffer does not end where its allocation may be rounded up to comes first.
    """
    problem = submission.problem
    every = {case.name: case for case in problem.cases(seed)}
    failed = next((case for case in row.cases if case.message and case.message == row.message), None)
    if failed:
        return every[failed.name]
    right = [every[case.name] for case in row.cases if case.verdict == rows.ACCEPTED]
    if not right:
        return None
    ordinary = [case for case in right if case.group != "special"] or right
    small = [case for case in ordinary if problem.elements(case.sizes) <= CHECKED_ELEMENTS]
    small = small or [min(ordinary, key=lambda case: problem.elements(case.sizes))]
    return max(small, key=lambda case: (problem.elements(case.sizes) % 64 != 0, problem.elements(case.sizes)))


def sanitize_one(
    row: Row, submission: Submission, given: tuple[Case, Arrays] | None, session: Session, tool: str
) -> tuple[Row, str]:
    """The row with what is seen of a case (given, or chosen), and why it could not be watched, or ""."""
    if row.verdict not in WATCHABLE:
        return row, ""
    case, inputs = given or (choose_case(row, submission, session.options.seed), None)
    if case is None:
        return row, ""
    if inputs is None:
        inputs = submission.problem.inputs(case, session.options.seed)
    try:
        with session.turn(alone=False):
            return sanitize_row(row, submission, case, inputs, session, tool), ""
    except SanitizeError as error:
        return row, f"{submission.path} could not be watched by compute-sanitizer at {case.name}: {error}"


def sanitize_row(row: Row, submission: Submission, case: Case, inputs: Arrays, session: Session, tool: str) -> Row:
    """The row with what compute-sanitizer has seen in one more call of one of its cases.

    Memcheck's first error becomes that case's verdict where it is no lesser one; what its other tools see is the flag
    undefined-behaviour. Raises SanitizeError where it could not watch the call of a file that was accepted.
    """
    try:
        faults, undefined = _watch(submission, case, inputs, session, tool)
    except SanitizeError as error:
        if row.verdict == rows.ACCEPTED:
            raise
        return replace(row, warnings=[*row.warnings, f"compute-sanitizer at {case.name}: {error}"])

    def with_fault(result: CaseResult) -> CaseResult:
        first = faults[0]
        if result.name != case.name or rows.PRECEDENCE.index(first.verdict) > rows.PRECEDENCE.index(result.verdict):
            return result
        message = f"{case.name}: {first.text} (seen by compute-sanitizer)"
        return replace(result, verdict=first.verdict, message=message, replay=f"{result.replay} --sanitize")

    cases = [with_fault(result) for result in row.cases] if faults else row.cases
    remarks = [f"undefined behaviour at {case.name}: {text} (seen by compute-sanitizer)" for text in undefined]
    flags = {*row.flags, *([rows.UNDEFINED_BEHAVIOUR] if remarks else [])}
    verdict, message = judge.decide(cases, flags, [*remarks, *row.warnings], session.options)
    warnings = [*row.warnings, *remarks]
    return replace(row, verdict=verdict, message=message, cases=cases, flags=sorted(flags), warnings=warnings)


def _watch(
    submission: Submission, case: Case, inputs: Arrays, session: Session, tool: str
) -> tuple[list[Finding], list[str]]:
    """Memcheck's findings; if there are none, sentences about undefined behaviour, each place once."""
    log, buffers, trouble = _run([tool, *MEMCHECK], WATCHED, submission, case, inputs, session)
    faults = [fault for record in parse(log) if (fault := find_fault(record, buffers))]
    if faults:
        return faults, []
    if trouble or not re.search(r"^=+ ERROR SUMMARY: 0 errors", log, re.MULTILINE):
        raise SanitizeError(trouble or f"memcheck has not come to its end: {_last_words(log)}")
    undefined: dict[str, str] = {}
    for flags, way in FOR_FLAGS:
        log, _, trouble = _run([tool, *flags], way, submission, case, inputs, session)
        sentences = list(filter(None, map(find_undefined, parse(log))))
        if not sentences and (trouble or " SUMMARY: " not in log):
            raise SanitizeError(trouble or f"{flags[1]} has not come to its end: {_last_words(log)}")
        for text in sentences:
            undefined.setdefault(re.sub(r"\(\d+, \d+, \d+\)", "", text), text)
    return [], list(undefined.values())[:SENTENCES]


def _run(
    command: list[str], way: str, submission: Submission, case: Case, inputs: Arrays, session: Session
) -> tuple[str, Buffers, str]:
    """The log of one of its tools in one call, where the buffers were, and why the call did not end well, or ""."""
    with prepared(submission, case, inputs, session, way) as folder:
        log, addresses = folder / "sanitizer.log", folder / "addresses.json"
        ended = run_under([*command, *COMMON, "--log-file", str(log)], folder, session, SANITIZE_SECONDS, VARIABLES)
        text = log.read_text(errors="replace") if log.exists() else ""
        known = json.loads(addresses.read_text()) if addresses.exists() else {}
    problem = submission.problem
    lengths = problem.lengths(case.sizes)
    sizes = {p.name: lengths[p.name] * np.dtype(p.dtype).itemsize for p in problem.buffers}
    last = next((line for line in reversed(ended.output.splitlines()) if line.strip("= ")), "")[:300]
    trouble = ""
    if ended.outcome != "ended":
        trouble = {
            "timeout": f"no end after {SANITIZE_SECONDS:.0f} s",
            "memory": "the call used more memory than it may",
            "processes": "the call started too many processes",
            "threads": "the call started too many threads",
        }[ended.outcome]
    elif ended.status == SOLVE_FAILED:
        trouble = f"the call failed: {last}"
    elif ended.status != 0:
        trouble = f"it failed with status {ended.status}: {_last_words(text) or last}"
    elif not known:
        trouble = f"it ran no call: {_last_words(text) or last or 'no word'}"
    return text, Buffers(problem, known, sizes), trouble


def _last_words(log: str) -> str:
    """What the tool itself complains of, or the last it said."""
    heads = [record.head for record in parse(log) if "COMPUTE-SANITIZER" not in record.head]
    complaints = [head for head in heads if "SUMMARY" not in head]
    return next(iter(complaints or heads), "")[:300]
