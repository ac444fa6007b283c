"""Is this machine, and this judge, in order: its tools, its problems against mutants, its verdicts on the corpus."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import corpus, gpu, rows
from harness.backend import Backend, machine
from harness.board import default_path, open_board
from harness.build import BuildError, cache_directory, find_nvcc, nvcc_version, toolchain
from harness.corpus import Specimen
from harness.errors import UsageError
from harness.judge import Options, Session, judge
from harness.noise import Monitor
from harness.progress import Progress
from harness.rows import Row
from harness.submission import Submission, read_submissions
from harness.timing import Plan, time_rows

OK, ABSENT, BROKEN = "ok", "absent", "broken"

# The smallest solves there are, of the teaching example.
SMALLEST = {
    "smallest.cu": """\
// problem: subtract_one
#include <cuda_runtime.h>
__global__ void subtract_one(const float* input, float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract_one<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
""",
    "smallest.py": """\
# problem: subtract_one
import triton
import triton.language as tl


@triton.jit
def subtract_one(input, output, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(output + i, tl.load(input + i, mask=i < N) - 1.0, mask=i < N)


def solve(input, output, N):
    subtract_one[(triton.cdiv(N, 1024),)](input, output, N, BLOCK=1024)
""",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `state` is ok, absent (the judge does without it) or broken."""

    name: str
    state: str
    text: str


@dataclass(frozen=True)
class Tally:
    """The specimens of one kind: how many got what they must, and for the others why not."""

    kind: str
    count: int
    unexpected: list[str]


# ---- the machine ------------------------------------------------------------------------------------------------


def examine_machine(backend: Backend, seed: int, progress: Progress) -> Iterator[Finding]:
    """Every tool that judging and timing on `backend` need, each of them tried."""
    versions = machine(backend)
    packages = ", ".join(f"{name} {versions[name]}" for name in ("torch", "triton", "numpy"))
    yield Finding("Python", OK, f"{versions['python']}; {packages}")
    yield _tried("cache", lambda: f"{cache_directory()}, {shutil.disk_usage(cache_directory()).free / 1e9:.0f} GB free")
    yield _tried("board", _board)
    yield _tried("C++ compiler", lambda: toolchain(backend.gpu.capability if backend.gpu else None).compiler)
    if find_nvcc() is None:
        yield Finding("CUDA compiler", ABSENT, "no nvcc: .cu files are judged on the CPU backend")
    else:
        yield _tried("CUDA compiler", lambda: f"nvcc {nvcc_version()}")
    try:
        device = gpu.describe()
        yield Finding("GPU", OK, f"{device.name}, {device.memory_bytes / 1e9:.0f} GB, driver {device.driver}")
    except gpu.GpuError as error:
        yield Finding("GPU", ABSENT, str(error))
    yield Finding("backend", OK, f"{backend.name} ({backend.reason})")
    with tempfile.TemporaryDirectory(prefix="solve-judge-") as folder, Session(backend, Options(seed), True) as session:
        yield from _judging(Path(folder), session, progress)


def _tried(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, OK, look())
    except (UsageError, BuildError, gpu.GpuError, OSError) as error:
        return Finding(name, BROKEN, str(error))


def _board() -> str:
    path = default_path()
    if not path.exists():
        return f"{path}, not there yet"
    open_board(path).close()
    return str(path)


def _judging(folder: Path, session: Session, progress: Progress) -> Iterator[Finding]:
    """The smallest CUDA and Triton solves judged, and on a GPU timed."""
    judged = []
    for name, text in SMALLEST.items():
        path = folder / name
        path.write_text(text)
        what = f"{'CUDA' if path.suffix == '.cu' else 'Triton'} solve"
        progress.start(what)
        (submission,) = read_submissions(path, None)
        try:
            row = judge(submission, session, progress.cases)
        except UsageError as error:
            yield Finding(what, BROKEN, str(error))
            continue
        state = OK if row.verdict == rows.ACCEPTED else BROKEN
        yield Finding(what, state, "; ".join(filter(None, [row.verdict, row.message, *row.warnings])))
        judged.append((row, submission))
    if session.backend.name != "gpu":
        return
    if session.copying:
        yield Finding("CUDA IPC", ABSENT, "refused: buffers are copied instead")
    else:
        yield Finding("CUDA IPC", OK, "workers share the judge's buffers")
    monitor = Monitor()
    reading = monitor.read()
    if reading is None:
        yield Finding("clocks (NVML)", ABSENT, monitor.unavailable)
    else:
        throttled = f", throttled: {', '.join(reading.throttled)}" if reading.throttled else ""
        yield Finding("clocks (NVML)", OK, f"SM at {reading.sm_mhz} MHz, {reading.temperature_c} C{throttled}")
    yield _timed(judged, session, monitor, progress)


def _timed(judged: list[tuple[Row, Submission]], session: Session, monitor: Monitor, progress: Progress) -> Finding:
    accepted = [(row, submission) for row, submission in judged if row.verdict == rows.ACCEPTED]
    timed = [row for row in time_rows(accepted, session, monitor, progress, Plan()) if not row.label]
    if timed and all(row.timings for row in timed):
        times = " and ".join(f"{row.timings[0].device_us:.2f} us" for row in timed)
        return Finding("device time (CUPTI)", OK, f"these solves take {times}")
    warnings = "; ".join(warning for row in timed for warning in row.warnings)
    return Finding("device time (CUPTI)", BROKEN, warnings or "nothing could be timed")


# ---- the corpus -------------------------------------------------------------------------------------------------


def quick(specimens: list[Specimen]) -> list[Specimen]:
    """Of every kind the first CUDA and the first Python file, and of good ones five each."""
    chosen: dict[tuple[str, str], list[Specimen]] = {}
    for specimen in specimens:
        same = chosen.setdefault((specimen.kind, specimen.path.suffix), [])
        if len(same) < (5 if specimen.is_good else 1):
            same.append(specimen)
    return [specimen for same in chosen.values() for specimen in same]


def judge_corpus(specimens: list[Specimen], backend: str, seed: int, progress: Progress) -> list[Tally]:
    """The tally of each kind; specimens that share verb and flags are judged in one run."""
    groups: dict[tuple[str, str], list[Specimen]] = {}
    for specimen in specimens:
        if backend in specimen.backends:
            groups.setdefault(specimen.verb_and_flags, []).append(specimen)
    outcomes: dict[str, list[str]] = {}
    for number, group in enumerate(groups.values(), 1):
        progress.start(f"corpus, run {number} of {len(groups)}: {len(group)} files")
        found = corpus.run(group, backend, seed)
        for specimen in group:
            why = corpus.why_unexpected(specimen, found)
            left = f"left running: {found.left}" if found.left else ""
            text = f"{specimen.path.relative_to(corpus.FOLDER)}: {why or left}" if why or left else ""
            outcomes.setdefault(specimen.kind, []).append(text)
    return [Tally(kind, len(texts), [text for text in texts if text]) for kind, texts in sorted(outcomes.items())]
