"""Workers under the judge's supervision: however a solve ends, the judge learns how, and nothing of it lives on."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_for_file, wait_for_the_end

from harness import supervisor
from harness.arena import HostArena
from harness.errors import UsageError
from harness.judge import placement
from harness.problems import PROBLEMS, Case
from harness.server import DESCRIPTORS, TEMPORARY, WORKER_FAILED, Server, remove_tree
from harness.supervisor import OUTPUT_BYTES_KEPT, ForkServer, WorkerHandle, run_program
from harness.worker import FILE_BYTES

ROOT = Path(__file__).parent.parent
SOFTMAX = PROBLEMS["softmax"]
CASE = Case("N=4", "main", {"N": 4}, "uniform", "N=4", 0)
REQUEST = {"op": "run", **placement(SOFTMAX, CASE), "schedule": 0, "poison_byte": 0xFF, "races": False}
MEMORY_BYTES = 2 << 30

LONG = 120.0  # seconds for what ends by itself

# What the solves of this file begin with. `leave(NAME)` notes a process for the test.
PRELUDE = """\
import mmap, os, signal, subprocess, sys, threading, time
from pathlib import Path
def leave(name, pid):
    (HERE / (name + ".new")).write_text(str(pid))
    (HERE / (name + ".new")).rename(HERE / name)
def hang():
    threading.Event().wait()
"""


@pytest.fixture(scope="module")
def server():
    with ForkServer("cpu", ("torch", "triton", "triton.language", "triton.runtime.interpreter")) as fork_server:
        yield fork_server


@pytest.fixture(scope="module")
def arena():
    with HostArena(SOFTMAX, [CASE]) as arena:
        arena.prepare(CASE, SOFTMAX.inputs(CASE, 1), False)
        yield arena


@pytest.fixture
def start(server, arena, tmp_path):
    """start(body, top="") -> a context manager: a worker for a solve with that body."""

    def worker(body, top="", memory_bytes=MEMORY_BYTES, name="solve.py"):
        return WorkerHandle(
            server,
            backend="cpu",
            path=write(tmp_path, body, top, name),
            library=None,
            runtime=None,
            parameters=SOFTMAX.parameters,
            arena=arena,
            memory_bytes=memory_bytes,
        )

    return worker


def write(directory, body, top="", name="solve.py"):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    path = directory / name
    prelude = PRELUDE.replace("HERE", f"Path({str(directory)!r})")
    path.write_text(f"{prelude}{top}\ndef solve(input, output, N):\n{lines}")
    return path


def ask(worker, seconds=LONG):
    """The reply to one call of a worker that has loaded its file."""
    loaded = worker.wait_loaded(LONG)
    assert loaded.body.get("loaded"), (loaded, worker.output)
    return worker.request(REQUEST, seconds)


def is_running(pid):
    """Whether a process is there and no zombie: whoever adopts orphans need not be in a hurry to reap them."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def noted(directory, *names):
    """The process numbers that a solve has noted, awaited with a deadline."""
    for name in names:
        wait_for_file(directory / name)
    return [int((directory / name).read_text()) for name in names]


# ---- answers ----------------------------------------------------------------------------------------------------


def test_calls_are_answered_one_after_the_other_and_leave_their_results_in_the_arena(start, arena):
    with start("output.copy_(input * 2 + calls.pop(0))", "calls = [1, 2]") as worker:
        x = arena.read("input")
        for added in (1, 2):
            reply = ask(worker) if added == 1 else worker.request(REQUEST, LONG)
            assert reply.outcome == "answered"
            assert reply.body["seconds"] > 0 and "raised" not in reply.body
            assert arena.read("output") == pytest.approx(x * 2 + added, rel=1e-6)
        assert worker.alive


def test_what_a_solve_raises_is_answered_with_its_line_and_the_worker_goes_on(start):
    with start("raise ValueError('not today')") as worker:
        for _ in range(2):
            reply = ask(worker) if _ == 0 else worker.request(REQUEST, LONG)
            kind, text = reply.body["raised"]
            assert (reply.outcome, kind) == ("answered", "exception")
            assert text.startswith("line ") and text.endswith("ValueError: not today")


def test_what_the_server_imported_is_no_garbage_to_a_worker(start):
    """Its collector went through a hundred thousand objects in the midst of timed calls."""
    with start("print(gc.get_freeze_count(), len(gc.get_objects()), flush=True)", "import gc") as worker:
        assert ask(worker).outcome == "answered"
        worker.kill()
    frozen, others = map(int, worker.output.split())
    assert frozen > 10_000 > others


@pytest.mark.parametrize(
    ("top", "says"),
    [
        ("def broken(:", "SyntaxError"),
        ("import no_such_module_at_all", "no_such_module_at_all"),
        ("exit(0)", "exit(0)"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(start, top, says):
    with start("pass", top) as worker:
        reply = worker.wait_loaded(LONG)
        assert (reply.outcome, reply.body["failed"][0]) == ("answered", "load")
        assert says in reply.body["failed"][1]


def test_what_a_solve_prints_is_kept(start):
    with start("print('to stdout', flush=True)\nos.write(2, b'to stderr \\xff\\n')") as worker:
        assert ask(worker).outcome == "answered"
        worker.kill()
        assert worker.output.splitlines() == ["to stdout", "to stderr \N{REPLACEMENT CHARACTER}"]


def test_a_flood_on_stdout_is_capped_and_blocks_nobody(start):
    with start("for _ in range(400): os.write(1, b'x' * 65536)") as worker:
        assert ask(worker).outcome == "answered"
        assert worker.output == "x" * OUTPUT_BYTES_KEPT


# ---- ends -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "signalled", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", True, signal.SIGSEGV),
        ("os.abort()", True, signal.SIGABRT),
        ("os._exit(0)", False, 0),
        ("os._exit(7)", False, 7),
        ("os.closerange(3, 1000)", False, WORKER_FAILED),
    ],
    ids=["fault", "abort", "exit 0", "exit 7", "closed descriptors"],
)
def test_an_end_in_a_call_is_told_with_its_status(start, body, signalled, status):
    with start(body) as worker:
        reply = ask(worker)
        assert reply.outcome == "ended" and reply.body == {}
        assert os.WIFSIGNALED(reply.status) == signalled
        assert (os.WTERMSIG if signalled else os.WEXITSTATUS)(reply.status) == status
        assert not worker.alive


@pytest.mark.parametrize(
    "top",
    [
        "class E(Exception):\n    __str__ = lambda self: 1 / 0",
        "class E(Exception):\n    __str__ = lambda self: exit(0)",
        "class M(type):\n    __name__ = property(lambda self: 1 / 0)\nclass E(Exception, metaclass=M): pass",
    ],
    ids=["words that raise", "words that exit", "a name that raises"],
)
def test_an_exception_without_words_is_told_all_the_same_and_the_worker_goes_on(start, top):
    with start("raise E", top) as worker:
        for reply in (ask(worker), worker.request(REQUEST, LONG)):
            kind, text = reply.body["raised"]
            assert kind == "exception"
            assert text.startswith("line ") and ": E: it raised another one" in text


def test_a_worker_that_has_ended_does_not_answer_the_next_request(start):
    with start("os._exit(3)") as worker:
        first = ask(worker)
        assert worker.request(REQUEST, LONG) == first


def test_closing_every_descriptor_without_an_end_is_garbage_and_no_hang(start):
    with start("os.closerange(0, 1000)\nhang()") as worker:
        assert ask(worker).outcome == "garbage"
        assert not worker.alive


@pytest.mark.parametrize(
    "reply",
    [
        "b'no JSON'",
        "b'[]'",
        "b'{}'",
        """b'{"id": 0, "loaded": true}'""",
        """b'{"id": true, "seconds": 0.1}'""",
        "b'\\xff\\xfe'",
        "b'[' * 50_000",
    ],
    ids=["no JSON", "no object", "no id", "old id", "no number", "no text", "deeply nested"],
)
def test_a_forged_reply_is_garbage(start, reply):
    body = (
        "for name in os.listdir('/proc/self/fd'):\n"
        "    try:\n"
        f"        int(name) > 2 and os.write(int(name), {reply} + b'\\n')\n"
        "    except OSError:\n"
        "        pass\n"
        "hang()"
    )
    with start(body) as worker:
        assert ask(worker).outcome == "garbage"
        assert not worker.alive


# ---- limits -----------------------------------------------------------------------------------------------------


def test_a_hang_ends_at_the_time_limit_with_its_whole_process_group(start, tmp_path):
    body = (
        "child = subprocess.Popen(['sh', '-c', 'sleep 1000 & wait'])\n"
        "leave('worker', os.getpid())\n"
        "leave('child', child.pid)\n"
        "hang()"
    )
    with start(body) as worker:
        reply = ask(worker, seconds=2)
        assert (reply.outcome, reply.body) == ("timeout", {})
        for pid in noted(tmp_path, "worker", "child"):
            assert not Path(f"/proc/{pid}").exists()
        assert not worker.alive


@pytest.mark.parametrize("ending", ["os._exit(0)", "hang()"])
def test_a_process_that_left_the_group_is_gone_when_the_worker_is(start, tmp_path, ending):
    # The shell's child is an orphan of an orphan.
    body = (
        "command = 'sleep 1000 & echo $!; wait'\n"
        "child = subprocess.Popen(['sh', '-c', command], start_new_session=True, stdout=subprocess.PIPE)\n"
        "leave('child', child.pid)\n"
        "leave('grandchild', int(child.stdout.readline()))\n"
        f"{ending}"
    )
    with start(body) as worker:
        if ending == "hang()":
            assert worker.wait_loaded(LONG).body.get("loaded")
            assert worker.request(REQUEST, 2).outcome == "timeout"
        else:
            assert ask(worker).outcome == "ended"
        for pid in noted(tmp_path, "child", "grandchild"):
            assert not Path(f"/proc/{pid}").exists()


def test_memory_beyond_the_limit_is_refused_and_answered(start):
    with start(f"bytearray({2 * MEMORY_BYTES})") as worker:
        reply = ask(worker)
        assert reply.outcome == "answered"
        assert reply.body["raised"][0] == "memory"


# Shared memory, which no limit of the kernel's counts, in small steps so that nothing is starved meanwhile.
FILL = "shared = mmap.mmap(-1, {size})\nfor i in range(0, {size}, 1 << 20): shared[i:i + (1 << 20)] = b'x' * (1 << 20)"
WATCHED_BYTES = 768 << 20


def test_memory_that_no_kernel_limit_counts_is_watched(start):
    with start(FILL.format(size=WATCHED_BYTES + (64 << 20)) + "\nhang()", memory_bytes=WATCHED_BYTES) as worker:
        assert ask(worker).outcome == "memory"
        assert not worker.alive


def test_memory_is_watched_also_while_the_solve_prints_without_pause(start):
    body = "subprocess.Popen(['yes'])\n" + FILL.format(size=WATCHED_BYTES + (64 << 20)) + "\nhang()"
    with start(body, memory_bytes=WATCHED_BYTES) as worker:
        assert ask(worker, seconds=10).outcome == "memory"


def test_what_processes_share_counts_once(start):
    """Eleven processes with the same 200 MB: 2.2 GB where each is taken by itself, of 1 GiB."""
    body = "kept = b'1' * (200 << 20)\nfor _ in range(10):\n    os.fork() or hang()\nhang()"
    with start(body, memory_bytes=1 << 30) as worker:
        assert ask(worker, seconds=2).outcome == "timeout"


def test_so_many_processes_at_a_time_and_no_more(start, monkeypatch):
    monkeypatch.setattr(supervisor, "MAX_PROCESSES", 10)
    for children, outcome in ((9, "timeout"), (10, "processes")):
        with start(f"for _ in range({children}):\n    os.fork() or hang()\nhang()") as worker:
            assert ask(worker, seconds=1 if outcome == "timeout" else LONG).outcome == outcome


def test_daemons_count_unless_a_worker_of_another_file_may_have_started_them(start, monkeypatch):
    monkeypatch.setattr(supervisor, "MAX_PROCESSES", 6)
    body = (
        "for _ in range(6):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        os.fork() and os._exit(0)\n"
        "        hang()\n"
        "    os.wait()\n"
        "hang()"
    )
    with start(body) as worker:
        assert ask(worker).outcome == "processes"
    with start("pass", name="other.py") as other, start(body) as worker:
        assert ask(other).outcome == "answered"
        assert ask(worker, seconds=1).outcome == "timeout"


def test_so_many_threads_at_a_time_and_no_more(start, monkeypatch):
    monkeypatch.setattr(supervisor, "MAX_THREADS", 20)
    for threads, outcome in ((10, "timeout"), (20, "threads")):
        with start(f"for _ in range({threads}): threading.Thread(target=hang).start()\nhang()") as worker:
            assert ask(worker, seconds=0.5 if outcome == "timeout" else LONG).outcome == outcome


def test_a_file_becomes_no_larger_than_the_limit(start, tmp_path):
    body = f"os.truncate(os.open({str(tmp_path / 'file')!r}, os.O_CREAT | os.O_RDWR), {{}})"
    with start(body.format(FILE_BYTES)) as worker:
        assert "raised" not in ask(worker).body
    with start(body.format(FILE_BYTES + 1)) as worker:
        assert "File too large" in ask(worker).body["raised"][1]


def test_temporary_files_go_with_the_last_worker(server, start):
    temporary = server.folder.parent / TEMPORARY
    body = "tempfile.mkstemp()\nos.mkdir(tempfile.mkdtemp() + '/in it')\n"
    with start("pass") as other:
        assert ask(other).outcome == "answered"
        with start(body + "os.kill(os.getpid(), 9)", top="import tempfile\n") as worker:
            assert ask(worker).outcome == "ended"
        assert len(list(temporary.iterdir())) == 2
        assert other.request(REQUEST, LONG).outcome == "answered"
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("instead", ["os.symlink(str(HERE), at)", "open(at, 'w').close()", "os.mkfifo(at)", "pass"])
def test_the_place_of_temporary_files_is_there_for_the_next_worker_whatever_becomes_of_it(
    server, start, tmp_path, instead
):
    body = f"at = tempfile.gettempdir()\nos.rmdir(at)\n{instead.replace('HERE', repr(str(tmp_path)))}"
    with start(body, top="import tempfile\n") as worker:
        assert "raised" not in ask(worker).body
    with start("tempfile.mkstemp()", top="import tempfile\n") as worker:
        assert "raised" not in ask(worker).body
        assert len(list((server.folder.parent / TEMPORARY).iterdir())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["solve.py"]


def test_whatever_lies_in_a_directory_it_is_removed_and_nothing_else(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(kept)
    os.mkfifo(top / "fifo")
    (top / "moved 1").mkdir()
    (top / "moved 1" / "file").touch()
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(top)
        for _ in range(1200):  # deeper than Python recurses, and its path is longer than any that may be named
            os.mkdir("nested")
            os.chdir("nested")
        os.mkdir("locked", 0)
    finally:
        os.fchdir(before)
        os.close(before)
    remove_tree(str(top))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


@pytest.mark.timeout(60)
def test_the_time_limit_holds_also_while_many_processes_print_without_pause(start):
    body = "for _ in range(8): subprocess.Popen(['cat', '/dev/zero'])\nhang()"
    with start(body) as worker:
        assert ask(worker, seconds=2).outcome == "timeout"
        assert len(worker.output) == OUTPUT_BYTES_KEPT


# ---- a program in a worker's place ------------------------------------------------------------------------------


def run_python(server, body, seconds=LONG, memory_bytes=MEMORY_BYTES):
    return run_program(server, [sys.executable, "-c", body], {"ADDED": "so"}, seconds, memory_bytes)


def test_a_program_ends_with_its_status_and_what_it_printed(server):
    ended = run_python(
        server, "import os, sys; print(os.environ['ADDED'], os.environ['TRITON_INTERPRET']); sys.exit(3)"
    )
    assert (ended.outcome, ended.status, ended.output) == ("ended", 3, "so 1\n")
    assert run_python(server, "import os; os.kill(os.getpid(), 9)").status == -signal.SIGKILL


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("last", "outcome"), [("pass", "ended"), ("hang()", "timeout")])
def test_nothing_of_a_program_lives_on_also_what_left_its_group_and_holds_its_output(server, tmp_path, last, outcome):
    prelude = PRELUDE.replace("HERE", f"Path({str(tmp_path)!r})")
    child = "import threading; threading.Event().wait()"
    body = f"{prelude}leave('child', subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True).pid)\n"
    assert run_python(server, body + last, seconds=LONG if last == "pass" else 5).outcome == outcome
    assert not is_running(int((tmp_path / "child").read_text()))


def test_a_program_is_held_to_its_memory(server):
    body = "import threading; kept = b'1' * (1 << 29); threading.Event().wait()"
    assert run_python(server, body, memory_bytes=1 << 28).outcome == "memory"


# ---- the judge's own end ----------------------------------------------------------------------------------------

JUDGE = """\
import sys
sys.path[:0] = [{root!r}, {tests!r}]
from test_supervisor import *
with ForkServer("cpu", ()) as fork_server, HostArena(SOFTMAX, [CASE]) as arena:
    arena.prepare(CASE, SOFTMAX.inputs(CASE, 1), False)
    worker = WorkerHandle(fork_server, backend="cpu", path=Path({path!r}), library=None, runtime=None,
                          parameters=SOFTMAX.parameters, arena=arena, memory_bytes=MEMORY_BYTES)
    print(ask(worker, {seconds}).outcome, flush=True)
    os._exit(0)
"""


@pytest.fixture
def judge(tmp_path):
    """judge(body, seconds) -> a judge of its own, running one call of a solve with that body; killed afterwards."""
    judges = []

    def begin(body, seconds):
        script = tmp_path / "judge.py"
        path = str(write(tmp_path, body))
        script.write_text(JUDGE.format(root=str(ROOT), tests=str(ROOT / "tests"), path=path, seconds=seconds))
        judges.append(subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True))
        return judges[-1]

    yield begin
    for judge in judges:
        judge.kill()
        judge.communicate()


def test_a_judge_that_is_killed_leaves_no_process_behind(judge, tmp_path):
    body = (
        "leave('worker', os.getpid())\n"
        "leave('server', os.getppid())\n"
        "leave('child', subprocess.Popen(['sleep', '1000']).pid)\n"
        "leave('stray', subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)\n"
        "hang()"
    )
    running = judge(body, seconds=1000)
    pids = noted(tmp_path, "worker", "server", "child", "stray")
    assert all(is_running(pid) for pid in pids)
    running.kill()
    wait_for_the_end(pids)


def test_a_worker_that_moved_to_another_group_ends_at_the_time_limit_too(judge, tmp_path):
    # In a judge of its own: one that waits for the end of a group that is empty waits for ever.
    body = (
        "child = subprocess.Popen(['sleep', '1000'], process_group=0)\n"
        "leave('child', child.pid)\n"
        "os.setpgid(0, child.pid)\n"
        "leave('worker', os.getpid())\n"
        "hang()"
    )
    running = judge(body, seconds=5)
    pids = noted(tmp_path, "worker", "child")
    assert running.communicate(timeout=20)[0] == "timeout\n"
    wait_for_the_end(pids)


def test_a_solve_that_kills_the_server_ends_its_own_worker_and_the_next_one_starts(arena, tmp_path):
    path = write(tmp_path, "os.kill(os.getppid(), signal.SIGKILL)\nhang()")
    common = {"backend": "cpu", "library": None, "runtime": None, "parameters": SOFTMAX.parameters, "arena": arena}
    with ForkServer("cpu", ()) as fork_server:
        with WorkerHandle(fork_server, path=path, memory_bytes=MEMORY_BYTES, **common) as worker:
            assert ask(worker).outcome == "ended"
        path = write(tmp_path, "pass")
        with WorkerHandle(fork_server, path=path, memory_bytes=MEMORY_BYTES, **common) as worker:
            assert ask(worker).outcome == "answered"


def begin(fork_server, arena, path):
    """A worker of a fork server of the test's own, which has imported nothing; what it does, it does while it loads."""
    common = {"backend": "cpu", "library": None, "runtime": None, "parameters": SOFTMAX.parameters}
    return WorkerHandle(fork_server, path=path, arena=arena, memory_bytes=MEMORY_BYTES, **common)


def test_a_server_that_is_stopped_goes_on(start, tmp_path):
    for note in ("first", "second"):  # the end of each worker is told by the server
        with start(f"leave('{note}', os.getppid())\nos.kill(os.getppid(), signal.SIGSTOP)") as worker:
            assert ask(worker).outcome == "answered"
    first, second = noted(tmp_path, "first", "second")
    assert first == second


@pytest.mark.parametrize(("number", "outcome"), [("SIGKILL", "ended"), ("SIGSTOP", "timeout")])
def test_nothing_lives_on_of_a_file_that_ends_or_stops_the_server(arena, tmp_path, monkeypatch, number, outcome):
    monkeypatch.setattr(supervisor, "SERVER_SECONDS", 1.0)
    top = (
        "import ctypes\n"
        "ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\n"  # PR_SET_PDEATHSIG: it shall not die with its parent
        "leave('worker', os.getpid())\n"
        "leave('stray', subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)\n"
        f"os.kill(os.getppid(), signal.{number})\n"
        "hang()"
    )
    with ForkServer("cpu", ()) as fork_server, begin(fork_server, arena, write(tmp_path, "pass", top)) as worker:
        pids = noted(tmp_path, "worker", "stray")
        assert worker.wait_loaded(LONG if outcome == "ended" else 0.5).outcome == outcome
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_process_that_traces_the_others_keeps_nobody_from_seeing_their_end(server, start, tmp_path):
    body = (
        "import ctypes\n"
        "libc, me, (reading, writing) = ctypes.CDLL(None), os.getpid(), os.pipe()\n"
        "may_be_traced = lambda: libc.prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)\n"  # PR_SET_PTRACER
        "may_be_traced()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        may_be_traced()\n"
        "        os.write(writing, b'%d' % os.getpid())\n"
        "        hang()\n"
        "    if os.fork() == 0:\n"
        "        seize = lambda pid: libc.ptrace(0x4206, pid, None, None)\n"
        "        refused = seize(me) or seize(int(os.read(reading, 20)))\n"
        "        leave('tracer', 0 if refused else os.getpid())\n"
        "        hang()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "hang()"
    )
    before = server._process.pid
    with start(body) as worker:
        assert ask(worker, seconds=1).outcome == "timeout"
    (tracer,) = noted(tmp_path, "tracer")
    if tracer == 0:
        pytest.skip("ptrace(2) is not allowed here")
    assert not Path(f"/proc/{tracer}").exists()
    with start("pass") as worker:
        assert ask(worker).outcome == "answered"
    assert server._process.pid == before, "the server waited for a traced process, and had to be ended"


def test_a_server_whose_descriptors_are_taken_says_so_and_another_one_starts(arena, tmp_path, capfd):
    top = "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))"
    with ForkServer("cpu", ()) as fork_server:
        for each in (top, ""):
            with begin(fork_server, arena, write(tmp_path, "pass", each)) as worker:
                assert worker.wait_loaded(LONG).body.get("loaded")
    said = capfd.readouterr().err
    assert said.startswith("a fork server could not go on, another one takes its place: ") and said.count("\n") == 1


@pytest.mark.parametrize("ended", [False, True])
def test_a_server_that_cannot_import_its_modules_is_an_error_with_a_sentence(arena, tmp_path, monkeypatch, ended):
    """Whether it is asked while it starts or when it has ended."""
    if ended:
        start = ForkServer._start

        def start_and_wait(self):
            start(self)
            self._process.wait()

        monkeypatch.setattr(ForkServer, "_start", start_and_wait)
    with (
        ForkServer("cpu", ("no_such_module",)) as fork_server,
        pytest.raises(UsageError, match=r"^no worker can be started: importing no_such_module failed: No module named"),
    ):
        WorkerHandle(
            fork_server,
            backend="cpu",
            path=write(tmp_path, "pass"),
            library=None,
            runtime=None,
            parameters=SOFTMAX.parameters,
            arena=arena,
            memory_bytes=MEMORY_BYTES,
        )


def test_a_server_whose_judge_has_ended_says_nothing(tmp_path, monkeypatch):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    monkeypatch.setattr(os, "fork", lambda: 2**22 + 1)  # above every process id
    with ours, open(os.devnull) as exit_pipe:
        started = Server(ours, str(tmp_path))
        started.answer({"spawn": {}}, [os.dup(exit_pipe.fileno()) for _ in DESCRIPTORS])
        assert list(started.exit_pipes) == [2**22 + 1]
        os.close(started.exit_pipes.popitem()[1])
