"""A run over files: judges them here or in a pool, times what is accepted, keeps what is finished as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from harness import rows
from harness.backend import Backend
from harness.cluster import Cluster, pack
from harness.errors import UsageError
from harness.judge import Judged, Options, Session, blank_row, building_ahead, judge_one
from harness.kept import Keeper
from harness.noise import Monitor, merged
from harness.pool import Lost, Pool, lanes
from harness.pool_process import Judging, Setup, TimingJob, ticket_of
from harness.progress import Progress
from harness.rows import Duel, Row
from harness.submission import Submission
from harness.timing import Heat, Plan, TimingError, deal, duel, gather, is_as_judged, time_heat


@dataclass
class Outcome:
    """What a run gave, in the order of its files; of an interrupted one what was finished."""

    results: list[Row] = field(default_factory=list)
    duels: list[Duel] = field(default_factory=list)
    clocks: dict | None = None
    warnings: list[str] = field(default_factory=list)
    no_duel: str = ""
    missing_tool: str = ""
    is_interrupted: bool = False


class Judges:
    """Judges and times: in one session of this process, or in a pool where there are several files and cores or GPUs.

    With an address of Ray judging is done there. A context manager. On the CPU backend a pool only judges.
    """

    def __init__(
        self, backend: Backend, options: Options, needs_torch: bool, files: int, ray_address: str | None = None
    ) -> None:
        self.backend, self.options = backend, options
        self.session = Session(backend, options, needs_torch)
        self.progress = Progress()
        self._setup = Setup(backend.name, backend.reason, options, needs_torch)
        self._environments = lanes(backend, 1 if ray_address else max(1, files))
        self._pool: Pool | None = None
        self._ray_address = ray_address

    def __enter__(self) -> Judges:
        with ExitStack() as stack:
            self._cluster: Cluster | None = None
            if self._ray_address:
                self._cluster = stack.enter_context(Cluster(self._ray_address, self._setup))
            if len(self._environments) > 1:
                self._pool = stack.enter_context(Pool(self._environments, self._setup))
            if self._cluster or self._pool:
                stack.callback(self.session.__exit__)  # it starts when it is first needed
            else:
                stack.enter_context(self.session)
            stack.enter_context(self.progress)
            self._stack = stack.pop_all()
        return self

    @property
    def gpus(self) -> int:
        """On how many GPUs it can time at once; 1 without one."""
        return len(self._environments) if self.backend.name == "gpu" else 1

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)

    def judge(self, submissions: list[Submission], shrink: bool) -> Iterator[tuple[int, Judged]]:
        """(place, what was judged) as submissions are finished."""
        if self._pool is None and self._cluster is None:
            with building_ahead(submissions, self.session):
                for place, submission in enumerate(submissions):
                    judged = judge_one(submission, self.session, self.progress, shrink)
                    self.progress.finish(judged.row)
                    yield place, judged
            return
        self.progress.start(f"judging {len(submissions)} files")
        step = self.progress.cases(len(submissions))
        for place, answer in self._answers(submissions, shrink):
            if isinstance(answer, Lost):
                text = f"{answer.text}: does the file end other processes?"
                row = blank_row(submissions[place], self.backend, self.options)
                answer = Judged(replace(row, verdict=rows.INTERNAL_ERROR, message=text), "")
            self.progress.finish(answer.row)
            step()
            yield place, answer

    def _answers(self, submissions: list[Submission], shrink: bool) -> Iterator[tuple[int, Judged | Lost]]:
        if self._cluster:
            yield from self._cluster.run([pack(submission) for submission in submissions])
            return
        assert self._pool
        jobs = [Judging(ticket_of(submission), shrink) for submission in submissions]
        # On the CPU every core has a process already, which builds what it judges.
        with building_ahead(submissions if self.backend.name == "gpu" else [], self.session):
            yield from self._pool.run(jobs)

    def time(
        self, heats: list[Heat], monitor: Monitor | None, plan: Plan
    ) -> Iterator[tuple[Heat, Row | None, list[Row], dict, list[str]]]:
        """(heat, reference row, rows, what the GPU's clocks did, warnings about them) as heats are finished."""
        if self._pool is None or self.gpus == 1 or len(heats) == 1:
            for heat in heats:
                reference, timed = time_heat(heat, self.session, monitor, self.progress, plan)
                yield heat, reference, timed, monitor.summary() if monitor else {}, []
            return
        against = ticket_of(plan.against) if plan.against else None
        jobs = [
            TimingJob([(i, row, ticket_of(s)) for i, row, s in heat.entrants], replace(plan, against=None), against)
            for heat in heats
        ]
        self.progress.start(f"timing in {len(heats)} heats, {len(self._environments)} at a time")
        step = self.progress.cases(len(heats))
        for place, answer in self._pool.run(jobs):
            heat = heats[place]
            step()
            if isinstance(answer, Lost):
                warning = f"not timed: {answer.text}"
                lost = [replace(row, warnings=[*row.warnings, warning]) for _, row, _ in heat.entrants]
                yield heat, None, lost, {}, []
            else:
                yield heat, answer.reference, answer.rows, answer.clocks, answer.warnings


def run(
    submissions: list[Submission],
    known: dict[int, Row],
    references: dict[str, Row],
    backend: Backend,
    options: Options,
    keeper: Keeper,
    *,
    plan: Plan | None,
    is_duel: bool,
    shrink: bool,
    ray_address: str | None = None,
) -> Outcome:
    """Judges the submissions of which nothing is `known`, by place, and times those that are accepted without times.

    `references` are the rows, by problem, of those that known ones were timed with.
    """
    outcome = Outcome()
    found = dict(known)
    timed: list[tuple[Heat, Row | None, list[Row]]] = []
    clocks: list[dict] = []
    todo = [place for place in range(len(submissions)) if place not in known]
    needs_torch = plan is not None or backend.name == "gpu" or any(s.language == "python" for s in submissions)
    monitor = Monitor() if backend.name == "gpu" and plan else None
    try:
        with Judges(
            backend, options, needs_torch, 1 if is_duel else len(todo), ray_address if todo else None
        ) as judges:
            for number, judged in judges.judge([submissions[place] for place in todo], shrink):
                if judged.missing_tool and len(submissions) == 1:
                    raise UsageError(judged.missing_tool)
                outcome.missing_tool = outcome.missing_tool or judged.missing_tool
                found[todo[number]] = judged.row
                keeper.add(judged.row)
            if is_duel and plan and all(row.verdict == rows.ACCEPTED for row in found.values()):
                try:
                    for place, row in found.items():
                        if not is_as_judged(row, submissions[place]):
                            raise TimingError(f"{row.file} has changed since it was judged")
                    outcome.duels = duel(*submissions, judges.session, monitor, judges.progress, plan)
                except TimingError as error:
                    outcome.no_duel = str(error)
            elif plan and not is_duel:
                heats = deal(_pairs(found, submissions), judges.gpus)
                for heat, reference, measured, seen, warnings in judges.time(heats, monitor, plan):
                    shown = [each for other, each, _ in timed if each and other.problem is heat.problem]
                    timed.append((heat, reference, measured))
                    clocks += [seen] if seen else []
                    outcome.warnings += warnings
                    for row in ([] if shown or not reference else [reference]) + measured:
                        keeper.add(row, clocks=seen)
    except KeyboardInterrupt:
        outcome.is_interrupted = True
    outcome.results = gather(_pairs(found, submissions), timed, references)
    if monitor:
        outcome.clocks = merged(clocks) if clocks else monitor.summary()
        outcome.warnings += monitor.warnings()
    return outcome


def _pairs(found: dict[int, Row], submissions: list[Submission]) -> list[tuple[Row, Submission]]:
    """Rows with their submissions, in the order of these."""
    return [(found[place], submissions[place]) for place in sorted(found)]
