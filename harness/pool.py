"""Many submissions at once: processes, one for each core or GPU, get jobs in turn; one that ends is replaced."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from harness import gpu
from harness.backend import Backend
from harness.errors import UsageError
from harness.judge import memory_limit, memory_of_the_host
from harness.pool_process import Setup

ATTEMPTS = 5  # after so many processes that ended while they did a job it is given up
# Not as `-m harness.pool_process`, whose classes would be those of __main__: pickles name a class by its module.
ENTRY = "from harness.pool_process import main; main()"
END_SECONDS = 15.0  # for a process to end its fork server, and what runs below


@dataclass(frozen=True)
class Lost:
    """In place of an answer: every process that did the job has ended."""

    text: str


def lanes(backend: Backend, count: int) -> list[dict[str, str]]:
    """For up to `count` submissions the processes to have: what each has in its environment beside the judge's.

    On the CPU one for each core, as long as all submissions together fit into the memory if each takes what it may; on
    GPUs one for each that is of the first one's model.
    """
    if backend.name == "cpu":
        fit = memory_of_the_host() * 9 // 10 // memory_limit(0)
        return [{}] * max(1, min(count, len(os.sched_getaffinity(0)), fit))
    named = gpu.names()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = visible.split(",") if visible else map(str, range(len(named)))
    same = [device for device, name in zip(devices, named, strict=False) if name == named[0]]
    return [{"CUDA_VISIBLE_DEVICES": device} for device in same[:count]]


def choose_gpus(wanted: str) -> None:
    """Makes the GPUs of a list such as "0,2" the visible ones. Raises UsageError if they are not all there, or differ.

    They are counted among those that were visible before. To be called before the driver is first asked anything, which
    is when it reads the variable.
    """
    places = wanted.split(",")
    if not all(place.isascii() and place.isdigit() for place in places) or len(set(places)) < len(places):
        raise UsageError(f"--gpus {wanted} is no list of GPUs such as 0 or 0,1")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = [device for device in (visible or "").split(",") if device]
    if visible is not None and any(int(place) >= len(devices) for place in places):
        raise UsageError(f"--gpus {wanted}: CUDA_VISIBLE_DEVICES={visible} lets only {len(devices)} be seen")
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(devices[int(p)] if devices else str(int(p)) for p in places)
    named = gpu.names()
    if len(named) != len(places):
        can = f"only {len(named)} of them can" if named else "none of them can"
        raise UsageError(f"--gpus {wanted}: {can} be used here: leave it out to take what there is")
    if len(set(named)) > 1:
        raise UsageError(f"--gpus {wanted} are different ones ({', '.join(named)}): name GPUs of one model")


class _Lane:
    """One process, and the job that it does."""

    def __init__(self, environment: dict[str, str], setup: Setup) -> None:
        self._environment, self._setup = environment, setup
        self.job: int | None = None
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        root = str(Path(__file__).parent.parent)
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", ENTRY, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                env={**os.environ, "PYTHONPATH": path, **self._environment},
                start_new_session=True,  # Ctrl-C is the judge's to handle
            )
        self.connection = Connection(ours.detach())
        with suppress(BrokenPipeError):  # it has ended: the first job sees that
            self.connection.send(self._setup)

    def give(self, number: int, job: Any) -> None:
        self.job = number
        with suppress(BrokenPipeError):  # it has ended: the answer's absence says so
            self.connection.send(job)

    def take(self) -> Any:
        """The answer. Raises EOFError where the process has ended instead."""
        try:
            return self.connection.recv()
        except OSError:  # it ended in the middle of its answer, or of the job
            raise EOFError from None

    def replace(self) -> str:
        """Another process in the place of one that has ended; how that one did."""
        with suppress(subprocess.TimeoutExpired):  # it has closed its connection, and goes on
            self.process.wait(END_SECONDS)
        status = self.process.poll()
        self.end()
        self._start()
        if status is not None and status < 0:
            return f"was ended by signal {-status}"
        return f"ended with status {status}"

    def end(self) -> None:
        """Ends the process and all below it; closing the connection alone would let it finish its job first."""
        self.process.terminate()
        self.connection.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:  # stopped, perhaps
            self.process.kill()
            self.process.wait()


class Pool:
    """The processes of a run. A context manager; leaving it ends them and everything that runs below them."""

    def __init__(self, environments: list[dict[str, str]], setup: Setup) -> None:
        self._lanes: list[_Lane] = []
        try:
            for environment in environments:
                self._lanes.append(_Lane(environment, setup))
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for lane in self._lanes:
            lane.process.terminate()
        for lane in self._lanes:
            lane.end()

    def run(self, jobs: list[Any]) -> Iterator[tuple[int, Any]]:
        """(place in `jobs`, answer) as answers come. A job whose process ends is given to another, at last Lost."""
        waiting = deque(range(len(jobs)))
        attempts = [0] * len(jobs)
        while waiting or any(lane.job is not None for lane in self._lanes):
            for lane in self._lanes:
                if lane.job is None and waiting:
                    number = waiting.popleft()
                    attempts[number] += 1
                    lane.give(number, jobs[number])
            busy = {lane.connection: lane for lane in self._lanes if lane.job is not None}
            for connection in wait(list(busy)):
                lane = busy[connection]
                number, lane.job = lane.job, None
                try:
                    answer = lane.take()
                except EOFError:
                    how = lane.replace()
                    if attempts[number] < ATTEMPTS:
                        waiting.appendleft(number)
                        continue
                    answer = Lost(f"the judging process {how} in each of {ATTEMPTS} attempts")
                yield number, answer
