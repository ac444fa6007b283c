"""The fork server: imports what solves need once, then forks a worker for each submission.

Importing torch costs seconds, a fork milliseconds. The server never touches CUDA (a CUDA context does not survive a
fork) and starts no threads. It is the subreaper of everything below it: whatever a submission leaves running ends up as
its child and is killed. Above it is a keeper, the process that was started, which does nothing but wait: it wakes a
server that was stopped, and when one has ended, or is to end, it kills what is left below.

Run as `python -m harness.server DESCRIPTOR SCRATCH MODULE...`; the judge speaks over the socket DESCRIPTOR. In the
directory SCRATCH lie submissions' temporary files; it goes when the server ends. A request is one JSON message:
{"spawn": {...}} with the worker's descriptors attached, answered with {"pid": n}; or {"kill": pid}. A spawn with a
"command" is of that program instead of a worker, for a solve that runs under a tool. (A server that could not import a
module answers the first spawn with {"failed": "..."} and is gone.) When a worker has ended and its process group is
gone, its wait status is written to the exit pipe that came with its spawn. The judge's end of the socket closed, for
whatever reason, ends the server and everything below it; so does SIGTERM, sent to the keeper.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Container
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

MESSAGE_BYTES = 1 << 16

# A worker's exit status when it could not go on, EX_SOFTWARE: most often the submission has closed its pipe.
WORKER_FAILED = 70

# The descriptors that come with a spawn, in this order; the arena is absent when it is on a GPU, a program takes two.
DESCRIPTORS = ("output", "exit", "requests", "replies", "facts", "arena")


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def kill_children(spared: Container[int] = ()) -> None:
    """Kills and reaps this process's children, but those in `spared`, and what becomes its child by that.

    All are killed before any is waited for, and none is waited for by itself: one that another of them traces can be
    reaped only when that other one has gone, of which SIGCHLD tells, too.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            children = [pid for pid in map(int, file.read().split()) if pid not in spared]
        if not children:
            break
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        reaped = [pid for pid in children if os.waitpid(pid, os.WNOHANG)[0]]
        if not reaped:
            signal.sigwait({signal.SIGCHLD})
    signal.raise_signal(signal.SIGCHLD)  # one that was taken here may have told of a spared one
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def remove_tree(top: str) -> None:
    """Removes a directory and what is in it, as far as it can, whatever a submission has made of it.

    Directories are moved up to the top before they are looked into, so that however deep they are nested no path
    becomes too long and nothing recurses. What cannot be removed is left: there is nobody who could do more.
    """
    found, unused = [top], os.urandom(8).hex()
    for directory in found:  # it grows meanwhile
        with suppress(OSError):
            os.chmod(directory, 0o700)
            with os.scandir(directory) as entries:
                for entry in list(entries):
                    with suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            os.chmod(entry.path, 0o700)
                            moved = os.path.join(top, f"{unused} {len(found)}")
                            os.rename(entry.path, moved)
                            found.append(moved)
                        else:
                            os.unlink(entry.path)
    for directory in reversed(found):
        with suppress(OSError):
            os.rmdir(directory)


TEMPORARY = "tmp"  # in the scratch directory


class Server:
    def __init__(self, connection: socket.socket, scratch: str) -> None:
        self.connection = connection
        self.temporary = os.path.join(scratch, TEMPORARY)
        self.clear_temporary()
        self.exit_pipes: dict[int, int] = {}

    def run(self) -> None:
        wakeup, wakeup_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_READ)
            selector.register(wakeup, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self.connection:
                        data, descriptors, _, _ = socket.recv_fds(self.connection, MESSAGE_BYTES, len(DESCRIPTORS))
                        if not data:
                            return
                        self.answer(json.loads(data), descriptors)
                    else:
                        os.read(wakeup, 4096)
                        self.reap()

    def answer(self, request: dict, descriptors: list[int]) -> None:
        if "kill" in request:
            self.kill(request["kill"])
            return
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # they arrive inheritable
        named = dict(zip(DESCRIPTORS, descriptors, strict=False))
        pid = os.fork()
        if pid == 0:
            self.become_worker(request["spawn"], named)
        # Both sides, so that the group exists whichever runs first; it may already have gone.
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(pid, pid)
        self.exit_pipes[pid] = named["exit"]
        for name, descriptor in named.items():
            if name != "exit":
                os.close(descriptor)
        with suppress(BrokenPipeError):  # the judge has ended meanwhile, as the next look at the socket says
            self.connection.sendall(json.dumps({"pid": pid}).encode())

    def become_worker(self, task: dict, descriptors: dict[str, int]) -> None:
        status = WORKER_FAILED
        try:
            os.setpgid(0, 0)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            prctl(PR_SET_CHILD_SUBREAPER, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            keep = {descriptors[name] for name in ("requests", "replies", "facts", "arena") if name in descriptors}
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(descriptors["output"], 1)
            os.dup2(descriptors["output"], 2)
            for name in os.listdir("/proc/self/fd"):
                if int(name) > 2 and int(name) not in keep:
                    with suppress(OSError):  # the listing's own descriptor is closed by now
                        os.close(int(name))

            if "command" in task:
                os.execvpe(task["command"][0], task["command"], {**os.environ, **task["variables"]})

            from harness import worker

            status = worker.main(task, descriptors)
        except BaseException:  # the judge sees the status, and the traceback in the captured output
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            # Never back into the server's loop, and past whatever a submission registered to run at exit.
            os._exit(status)

    def kill(self, pid: int) -> None:
        if pid in self.exit_pipes:  # not reaped yet, so the number is still its own
            os.kill(pid, signal.SIGKILL)  # by itself, too: it may have moved to another group
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            kill_children(spared=self.exit_pipes)  # one that traces the worker would keep its end to itself

    def reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            if pid in self.exit_pipes:
                self.kill(pid)  # the rest of its group; the group's number cannot be reused before the wait below
                _, status = os.waitpid(pid, 0)
                kill_children(spared=self.exit_pipes)  # what it has left behind
                pipe = self.exit_pipes.pop(pid)
                if not self.exit_pipes:
                    self.clear_temporary()
                with suppress(BrokenPipeError):  # the judge has gone
                    os.write(pipe, struct.pack("i", status))
                os.close(pipe)
            else:
                os.waitpid(pid, 0)

    def clear_temporary(self) -> None:
        """Removes what submissions have left where temporary files go."""
        if os.path.islink(self.temporary) or not os.path.isdir(self.temporary):
            with suppress(FileNotFoundError):
                os.unlink(self.temporary)  # whatever a submission has put in its place
        else:
            remove_tree(self.temporary)
        os.makedirs(self.temporary, exist_ok=True)


def serve(connection: socket.socket, scratch: str, modules: list[str]) -> None:
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # whatever a broken installation raises: the judge says it in a sentence
            connection.sendall(json.dumps({"failed": f"importing {module} failed: {error}"}).encode())
            return
    # What is imported here is never garbage: a worker's collector would go through it all, for 80 ms with Triton, in
    # the midst of a series of timed calls, and make its pages the worker's own.
    gc.freeze()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    server = Server(connection, scratch)
    try:
        server.run()
    except OSError as error:  # a submission has taken its descriptors (prlimit(2)), say: the judge starts another one
        print(f"a fork server could not go on, another one takes its place: {error}", file=sys.stderr, flush=True)


AWAITED = (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP)  # by the keeper; SIGHUP means that the judge may have gone


def keep(server: int, judge: int) -> None:
    """Waits for the server's end, or until it is to end; then kills whatever of it, or below it, is left.

    A server that a submission has stopped goes on at once.
    """
    while True:
        told = signal.sigwait(AWAITED)
        has_ended = os.waitid(os.P_PID, server, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if told == signal.SIGTERM or has_ended or os.getppid() != judge:
            kill_children()
            return
        with suppress(ChildProcessError):  # it has ended meanwhile, as the next signal says
            if os.waitid(os.P_PID, server, os.WSTOPPED | os.WNOHANG):
                os.kill(server, signal.SIGCONT)


def main() -> None:
    connection, scratch, judge = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], os.getppid()
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    # The server sees the judge's end by that of the socket, unless it has been stopped.
    prctl(PR_SET_PDEATHSIG, signal.SIGHUP)
    server = os.fork()
    # A submission may send it to either, which shall print no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL if server == 0 else signal.SIG_IGN)
    if server == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        serve(connection, scratch, sys.argv[3:])
        # Taking apart what was imported takes a while, and nanobind takes what is frozen of it for leaks, and says so.
        os._exit(0)
    connection.close()  # else nobody would see the server's end
    try:
        keep(server, judge)
    finally:
        remove_tree(scratch)


if __name__ == "__main__":
    main()
