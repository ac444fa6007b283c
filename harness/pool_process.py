"""One process of the pool: a session of its own on one GPU or on the CPU, in which it judges or times what it is sent.

Over the socket whose descriptor is the argument come pickled objects of the judge that started it, a Setup first, then
one job at a time; to each goes back one answer. It ends with its judge.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from harness import gpu
from harness.backend import Backend
from harness.judge import Judged, Options, Session, judge_one
from harness.noise import Monitor
from harness.problems import Problem, find_problem
from harness.progress import Progress
from harness.rows import Row
from harness.server import PR_SET_PDEATHSIG, prctl
from harness.submission import Submission
from harness.timing import Heat, Plan, time_heat


@dataclass(frozen=True)
class Ticket:
    """A submission as it is named to another process: a problem is made of functions, which do not travel."""

    path: Path
    problem: str
    challenge: Path | None
    tree: Path | None


@dataclass(frozen=True)
class Setup:
    """The session to open: on the GPU that alone is visible to the process, or on the CPU."""

    backend: str
    reason: str
    options: Options
    needs_torch: bool


@dataclass(frozen=True)
class Judging:
    """The job of judging one submission."""

    ticket: Ticket
    shrink: bool


@dataclass(frozen=True)
class TimingJob:
    """The job of timing a heat: places, rows and tickets of its files. The plan's `against` travels as a ticket."""

    entrants: list[tuple[int, Row, Ticket]]
    plan: Plan
    against: Ticket | None


@dataclass(frozen=True)
class Timed:
    """The answer to a TimingJob, with what the GPU's clocks did meanwhile."""

    reference: Row
    rows: list[Row]
    clocks: dict
    warnings: list[str]


def ticket_of(submission: Submission) -> Ticket:
    challenge = submission.problem.challenge
    return Ticket(submission.path, submission.problem.name, challenge.directory if challenge else None, submission.tree)


class Jobs:
    """Does jobs in a session; every challenge is loaded once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._challenges: dict[Path, Problem] = {}
        self._monitor: Monitor | None = None

    def answer(self, job: Judging | TimingJob) -> Judged | Timed:
        return self._judged(job) if isinstance(job, Judging) else self._timed(job)

    def _submission(self, ticket: Ticket) -> Submission:
        if ticket.challenge is None:
            return Submission(ticket.path, find_problem(ticket.problem), ticket.tree)
        if ticket.challenge not in self._challenges:
            from harness.challenge import load_challenge

            self._challenges[ticket.challenge] = load_challenge(ticket.challenge)
        return Submission(ticket.path, self._challenges[ticket.challenge], ticket.tree)

    def _judged(self, job: Judging) -> Judged:
        return judge_one(self._submission(job.ticket), self._session, Progress(silent=True), job.shrink)

    def _timed(self, job: TimingJob) -> Timed:
        if self._monitor is None and self._session.backend.name == "gpu":
            self._monitor = Monitor()
        entrants = [(place, row, self._submission(ticket)) for place, row, ticket in job.entrants]
        heat = Heat(entrants[0][2].problem, entrants)
        plan = replace(job.plan, against=self._submission(job.against) if job.against else None)
        reference, timed = time_heat(heat, self._session, self._monitor, Progress(silent=True), plan)
        clocks = self._monitor.summary() if self._monitor else {}
        return Timed(reference, timed, clocks, self._monitor.warnings() if self._monitor else [])


def _end(session: Session, *_: object) -> None:
    """Ends what the session started, and the process. An exception would be lost where a destructor happens to run."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not stop this
    try:
        session.__exit__()
    finally:
        os._exit(0)


def main() -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a judge that has gone already is seen by the end of the socket
    with Connection(int(sys.argv[1])) as connection:
        try:
            setup = connection.recv()
        except (EOFError, ConnectionError):  # the judge was interrupted meanwhile
            return
        device = gpu.describe() if setup.backend == "gpu" else None
        backend = Backend(setup.backend, setup.reason, device)
        with Session(backend, setup.options, setup.needs_torch) as session:
            signal.signal(signal.SIGTERM, functools.partial(_end, session))
            jobs = Jobs(session)
            while True:
                try:
                    connection.send(jobs.answer(connection.recv()))
                except (EOFError, ConnectionError):  # there is nothing left to do
                    return
