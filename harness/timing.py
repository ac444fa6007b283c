"""How long it took: contestants take turns in rounds until each median is known; ceilings, ratios and duels follow."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from harness import rows
from harness.anatomy import take_apart
from harness.arena import poison
from harness.build import Build
from harness.judge import Session, how_it_ended, judge, pair, placement
from harness.noise import Monitor
from harness.problems import Arrays, Case, Problem, Shape
from harness.progress import Progress
from harness.rows import Duel, Row, Timing
from harness.submission import Submission, as_typed
from harness.supervisor import WorkerHandle

# On a GPU several generations of workers are timed, every other one in the opposite order: a process may be faster or
# slower than the next for as long as it lives, by where in the memory its buffers lie (what a solve allocates in a call
# the worker's clock moves about). Where a plan allows it, generations are added, two at a time, until they agree.
GENERATIONS, MOST_GENERATIONS = 6, 12
# Student's t for one degree of freedom less than there are generations, two-sided 99 %.
STUDENT_T = {6: 4.032, 8: 3.499, 10: 3.250, 12: 3.106}
AGREEMENT = 0.01  # relative width of Student's interval of their mean
NORMAL_99 = 2.576  # two-sided quantile
# The 99 % interval of the mean of all medians is to be narrower than 0.5 %, that of one of them so much wider. It need
# not be narrower than a tick of the GPU's clock.
RELATIVE_WIDTH = 0.005 * GENERATIONS**0.5
TICK_US = 0.032
MIN_SAMPLES, MIN_SECONDS = 30, 0.5 / GENERATIONS
MAX_SAMPLES, MAX_SECONDS = 5000, 15.0 / GENERATIONS
KEPT_OUTPUTS = 8  # that were right: a solve that sums by atomics has several
ALTERED = 12.0  # larger than what timed inputs hold: softmax notices it everywhere
LOOK_EVERY = 2  # rounds: as many turns in either order
DUEL_ROUNDS, MIN_DUEL_ROUNDS, MAX_DUEL_SECONDS = 24, 12, 3.0  # of a generation; the seconds of one contestant's turns
WARM_UP_SECONDS = 0.05  # of each contestant, while the others wait
BATCH_SECONDS = 0.15
HEAT = 12  # files that are timed together at most
PREPARE_SECONDS = 60.0  # the first request compiles

# On the CPU backend a time says little: a few calls.
CPU_SAMPLES, CPU_SECONDS = 3, 2.0

# Two times count as different only if the interval of their ratio lies outside 1 +- this.
DEAD_ZONE = 0.005

GPU_METHOD = (
    "device time: union of CUPTI activity records, {cache} L2, paired rounds, mean over processes of the median; "
    "call time: host clock, likewise"
)
CPU_METHOD = "emulated: host clock of a call on the CPU backend, median; says nothing about a GPU"

EMPTY_SOLVE = Path(__file__).with_name("reference") / "empty.py"


@dataclass(frozen=True)
class Stopping:
    """When a contestant of a race on a GPU has been timed long enough; the default is for one generation of several.

    Its median is known (see `is_known`) after `min_seconds` of its turns, or given up after `max_seconds`. A turn ends
    after `batch_seconds`, or after about a dozen samples.
    """

    relative_width: float = RELATIVE_WIDTH
    min_seconds: float = MIN_SECONDS
    max_seconds: float = MAX_SECONDS
    batch_seconds: float = BATCH_SECONDS


OF_A_GENERATION = Stopping()


class TimingError(Exception):
    """A contestant could not be timed; the text says why."""


@dataclass(frozen=True)
class Contestant:
    """What takes part in a race. Of the copy and the empty kernel no answer is expected: `checked` is False."""

    label: str
    path: Path
    build: Build | None = None
    checked: bool = True


@dataclass(frozen=True)
class Measurement:
    """A contestant's samples in microseconds, in order; `device` is empty on the CPU backend.

    `rounds` are the medians of its turns, comparable with those of the others in the same race; `throttled` counts the
    samples of turns after which the GPU said that it was throttled; `around_us` is what a call took by the judge's own
    clock beyond its call time, with all that a worker does around it: the median over turns, since in one of them a
    worker may be held up between calls. `parts` are the generations that this one is made of, if several;
    `span` is when the race ran (seconds since 1970). With a `failure` there are no samples.
    """

    label: str
    device: np.ndarray
    call: np.ndarray
    rounds: np.ndarray
    around_us: float = 0.0
    throttled: int = 0
    failure: str = ""
    parts: tuple[Measurement, ...] = ()
    span: tuple[float, float] | None = None

    @property
    def main(self) -> np.ndarray:
        """What contestants are compared by."""
        return self.device if len(self.device) else self.call

    @property
    def spans(self) -> list[tuple[float, float]]:
        """When it was measured: one span for each generation."""
        return [span for part in self.parts for span in part.spans] if self.parts else [self.span] if self.span else []

    @property
    def median(self) -> float:
        """Of the main samples; of several generations the mean of their medians."""
        return float(np.mean([part.median for part in self.parts]) if self.parts else np.median(self.main))

    @property
    def call_median(self) -> float:
        return float(np.mean([part.call_median for part in self.parts]) if self.parts else np.median(self.call))


def pool(parts: list[Measurement]) -> Measurement:
    """What one contestant measured in several generations of workers; the first failure among them, if there is one."""
    if len(parts) == 1:
        return parts[0]
    failed = next((part for part in parts if part.failure), None)
    if failed:
        return failed
    device, call, rounds = (np.concatenate([getattr(p, name) for p in parts]) for name in ("device", "call", "rounds"))
    around = float(np.mean([part.around_us for part in parts]))
    throttled = sum(part.throttled for part in parts)
    return Measurement(parts[0].label, device, call, rounds, around, throttled, parts=tuple(parts))


def interval(measured: Measurement) -> tuple[float, float]:
    """The 99 % interval of the median: that of the samples; Student's over generations, where that is wider."""
    low, high = median_interval(measured.main)
    if not measured.parts:
        return low, high
    medians = [part.median for part in measured.parts]
    half = max((high - low) / 2, half_width(medians))
    return measured.median - half, measured.median + half


def half_width(values: list[float]) -> float:
    """Of Student's 99 % interval of their mean, where each is of another generation."""
    return STUDENT_T[len(values)] * float(np.std(values, ddof=1)) / len(values) ** 0.5


def agree(parts: list[Measurement]) -> bool:
    """Whether what generations have measured of one contestant is known as well as is looked for, or has failed."""
    if any(part.failure for part in parts):
        return True
    medians = [part.median for part in parts]
    return 2 * half_width(medians) <= max(AGREEMENT * float(np.mean(medians)), TICK_US)


def median_interval(samples: np.ndarray) -> tuple[float, float]:
    """The 99 % interval of the median from order statistics, whatever the samples' distribution.

    Their ranks are those of the binomial, by its normal approximation with a continuity correction (Conover, Practical
    Nonparametric Statistics, 1999, section 3.2). Below a dozen samples it is their whole range.
    """
    ordered, count = np.sort(samples), len(samples)
    rank = max(0, int((count - 1 - NORMAL_99 * count**0.5) // 2))
    return float(ordered[rank]), float(ordered[-1 - rank])


def is_known(device: np.ndarray, relative_width: float = RELATIVE_WIDTH) -> bool:
    """Whether the median of these device times (us) is known well enough to stop."""
    if len(device) < MIN_SAMPLES:
        return False
    low, high = median_interval(device)
    return high - low <= max(relative_width * float(np.median(device)), TICK_US) + 1e-9  # a tick is not exact in binary


# ---- the race ---------------------------------------------------------------------------------------------------


@dataclass
class _Lane:
    """A contestant during a race: its worker and what it has measured."""

    contestant: Contestant
    worker: WorkerHandle
    device: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)
    throttled: int = 0
    seconds: float = 0.0  # of all its turns
    around: list[float] = field(default_factory=list)  # us a call, by turn
    failure: str = ""
    known: bool = False
    is_prepared: bool = False

    def measurement(self) -> Measurement:
        if self.failure:
            nothing = np.array([])
            return Measurement(self.contestant.label, nothing, nothing, nothing, failure=self.failure)
        device, calls = _us(self.device), _us(self.calls)
        around = float(np.median(self.around))
        return Measurement(self.contestant.label, device, calls, np.array(self.rounds), around, self.throttled)


class Race:
    """Times contestants in turns over the same buffers: A B C, C B A, A B C, ... so that drift cancels.

    A context manager: its workers live as long as it does, and so long no other judge uses the GPU. `run` takes one of
    `cases` at a time. `backwards` starts the workers, and lets them begin, in the opposite order.
    """

    def __init__(
        self,
        session: Session,
        problem: Problem,
        cases: list[Case],
        contestants: list[Contestant],
        monitor: Monitor | None,
        stopping: Stopping = OF_A_GENERATION,
        backwards: bool = False,
    ) -> None:
        self._session = session
        self._problem = problem
        self._monitor = monitor
        self._stopping = stopping
        self._step = -1 if backwards else 1
        self._workers: list[tuple[Contestant, WorkerHandle]] = []
        self._failures: dict[str, str] = {}
        with ExitStack() as stack:
            stack.enter_context(session.turn(alone=True))
            self._arena = stack.enter_context(session.arena(problem, cases))
            stack.callback(self._end_workers)
            for contestant in contestants[:: self._step]:
                self._workers.append((contestant, self._new_worker(contestant)))
            for contestant, worker in self._workers:
                self._wait_loaded(contestant, worker)
            self._stack = stack.pop_all()

    def _new_worker(self, contestant: Contestant) -> WorkerHandle:
        return self._session.worker(contestant.path, self._problem, contestant.build, self._arena, timed=True)

    def _wait_loaded(self, contestant: Contestant, worker: WorkerHandle) -> None:
        body = worker.wait_loaded(PREPARE_SECONDS).body
        if not body.get("loaded"):
            why = pair(body["failed"])[1] if "failed" in body else "the file could not be loaded again"
            self._failures[contestant.label] = why

    def _end_workers(self) -> None:
        for _, worker in self._workers:  # at the same time
            worker.begin_kill()
        while self._workers:
            self._workers.pop()[1].__exit__()

    def renew(self) -> None:
        """A fresh worker for each contestant that has failed, so that it can take part again at another size."""
        for index, (contestant, worker) in enumerate(self._workers):
            if self._failures.pop(contestant.label, None) is not None:
                fresh = self._new_worker(contestant)
                self._workers[index] = (contestant, fresh)
                worker.__exit__()
                self._wait_loaded(contestant, fresh)

    def __enter__(self) -> Race:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)

    def run(
        self,
        case: Case,
        *,
        hot: bool = False,
        duel: bool = False,
        failed: Mapping[str, str] = MappingProxyType({}),
        altered: bool = False,
    ) -> list[Measurement]:
        """One Measurement for each contestant, in their order; those that have `failed` before are left out.

        Each stops when its median is known. In a `duel` all take part in each of DUEL_ROUNDS rounds, of fewer if their
        calls take long. `altered` adds a call of each that is not timed: see `_alter`.
        """
        self._prepare(case, hot)
        began = time.time()
        failures = {**failed, **self._failures}
        lanes = [_Lane(c, worker, failure=failures.get(c.label, "")) for c, worker in self._workers]
        if self._session.backend.name == "cpu":
            self._turn_all(lanes, CPU_SAMPLES, CPU_SECONDS)
        else:
            self._rounds(lanes, duel)
        if altered and not self._problem.challenge:  # whose inputs cannot be any numbers
            self._alter(lanes)
        for lane in lanes:
            if lane.failure:  # its worker may be gone
                self._failures[lane.contestant.label] = lane.failure
        span = (began, time.time())
        return [replace(lane.measurement(), span=span) for lane in lanes[:: self._step]]

    def _prepare(self, case: Case, hot: bool) -> None:
        self._case = case
        self._hot = hot
        self._load(self._problem.inputs(case, self._session.options.seed), contents=0)

    def _load(self, inputs: Arrays, contents: int) -> None:
        """Puts inputs where the contestants find them; by another number `contents` their workers know of others."""
        self._inputs, self._contents = inputs, contents
        self._reference = self._problem.reference(inputs, self._case.sizes)
        self._arena.prepare(self._case, inputs, False)
        self._before = {p.name: self._arena.snapshot(p.name) for p in self._problem.buffers if p.role == "in"}
        self._passed: list[dict[str, Any]] = []  # snapshots of outputs that were right

    def _alter(self, lanes: list[_Lane]) -> None:
        """One more call of each, on inputs of which one element is another.

        All timed calls of a case have the same inputs: who has kept the answer, and looks at a sample of the input to
        know it again, would be timed at copying it.
        """
        inputs = {name: array.copy() for name, array in self._inputs.items()}
        for parameter in self._problem.buffers:
            if parameter.role == "in":
                array = self._problem.layouts(self._case.sizes)[parameter.name].payload(inputs[parameter.name])
                array.flat[random.SystemRandom().randrange(array.size)] = ALTERED
        self._load(inputs, contents=1)
        for lane in lanes:
            if lane.contestant.checked and not lane.failure:
                try:
                    self._series(lane, "call", 1, 0.0)
                except TimingError as error:
                    lane.failure = f"with one element of the input changed: {error}"

    def records(self) -> list[list[dict]]:
        """What one call of each contestant did, at the case that ran last: CUPTI's records; [] after a failure."""
        return [self._records(contestant, worker) for contestant, worker in self._workers[:: self._step]]

    def records_at(self, case: Case, label: str) -> list[dict]:
        """What one call of one contestant does at a case: CUPTI's records; [] where it fails."""
        self._prepare(case, hot=False)
        ((contestant, worker),) = [each for each in self._workers if each[0].label == label]
        if label not in self._failures:
            reply = worker.request(self._request("call", 1, 0.0), PREPARE_SECONDS)  # it may compile
            if reply.outcome != "answered" or "raised" in reply.body:
                self._failures[label] = "a call for its anatomy failed"
        return self._records(contestant, worker)

    def _records(self, contestant: Contestant, worker: WorkerHandle) -> list[dict]:
        if contestant.label in self._failures:
            return []
        reply = worker.request(self._request("anatomy", 1, 0.0), PREPARE_SECONDS)
        return reply.body.get("records", [])

    def _rounds(self, lanes: list[_Lane], duel: bool) -> None:
        for samples, seconds in ((1, 0.0), (1000, WARM_UP_SECONDS)):
            self._turn_all(lanes, samples, seconds)
        for lane in lanes:
            lane.device, lane.calls, lane.rounds, lane.around = [], [], [], []
            lane.seconds, lane.throttled = 0.0, 0
        completed = 0
        while True:
            running = [lane for lane in lanes if not lane.failure and (duel or not lane.known)]
            if not running:
                return
            if duel and completed >= MIN_DUEL_ROUNDS and any(lane.seconds > MAX_DUEL_SECONDS for lane in running):
                return
            if duel and completed >= DUEL_ROUNDS:
                return
            order = running if completed % 2 == 0 else running[::-1]
            # Which sample of a series is its last, and so is checked, the worker cannot know.
            self._turn_all(order, random.SystemRandom().randrange(8, 17), self._stopping.batch_seconds)
            completed += 1
            if not duel and completed % LOOK_EVERY == 0:
                for lane in running:
                    lane.known = self._is_done(lane)

    def _is_done(self, lane: _Lane) -> bool:
        rule = self._stopping
        if lane.seconds > rule.max_seconds or len(lane.device) >= MAX_SAMPLES:
            return True
        return lane.seconds > rule.min_seconds and is_known(_us(lane.device), rule.relative_width)

    def _turn_all(self, lanes: list[_Lane], samples: int, seconds: float) -> None:
        for lane in lanes:
            if not lane.failure:
                try:
                    self._turn(lane, samples, seconds)
                except TimingError as error:
                    lane.failure = str(error)

    def _turn(self, lane: _Lane, samples: int, seconds: float) -> None:
        if self._problem.challenge and not lane.is_prepared:
            # Its worker keeps what outputs start with, which the contestant before has written over.
            self._arena.prepare(self._case, self._inputs, False)
            lane.is_prepared = True
        on_gpu = self._session.backend.name == "gpu"
        device, device_seconds = self._series(lane, "device", samples, seconds) if on_gpu else ([], 0.0)
        if 0 in device:
            raise TimingError("a timed call caused no activity on the device")
        calls, call_seconds = self._series(lane, "call", samples, seconds)
        reading = self._monitor.read() if self._monitor else None
        lane.seconds += device_seconds + call_seconds
        lane.around.append((call_seconds * 1e9 - sum(calls)) / 1e3 / len(calls))
        lane.calls += calls
        lane.device += device
        lane.rounds.append(float(np.median(_us(device or calls))))
        if reading and reading.throttled:
            lane.throttled += len(device)

    def _series(self, lane: _Lane, operation: str, samples: int, seconds: float) -> tuple[list[int], float]:
        """Nanoseconds of some calls, the last of which was right, and the seconds of all by the judge's clock."""
        patience = PREPARE_SECONDS + 2 * seconds
        started = time.monotonic()
        reply = lane.worker.request(self._request(operation, samples, seconds), patience)
        took = time.monotonic() - started
        if reply.outcome != "answered":
            ended = how_it_ended(reply, lane.worker, patience, self._problem, "during a timed call")
            raise TimingError(ended.text)
        if "raised" in reply.body:
            raise TimingError(f"a timed call failed: {pair(reply.body['raised'])[1]}")
        if lane.contestant.checked:
            self._check()
        times = reply.body.get("times")
        if not _are_times(times, samples):
            raise TimingError("the worker sent no times")
        return times, took

    def _request(self, operation: str, samples: int, seconds: float) -> dict:
        return {
            "op": operation,
            **placement(self._problem, self._case),
            "schedule": 0,
            "poison_byte": 0xFF,
            "races": False,
            "samples": samples,
            "seconds": seconds,
            "cold": not self._hot,
            "contents": self._contents,
        }

    def _check(self) -> None:
        """Looks at what the last call of a series left, as after any judged call."""
        arena = self._arena
        for name, before in self._before.items():
            if not arena.holds(name, before):
                raise TimingError(f"a timed call changed {name}")
        damage = arena.damage()
        if damage:
            raise TimingError(f"a timed call {damage}")
        # Bits that have passed once pass again: the check of a short kernel's output takes longer than its turn.
        if any(all(arena.holds(name, bits) for name, bits in passed.items()) for passed in self._passed):
            return
        outputs = {p.name: arena.read(p.name) for p in self._problem.buffers if p.role != "in"}
        poisons = {name: poison(self._case, len(array), str(array.dtype)) for name, array in outputs.items()}
        check = self._problem.examine(self._case, self._inputs, outputs, self._reference, poisons)
        if not check.passed:
            raise TimingError(f"a timed call gave a wrong answer: {check.message}")
        self._passed = [{name: arena.snapshot(name) for name in outputs}, *self._passed][:KEPT_OUTPUTS]


def _us(nanoseconds: list[int]) -> np.ndarray:
    return np.array(nanoseconds) / 1e3


def _are_times(values: object, asked: int) -> bool:
    """Whether these can be the nanoseconds of up to `asked` samples; they come from the submission's process."""
    return isinstance(values, list) and 0 < len(values) <= asked and all(type(v) is int and v >= 0 for v in values)


# ---- rows and duels ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What to time: sizes (None: the problem's own), also with a hot L2, against which file (None: the reference).

    With `anatomy` one call of each is taken apart, too. `generations` of workers there are at most, on a GPU.
    """

    sizes: tuple[Shape, ...] | None = None
    hot: bool = False
    anatomy: bool = False
    against: Submission | None = None
    generations: int = GENERATIONS


@dataclass(frozen=True)
class Heat:
    """What is timed together: accepted rows of one problem, by their places in the run. A reference takes part, too."""

    problem: Problem
    entrants: list[tuple[int, Row, Submission]]


def deal(judged: list[tuple[Row, Submission]], gpus: int = 1) -> list[Heat]:
    """The accepted rows without times, in heats of about the same size, for so many GPUs.

    Up to HEAT files of a problem are timed together, as each contestant has a process for as long as its heat lasts.
    """
    heats = []
    accepted = [(i, row, s) for i, (row, s) in enumerate(judged) if row.verdict == rows.ACCEPTED and not row.timings]
    for name in dict.fromkeys(s.problem.name for _, _, s in accepted):
        entrants = [each for each in accepted if each[2].problem.name == name]
        count = max(gpus, -(-len(entrants) // HEAT)) if len(entrants) > HEAT else 1
        parts = np.array_split(np.arange(len(entrants)), count)
        heats += [Heat(entrants[0][2].problem, [entrants[i] for i in part]) for part in parts]
    return heats


def gather(
    judged: list[tuple[Row, Submission]],
    timed: list[tuple[Heat, Row | None, list[Row]]],
    earlier: Mapping[str, Row] = MappingProxyType({}),
) -> list[Row]:
    """The rows with what their heats gave; before the first of each problem the reference row of its first heat.

    Where a problem had no heat that is the reference row of an `earlier` run, whose times its rows have.
    """
    found: dict[int, Row] = {}
    references: dict[str, Row] = {}
    for heat, reference, measured in timed:
        if reference:
            references.setdefault(heat.problem.name, reference)
        found.update({i: row for (i, _, _), row in zip(heat.entrants, measured, strict=True)})
    references = {**earlier, **references}
    result: list[Row] = []
    for i, (row, submission) in enumerate(judged):
        if (i in found or row.timings) and submission.problem.name in references:
            result.append(references.pop(submission.problem.name))
        result.append(found.get(i, row))
    return result


def time_rows(
    judged: list[tuple[Row, Submission]], session: Session, monitor: Monitor | None, progress: Progress, plan: Plan
) -> list[Row]:
    """The rows with timings; before the first accepted row of each problem stands its reference row.

    Only accepted rows are timed. The reference is a contestant like any other: judged, then timed in the same rounds.
    """
    heats = deal(judged)
    return gather(judged, [(heat, *time_heat(heat, session, monitor, progress, plan)) for heat in heats])


def time_heat(
    heat: Heat, session: Session, monitor: Monitor | None, progress: Progress, plan: Plan
) -> tuple[Row, list[Row]]:
    """The reference row and the rows of a heat, all timed together at every size."""
    problem = heat.problem
    judged = [(row, submission) for _, row, submission in heat.entrants]
    same = [is_as_judged(row, submission) for row, submission in judged]
    entrants = [pair for pair, is_same in zip(judged, same, strict=True) if is_same]
    reference, reference_row = _judged_reference(problem, session, progress, plan)
    if reference_row.verdict != rows.ACCEPTED:
        warning = f"the reference is not accepted, so nothing is timed: {reference_row.message}"
        return reference_row, [_with_warning(row, warning) for row, _ in judged]

    results = [reference_row, *(row for row, _ in entrants)]
    contestants = [contestant(reference, session, reference_row.file)]
    contestants += [contestant(submission, session, row.file) for row, submission in entrants]
    if session.backend.name == "gpu":
        contestants.append(Contestant("copy", problem.copy_solve, checked=False))
        contestants.append(Contestant("empty", EMPTY_SOLVE, checked=False))
    cases = problem.timing_cases(plan.sizes, session.backend.name)
    cold: list[list[list[Measurement]]] = [[] for _ in cases]  # by case, then by generation
    hot: list[list[list[Measurement]]] = [[] for _ in cases]
    records: list[list[list[dict]]] = [[] for _ in cases]
    failed: list[dict[str, str]] = [{} for _ in cases]

    def is_known() -> bool:
        return all(agree(list(parts)) for runs in cold for parts in list(zip(*runs, strict=True))[: len(results)])

    for which, race in _generations(session, problem, cases, contestants, monitor, plan.generations, is_known):
        for index, case in enumerate(cases):
            progress.start(f"timing {problem.name} at {_size(problem, case)}{which}")
            first = not cold[index]
            cold[index].append(race.run(case, failed=failed[index], altered=first))
            failed[index].update({one.label: one.failure for one in cold[index][-1] if one.failure})
            if plan.hot and session.backend.name == "gpu":
                hot[index].append(race.run(case, hot=True, failed=failed[index]))
            if plan.anatomy:
                records[index] = race.records()
    for index, case in enumerate(cases):
        measured, warm = ([pool(list(parts)) for parts in zip(*runs[index], strict=True)] for runs in (cold, hot))
        for i in range(len(results)):
            results[i] = _with_timing(results[i], i, problem, case, session, measured, warm)
            if records[index] and results[i].timings and session.backend.gpu:
                results[i] = _with_anatomy(results[i], records[index][i], session.backend.gpu.multiprocessors)
    timed = iter(results[1:])
    return results[0], [
        next(timed) if is_same else _with_warning(row, CHANGED) for (row, _), is_same in zip(judged, same, strict=True)
    ]


CHANGED = "not timed: the file has changed since it was judged"


def is_as_judged(row: Row, submission: Submission) -> bool:
    """Whether the file still is what got the verdict: it may have been saved again, or have written to itself."""
    return submission.source_hash == row.source_hash


def _with_warning(row: Row, warning: str) -> Row:
    return replace(row, warnings=[*row.warnings, warning])


def _generations(
    session: Session,
    problem: Problem,
    cases: list[Case],
    contestants: list[Contestant],
    monitor: Monitor | None,
    most: int,
    is_known: Callable[[], bool],
) -> Iterator[tuple[str, Race]]:
    """Races of the same contestants, each with workers of its own, and which it is; one without a GPU."""
    on_gpu = session.backend.name == "gpu"
    for number in range(most if on_gpu else 1):
        # As many in either order.
        if number >= GENERATIONS and number % 2 == 0 and is_known():
            return
        with Race(session, problem, cases, contestants, monitor, backwards=number % 2 == 1) as race:
            yield f", workers {number + 1} of {max(number + 1, GENERATIONS)}" if on_gpu else "", race


def _judged_reference(problem: Problem, session: Session, progress: Progress, plan: Plan) -> tuple[Submission, Row]:
    """What a problem's files are compared with, and its row, which is judged once in a session."""
    bundled = Submission(as_typed(problem.reference_solve), problem)
    reference = replace(plan.against, problem=problem) if plan.against else bundled
    label = "" if plan.against else problem.reference_label
    if problem.name not in session.references:
        progress.start(label or str(reference.path))
        row = judge(reference, session, progress.cases)
        file = label or row.file
        session.references[problem.name] = replace(row, file=file, label=file)
    return reference, session.references[problem.name]


def _size(problem: Problem, case: Case) -> str:
    return rows.size_text(problem.shape(case))


def contestant(submission: Submission, session: Session, label: str) -> Contestant:
    return Contestant(label, submission.path, next(iter(session.build(submission).values())))


def timing_of(
    problem: Problem,
    case: Case,
    measured: Measurement,
    base: Measurement | None,
    copy: Measurement | None,
    empty: Measurement | None,
    hot: Measurement | None = None,
) -> Timing:
    """The timing of a contestant that has not failed; of the others in its race, those that have failed say nothing.

    On the CPU backend there is neither a copy nor an empty kernel to compare with.
    """
    on_gpu = len(measured.device) > 0
    base, copy, empty, hot = (one if one is not None and not one.failure else None for one in (base, copy, empty, hot))
    median = measured.median
    low, high = interval(measured)
    return Timing(
        sizes=problem.shape(case),
        device_us=median if on_gpu else None,
        call_us=measured.call_median,
        low_us=low,
        high_us=high,
        gbps=problem.ideal_bytes(case.sizes) / median / 1e3 if on_gpu else None,
        of_ceiling=copy.median / median if copy is not None else None,
        over_reference=median / base.median if base is not None else None,
        samples=[round(float(sample), 3) for sample in measured.main],
        method=GPU_METHOD.format(cache="cold") if on_gpu else CPU_METHOD,
        hot_us=hot.median if hot is not None else None,
        copy_us=copy.median if copy is not None else None,
        empty_us=empty.median if empty is not None else None,
        throttled_samples=measured.throttled,
        spans=[list(span) for one in (measured, hot) if one is not None for span in one.spans],
        processes_us=[round(part.median, 4) for part in measured.parts],
    )


def _with_timing(
    row: Row,
    index: int,
    problem: Problem,
    case: Case,
    session: Session,
    race: list[Measurement],
    hot_race: list[Measurement],
) -> Row:
    """The row with one more timing, or with a warning why there is none.

    `index` is the row's place in the race; the reference comes first, and last, on a GPU, the copy and empty kernels.
    """
    on_gpu = session.backend.name == "gpu"
    measured, base = race[index], race[0]
    copy, empty = race[-2:] if on_gpu else (None, None)
    for needed in (measured, base, copy, empty):
        if needed is not None and needed.failure:
            text = f"not timed at {_size(problem, case)}: {needed.label}: {needed.failure}"
            return replace(row, warnings=[*row.warnings, text])
    hot = hot_race[index] if hot_race else None
    timing = timing_of(problem, case, measured, base, copy, empty, hot)
    if session.backend.gpu is not None:
        timing = replace(timing, gpu=session.backend.gpu.uuid)
    doubt = ""
    if session.backend.gpu is not None and copy is not None:
        floor = problem.ideal_bytes(case.sizes) / session.backend.gpu.peak_bandwidth * 1e6
        doubt = suspicion(measured, copy, floor)
    flags = sorted({*row.flags, rows.SUSPICIOUS}) if doubt else row.flags
    warnings = [*row.warnings, *([f"suspicious at {_size(problem, case)}: {doubt}"] if doubt else [])]
    if measured.throttled:
        share = f"{measured.throttled} of {len(measured.device)} samples"
        warnings.append(f"at {_size(problem, case)} {share} were taken while throttled")
    return replace(row, timings=[*row.timings, timing], flags=flags, warnings=warnings)


def _with_anatomy(row: Row, records: list[dict], multiprocessors: int) -> Row:
    """The row with the anatomy of a call in its last timing."""
    timing = row.timings[-1]
    try:
        anatomy = take_apart(records, timing.call_us, timing.of_ceiling or 0.0, multiprocessors)
    except (KeyError, TypeError, ValueError, IndexError) as error:  # the records come from the submission's process
        return replace(row, warnings=[*row.warnings, f"no anatomy: the worker sent a malformed record ({error!r})"])
    return replace(row, timings=[*row.timings[:-1], replace(timing, anatomy=anatomy)])


def suspicion(measured: Measurement, copy: Measurement, floor_us: float) -> str:
    """Why a GPU's times cannot be believed, or "". They come from the submission's own process, which could lie.

    `floor_us` is what the memory needs at its peak bandwidth. The judge's own clock is compared through the copy
    kernel, whose turns have the same work around the call: what a turn took longer, its calls must have taken longer.
    A lie that moves a median is told in most turns.
    """
    device, call = measured.median, measured.call_median
    if not device >= floor_us:
        return f"device time {device:.2f} us is below {floor_us:.2f} us, which the memory alone needs"
    if not call <= 10 * device + 1000:
        return f"call time {call:.0f} us is far above device time {device:.0f} us"
    unexplained = measured.around_us - copy.around_us
    if not unexplained <= 50 + 0.5 * call:
        return f"by the judge's clock a call took {unexplained:.0f} us longer than the {call:.0f} us that were reported"
    return ""


def duel(
    a: Submission, b: Submission, session: Session, monitor: Monitor | None, progress: Progress, plan: Plan
) -> list[Duel]:
    """A paired duel of two files at every size. Raises TimingError if one of them cannot be timed."""
    cases = a.problem.timing_cases(plan.sizes, session.backend.name)
    entrants = [contestant(a, session, str(a.path)), contestant(b, session, str(b.path))]
    on_gpu = session.backend.name == "gpu"
    if on_gpu:
        entrants.append(Contestant("copy", a.problem.copy_solve, checked=False))
    fought: list[list[list[Measurement]]] = [[] for _ in cases]  # by case, then by generation

    def is_known() -> bool:
        return all(half_width(_logarithms(by_case)) <= AGREEMENT / 2 for by_case in fought)

    for which, race in _generations(session, a.problem, cases, entrants, monitor, plan.generations, is_known):
        for index, case in enumerate(cases):
            progress.start(f"duel at {_size(a.problem, case)}{which}")
            measured = race.run(case, hot=plan.hot, duel=True)
            for one in measured:
                if one.failure:
                    raise TimingError(f"{one.label}: {one.failure}")
            fought[index].append(measured)
    method = GPU_METHOD.format(cache="hot" if plan.hot else "cold") if on_gpu else CPU_METHOD
    duels = []
    for by_case, case in zip(fought, cases, strict=True):
        doubts = []
        if session.backend.gpu is not None:
            floor = a.problem.ideal_bytes(case.sizes) / session.backend.gpu.peak_bandwidth * 1e6
            doubts = [(one, suspicion(one, race[-1], floor)) for race in by_case for one in race[:2]]
        warnings = sorted({f"suspicious: {one.label}: {doubt}" for one, doubt in doubts if doubt})
        duels.append(replace(decide(by_case, a.problem, case, method), warnings=warnings))
    return duels


def decide(generations: list[list[Measurement]], problem: Problem, case: Case, method: str) -> Duel:
    """The outcome of a duel: the mean over generations of the logarithm of the ratio, with its 99 % interval.

    In a generation it is the mean over rounds of the ratio of medians: short kernels differ by less than a tick of the
    GPU's clock, which the medians of many turns resolve together. The interval is Student's over the generations, since
    rounds of the same two processes may share more than their files. On the CPU backend there is no verdict. Of each
    generation the first two measurements are the duel's, a third is that of the copy kernel.
    """
    logarithms = _logarithms(generations)
    mean = float(np.mean(logarithms))
    # One generation, as on the CPU backend, says nothing of its spread.
    half = half_width(logarithms) if len(logarithms) > 1 else 0.0
    low, high = float(np.exp(mean - half)), float(np.exp(mean + half))
    verdict = "tie"
    if high < 1 - DEAD_ZONE:
        verdict = "faster"
    elif low > 1 + DEAD_ZONE:
        verdict = "slower"
    first, second, *control = (pool(list(parts)).median for parts in zip(*generations, strict=True))
    return Duel(
        a=generations[0][0].label,
        b=generations[0][1].label,
        problem=problem.name,
        sizes=problem.shape(case),
        verdict=None if method == CPU_METHOD else verdict,
        ratio=float(np.exp(mean)),
        low=low,
        high=high,
        rounds=sum(len(pair[0].rounds) for pair in generations),
        a_us=first,
        b_us=second,
        method=method,
        copy_us=control[0] if control else None,
    )


def _logarithms(generations: list[list[Measurement]]) -> list[float]:
    """Of a duel's ratio, by generation."""
    return [float(np.mean(np.log(first.rounds / second.rounds))) for first, second, *_ in generations]
