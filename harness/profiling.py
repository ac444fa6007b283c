"""What ncu counts in one call: each kernel's time, and the bytes it moved between SM and L2, and L2 and DRAM."""

from __future__ import annotations

import csv
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.alone import prepared, run_under
from harness.bare import PROFILED, SOLVE_FAILED
from harness.build import find_tool
from harness.errors import UsageError
from harness.judge import Session
from harness.problems import Arrays, Case
from harness.submission import Submission

SECTOR_BYTES = 32  # of the L2: Nsight Compute's documentation, "Kernel Profiling Guide", memory tables
PROFILE_SECONDS = 300.0

# Metric and what one unit of it is worth here: nanoseconds as microseconds, sectors as bytes.
METRICS = {
    "us": ("gpu__time_duration.sum", 1e-3),
    "dram_read": ("dram__bytes_read.sum", 1),
    "dram_written": ("dram__bytes_write.sum", 1),
    "l2_read": ("lts__t_sectors_srcunit_tex_op_read.sum", SECTOR_BYTES),
    "l2_written": ("lts__t_sectors_srcunit_tex_op_write.sum", SECTOR_BYTES),
    "passes": ("profiler__replayer_passes", 1),
}
MOVED = ("dram_read", "dram_written", "l2_read", "l2_written")


class ProfileError(Exception):
    """The solve could not be profiled; the text says why."""


@dataclass(frozen=True)
class Kernel:
    """A launch in the profiled call. Bytes; `us` is ncu's duration, with its own overhead and serialisation.

    DRAM counts what the L2 did not hold and what it evicted; L2 what the multiprocessors asked of it past their L1. In
    more than one pass the caches of the second are not those of the first.
    """

    name: str
    grid: str
    block: str
    us: float
    dram_read: float
    dram_written: float
    l2_read: float
    l2_written: float
    passes: float


@dataclass(frozen=True)
class Profile:
    """One call of a file at one size; `ideal_read` and `ideal_written` are the bytes of its inputs and its outputs."""

    file: str
    problem: str
    sizes: dict
    ideal_read: int
    ideal_written: int
    kernels: list[Kernel]

    def to_json(self) -> dict:
        return {**vars(self), **self.sizes, "kernels": [vars(kernel) for kernel in self.kernels]}


def find_ncu() -> str:
    """The ncu program. Raises UsageError where there is none."""
    found = find_tool("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")
    if found is None:
        raise UsageError("profile needs ncu (Nsight Compute), which was not found: add its directory to PATH")
    return found


def profile(submission: Submission, case: Case, session: Session, ncu: str) -> Profile:
    """Profiles one call of `submission`. Raises ProfileError, or BuildError where it does not compile."""
    problem = submission.problem
    inputs = problem.inputs(case, session.options.seed)
    with prepared(submission, case, inputs, session, PROFILED) as folder:
        log = folder / "ncu.csv"
        tool = [ncu, "--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off"]
        tool += ["--metrics", ",".join(metric for metric, _ in METRICS.values())]
        tool += ["--csv", "--print-units", "base", "--log-file", str(log)]
        with session.turn(alone=True):
            ended = run_under(tool, folder, session, PROFILE_SECONDS)
        if ended.outcome == "timeout":
            raise ProfileError(f"no end after {PROFILE_SECONDS:.0f} s under ncu")
        if ended.outcome != "ended":
            raise ProfileError(f"the call took more {ended.outcome} than it may under ncu")
        text = log.read_text() if log.exists() else ""
        if ended.status != 0:
            raise ProfileError(_why(ended.status, text, ended.output))
        kernels = parse(text)
        _check(submission, case, inputs, folder)
    if not kernels:
        raise ProfileError("ncu saw no kernel in the call")
    lengths = problem.lengths(case.sizes)
    sizes = {p.name: lengths[p.name] * np.dtype(p.dtype).itemsize for p in problem.buffers}
    return Profile(
        file=str(submission.path),
        problem=problem.name,
        sizes=problem.shape(case),
        ideal_read=sum(sizes[p.name] for p in problem.buffers if p.role != "out"),
        ideal_written=sum(sizes[p.name] for p in problem.buffers if p.role != "in"),
        kernels=kernels,
    )


def _why(status: int, log: str, output: str) -> str:
    """A sentence for an ncu that failed, from what it and the solve said."""
    if "ERR_NVGPUCTRPERM" in log + output:
        return "ncu may not read the GPU's counters: run as root, or see developer.nvidia.com/ERR_NVGPUCTRPERM"
    errors = re.findall(r"^==ERROR== (.*)$", log + "\n" + output, re.MULTILINE)
    last = [line for line in output.strip().splitlines() if not line.startswith("==")][-1:]
    if status == SOLVE_FAILED and last:
        return f"the call failed: {last[0]}"
    return f"ncu failed: {(errors or last or [f'exit status {status}'])[0]}"


def parse(log: str) -> list[Kernel]:
    """The kernels in ncu's CSV, in order of launch: a line for each metric of each, numbers in base units."""
    start = log.find('"ID"')
    if start < 0:
        return []
    launches: dict[str, dict] = {}
    for line in csv.DictReader(log[start:].splitlines()):
        if line.get("Metric Name"):
            launch = launches.setdefault(line["ID"], {"line": line})
            launch[line["Metric Name"]] = float(line["Metric Value"].replace(",", ""))
    return [
        Kernel(
            name=launch["line"]["Kernel Name"],
            grid=launch["line"]["Grid Size"],
            block=launch["line"]["Block Size"],
            **{name: launch[metric] * worth for name, (metric, worth) in METRICS.items()},
        )
        for launch in launches.values()
    ]


def _check(submission: Submission, case: Case, inputs: Arrays, folder: Path) -> None:
    """Bytes of a wrong answer say nothing."""
    problem = submission.problem
    outputs = {p.name: np.load(folder / f"{p.name}.after.npy").view(p.dtype) for p in problem.buffers if p.role != "in"}
    nothing = {name: np.full_like(array, np.nan) for name, array in outputs.items()}
    check = problem.examine(case, inputs, outputs, problem.reference(inputs, case.sizes), nothing)
    if not check.passed:
        raise ProfileError(f"the profiled call gave a wrong answer: {check.message}")
