"""Many files at once: the pool and its processes, what a run keeps, what --resume goes on with, turns on a GPU."""

import json
import os
import pickle
import select
import signal
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import many
import pytest
from conftest import ROOT

from harness import gpu, kept, pool, rows, run, timing
from harness.backend import Backend
from harness.errors import UsageError
from harness.judge import Options, Session, judge_one
from harness.locks import turn
from harness.pool_process import Judging, Setup, Timed, ticket_of
from harness.problems import PROBLEMS
from harness.progress import Progress
from harness.rows import CaseResult, Row, Timing
from harness.submission import Submission, find_files, read_submissions
from harness.timing import Plan, deal, gather

CPU = Backend("cpu", "asked for", None)
OPTIONS = Options(seed=1, timeout=4.0)

# Solves of subtract_one. Each notes that it was loaded; `ancestor(WORDS)` is the process above it with such a command.
HEAD = """# problem: subtract_one
import os, signal
from pathlib import Path
HERE = Path(__file__).parent
with open(HERE / "loaded", "a") as log:
    log.write(Path(__file__).name + "\\n")
def ancestor(words):
    pid = os.getpid()
    while words not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid
def once(name):
    try:
        (HERE / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
"""
SOLVE = "def solve(input, output, N):\n    output[:N] = input[:N] - 1\n"
ENDS_ITS_JUDGE = 'os.kill(ancestor(b"harness.pool_process"), signal.SIGKILL)\nsignal.pause()\n'

# Ends the judge when it has kept what the others gave.
ENDS_THE_RUN = """
if once("ended"):
    journal = HERE / ".run.json.rows"
    while not (journal.exists() and all(name in journal.read_text() for name in ("a.py", "b.py"))):
        os.sched_yield()
    os.kill(ancestor(b"harness\\0"), signal.SIGNAL)
    signal.pause()
"""


@pytest.fixture
def write(tmp_path):
    def write(name, top="", solve=SOLVE):
        (tmp_path / name).write_text(HEAD + top + solve)
        return tmp_path / name

    return write


def judged_in_a_pool(paths, processes, options=OPTIONS):
    """The rows of files by name, in the order in which they came."""
    submissions = [submission for path in paths for submission in read_submissions(path, None)]
    jobs = [Judging(ticket_of(submission), False) for submission in submissions]
    with pool.Pool([{}] * processes, Setup("cpu", "asked for", options, True)) as running:
        return {submissions[place].path.name: answer for place, answer in running.run(jobs)}


def loaded(folder):
    return sorted((folder / "loaded").read_text().split())


# The pool


def test_a_class_gets_the_verdicts_that_its_files_get_alone_also_where_processes_are_killed(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    expected = many.make_class(folder, 12, seed=3, suffixes=(".cu",))
    alone = {}
    with Session(CPU, OPTIONS, needs_torch=False) as session:
        for name in expected:
            (submission,) = read_submissions(folder / name, None)
            alone[name] = judge_one(submission, session, Progress(silent=True)).row
    assert {name: row.verdict for name, row in alone.items()} == expected
    arguments = ["--backend", "cpu", "--seed", "1", "--timeout", "4"]
    found = many.judge_class(folder, tmp_path / "run.json", arguments, kill_at=(1, 4, 7))
    assert found["kills"] == 3 or len(pool.lanes(CPU, 12)) == 1
    assert [Path(row["file"]).name for row in found["rows"]] == sorted(expected)
    for row in found["rows"]:
        other = alone[Path(row["file"]).name]
        assert (row["verdict"], row["flags"]) == (other.verdict, other.flags), row["message"]
        assert [c["verdict"] for c in row["cases"]] == [c.verdict for c in other.cases], row["file"]
    shown = many.figures(found, 2)
    assert shown["files"] == 12 and 0 < shown["share_not_the_submissions_own"] < 1


def test_a_file_whose_judging_process_is_killed_is_judged_by_another(write):
    killed = write("killed.py", f'if once("killed"):\n    {ENDS_ITS_JUDGE.replace(chr(10), "; ")}\n')
    found = judged_in_a_pool([killed, write("good.py")], 1)
    assert {name: judged.row.verdict for name, judged in found.items()} == dict.fromkeys(found, rows.ACCEPTED)
    assert loaded(killed.parent) == ["good.py", "killed.py", "killed.py"]


def test_a_file_that_kills_every_judging_process_is_given_up_and_the_others_are_judged(write):
    killer = write("killer.py", ENDS_ITS_JUDGE)
    found = judged_in_a_pool([killer, write("good.py")], 1)
    assert found["killer.py"].text == "the judging process was ended by signal 9 in each of 5 attempts"
    assert found["good.py"].row.verdict == rows.ACCEPTED
    assert loaded(killer.parent) == ["good.py"] + ["killer.py"] * pool.ATTEMPTS


def test_a_file_that_was_given_up_is_the_judges_failure(cli, write, tmp_path):
    if len(pool.lanes(CPU, 2)) < 2:
        pytest.skip("on one core there is no pool")
    write("killer.py", ENDS_ITS_JUDGE)
    write("good.py")
    done = cli("check", "--folder", ".", "--backend", "cpu", "--json", "run.json", cwd=tmp_path)
    assert done.returncode == 2
    good, killer = json.loads((tmp_path / "run.json").read_text())["rows"]
    assert (good["file"], good["verdict"]) == ("good.py", "accepted")
    assert killer["verdict"] == "internal-error"
    assert "does the file end other processes?" in killer["message"]
    assert killer["source_hash"]


def test_a_pool_leaves_no_process_behind(write):
    (submission,) = read_submissions(write("a.py"), None)
    setup = Setup("cpu", "asked for", OPTIONS, True)
    with pool.Pool([{}, {}], setup) as running:
        started = [lane.process.pid for lane in running._lanes]
        (answer,) = [answer for _, answer in running.run([Judging(ticket_of(submission), False)])]
        servers = [int(c) for pid in started for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        assert servers
    assert answer.row.verdict == rows.ACCEPTED
    assert not any(Path(f"/proc/{pid}").exists() for pid in started + servers)


def test_a_fork_server_that_was_stopped_ends_when_its_judging_process_is_killed(write, tmp_path):
    stops = """
if once("stopped"):
    (HERE / "server").write_text(str(os.getppid()))
    judge = ancestor(b"harness.pool_process")
    os.kill(os.getppid(), signal.SIGSTOP)
    os.kill(judge, signal.SIGKILL)
    signal.pause()
while not (HERE / "looked").exists():
    os.sched_yield()
"""
    (submission,) = read_submissions(write("a.py", stops), None)
    with pool.Pool([{}], Setup("cpu", "asked for", OPTIONS, True)) as running:
        answers = running.run([Judging(ticket_of(submission), False)])
        with ThreadPoolExecutor(1) as beside:
            answer = beside.submit(next, answers)
            while not (tmp_path / "server").exists() or not (tmp_path / "server").read_text():
                os.sched_yield()
            with suppress(ProcessLookupError):  # it has ended already
                server = os.pidfd_open(int((tmp_path / "server").read_text()))
                ended, _, _ = select.select([server], [], [], 60)
                os.close(server)
                assert ended, "the stopped fork server lives on"
            (tmp_path / "looked").touch()
            assert answer.result()[1].row.verdict == rows.ACCEPTED


def test_processes_on_the_cpu_are_one_a_core_if_the_memory_allows(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16))
    monkeypatch.setattr(pool, "memory_limit", lambda _: 4 << 30)
    for gigabytes, count, processes in ((256, 200, 16), (256, 3, 3), (32, 200, 7), (2, 200, 1)):
        monkeypatch.setattr(pool, "memory_of_the_host", lambda gigabytes=gigabytes: gigabytes << 30)
        assert len(pool.lanes(CPU, count)) == processes


@pytest.mark.parametrize(
    ("visible", "names", "devices"),
    [
        (None, ["H200", "H200"], ["0", "1"]),
        (None, ["H200", "L4", "H200"], ["0", "2"]),
        ("5,GPU-a,7", ["H200"] * 3, ["5", "GPU-a", "7"]),
        ("5,99", ["H200"], ["5"]),  # CUDA sees none behind the first that is not there
    ],
)
def test_processes_on_gpus_are_one_for_each_of_the_first_ones_model(monkeypatch, visible, names, devices):
    monkeypatch.setattr(gpu, "names", lambda: names)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    found = pool.lanes(Backend("gpu", "H200", None), 8)
    assert found == [{"CUDA_VISIBLE_DEVICES": device} for device in devices]
    assert pool.lanes(Backend("gpu", "H200", None), 1) == found[:1]


@pytest.mark.parametrize(
    ("wanted", "visible", "names", "result"),
    [
        ("1,0", None, ["H200", "H200"], "1,0"),
        ("1", "4,GPU-b", ["H200"], "GPU-b"),
        ("2", "4,GPU-b", [], "lets only 2 be seen"),
        ("0", "", [], "lets only 0 be seen"),
        ("0,3", None, ["H200"], "only 1 of them"),
        ("0,1", None, ["H200", "L4"], "H200, L4"),
        ("0,0", None, [], "no list of GPUs"),
        ("all", None, [], "no list of GPUs"),
    ],
)
def test_gpus_are_chosen_among_those_that_are_visible(monkeypatch, wanted, visible, names, result):
    monkeypatch.setattr(gpu, "names", lambda: names)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "to be restored")
    if visible is None:
        del os.environ["CUDA_VISIBLE_DEVICES"]
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
    if not result[0].isdigit() and not result.startswith("GPU"):
        with pytest.raises(UsageError, match=result):
            pool.choose_gpus(wanted)
    else:
        pool.choose_gpus(wanted)
        assert os.environ["CUDA_VISIBLE_DEVICES"] == result


def test_gpus_on_the_cpu_backend(cli, write):
    done = cli("check", write("a.py"), "--gpus", "0", "--backend", "cpu", CUDA_VISIBLE_DEVICES=None)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --gpus ")


# Files


def test_folders_and_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.cu", "a.py", "notes.txt", "deep/er/c.cu", "deep/.hidden/d.cu", "[x].py", ".e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(*named, folders=()):
        return [str(path) for path in find_files([Path(name) for name in named], [Path(f) for f in folders])]

    assert found(folders=["."]) == ["[x].py", "a.py", "b.cu", "deep/er/c.cu"]
    assert found("*") == ["[x].py", "a.py", "b.cu"]
    assert found("**/*.cu") == ["b.cu", "deep/er/c.cu"]
    assert found("[x].py") == ["[x].py"]  # a name, where there is such a file
    assert found("[ab].*", "b.cu", "*.cu", folders=["deep"]) == ["a.py", "b.cu", "b.cu", "deep/er/c.cu"]
    assert found("nowhere.cu") == ["nowhere.cu"]  # whose absence is said like that of any file
    for named, folders, says in ((["*.mojo"], [], r"pattern \*.mojo"), ([], ["deep/.hidden/none"], "no directory")):
        with pytest.raises(UsageError, match=says):
            found(*named, folders=folders)


def test_nothing_named(cli):
    done = cli("check")
    assert done.returncode == 2
    assert done.stderr == "error: there is nothing to judge: name FILE... or --folder DIR\n"


# What a run keeps


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_run_that_was_ended_goes_on_and_judges_nothing_twice(cli, write, tmp_path, name):
    for file in ("a.py", "b.py"):
        write(file)
    write("c.py", ENDS_THE_RUN.replace("SIGNAL", name))
    arguments = ("check", "--folder", ".", "--backend", "cpu", "--json", "run.json")
    done = cli(*arguments, cwd=tmp_path)
    assert done.returncode == (130 if name == "SIGINT" else -signal.SIGKILL), done.stderr
    if name == "SIGINT":
        assert "interrupted: 2 of 3 files are judged; they are in run.json, --resume goes on" in done.stderr
        before = json.loads((tmp_path / "run.json").read_text())
        assert [row["file"] for row in before["rows"]] == ["a.py", "b.py"]
        assert not (tmp_path / ".run.json.rows").exists()
    again = cli(*arguments, "--resume", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "2 of 3 are judged already" in again.stderr
    after = json.loads((tmp_path / "run.json").read_text())
    assert [(row["file"], row["verdict"]) for row in after["rows"]] == [(f"{f}.py", "accepted") for f in "abc"]
    assert len({row["seed"] for row in after["rows"]}) == 1  # nobody has to type it again
    assert all(len(row["cases"]) == 13 for row in after["rows"])
    assert loaded(tmp_path) == ["a.py", "b.py", "c.py", "c.py"]
    assert not (tmp_path / ".run.json.rows").exists()


def test_a_changed_file_is_judged_again(cli, write, tmp_path):
    write("a.py")
    write("b.py")
    arguments = ("check", "a.py", "b.py", "--backend", "cpu", "--json", "run.json")
    assert cli(*arguments, cwd=tmp_path).returncode == 0
    write("b.py", solve="def solve(input, output, N):\n    pass\n")
    done = cli(*arguments, "--resume", cwd=tmp_path)
    assert done.returncode == 1
    assert "1 of 2 are judged already" in done.stderr
    assert loaded(tmp_path) == ["a.py", "b.py", "b.py"]
    assert [r["verdict"] for r in json.loads((tmp_path / "run.json").read_text())["rows"]] == [
        "accepted",
        "wrong-answer",
    ]
    other = cli(*arguments, "--resume", "--strict", cwd=tmp_path)
    assert other.returncode == 2
    assert "is of a run with strict False, this one has True" in other.stderr
    fewer = cli("check", "a.py", *arguments[3:], "--resume", cwd=tmp_path)
    assert fewer.returncode == 2
    assert "run.json is of b.py, too, and would lose it" in fewer.stderr
    assert len(json.loads((tmp_path / "run.json").read_text())["rows"]) == 2


def test_the_board_is_gone_on_with_and_holds_nothing_twice(cli, write, tmp_path):
    write("a.py")
    write("wrong.py", solve="def solve(input, output, N):\n    pass\n")
    arguments = ("submit", "--folder", ".", "--backend", "cpu", "--db", "board.sqlite3")
    assert cli(*arguments, cwd=tmp_path).returncode == 1
    before = loaded(tmp_path)
    assert before == ["a.py", "a.py", "wrong.py"]  # what is accepted is loaded again to be timed

    def lines():
        board = sqlite3.connect(tmp_path / "board.sqlite3")
        found = board.execute("SELECT file, verdict, sizes IS NULL FROM lines ORDER BY id").fetchall()
        board.close()
        return sorted(found)

    once = [("a.py", "accepted", 0), ("torch.sub", "accepted", 0), ("wrong.py", "wrong-answer", 1)]
    assert lines() == once
    write("b.py")
    done = cli(*arguments, "--resume", cwd=tmp_path)
    assert done.returncode == 1
    assert "2 of 3 are judged already" in done.stderr
    assert loaded(tmp_path) == sorted([*before, "b.py", "b.py"])
    assert [line for line in lines() if line[0] != "torch.sub"] == [once[0], ("b.py", "accepted", 0), once[2]]
    assert "the board does not keep why" in done.stdout
    refused = cli(*arguments, "--resume", "--strict", cwd=tmp_path)
    assert refused.returncode == 2
    assert "how strictly" in refused.stderr


def test_resume_needs_something_to_go_on_with(cli, write, tmp_path):
    write("a.py")
    done = cli("check", "a.py", "--resume", cwd=tmp_path)
    assert done.returncode == 2
    assert "--resume needs --json PATH" in done.stderr


ROW = Row(
    file="a.cu", problem="softmax", backend="gpu", verdict=rows.ACCEPTED, message="", flags=["nondeterministic"],
    warnings=["w"], seed=7, cases=[CaseResult("N=1/uniform", "main", rows.ACCEPTED, "", "replay", {"error": "nan"})],
    timings=[Timing({"N": 5}, 1.0, 2.0, 0.9, 1.1, 4.0, 0.5, 2.0, [1.0], "method", gpu="a-b", spans=[[1.0, 2.0]])],
    source_hash="1234", problem_version=3, seconds={"all": 1.5},
)  # fmt: skip


def test_a_row_comes_back_from_its_json_as_it_was():
    assert Row.from_json(json.loads(json.dumps(ROW.to_json()))) == ROW


def test_a_journal_that_was_cut_off_in_the_middle_of_a_row(tmp_path):
    head = {"seed": 7}
    keeper = kept.Keeper(tmp_path / "run.json", head, None, {})
    keeper.add(ROW)
    journal = tmp_path / ".run.json.rows"
    whole = journal.read_text()
    keeper.add(ROW)
    for end in (len(whole), len(whole) + 1, len(whole) + 40):
        journal.write_text(journal.read_text()[:end])
        assert kept.read_kept(tmp_path / "run.json") == (head, [ROW])


def test_what_is_no_run_is_not_gone_on_with(tmp_path):
    path = tmp_path / "run.json"
    assert kept.read_kept(path) == ({}, [])
    path.write_text("[]")
    with pytest.raises(UsageError, match="no run of this judge"):
        kept.read_kept(path)


# Timing in heats


def test_rows_are_timed_in_heats_and_come_back_in_their_order(monkeypatch):
    def entrant(name, problem="softmax", verdict=rows.ACCEPTED, timings=()):
        row = Row(name, problem, "cpu", verdict, "", [], [], 1, [], timings=list(timings))
        return row, Submission(Path(name), PROBLEMS[problem])

    judged = [entrant("a"), entrant("b", "subtract_one"), entrant("c", verdict=rows.WRONG_ANSWER), entrant("d")]
    judged += [entrant("e"), entrant("f", timings=ROW.timings)]
    monkeypatch.setattr(timing, "HEAT", 2)
    heats = deal(judged)
    assert [[row.file for _, row, _ in heat.entrants] for heat in heats] == [["a", "d"], ["e"], ["b"]]
    assert [len(heat.entrants) for heat in deal(judged, gpus=3)] == [1, 1, 1, 1]
    timed = []
    for number, heat in enumerate(heats):
        reference = Row(f"reference {number}", heat.problem.name, "cpu", rows.ACCEPTED, "", [], [], 1, [], label="r")
        timed.append(
            (heat, reference, [Row(f"{row.file} timed", *list(vars(row).values())[1:]) for _, row, _ in heat.entrants])
        )
    found = [row.file for row in gather(judged, [timed[2], timed[0], timed[1]])]
    assert found == ["reference 0", "a timed", "reference 2", "b timed", "c", "d timed", "e timed", "f"]
    earlier = {"softmax": Row("earlier", "softmax", "cpu", rows.ACCEPTED, "", [], [], 1, [], label="r")}
    assert [row.file for row in gather(judged[4:], [], earlier)] == ["e", "earlier", "f"]


def test_heats_are_dealt_out_to_gpus_and_one_that_is_lost_is_said(monkeypatch):
    monkeypatch.setattr(run, "lanes", lambda backend, count: [{"CUDA_VISIBLE_DEVICES": n} for n in "01"])
    monkeypatch.setattr(timing, "HEAT", 1)
    judges = run.Judges(Backend("gpu", "H200", None), OPTIONS, True, 2)
    names = ("a.py", "b.py")
    found = [Row(n, "softmax", "gpu", rows.ACCEPTED, "", [], [], 1, []) for n in names]
    judged = [(row, Submission(Path(row.file), PROBLEMS["softmax"])) for row in found]
    reference = Row("torch.softmax", "softmax", "gpu", rows.ACCEPTED, "", [], [], 1, [], label="torch.softmax")

    def answers(jobs):
        assert [[row.file for _, row, _ in job.entrants] for job in jobs] == [["a.py"], ["b.py"]]
        assert pickle.loads(pickle.dumps(jobs)) == jobs
        yield 1, pool.Lost("the judging process ended")
        yield 0, Timed(reference, [replace(found[0], timings=ROW.timings)], {"sm_mhz_median": 1980}, ["a warning"])

    judges._pool = SimpleNamespace(run=answers)
    base = Submission(Path("base.py"), PROBLEMS["softmax"])
    heats = list(judges.time(deal(judged, judges.gpus), None, Plan(against=base)))
    assert [clocks for *_, clocks, _ in heats] == [{}, {"sm_mhz_median": 1980}]
    first, a, b = gather(judged, [heat[:3] for heat in heats])
    assert first == reference
    assert a.timings == ROW.timings
    assert (b.timings, b.warnings) == ([], ["not timed: the judging process ended"])


# Turns on a GPU

HOLDER = """
import sys
from pathlib import Path
from harness.locks import turn
path, alone = Path(sys.argv[1]), sys.argv[2] == "alone"
with turn(path, alone, lambda: print("waits", flush=True)):
    print("holds", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """holder("alone" or "shared") -> another process that asks for the turn."""
    with ExitStack() as stack:

        def start(kind):
            command = [sys.executable, "-c", HOLDER, str(tmp_path / "gpu.lock"), kind]
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def says(process, word):
    assert process.stdout.readline() == f"{word}\n"


def test_whoever_times_is_alone_and_a_holder_that_is_killed_holds_nothing(holder, tmp_path):
    first = holder("shared")
    says(first, "holds")
    second = holder("shared")
    says(second, "holds")
    timing = holder("alone")
    says(timing, "waits")
    third = holder("shared")
    says(third, "waits")  # behind the one that waits for the whole
    first.kill()
    second.communicate("\n")
    says(timing, "holds")
    timing.kill()
    says(third, "holds")
    third.communicate("\n")
    with turn(tmp_path / "gpu.lock", True, lambda: pytest.fail("somebody holds it still")):
        pass


def test_a_session_without_a_gpu_waits_for_nobody():
    with Session(CPU, OPTIONS, needs_torch=False).turn(alone=True), Session(CPU, OPTIONS, False).turn(alone=True):
        pass


# With GPUs


def spans_by_gpu(documents):
    """When something was timed, by GPU, in order."""
    spans = {}
    for document in documents:
        found = {(t["gpu"], *span) for row in document["rows"] for t in row["timings"] for span in t["spans"]}
        for device, began, ended in found:  # contestants of one race share theirs
            spans.setdefault(device, []).append((began, ended))
    return {device: sorted(each) for device, each in spans.items()}


def assert_one_at_a_time(spans):
    for one, next_one in pairwise(spans):
        assert one[1] <= next_one[0], "two races ran on one GPU at once"


@pytest.mark.gpu
def test_two_judges_never_time_on_one_gpu_at_once(tmp_path):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    judges, results = [], [tmp_path / "first.json", tmp_path / "second.json"]
    for result in results:
        command = [sys.executable, "-m", "harness", "bench", "triton_solutions/softmax_baseline.py", "--gpus", "0"]
        command += ["--backend", "gpu", "--json", str(result)]
        judges.append(subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}))
    assert [judge.wait() for judge in judges] == [0, 0]
    (spans,) = spans_by_gpu(json.loads(result.read_text()) for result in results).values()
    assert len(spans) >= 2 * timing.GENERATIONS
    assert_one_at_a_time(spans)


@pytest.mark.gpu
@pytest.mark.timeout(900)
def test_two_gpus_judge_and_time_the_same_file_alike(cli, tmp_path):
    if len(gpu.names()) < 2:
        pytest.skip("there is one GPU")
    source = (ROOT / "triton_solutions" / "softmax_baseline.py").read_text()
    for number in range(timing.HEAT + 2):
        (tmp_path / f"{number:02}.py").write_text(f"{source}\n# number {number}\n")
    done = cli("bench", "*.py", "--gpus", "0,1", "--backend", "gpu", "--json", "run.json", cwd=tmp_path, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "run.json").read_text())
    spans = spans_by_gpu([document])
    assert len(spans) == 2
    for each in spans.values():
        assert_one_at_a_time(each)
    medians = {}
    for row in document["rows"][1:]:
        medians.setdefault(row["timings"][0]["gpu"], []).append(row["timings"][0]["device_us"])
    first, second = (sorted(each)[len(each) // 2] for each in medians.values())
    assert abs(first / second - 1) < 0.05


@pytest.mark.gpu
def test_another_gpu_than_the_first(cli, write, tmp_path):
    if len(gpu.names()) < 2:
        pytest.skip("there is one GPU")
    write("a.py")
    uuids = []
    for number in ("0", "1"):
        done = cli("check", "a.py", "--gpus", number, "--backend", "gpu", "--json", f"{number}.json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        uuids.append(json.loads((tmp_path / f"{number}.json").read_text())["machine"]["gpu"]["uuid"])
    assert uuids[0] != uuids[1] and all(uuids)


def test_a_process_that_is_told_to_end_in_a_destructor_ends():
    """An exception raised there would be printed and forgotten."""
    program = """
import functools, os, signal
from harness.pool_process import _end
class Session:
    def __exit__(self): print("ended", flush=True)
class Dying:
    def __del__(self): os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, functools.partial(_end, Session()))
Dying()
print("went on")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_a_process_whose_judge_was_interrupted_at_once_says_nothing():
    ours, theirs = socket.socketpair()
    ours.close()
    command = [sys.executable, "-m", "harness.pool_process", str(theirs.fileno())]
    with theirs:
        done = subprocess.run(command, cwd=ROOT, pass_fds=[theirs.fileno()], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
