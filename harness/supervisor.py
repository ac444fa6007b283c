"""The judge's side of a worker: start it, ask it something, wait no longer than allowed, see how it ended, kill it.

Or of a whole program that runs a solve under a tool. Either is below the fork server and is killed with all it starts.
"""

from __future__ import annotations

import json
import mmap
import os
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness import facts, server
from harness.arena import DeviceArena, HostArena, shared_memory
from harness.errors import UsageError
from harness.signature import Parameter

OUTPUT_BYTES_KEPT = 16 << 10
REPLY_BYTES = 16 << 20  # no honest reply is longer
WATCH_SECONDS = 0.1  # how often memory and processes are looked at
MAX_PROCESSES = 512  # of a submission at a time: more than any pool of workers
MAX_THREADS = 8192  # of all these processes: a system runs out of them before it runs out of memory
START_SECONDS = 120.0  # for the server to import torch and answer its first spawn
ANSWER_SECONDS = 0.3  # for a worker whose time is up to say where it is
SERVER_SECONDS = 10.0  # for the server to see a killed worker's end


@dataclass(frozen=True)
class Reply:
    """How a request ended.

    `outcome` is "answered", "timeout", "memory", "processes" or "threads" (killed for its size, for how many it had
    started), "ended" (the process is gone; `status` is its wait status) or "garbage" (what came over the private pipe
    was not a reply). `body` is the reply, else empty.
    """

    outcome: str
    body: dict
    status: int = 0


class ForkServer:
    """A server process of one backend. Use as a context manager; leaving it ends everything that runs below it.

    `folder` is for files of the judge that shall not outlive it, however it ends: the server removes it, too. What
    submissions write where temporary files go lies beside it and is removed when they have ended.
    """

    def __init__(self, backend: str, modules: tuple[str, ...]) -> None:
        self._scratch = tempfile.mkdtemp(prefix="solve-judge-")
        self.folder = Path(self._scratch) / "judge"
        self.folder.mkdir()
        self._environment = {**os.environ, "TMPDIR": os.path.join(self._scratch, server.TEMPORARY)}
        # The server must stay single-threaded, and workers must not start with a pool of BLAS threads.
        self._environment.setdefault("OPENBLAS_NUM_THREADS", "1")
        root = str(Path(__file__).parent.parent)
        self._environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        if backend == "cpu":
            self._environment["TRITON_INTERPRET"] = "1"
        else:
            self._environment.pop("TRITON_INTERPRET", None)
        self._modules = modules
        self.running: dict[int, str] = {}  # by worker: what runs in it
        self._start()

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(START_SECONDS)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.server", str(theirs.fileno()), self._scratch, *self._modules],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,  # Ctrl-C is the judge's to handle
        )
        theirs.close()

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        server.remove_tree(self._scratch)  # where nobody was left to do it

    def _stop(self) -> None:
        self._socket.close()
        try:
            self._process.wait(SERVER_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()

    def end(self) -> None:
        """Ends the server and all below it, whatever state they are in; the next `spawn` starts another one."""
        for number in (signal.SIGTERM, signal.SIGCONT):  # its keeper may have been stopped
            self._process.send_signal(number)
        try:
            self._process.wait(SERVER_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def spawn(self, task: dict, descriptors: list[int]) -> int:
        answer = self._ask(task, descriptors)
        if not answer:
            # A submission may have killed it. One that cannot start at all fails again.
            self._stop()
            self._start()
            answer = self._ask(task, descriptors)
        body = json.loads(answer or '{"failed": "the fork server ended without a word"}')
        if "failed" in body:
            raise UsageError(f"no worker can be started: {body['failed']}; pip install torch triton may mend it")
        self.running[body["pid"]] = task.get("path", "")
        return body["pid"]

    def _ask(self, task: dict, descriptors: list[int]) -> bytes:
        try:
            with suppress(BrokenPipeError):  # it has gone; it may have said why before
                socket.send_fds(self._socket, [json.dumps({"spawn": task}).encode()], descriptors)
            try:
                return self._socket.recv(server.MESSAGE_BYTES)
            except ConnectionResetError:  # told once when it went with the request unread; its last words come next
                return self._socket.recv(server.MESSAGE_BYTES)
        except OSError:  # it has gone, or has been stopped and does not answer
            self.end()
            return b""

    def family(self, worker: int) -> dict[int, int]:
        """A worker with all that it has started, also what has left its group and whose parents have ended.

        A number of threads for each process.
        What has become the server's child is the worker's own as long as all workers run the same file.
        """
        others = self.running.keys() - {worker}
        return _family(worker, others, self._process.pid if len(set(self.running.values())) == 1 else None)

    def kill(self, pid: int) -> None:
        with suppress(OSError):  # the server has ended, and every worker with it
            self._socket.send(json.dumps({"kill": pid}).encode())


class _Process:
    """One process below the fork server: what it prints, how much memory it holds, how it ends."""

    def __init__(self, fork_server: ForkServer, task: dict, descriptors: list[int], memory_bytes: int) -> None:
        """`descriptors` are those behind the first two of server.DESCRIPTORS."""
        self._fork_server = fork_server
        self._memory_bytes = memory_bytes
        self.output, output_write = os.pipe2(os.O_CLOEXEC)
        self.exit, exit_write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.output, False)
        try:
            self.pid = fork_server.spawn(task, [output_write, exit_write, *descriptors])
        finally:
            os.close(output_write)
            os.close(exit_write)
        self.kept = b""
        self.resident = 0
        self.status: int | None = None
        self._next_look = time.monotonic() + WATCH_SECONDS

    def close(self) -> None:
        self.kill()
        os.close(self.output)
        os.close(self.exit)

    def begin_kill(self) -> None:
        if self.status is None:
            self._fork_server.kill(self.pid)

    def kill(self) -> None:
        """Ends the process, its group and its orphans, and waits until they are gone."""
        self.begin_kill()
        self.wait_exit()

    def wait_exit(self) -> int:
        """The wait status, written by the server when the process, its group and its orphans are gone."""
        if self.status is None:
            if not _is_readable(self.exit, SERVER_SECONDS):
                self._fork_server.end()  # a submission has stopped it; its workers die with it
            data = os.read(self.exit, 4)
            if len(data) == 4:
                self.status = struct.unpack("i", data)[0]
            else:  # the server itself has ended
                self._fork_server.end()
                self.status = int(signal.SIGKILL)
            self._fork_server.running.pop(self.pid, None)
            self.drain_output()
        return self.status

    def drain_output(self) -> bool:
        """Reads what was printed, keeps the first part of it; False at the end of file."""
        while True:
            try:
                data = os.read(self.output, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.kept += data[: OUTPUT_BYTES_KEPT - len(self.kept)]

    def excess(self) -> str:
        """What it has too much of with all it started, seen now and then: "memory", "processes", "threads" or ""."""
        if time.monotonic() <= self._next_look:
            return ""
        family = self._fork_server.family(self.pid)
        if len(family) > MAX_PROCESSES:
            return "processes"
        if sum(family.values()) > MAX_THREADS:
            return "threads"
        self.resident = _resident_bytes(family) or self.resident
        # What processes share since a fork counts in each of them. To divide it among them takes the kernel a while.
        is_too_much = self.resident > self._memory_bytes and (
            len(family) == 1 or _proportional_bytes(family) > self._memory_bytes
        )
        self._next_look = time.monotonic() + WATCH_SECONDS
        return "memory" if is_too_much else ""


@dataclass(frozen=True)
class Ended:
    """How a program ended: `outcome` is "ended", "timeout", "memory", "processes" or "threads".

    `status` is its exit status, negative a signal; `output` what it printed, the first part of it.
    """

    outcome: str
    status: int
    output: str


def run_program(
    fork_server: ForkServer, command: list[str], variables: dict[str, str], seconds: float, memory_bytes: int
) -> Ended:
    """Runs a program below the fork server, `variables` added to the server's environment; none of it lives on."""
    process = _Process(fork_server, {"command": command, "variables": variables}, [], memory_bytes)
    outcome = "ended"
    try:
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            for descriptor in (process.output, process.exit):
                selector.register(descriptor, selectors.EVENT_READ)
            while outcome == "ended":
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    outcome = "timeout"
                elif excess := process.excess():
                    outcome = excess
                ready = {key.fd for key, _ in selector.select(max(0.0, min(remaining, WATCH_SECONDS)))}
                if process.output in ready and not process.drain_output():
                    selector.unregister(process.output)
                if process.exit in ready:
                    process.wait_exit()
                    break
    finally:
        process.close()
    assert process.status is not None
    return Ended(outcome, os.waitstatus_to_exitcode(process.status), process.kept.decode("utf-8", "replace"))


class WorkerHandle:
    """One worker. Use as a context manager; leaving it kills the worker's process group and waits for its end."""

    def __init__(
        self,
        fork_server: ForkServer,
        *,
        backend: str,
        path: Path,
        library: Path | None,
        runtime: Path | None,
        parameters: tuple[Parameter, ...],
        arena: HostArena | DeviceArena,
        memory_bytes: int,
        timed: bool = False,
    ) -> None:
        self._memory_bytes = memory_bytes
        self._facts_descriptor = shared_memory("facts", facts.MAPPED)
        self._facts_page = mmap.mmap(self._facts_descriptor, facts.MAPPED)
        requests_read, self._requests = os.pipe2(os.O_CLOEXEC)
        self._replies, replies_write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._replies, False)
        theirs = [requests_read, replies_write, self._facts_descriptor]
        if arena.descriptor is not None:
            theirs.append(arena.descriptor)
        task = {
            "backend": backend,
            "path": os.fspath(path),
            "library": library and os.fspath(library),
            "runtime": runtime and os.fspath(runtime),
            "parameters": [asdict(p) for p in parameters],
            "arena": arena.for_worker(),
            "memory_bytes": memory_bytes,
            "timed": timed,
        }
        try:
            self._process = _Process(fork_server, task, theirs, memory_bytes)
        finally:
            os.close(requests_read)
            os.close(replies_write)
        self._has_runtime = runtime is not None
        self._pending = b""
        self._next_id = secrets.randbelow(1 << 30)  # not to be guessed by a submission that answers in advance

    def __enter__(self) -> WorkerHandle:
        return self

    def begin_kill(self) -> None:
        """Lets its end begin, which leaving the context waits for: a CUDA context takes a while to go."""
        self._process.begin_kill()

    def __exit__(self, *_: object) -> None:
        self._process.close()
        self._facts_page.close()
        for descriptor in (self._facts_descriptor, self._requests, self._replies):
            os.close(descriptor)

    @property
    def alive(self) -> bool:
        return self._process.status is None

    @property
    def output(self) -> str:
        """What the submission printed, up to a limit."""
        return self._process.kept.decode("utf-8", "replace")

    @property
    def is_nearly_full(self) -> bool:
        """Whether it held nearly as much memory as it may when it was last looked at."""
        return self._process.resident > 0.75 * self._memory_bytes

    def threads(self) -> int:
        """How many threads the worker has now, 0 if it has gone."""
        with suppress(OSError), open(f"/proc/{self._process.pid}/status", "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"Threads:")), 0)
        return 0

    def facts(self) -> facts.Facts:
        """A copy of what the worker left about its last call."""
        return facts.Facts.from_buffer_copy(self._facts_page[: facts.SIZE])

    def wait_loaded(self, seconds: float) -> Reply:
        return self._wait(0, seconds)

    def request(self, body: dict, seconds: float) -> Reply:
        """Sends a request and waits at most `seconds` for its reply; the worker is gone unless it was answered."""
        self._next_id += 1
        line = json.dumps({**body, "id": self._next_id}).encode() + b"\n"
        with suppress(BrokenPipeError):  # it has ended: the wait sees how
            os.write(self._requests, line)
        return self._wait(self._next_id, seconds)

    def kill(self) -> None:
        """Ends the worker and its process group, and waits until they are gone."""
        self._process.kill()

    def _ask_where(self) -> None:
        """Lets the CUDA-on-CPU layer write down which kernel runs, and where, before the worker is killed."""
        if not self._has_runtime or not self.alive:
            return
        with suppress(OSError):
            os.kill(self._process.pid, signal.SIGUSR2)
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self.facts().stopped and time.monotonic() < deadline and not _is_readable(self._process.exit, 0.01):
            pass

    def _wait(self, wanted: int, seconds: float) -> Reply:
        deadline = time.monotonic() + seconds
        process = self._process
        with selectors.DefaultSelector() as selector:
            for descriptor in (self._replies, process.output, process.exit):
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    self._ask_where()
                    self.kill()
                    return Reply("timeout", {})
                ready = {key.fd for key, _ in selector.select(min(remaining, WATCH_SECONDS))}
                if excess := process.excess():
                    self.kill()
                    return Reply(excess, {})
                if process.output in ready and not process.drain_output():
                    selector.unregister(process.output)
                if self._replies in ready:
                    reply = self._read_reply(wanted)
                    if reply is not None:
                        if reply.outcome != "answered":
                            self.kill()
                            return Reply(reply.outcome, {}, process.status or 0)
                        return reply
                if process.exit in ready:
                    return Reply("ended", {}, self._process.wait_exit())

    def _read_reply(self, wanted: int) -> Reply | None:
        """The reply to request `wanted`, None while it is incomplete."""
        try:
            data = os.read(self._replies, 1 << 16)
        except BlockingIOError:
            return None
        if not data:
            # Closed: by the process's end, which says more, or by the submission. The server tells which.
            if _is_readable(self._process.exit, 1.0):
                return Reply("ended", {}, self._process.wait_exit())
            return Reply("garbage", {})
        self._pending += data
        line, newline, rest = self._pending.partition(b"\n")
        if not newline:
            return Reply("garbage", {}) if len(self._pending) > REPLY_BYTES else None
        self._pending = rest
        try:
            body = _clean(json.loads(line))
        except (ValueError, RecursionError):
            return Reply("garbage", {})
        if not isinstance(body, dict) or body.get("id") != wanted:
            return Reply("garbage", {})
        return Reply("answered", body)


def _is_readable(descriptor: int, seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(seconds))


def _clean(value: Any) -> Any:
    """A reply whose words are printable."""
    if isinstance(value, str):
        return facts.printable(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _family(worker: int, others: Collection[int], keeper: int | None) -> dict[int, int]:
    """A worker, its process group and their descendants in other groups, with how many threads each has.

    `others` are workers that it has not started. With the `keeper` of a fork server also what is below that server, and
    below none of the others.
    """
    parents, groups, threads = {}, {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
            # Behind the command, which may hold spaces and parentheses: state, parent, group, ...
            fields = file.read().rpartition(b")")[2].split()
            parents[int(name)], groups[int(name)], threads[int(name)] = int(fields[1]), int(fields[2]), int(fields[17])
    server = next((pid for pid, parent in parents.items() if parent == keeper), None)

    def belongs(pid: int | None) -> bool:
        while pid in parents and pid != server:
            if pid == worker or groups[pid] == worker:
                return True
            if pid in others or groups[pid] in others:
                return False
            pid = parents[pid]
        return pid is not None and pid == server

    return {pid: threads[pid] for pid in parents if pid != server and belongs(pid)}


def _resident_bytes(family: Iterable[int]) -> int:
    """Resident bytes of processes, without files."""
    return sum(_kilobytes(pid, "status", (b"RssAnon", b"RssShmem")) for pid in family) * 1024


def _proportional_bytes(family: Iterable[int]) -> int:
    """The same, a page that several share divided among them."""
    return sum(_kilobytes(pid, "smaps_rollup", (b"Pss_Anon", b"Pss_Shmem")) for pid in family) * 1024


def _kilobytes(pid: int, name: str, fields: tuple[bytes, ...]) -> int:
    with suppress(OSError, ValueError), open(f"/proc/{pid}/{name}", "rb") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(fields))
    return 0  # it has ended
