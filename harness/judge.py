"""Decides: runs a submission's cases in a worker, looks at what is in the arena afterwards, gives the verdict."""

from __future__ import annotations

import functools
import os
import random
import re
import shlex
import signal
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness import facts as facts_module
from harness import gpu, rows
from harness.arena import ALIGNMENT, DeviceArena, HostArena, outside, poison
from harness.backend import Backend
from harness.build import (
    Build,
    BuildError,
    Toolchain,
    build_file,
    build_tree,
    cache_directory,
    find_in_tree,
    toolchain,
)
from harness.check import Check
from harness.errors import NoReference, UsageError
from harness.facts import Facts
from harness.locks import turn
from harness.places import explain, line_at
from harness.problems import Arrays, Case, Problem
from harness.progress import Progress
from harness.rows import CaseResult, Row
from harness.server import WORKER_FAILED
from harness.submission import Submission, as_argument
from harness.supervisor import MAX_PROCESSES, MAX_THREADS, ForkServer, Reply, WorkerHandle

CALL_SECONDS = 10.0
COMPILE_SECONDS = 60.0  # more for a worker's first call where it may compile: Triton, or a driver that meets PTX
LOAD_SECONDS = 60.0
SOURCE_BYTES = 16 << 20  # of a file: the judge reads it, whole

# Every case up to this size also runs in the checked build, which compares each access with exact bounds.
CHECKED_ELEMENTS = 4097

# A solve that always crashes would cost a new worker per case. After so many crashes, or when the calls that crashed
# have taken so long together (filling the memory takes its time), the rest is not run.
MAX_UNDEFINED = 20  # sentences in the report
UNWRITTEN_SHARED = re.compile("nobody has written, .*(?:__shared__ variable|dynamic shared memory)")

# All calls of a file together may take as long as so many that take all the time a call may.
CALLS_SECONDS = 60

MAX_CRASHES = 6
MAX_CRASH_SECONDS = 10.0

WROTE_TO_THE_PIPE = "wrote to the judge's private pipe or closed it"
WORDS = 2000  # characters of what a worker says, at most

MIRROR_GUARD = 1 << 20  # guard of a host arena that is copied to the device and back

# With --races larger cases run there, too. They are slow, so they may take this many times longer, and one that takes
# longer still is given up without a verdict.
RACES_ELEMENTS = 500_000
RACES_PATIENCE = 3

CUDA_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation

KERNEL_MEMORY_POISON = (0xFF, 0x71)  # for memory that a solve allocates on the CPU backend, by poison


@dataclass(frozen=True)
class Options:
    """What the user chose. `timeout` is seconds per call, None for the default with its allowance for compilation.

    `sanitizer` is the path of compute-sanitizer where one more call is to run under it.
    """

    seed: int
    timeout: float | None = None
    strict: bool = False
    case: str | None = None
    large: bool = False
    races: bool = False
    sanitizer: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that was seen in a call: the verdict it asks for and a clause that says what it was."""

    verdict: str
    text: str
    is_placed: bool = False  # the thread and the line are known


class IpcRefused(Exception):
    """A worker could not open the arena on the GPU: buffers have to be copied instead."""


@dataclass(frozen=True)
class Observation:
    """What a call left behind; `check` and `outputs` only if it returned and the device is well."""

    findings: list[Finding]
    check: Check | None = None
    outputs: Arrays | None = None


def is_copying_forced() -> bool:
    """JUDGE_NO_IPC=1 makes the gpu backend copy buffers as it does where CUDA IPC is refused."""
    return os.environ.get("JUDGE_NO_IPC") == "1"


class Session:
    """One run of the judge on one backend: the fork server, the toolchain, the options. A context manager."""

    def __init__(self, backend: Backend, options: Options, needs_torch: bool) -> None:
        self.backend = backend
        self.options = options
        self.copying = is_copying_forced()
        self.references: dict[str, Row] = {}  # rows of references that were judged here, by what they were judged for
        self._modules = ("torch", "triton", "triton.language", "triton.runtime.interpreter") if needs_torch else ()
        if needs_torch and backend.name == "gpu":
            self._modules += ("harness.triton_key",)
        self._built_trees: set[Path] = set()

    @functools.cached_property
    def fork_server(self) -> ForkServer:
        return ForkServer(self.backend.name, self._modules)

    def __enter__(self) -> Session:
        self.fork_server  # noqa: B018 (it imports torch while the first file is built)
        return self

    def __exit__(self, *error: object) -> None:
        if "fork_server" in vars(self):  # started
            self.fork_server.__exit__(*error)

    def turn(self, alone: bool) -> AbstractContextManager:
        """Holds the GPU: judging shares it, timing has it `alone`, among all judges of this user on this host.

        On the CPU backend, whose times rank nothing, there is nothing to hold.
        """
        if self.backend.gpu is None:
            return nullcontext()
        folder = cache_directory() / "gpus"
        folder.mkdir(exist_ok=True)
        return turn(folder / f"{self.backend.gpu.uuid}.lock", alone, self._say_that_it_waits)

    def _say_that_it_waits(self) -> None:
        print(f"waiting for {self.backend.reason}: another judge times or judges on it", file=sys.stderr)

    @property
    def tools(self) -> Toolchain:
        return toolchain(self.backend.gpu.capability if self.backend.gpu else None)

    def build(self, submission: Submission) -> dict[str, Build | None]:
        """The libraries to run a submission with, by kind; Python files need none. Raises BuildError."""
        size = submission.path.stat().st_size
        if size > SOURCE_BYTES:
            raise BuildError(rows.COMPILE_ERROR, f"the file has {size:,} bytes, a solve at most {SOURCE_BYTES:,}")
        why_not = submission.unsupported
        if why_not:
            raise BuildError(rows.UNSUPPORTED, why_not)
        if submission.language == "python":
            return {"python": None}
        kinds = ("gpu",) if self.backend.name == "gpu" else ("cpu", "checked")
        found: dict[str, Build | None] = {}
        for kind in kinds:
            build = self._find_in_tree(submission, kind)
            found[kind] = build or build_file(submission.path, kind, submission.problem.parameters, self.tools)
        return found

    def _find_in_tree(self, submission: Submission, kind: str) -> Build | None:
        if submission.tree is None:
            return None
        if submission.tree not in self._built_trees:
            build_tree(submission.tree, self.backend.name)
            self._built_trees.add(submission.tree)
        return find_in_tree(submission.tree, submission.path, kind)

    def arena(self, problem: Problem, cases: list[Case]) -> HostArena | DeviceArena:
        if self.backend.name == "cpu":
            return HostArena(problem, cases)
        if not self.copying:
            try:
                return DeviceArena(problem, cases)
            except gpu.GpuError:
                self.copying = True
        return HostArena(problem, cases, guard=MIRROR_GUARD)

    def worker(
        self,
        path: Path,
        problem: Problem,
        build: Build | None,
        arena: HostArena | DeviceArena,
        *,
        timed: bool = False,
    ) -> WorkerHandle:
        """A new worker that loads a file; a `timed` one can answer requests for times."""
        case_bytes = sum(segment.capacity for segment in arena.segments)
        return WorkerHandle(
            self.fork_server,
            backend=self.backend.name,
            path=path.absolute(),
            library=build.shared_object.absolute() if build else None,
            runtime=build.runtime.absolute() if build and build.runtime else None,
            parameters=problem.parameters,
            arena=arena,
            memory_bytes=memory_limit(case_bytes),
            timed=timed,
        )


def memory_limit(case_bytes: int) -> int:
    """How much a submission may hold whose buffers have so many bytes."""
    return min((4 << 30) + 8 * case_bytes, memory_of_the_host() // 2)


def memory_of_the_host() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@contextmanager
def building_ahead(submissions: list[Submission], session: Session) -> Iterator[None]:
    """Compiles the files to come while others are judged: of many .cu files most of the time goes into compilers."""
    to_come = [s for s in submissions if s.language == "cuda" and s.tree is None]
    if len(to_come) < 2:
        yield
        return

    def build(submission: Submission) -> None:
        with suppress(BuildError, UsageError):  # said when its turn comes, by a build of its own
            session.build(submission)

    build(to_come[0])  # alone, since the toolchain is configured then
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) - 1)) as pool:  # a core is left for judging
        futures = [pool.submit(build, submission) for submission in to_come[1:]]
        try:
            yield
        finally:
            for future in futures:
                future.cancel()


def select_cases(problem: Problem, options: Options, backend: str) -> list[Case]:
    """The cases in run order: shuffled by the seed, the special ones last. Raises UsageError for an unknown --case.

    A case that is named runs on either backend.
    """
    everything = problem.cases(options.seed)
    if options.case is not None:
        chosen = [case for case in everything if case.name == options.case]
        if any(case.group == "large" for case in chosen) and not options.large:
            raise UsageError(f"{options.case} belongs to the group large: add --large")
        if not chosen:
            which = shlex.join(problem.flags) if problem.challenge else problem.name
            raise UsageError(
                f"{problem.name} has no case {options.case!r} with seed {options.seed}: "
                f"python -m harness problems {which} --seed {options.seed} lists them"
            )
        return chosen
    left_out = ("special", "large", "gpu") if backend == "cpu" else ("special", "large")
    ordinary = [c for c in everything if c.group not in left_out]
    special = [c for c in everything if c.group == "special"]
    large = [c for c in everything if c.group == "large" and options.large]
    chance = random.Random(options.seed)
    for group in (ordinary, special):
        chance.shuffle(group)
    return ordinary + large + special


def does_not_fit(problem: Problem, case: Case, backend: Backend) -> str:
    """Why a case cannot be run for want of memory, or ""."""
    buffers = sum(problem.lengths(case.sizes)[p.name] * np.dtype(p.dtype).itemsize for p in problem.buffers)
    # The judge holds the inputs, two copies of the outputs and their poison, and the reference in float64.
    host = 3 * buffers + 2 * 8 * problem.elements(case.sizes)
    if problem.challenge:
        host += 8 * buffers  # its process holds the case, and copies for its reference, in float64, too
    with open("/proc/meminfo") as file:
        available = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    if host > available:
        return f"needs {host / 1e9:.1f} GB of memory, {available / 1e9:.1f} GB are available"
    if backend.gpu and buffers + (1 << 30) > backend.gpu.memory_bytes:
        return f"needs {buffers / 1e9:.1f} GB of GPU memory, there are {backend.gpu.memory_bytes / 1e9:.1f} GB"
    return ""


def replay_command(submission: Submission, session: Session, case: Case) -> str:
    words = ["python", "-m", "harness", "check", as_argument(submission.path), *submission.problem.flags]
    words += ["--backend", session.backend.name, "--seed", str(session.options.seed), "--case", case.name]
    if case.group == "large":
        words.append("--large")
    if session.options.races:
        words.append("--races")
    if session.options.timeout is not None:
        words += ["--timeout", f"{session.options.timeout:g}"]
    return shlex.join(words)


class _Growth:
    """How much more of something a worker holds after calls of sizes that it had met before.

    What the first call of a size sets up (scratch, pools of threads) may stay and is no leak; what grows with three
    later calls is one.
    """

    def __init__(self) -> None:
        self._amounts: list[int] = []
        self._met: set[tuple] = set()
        self._grown = 0
        self._times = 0
        self._calls = 0

    def add(self, case: Case, amount: int) -> None:
        sizes = tuple(case.sizes.items())
        if sizes in self._met:
            step = amount - self._amounts[-1]
            self._grown += step
            self._times += step > 0
            self._calls += 1
        self._met.add(sizes)
        self._amounts.append(amount)

    @property
    def total(self) -> int:
        return max(0, min(self._grown, self._amounts[-1] - self._amounts[0])) if self._times >= 3 else 0

    @property
    def per_call(self) -> float:
        return self.total / max(1, self._calls)


class _Trial:
    """Judges one submission: one arena, a worker for each build, the cases in order."""

    def __init__(
        self, submission: Submission, session: Session, builds: dict[str, Build | None], cases: list[Case]
    ) -> None:
        self.submission = submission
        self.problem = submission.problem
        self.session = session
        self.builds = builds
        self.flags: set[str] = set()
        self.remarks: list[str] = []
        self.memory: dict[str, _Growth] = {}  # of the device, by build
        self.threads: dict[str, _Growth] = {}
        self.undefined: dict[tuple, str] = {}  # sentences by what makes them different
        self.harmless: dict[tuple, str] = {}
        self._sentences: list[str] = []  # about the case at hand
        self.load_failure: Finding | None = None
        self.load_seconds = self.call_seconds = 0.0  # until the submission had answered
        self.cases = cases
        self._workers: dict[str, WorkerHandle] = {}
        self._warm: set[str] = set()
        self._first_bits: dict[str, bytes] = {}  # of the cases whose contents come twice
        self._crashes = 0
        self._crash_seconds = 0.0
        self._previous: tuple[int, Arrays] | None = None
        contents = [(case.contents, case.kind) for case in cases]
        self._repeated = {each for each in contents if contents.count(each) > 1}

    def run(self, progress: Callable[[], None]) -> list[CaseResult]:
        results: list[CaseResult] = []
        with ExitStack() as stack:
            runnable = []
            for case in self.cases:
                problem = does_not_fit(self.problem, case, self.session.backend)
                if problem:
                    results.append(self._not_run(case, problem))
                else:
                    runnable.append(case)
            if not runnable:
                return results
            self.arena = stack.enter_context(self.session.arena(self.problem, runnable))
            stack.callback(self._end_workers)
            stop = ""
            for case in runnable:
                self._look_for_late_writes(results)
                if stop:
                    results.append(self._not_run(case, stop))
                    continue
                result = self._run_case(case, len(results))
                if self.load_failure:
                    return []
                if self.call_seconds > self._all_seconds and result.verdict == rows.ACCEPTED:
                    text = f"{case.name}: all calls up to this one took longer than {self._all_seconds:g} s together"
                    result = replace(result, verdict=rows.TIME_LIMIT_EXCEEDED, message=text)
                results.append(result)
                progress()
                if result.verdict == rows.TIME_LIMIT_EXCEEDED:
                    stop = f"not run after the time limit in {case.name}"
                elif self._crashes >= MAX_CRASHES or self._crash_seconds > MAX_CRASH_SECONDS:
                    stop = f"not run after {self._crashes} crashed workers"
            self._look_for_late_writes(results)
        return results

    def _not_run(self, case: Case, why: str) -> CaseResult:
        return CaseResult(case.name, case.group, rows.NOT_RUN, why, replay_command(self.submission, self.session, case))

    def _end_workers(self) -> None:
        for worker in self._workers.values():
            worker.__exit__()
        self._workers.clear()

    def _drop_worker(self, kind: str) -> None:
        self._workers.pop(kind).__exit__()
        self._warm.discard(kind)
        self.memory.pop(kind, None)
        self.threads.pop(kind, None)
        self._crashes += 1

    def _worker(self, kind: str) -> WorkerHandle | Finding:
        """A loaded worker for a build, or why it could not be loaded."""
        if kind in self._workers:
            return self._workers[kind]
        started = time.monotonic()
        worker = self.session.worker(self.submission.path, self.problem, self.builds[kind], self.arena)
        self._workers[kind] = worker
        reply = worker.wait_loaded(LOAD_SECONDS)
        self.load_seconds += time.monotonic() - started
        if reply.body.get("loaded"):
            return worker
        failure, text = pair(reply.body.get("failed"))
        if failure == "ipc" and self.arena.kind != "device":  # the worker has not opened any: somebody else says so
            finding = Finding(rows.RUNTIME_ERROR, f"{WROTE_TO_THE_PIPE} while the file was loaded")
        elif "failed" in reply.body:
            if failure == "ipc":
                raise IpcRefused(text)
            verdict = {"memory": rows.OUT_OF_MEMORY, "unsupported": rows.UNSUPPORTED}.get(failure, rows.COMPILE_ERROR)
            finding = Finding(verdict, text)
        else:
            finding = how_it_ended(reply, worker, LOAD_SECONDS, self.problem, "while the file was loaded")
        self._drop_worker(kind)
        return finding

    def _run_case(self, case: Case, index: int) -> CaseResult:
        try:
            inputs = self.problem.inputs(case, self.session.options.seed)
            reference = self.problem.reference(inputs, case.sizes)
        except NoReference as error:
            return self._not_run(case, str(error))
        findings: list[Finding] = []
        numbers: dict = {}
        self._sentences = []
        for flip, kind in enumerate(self.builds):
            if kind == "checked" and not (self._is_always_checked(case) or self._is_checked_for_races(case)):
                continue
            worker = self._worker(kind)
            if isinstance(worker, Finding):
                self.load_failure = worker
                return self._not_run(case, worker.text)
            self.arena.prepare(case, inputs, bool(flip))
            started = time.monotonic()
            reply = worker.request(self._request(case, kind, bool(flip)), self._seconds(kind))
            self.call_seconds += time.monotonic() - started
            given_up = reply.outcome == "timeout" and kind == "checked" and not self._is_always_checked(case)
            if given_up:
                self._remark(
                    f"races were looked for in {case.name} for {self._seconds(kind):g} s, then it was given up"
                )
                self._drop_worker(kind)
                self._previous = None
                break
            seen = self._look(case, kind, worker, reply, inputs, reference, bool(flip))
            self._warm.add(kind)
            findings += seen.findings
            if seen.check is not None:
                numbers = {k: v for k, v in vars(seen.check).items() if k not in ("message", "difference")}
                self._previous = (index, seen.outputs)
                if seen.check.passed and (case.contents, case.kind) in self._repeated:
                    self._compare_with_repeat(f"{kind} {case.contents}", case, seen.outputs)
            out_of_memory = any(f.verdict == rows.OUT_OF_MEMORY for f in seen.findings)
            if reply.outcome != "answered" or "device" in reply.body or out_of_memory:
                self._drop_worker(kind)
                self._crash_seconds += time.monotonic() - started
                self._previous = None
            if reply.outcome == "timeout":
                break
        self._note_undefined(self._sentences, case, not findings)
        if not findings and self.problem.challenge and rows.RELIES_ON_OUTPUT_CONTENTS not in self.flags:
            self._look_at_poisoned(case, index, inputs, reference)
        findings.sort(key=lambda f: (rows.PRECEDENCE.index(f.verdict), not f.is_placed))
        verdict, text = (findings[0].verdict, findings[0].text) if findings else (rows.ACCEPTED, "")
        message = f"{case.name}: {text}" if text else ""
        replay = replay_command(self.submission, self.session, case)
        return CaseResult(case.name, case.group, verdict, message, replay, numbers)

    def _is_always_checked(self, case: Case) -> bool:
        return self.problem.elements(case.sizes) <= CHECKED_ELEMENTS

    def _is_checked_for_races(self, case: Case) -> bool:
        return self.session.options.races and self.problem.elements(case.sizes) <= RACES_ELEMENTS

    @property
    def _outputs(self) -> list:
        return [p for p in self.problem.buffers if p.role != "in"]

    def _request(self, case: Case, kind: str, flip: bool) -> dict:
        # Threads of a block run forward, backward or in a random order on the CPU backend: a replay of the case has
        # the same order, its second build and cases of the same size have others.
        order = zlib.crc32(case.name.encode()) + flip
        return {
            "op": "run",
            **placement(self.problem, case),
            "schedule": order % 3 if order % 3 < 2 else order,
            "poison_byte": KERNEL_MEMORY_POISON[case.poison ^ flip],
            "races": kind == "checked" and self.session.options.races,
        }

    @property
    def _all_seconds(self) -> float:
        """How long all calls together may take, without what the first of each build takes more."""
        patience = RACES_PATIENCE if self.session.options.races else 1
        return CALLS_SECONDS * patience * (self.session.options.timeout or CALL_SECONDS)

    def _seconds(self, kind: str) -> float:
        if kind == "checked" and self.session.options.races:
            return RACES_PATIENCE * (self.session.options.timeout or CALL_SECONDS)
        if self.session.options.timeout is not None:
            return self.session.options.timeout
        return CALL_SECONDS + (COMPILE_SECONDS if kind in ("gpu", "python") and kind not in self._warm else 0)

    def _look(
        self,
        case: Case,
        kind: str,
        worker: WorkerHandle,
        reply: Reply,
        inputs: Arrays,
        reference: Arrays,
        flip: bool,
    ) -> Observation:
        seen = worker.facts()
        build = self.builds[kind]
        findings = []
        damage = self.arena.damage()
        if damage:
            findings.append(Finding(rows.OUT_OF_BOUNDS, str(damage)))
        if seen.violation_kind in (1, 2):
            text = violation_text(seen, self.problem, build, self.submission)
            findings.append(Finding(rows.OUT_OF_BOUNDS, text, bool(seen.where)))
        if case.group != "special":
            module = facts_module.text(seen.module)
            self._sentences += [explain(s, module, build, self.problem) for s in facts_module.sentences(seen)]
        if reply.outcome != "answered":
            seconds = self._seconds(kind)
            findings.append(how_it_ended(reply, worker, seconds, self.problem, "during the call", build))
            return Observation(findings)

        body = reply.body
        if "raised" in body:
            raised, text = pair(body["raised"])
            verdict = {
                "memory": rows.OUT_OF_MEMORY,
                "unsupported": rows.UNSUPPORTED,
                "bounds": rows.OUT_OF_BOUNDS,
            }.get(raised, rows.RUNTIME_ERROR)
            findings.append(Finding(verdict, text))
            return Observation(findings)
        if "device" in body:
            findings.append(Finding(rows.RUNTIME_ERROR, str(body["device"])[:WORDS]))
            return Observation(findings)

        held = body.get("device_bytes", seen.live_bytes)
        self.memory.setdefault(kind, _Growth()).add(case, held if isinstance(held, int) else 0)
        self.threads.setdefault(kind, _Growth()).add(case, worker.threads())
        for parameter in self.problem.buffers:
            if parameter.role == "in":
                findings += self._compare_input(case, parameter.name, inputs[parameter.name])
        outputs = {p.name: self.arena.read(p.name) for p in self._outputs}
        poisons = {p.name: poison(case, len(outputs[p.name]), p.dtype, flip) for p in self._outputs}
        check = self.problem.examine(case, inputs, outputs, reference, poisons)
        if not check.passed:
            findings.append(Finding(rows.WRONG_ANSWER, check.message))
        if case.group != "special" and (check.passed != check.published_passed or check.difference):
            self.flags.add(rows.PUBLISHED_RULE_DIFFERS)
            if check.difference:
                self._remark(f"{rows.PUBLISHED_RULE_DIFFERS}: {case.name}: {check.difference}")
        launch = str(body.get("launch", ""))[:WORDS]
        if launch:
            if f"({CUDA_OUT_OF_MEMORY})" in launch:
                findings.append(Finding(rows.OUT_OF_MEMORY, f"CUDA says: {launch}"))
            elif check.passed:
                self.flags.add(rows.LAUNCH_ERROR)
                self._remark(f"a CUDA call failed at {case.name}, yet the output is right: {launch}")
            else:
                findings.append(Finding(rows.RUNTIME_ERROR, f"a CUDA call failed and the output is wrong: {launch}"))
        return Observation(findings, check, outputs)

    def _note_undefined(self, sentences: list[str], case: Case, is_right: bool) -> None:
        """Each kernel and set of lines is reported once, whatever the threads.

        Shared memory that nobody has written may be read for nothing, for lanes beyond the last element, say. Where the
        output is right with two different contents there, it is said, but is no flag.
        """
        for text in sentences:
            lines = tuple(sorted(re.findall(r" at (\S+:\d+)", text)))
            if len(lines) > 1 and len(set(lines)) == 1 and "one barrier" in text:
                continue  # two instances of a template, say
            key = lines or (re.sub(r"\d+", "", text),)
            if is_right and UNWRITTEN_SHARED.search(text):
                self.harmless.setdefault(key, f"{text} (at {case.name}; the output was right whatever lay there)")
                continue
            self.flags.add(rows.UNDEFINED_BEHAVIOUR)
            if len(self.undefined) < MAX_UNDEFINED:
                self.undefined.setdefault(key, f"undefined behaviour at {case.name}: {text}")

    def _look_at_poisoned(self, case: Case, index: int, inputs: Arrays, reference: Arrays) -> None:
        """One more call, of a challenge's case that was right, over outputs full of poison: is it still right?

        The verdict comes from outputs as the challenge starts them, since many public files add to what is there.
        """
        outputs = [p.name for p in self.problem.buffers if p.role == "out"]
        if not outputs:
            return
        kind = next(iter(self.builds))
        self.arena.prepare(case, {name: array for name, array in inputs.items() if name not in outputs}, True)
        started = time.monotonic()
        reply = self._workers[kind].request(self._request(case, kind, True), self._seconds(kind))
        self.call_seconds += time.monotonic() - started
        if reply.outcome == "answered" and not {"raised", "device"} & reply.body.keys():
            left = {p.name: self.arena.read(p.name) for p in self._outputs}
            poisons = {name: poison(case, len(left[name]), str(left[name].dtype), True) for name in left}
            check = self.problem.examine(case, inputs, left, reference, poisons)
            self._previous = (index, left)
            if check.passed:
                return
            why = check.message
        else:
            why = "the call does not end well"
            self._drop_worker(kind)
            self._crash_seconds += time.monotonic() - started
            self._previous = None
        self.flags.add(rows.RELIES_ON_OUTPUT_CONTENTS)
        self._remark(f"{rows.RELIES_ON_OUTPUT_CONTENTS}: {case.name}, from outputs full of poison: {why}")

    def _remark(self, text: str) -> None:
        if text not in self.remarks and len(self.remarks) < 5:
            self.remarks.append(text)

    def _compare_input(self, case: Case, name: str, before: np.ndarray) -> list[Finding]:
        after = self.arena.read(name)
        changed = np.flatnonzero(after.view(np.uint8) != before.view(np.uint8)) // before.itemsize
        if not len(changed):
            return []
        first = int(changed[0])
        count = len(np.unique(changed))
        plural = "s" if count > 1 else ""
        place = self.problem.layouts(case.sizes)[name].place_in_buffer(first)
        was, now = float(before[first]), float(after[first])
        text = f"{count} element{plural} of {name} changed: {name}{place} was {was:.9g}, is {now:.9g}"
        return [Finding(rows.INPUT_MODIFIED, text)]

    def _compare_with_repeat(self, key: str, case: Case, outputs: Arrays) -> None:
        layouts = self.problem.layouts(case.sizes)  # between rows there is poison, which is another
        bits = b"".join(layouts[name].payload(array).tobytes() for name, array in outputs.items())
        if self._first_bits.setdefault(key, bits) != bits:
            self.flags.add(rows.NONDETERMINISTIC)

    def _look_for_late_writes(self, results: list[CaseResult]) -> None:
        """An output that changes after the judge has looked at it was still being written when solve returned."""
        if self._previous is None:
            return
        index, before = self._previous
        self._previous = None
        for name, values in before.items():
            changed = np.flatnonzero(self.arena.read(name).view(np.uint8) != values.view(np.uint8))
            if len(changed) and results[index].verdict == rows.ACCEPTED:
                where = f"{name}[{int(changed[0]) // values.itemsize}]"
                text = f"{results[index].name}: {where} was written after solve had returned"
                results[index] = replace(results[index], verdict=rows.WRONG_ANSWER, message=text)


def placement(problem: Problem, case: Case) -> dict:
    """The part of a request that says which buffers a case uses, and the other arguments.

    "poisoned" are the buffers with nothing in them that a solve may read; a challenge's outputs start with contents of
    their own. "shapes" are those in which a Python solve gets the tensors of a challenge.
    """
    layouts = problem.layouts(case.sizes)
    sizes = {p.name: layouts[p.name].length * np.dtype(p.dtype).itemsize for p in problem.buffers}
    return {
        "sizes": dict(case.sizes),
        "offset": case.shift * ALIGNMENT,
        "buffers": [{"name": name, "bytes": size} for name, size in sizes.items()],
        "poisoned": [p.name for p in problem.buffers if p.role == "out" and not problem.challenge],
        "shapes": {name: layouts[name].shape for name in sizes} if problem.challenge else {},
        "objects": problem.challenge.objects(case.sizes) if problem.challenge else {},
    }


def blank_row(submission: Submission, backend: Backend, options: Options) -> Row:
    """The row of a submission of which nothing is known yet."""
    return Row(
        file=os.fspath(submission.path),
        problem=submission.problem.name,
        backend=backend.name,
        verdict=rows.NOT_RUN,
        message="",
        flags=[],
        warnings=[],
        seed=options.seed,
        cases=[],
        source_hash=submission.source_hash,
        problem_version=submission.problem.version,
    )


def judge(
    submission: Submission,
    session: Session,
    progress: Callable[[int], Callable[[], None]],
    cases: list[Case] | None = None,
) -> Row:
    """The row of one submission, without timings. `progress(total)` gives a function to call after each case.

    `cases` are the problem's own unless they are given.
    """
    options = session.options
    blank = blank_row(submission, session.backend, options)
    started = time.monotonic()

    def seconds(**parts: float) -> dict[str, float]:
        return {name: round(part, 4) for name, part in {**parts, "all": time.monotonic() - started}.items()}

    try:
        builds = session.build(submission)
    except BuildError as error:
        took = seconds(build=time.monotonic() - started)
        return replace(blank, verdict=error.verdict, message=str(error), seconds=took)
    build_seconds = time.monotonic() - started
    own = cases is None
    if own:
        cases = select_cases(submission.problem, options, session.backend.name)
    with session.turn(alone=False):
        trial = _Trial(submission, session, builds, cases)
        try:
            results = trial.run(progress(len(cases)))
        except IpcRefused:
            session.copying = True
            trial = _Trial(submission, session, builds, cases)
            results = trial.run(progress(len(cases)))
    blank = replace(blank, seconds=seconds(build=build_seconds, load=trial.load_seconds, calls=trial.call_seconds))
    if trial.load_failure:
        return replace(blank, verdict=trial.load_failure.verdict, message=trial.load_failure.text)
    remarks = [*trial.undefined.values(), *trial.remarks]
    verdict, message = decide(results, trial.flags, remarks, options)
    warnings = remarks + [text for key, text in trial.harmless.items() if key not in trial.undefined][:5]
    if session.backend.name == "gpu" and session.copying:
        warnings.append("CUDA IPC is refused here: buffers were copied to the worker and back")
    leak = max((growth.per_call for growth in trial.memory.values()), default=0.0)
    if leak > 0:
        warnings.append(f"leaks about {_bytes_text(leak)} of device memory a call")
    threads = max((growth.total for growth in trial.threads.values()), default=0)
    if threads >= 3:  # one or two may just be ending; three calls that leave one each leave three
        warnings.append(f"leaves {threads} threads running")
    left_out = _left_out(submission.problem, options) if own and session.backend.name == "cpu" else []
    if left_out:
        warnings.append(f"too large for the CPU backend, on a GPU they decide, too: {', '.join(left_out)}")
    failed = [r for r in results if r.group == "special" and r.verdict != rows.ACCEPTED]
    if failed and verdict == rows.ACCEPTED:
        warnings.append(f"{len(failed)} special cases fail (they decide only with --strict): {failed[0].message}")
    return replace(blank, verdict=verdict, message=message, flags=sorted(trial.flags), warnings=warnings, cases=results)


def _left_out(problem: Problem, options: Options) -> list[str]:
    """A challenge's functional cases that only a GPU is quick enough for, unless one case was asked for."""
    if problem.challenge is None or options.case is not None:
        return []
    return [case.name for case in problem.cases(options.seed) if case.group == "gpu" and case.kind == "functional"]


def _bytes_text(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def decide(results: list[CaseResult], flags: set[str], remarks: list[str], options: Options) -> tuple[str, str]:
    """A row's verdict and message from its cases' and its flags."""
    asked_for = options.case is not None
    deciding = [r for r in results if r.group != "special" or options.strict or asked_for]
    for result in deciding:
        if result.verdict not in (rows.ACCEPTED, rows.NOT_RUN):
            return result.verdict, result.message
    if not any(result.verdict == rows.ACCEPTED for result in deciding):
        return rows.NOT_RUN, deciding[0].message if deciding else "no case was run"
    if options.strict:
        for flag in rows.STRICT_FLAGS:
            if flag in flags:
                about_answers = (rows.PUBLISHED_RULE_DIFFERS, rows.RELIES_ON_OUTPUT_CONTENTS)
                verdict = rows.WRONG_ANSWER if flag in about_answers else rows.RUNTIME_ERROR
                return verdict, f"--strict does not allow {flag}: {'; '.join(remarks) or 'see the cases'}"
    return rows.ACCEPTED, ""


def pair(value: object) -> tuple[str, str]:
    """[kind, text] from a worker, whatever it really sent."""
    if isinstance(value, list) and len(value) == 2:
        return str(value[0]), str(value[1])[:WORDS]
    return "exception", "the worker sent a malformed reply"


def how_it_ended(
    reply: Reply, worker: WorkerHandle, seconds: float, problem: Problem, when: str, build: Build | None = None
) -> Finding:
    """The finding for a call that was not answered."""
    if reply.outcome == "timeout":
        seen = worker.facts()
        running = explain(facts_module.text(seen.running), facts_module.text(seen.module), build, problem)
        where = f", in {running}" if running else ""
        return Finding(
            rows.TIME_LIMIT_EXCEEDED, f"no answer within {seconds:g} s {when}{where}; its processes were killed"
        )
    if reply.outcome == "memory":
        return Finding(rows.OUT_OF_MEMORY, f"used more memory than it may {when}; its processes were killed")
    if reply.outcome in ("processes", "threads"):
        most = MAX_PROCESSES if reply.outcome == "processes" else MAX_THREADS
        return Finding(rows.RUNTIME_ERROR, f"had started more than {most} {reply.outcome} {when}; they were killed")
    if reply.outcome == "garbage":
        return Finding(rows.RUNTIME_ERROR, f"{WROTE_TO_THE_PIPE} {when}")
    seen = worker.facts()
    last_words = [facts_module.printable(line) for line in worker.output.strip().splitlines()[-1:]]
    if "bad_alloc" in worker.output[-2000:]:
        return Finding(rows.OUT_OF_MEMORY, f"std::bad_alloc {when}")
    if os.WIFSIGNALED(reply.status) and worker.is_nearly_full:
        text = f"was killed by {_signal_name(os.WTERMSIG(reply.status))} {when} when it had used up its memory"
        return Finding(rows.OUT_OF_MEMORY, text)
    fatal = facts_module.text(seen.fatal)
    if fatal:
        return Finding(rows.RUNTIME_ERROR, explain(fatal, facts_module.text(seen.module), build, problem))
    if os.WIFEXITED(reply.status):
        code = os.WEXITSTATUS(reply.status)
        if code == WORKER_FAILED:
            cause = last_words[0][:300] if last_words else "no message"
            why = "the judge's private pipe was closed, or what the worker uses was changed"
            text = f"the worker could not go on {when} ({why}): {cause}"
            return Finding(rows.RUNTIME_ERROR, text)
        text = f"the process exited with status {code} {when}"
    else:
        text = f"the process was killed by {_signal_name(os.WTERMSIG(reply.status))} {when}"
    if seen.signal:
        text += f" {_place(seen, build)}"
        if 0 <= seen.fault_buffer < len(problem.buffers):
            parameter = problem.buffers[seen.fault_buffer]
            where = element(parameter.name, parameter.dtype, seen.fault_offset, seen.fault_extent)
            return Finding(rows.OUT_OF_BOUNDS, f"access to {where}: {text}")
    if last_words:
        text += f"; last output: {last_words[0][:300]}"
    return Finding(rows.RUNTIME_ERROR, " ".join(text.split()))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def element(name: str, dtype: str, offset: int, extent: int) -> str:
    """The element of a buffer of `extent` bytes at a byte outside it."""
    size = np.dtype(dtype).itemsize
    return outside(name, offset // size, extent // size)


def distance(offset: int, extent: int) -> str:
    """Where a byte outside memory of `extent` bytes is, up to the word that says what memory."""
    if offset < 0:
        return f"byte {offset}, {-offset} bytes before the start of {extent} bytes of "
    if offset >= extent:
        return f"byte {offset}, {offset - extent} bytes behind the end of {extent} bytes of "
    return f"byte {offset} of {extent} bytes of "


def violation_text(seen: Facts, problem: Problem, build: Build | None, submission: Submission) -> str:
    """The sentence for an access outside exact bounds."""
    verb = {1: "read", 2: "wrote"}.get(seen.violation_kind, "accessed")
    if 0 <= seen.violation_buffer < len(problem.buffers):
        parameter = problem.buffers[seen.violation_buffer]
        # Of an access of several elements the first one outside is named.
        offset = seen.violation_offset
        if offset >= 0:
            offset = max(offset, seen.violation_extent)
        target = element(parameter.name, parameter.dtype, offset, seen.violation_extent)
    else:
        target = distance(seen.violation_offset, seen.violation_extent) + {
            facts_module.DYNAMIC_SHARED: "dynamic shared memory",
            facts_module.STATIC_SHARED: f"the __shared__ variable {facts_module.text(seen.violation_name)}",
            facts_module.FREED_MEMORY: "memory that was freed",
        }.get(seen.violation_buffer, "memory from cudaMalloc")
    size = f"{seen.violation_size} bytes at " if seen.violation_size else ""
    text = f"{verb} {size}{target}"
    if submission.language == "cuda":
        thread, block = list(seen.thread), list(seen.block)
        where = f"by thread {tuple(thread)} of block {tuple(block)} " if seen.in_kernel else ""
        text += f", {where}{_place(seen, build)}"
    return text.rstrip(" ,")


def _place(seen: Facts, build: Build | None) -> str:
    """ "in kernel k at file.cu:12", as far as it is known."""
    parts = []
    kernel = facts_module.text(seen.kernel)
    if seen.in_kernel and kernel:
        parts.append(f"in kernel {kernel}")
    line = _source_line(facts_module.text(seen.where), build)
    if line:
        parts.append(f"at {line}")
    return " ".join(parts)


def _source_line(where: str, build: Build | None) -> str:
    """file.cu:12 for the "library+0xoffset" that the CPU runtime reports; only for the library that we built."""
    match = re.fullmatch(r"(.+)\+0x([0-9a-f]+)", where)
    if not match or build is None or match[1] != os.fspath(build.shared_object.absolute()):
        return ""
    return line_at(build.shared_object, int(match[2], 16), build.source)


@dataclass(frozen=True)
class Judged:
    """A row, and the sentence about a tool that failed or was missing to judge its file, or ""."""

    row: Row
    missing_tool: str


def judge_one(submission: Submission, session: Session, progress: Progress, shrink: bool = False) -> Judged:
    """Judges a submission as one of many: whatever goes wrong, it has a row and the others go on."""
    progress.start(str(submission.path))
    try:
        if not submission.path.exists():
            raise UsageError(f"{submission.path} has gone since the run began: judge it again once it is back")
        row = judge(submission, session, progress.cases)
        if shrink:
            from harness.shrink import shrink_row

            progress.start(f"{submission.path}: looking for a smaller case")
            row = shrink_row(row, submission, session)
        if not session.options.sanitizer:
            return Judged(row, "")
        from harness.sanitizer import sanitize_one

        progress.start(f"{submission.path}: under compute-sanitizer")
        return Judged(*sanitize_one(row, submission, None, session, session.options.sanitizer))
    except UsageError as error:  # a missing compiler stops the .cu files, not the others
        return Judged(unjudged(submission, session, error, rows.NOT_RUN), str(error))
    except Exception as error:  # the judge's own fault, in the one place that reports it
        return Judged(unjudged(submission, session, error, rows.INTERNAL_ERROR), "")


def unjudged(submission: Submission, session: Session, error: Exception, verdict: str) -> Row:
    """The row where the judge itself could not go on; a traceback goes to stderr if it was the judge's fault."""
    text = str(error)
    if verdict == rows.INTERNAL_ERROR:
        traceback.print_exception(error, file=sys.stderr)
        text = f"the judge failed, please report it with the traceback above: {type(error).__name__}: {error}"
    return replace(blank_row(submission, session.backend, session.options), verdict=verdict, message=text)
