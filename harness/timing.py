"""How long it took: asks a worker for samples until the median is known, compares with reference and copy."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness import rows
from harness.arena import poison
from harness.build import Build
from harness.judge import Session, judge, placement
from harness.problems import Case, Problem
from harness.progress import Progress
from harness.rows import Row, Timing
from harness.submission import Submission

# On a GPU: stop when the 99 % interval of the median is narrower than 0.5 %, or than a tick of the GPU's clock.
RELATIVE_WIDTH = 0.005
TICK_NS = 32
MIN_SAMPLES, MIN_SECONDS, MAX_SECONDS = 30, 0.5, 15.0
WARM_UP_SECONDS = 0.2
MAX_SAMPLES = 5000
PREPARE_SECONDS = 60.0  # the first request compiles, and sets the profiler up

# On the CPU backend a time says little: a few calls.
CPU_SAMPLES, CPU_SECONDS = 3, 2.0

GPU_METHOD = "device time: union of CUPTI activity records, cold L2, median; call time: host clock with synchronise"
CPU_METHOD = "emulated: host clock of a call on the CPU backend, median; says nothing about a GPU"


class TimingError(Exception):
    """A contestant could not be timed; the text says why."""


@dataclass(frozen=True)
class Samples:
    """Microseconds; `device` is empty on the CPU backend."""

    call: np.ndarray
    device: np.ndarray

    @property
    def main(self) -> np.ndarray:
        """What contestants are compared by."""
        return self.device if len(self.device) else self.call


def median_interval(samples: np.ndarray, resamples: int = 1000) -> tuple[float, float]:
    """The 99 % bootstrap interval of the median (percentile method; Efron and Tibshirani, 1993, chapter 13)."""
    if len(samples) < 2:
        return float(samples[0]), float(samples[0])
    generator = np.random.default_rng(0)
    choice = generator.integers(len(samples), size=(resamples, len(samples)))
    medians = np.median(samples[choice], axis=1)
    low, high = np.percentile(medians, [0.5, 99.5])
    return float(low), float(high)


def measure(session: Session, path: Path, problem: Problem, case: Case, build: Build | None) -> Samples:
    """Times one solve at one size in a worker of its own. Raises TimingError."""
    inputs = problem.inputs(case, session.options.seed)
    reference = problem.reference(inputs, case.sizes)
    with session.arena(problem, [case]) as arena, session.worker(path, problem, build, arena) as worker:
        arena.prepare(case, inputs, False)
        reply = worker.wait_loaded(PREPARE_SECONDS)
        if not reply.body.get("loaded"):
            raise TimingError(f"the file could not be loaded again: {reply.outcome}")

        def ask(samples: int, seconds: float) -> tuple[list[int], list[int]]:
            request = {
                "op": "time",
                **placement(problem, case),
                "schedule": 0,
                "poison_byte": 0xFF,
                "samples": samples,
                "seconds": seconds,
            }
            reply = worker.request(request, PREPARE_SECONDS + seconds)
            body = reply.body
            if reply.outcome != "answered" or "raised" in body:
                raise TimingError(f"a timed call failed: {body.get('raised', reply.outcome)}")
            # The outputs of the last sample are looked at; which sample is the last the worker cannot know.
            if path != problem.copy_solve:
                for parameter in problem.buffers:
                    if parameter.role == "in" and not _same_bits(arena.read(parameter.name), inputs[parameter.name]):
                        raise TimingError(f"a timed call changed {parameter.name}")
                outputs = {p.name: arena.read(p.name) for p in problem.buffers if p.role != "in"}
                poisons = {name: poison(case, len(array), str(array.dtype)) for name, array in outputs.items()}
                check = problem.check(inputs, outputs, reference, poisons)
                if not check.passed:
                    raise TimingError(f"a timed call gave a wrong answer: {check.message}")
            calls, device = body.get("calls", []), body.get("device", [])
            if not calls or (session.backend.name == "gpu" and len(device) != len(calls)):
                raise TimingError("the worker sent no times")
            return calls, device

        if session.backend.name == "cpu":
            calls, device = ask(CPU_SAMPLES, CPU_SECONDS)
        else:
            calls, device = _sample_until_known(ask)
        return Samples(np.array(calls) / 1e3, np.array(device) / 1e3)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a.view(np.uint8), b.view(np.uint8))


def _sample_until_known(ask: Callable[[int, float], tuple[list[int], list[int]]]) -> tuple[list[int], list[int]]:
    ask(1, 0.0)  # compiles
    ask(1000, WARM_UP_SECONDS)
    calls: list[int] = []
    device: list[int] = []
    started = time.monotonic()
    while True:
        more_calls, more_device = ask(random.SystemRandom().randrange(20, 60), MAX_SECONDS)
        calls += more_calls
        device += more_device
        elapsed = time.monotonic() - started
        if elapsed > MAX_SECONDS or len(calls) >= MAX_SAMPLES:
            return calls, device
        if len(calls) >= MIN_SAMPLES and elapsed > MIN_SECONDS:
            low, high = median_interval(np.array(device))
            if high - low <= max(RELATIVE_WIDTH * float(np.median(device)), TICK_NS):
                return calls, device


def time_rows(judged: list[tuple[Row, Submission]], session: Session, progress: Progress) -> list[Row]:
    """The rows with timings: before the first accepted row of each problem stands its reference row.

    Only accepted rows are timed. The reference is a contestant like any other: judged, then timed.
    """
    result: list[Row] = []
    baselines: dict[str, tuple[list[Timing], list[float | None]]] = {}
    for row, submission in judged:
        problem = submission.problem
        if row.verdict != rows.ACCEPTED:
            result.append(row)
            continue
        if problem.name not in baselines:
            reference_row, ceilings = _time_reference(problem, session, progress)
            baselines[problem.name] = (reference_row.timings, ceilings)
            result.append(reference_row)
        progress.start(f"timing {row.file}")
        result.append(_time_row(row, submission, session, *baselines[problem.name]))
    return result


def _time_reference(problem: Problem, session: Session, progress: Progress) -> tuple[Row, list[float | None]]:
    """The timed reference row of a problem, and the copy kernel's time at each timed size (None on the CPU)."""
    progress.start(problem.reference_label)
    reference = Submission(problem.reference_solve, problem)
    row = judge(reference, session, progress.cases)
    timings: list[Timing] = []
    ceilings: list[float | None] = []
    for case in problem.timing_cases:
        progress.start(f"timing {problem.reference_label}")
        ceiling = None
        if session.backend.name == "gpu":
            ceiling = float(np.median(measure(session, problem.copy_solve, problem, case, None).main))
        samples = measure(session, problem.reference_solve, problem, case, None)
        timings.append(_timing(samples, problem, case, session, ceiling, None))
        ceilings.append(ceiling)
    label = problem.reference_label
    return replace(row, file=label, label=label, timings=timings), ceilings


def _time_row(
    row: Row, submission: Submission, session: Session, reference: list[Timing], ceilings: list[float | None]
) -> Row:
    builds = session.build(submission)
    build = next(iter(builds.values()))
    timings, flags, warnings = [], set(row.flags), list(row.warnings)
    for case, base, ceiling in zip(submission.problem.timing_cases, reference, ceilings, strict=True):
        try:
            samples = measure(session, submission.path, submission.problem, case, build)
        except TimingError as error:
            warnings.append(f"not timed at {case.sizes}: {error}")
            continue
        timing = _timing(samples, submission.problem, case, session, ceiling, base)
        timings.append(timing)
        doubt = _suspicion(timing, submission.problem.ideal_bytes(case.sizes), session)
        if doubt:
            flags.add(rows.SUSPICIOUS)
            warnings.append(doubt)
    return replace(row, timings=timings, flags=sorted(flags), warnings=warnings)


def _timing(
    samples: Samples, problem: Problem, case: Case, session: Session, ceiling: float | None, base: Timing | None
) -> Timing:
    median = float(np.median(samples.main))
    low, high = median_interval(samples.main)
    on_gpu = session.backend.name == "gpu"
    base_time = (base.device_us if on_gpu else base.call_us) if base else median
    return Timing(
        sizes=dict(case.sizes),
        device_us=median if on_gpu else None,
        call_us=float(np.median(samples.call)),
        low_us=low,
        high_us=high,
        gbps=problem.ideal_bytes(case.sizes) / median / 1e3 if on_gpu and median > 0 else None,
        of_ceiling=ceiling / median if ceiling and median > 0 else None,
        over_reference=median / base_time if base_time else None,
        samples=[round(float(sample), 3) for sample in samples.main],
        method=GPU_METHOD if on_gpu else CPU_METHOD,
    )


def _suspicion(timing: Timing, ideal_bytes: int, session: Session) -> str:
    """Why a time cannot be believed, or ""."""
    if timing.device_us is None or session.backend.gpu is None:
        return ""
    floor = ideal_bytes / session.backend.gpu.peak_bandwidth * 1e6
    if not timing.device_us >= floor:
        return f"device time {timing.device_us:.2f} us is below {floor:.2f} us, which the memory alone needs"
    if timing.call_us > 10 * timing.device_us + 1000:
        return f"call time {timing.call_us:.0f} us is far above device time {timing.device_us:.0f} us"
    return ""
