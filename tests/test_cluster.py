"""--ray: what travels with a submission, what it is called where it is judged, and Ray itself where there is one."""

import fcntl
import json
import os
import secrets
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import many
import pytest
from conftest import ROOT
from test_pool import CPU, ENDS_ITS_JUDGE, HEAD, OPTIONS, SOLVE, loaded
from waiting import wait_for_file, wait_for_the_end

from harness import cluster as cluster_module
from harness import corpus, rows
from harness.build import find_tool
from harness.cluster import judge_parcel, pack, renamed, unpack
from harness.errors import UsageError
from harness.judge import Judged, Session, judge_one
from harness.pool_process import Setup
from harness.progress import Progress
from harness.report import finite
from harness.rows import CaseResult, Row
from harness.submission import read_submissions


def submission_of(path):
    (submission,) = read_submissions(path, None)
    return submission


def test_without_ray_a_sentence_says_how_to_get_it(cli, tmp_path):
    (tmp_path / "ray.py").write_text("raise ImportError\n")
    (tmp_path / "a.py").write_text(HEAD + SOLVE)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = cli("check", "a.py", "--ray", "--backend", "cpu", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 2
    assert done.stderr == "error: --ray needs Ray, which is not installed: pip install -e '.[ray]' installs it\n"


def test_where_there_is_no_connection_a_sentence_says_what_may_be_missing(cli, tmp_path):
    (tmp_path / "ray.py").write_text('def init(*_, **__):\n    raise ConnectionError("nobody is there\\nmore of it")\n')
    (tmp_path / "a.py").write_text(HEAD + SOLVE)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    arguments = ("check", "a.py", "--ray", "host-1:6379", "--backend", "cpu")
    for mode, hint in ((None, " (if it asks for a token, set RAY_AUTH_MODE=token)"), ("token", "")):
        done = cli(*arguments, cwd=tmp_path, PYTHONPATH=path, RAY_AUTH_MODE=mode)
        assert done.returncode == 2
        says = done.stderr.splitlines()[-1]
        assert says == f"error: --ray host-1:6379: no connection to Ray: nobody is there{hint}"


@pytest.mark.parametrize("address", [[], ["auto"], ["host-1:6379"], ["ray://host:10001"]])
def test_what_follows_the_flag_is_an_address_if_it_looks_like_one(cli, address):
    done = cli("check", "--ray", *address, "nowhere.cu")
    assert done.returncode == 2
    assert "nowhere.cu does not exist" in done.stderr


def test_included_files_travel(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "a.cu").write_text('#include <cmath>\n#include "lib/one.h"\n#include "nowhere.h"\n')
    (tmp_path / "lib" / "one.h").write_text('# include "../two.h"\n#include "one.h"\n')
    (tmp_path / "two.h").write_text("// two\n")
    (tmp_path / "three.h").write_text("// not included\n")
    parcel = pack(submission_of(tmp_path / "a.cu"))
    assert list(parcel.files) == ["a.cu", "lib/one.h", "two.h"]
    submission, _ = unpack(parcel, tmp_path / "there")
    assert submission.path == tmp_path / "there" / "a.cu"
    for name in parcel.files:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_file_outside_its_folder_does_not_travel(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "outside.h").write_text("")
    (tmp_path / "deep" / "a.cu").write_text('#include "../outside.h"\n')
    with pytest.raises(UsageError, match=r"a\.cu includes \.\./outside\.h: with --ray only what lies beside"):
        pack(submission_of(tmp_path / "deep" / "a.cu"))


def test_a_row_calls_files_what_they_are_called_where_they_come_from():
    here, there = "/node/shipped/a b.cu", "class/it's.cu"
    case = CaseResult("N=1", "main", rows.WRONG_ANSWER, f"N=1: {here}:3", f"check {shlex.quote(here)} --seed 1")
    row = Row(here, "softmax", "cpu", rows.WRONG_ANSWER, f"N=1: {here}:3", [], [f"see {here}"], 1, [case])
    found = renamed(row, {here: there})
    assert (found.file, found.message, found.warnings) == (there, f"N=1: {there}:3", [f"see {there}"])
    assert shlex.split(found.cases[0].replay) == ["check", there, "--seed", "1"]
    assert "/node" not in json.dumps(found.to_json())


@pytest.mark.parametrize("name", ["good/pairs.cu", "bad/segfault.cu", "bad/raises.py", "bad/missing_header.cu"])
def test_a_parcel_gets_the_row_that_its_submission_gets(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("class").mkdir()
    path = Path("class") / Path(name).name
    path.write_bytes((corpus.FOLDER / name).read_bytes())
    submission = submission_of(path)
    with Session(CPU, OPTIONS, needs_torch=True) as session:
        here = judge_one(submission, session, Progress(silent=True)).row
    there = judge_parcel(pack(submission), Setup("cpu", "asked for", OPTIONS, True)).row
    assert finite({**there.to_json(), "seconds": None}) == finite({**here.to_json(), "seconds": None})
    left = Path(os.environ["XDG_CACHE_HOME"]) / "solve-judge" / "shipped"
    assert {path.suffix for path in left.iterdir()} == {".lock"}


@pytest.mark.parametrize(
    ("name", "models", "needed"),
    [
        ("NVIDIA H200", ["H200", "A100"], "H200"),
        ("NVIDIA A100-SXM4-80GB", ["A100", "A10"], "A100"),
        ("NVIDIA GeForce RTX 5090", ["GeForce-RTX-5090", "RTX"], "GeForce-RTX-5090"),
        ("NVIDIA H200", [], None),
    ],
)
def test_a_task_asks_for_a_gpu_of_the_runs_model(monkeypatch, name, models, needed):
    asked = {}
    there = {"CPU": 8.0, "GPU": 2.0, **{f"accelerator_type:{model}": 1.0 for model in models}}
    ray = SimpleNamespace(
        cluster_resources=lambda: there, remote=lambda **options: asked.update(options) or (lambda function: function)
    )
    monkeypatch.setattr(cluster_module, "import_ray", lambda: ray)
    assert list(cluster_module.Cluster("host-1:6379", Setup("gpu", name, OPTIONS, False)).run([])) == []
    assert (asked["num_gpus"], asked["num_cpus"]) == (1, 1)
    assert asked["resources"] == ({f"accelerator_type:{needed}": 0.001} if needed else {})


def test_a_cluster_of_other_gpus_is_an_error_with_both_names():
    with pytest.raises(UsageError, match=r"GPUs of the Ray cluster are A100, L4, the run is for NVIDIA H200$"):
        cluster_module.model_needed("NVIDIA H200", {"accelerator_type:L4": 1.0, "accelerator_type:A100": 2.0})


def test_who_judges_a_parcel_has_its_folder_alone(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(HEAD + SOLVE)
    seen = []

    def judges(submission, *_):
        with open(submission.path.parent.with_suffix(".lock")) as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        seen.append(submission.path.exists())
        return Judged(Row("", "softmax", "cpu", rows.ACCEPTED, "", [], [], 1, []), "")

    monkeypatch.setattr(cluster_module, "judge_one", judges)
    judge_parcel(pack(submission_of(tmp_path / "a.py")), Setup("cpu", "asked for", OPTIONS, False))
    assert seen == [True]


def test_ray_gives_a_class_the_verdicts_of_the_pool_also_where_its_workers_are_killed(cli, tmp_path):
    pytest.importorskip("ray")
    folder = tmp_path / "class"
    folder.mkdir()
    expected = many.make_class(folder, 8, seed=5, suffixes=(".cu",))
    killed = ENDS_ITS_JUDGE.replace("harness.pool_process", "ray::").replace("\n", "; ")
    here = HEAD.replace("Path(__file__).parent", f"Path({str(tmp_path)!r})")
    (folder / "killed.py").write_text(f'{here}if once("killed"):\n    {killed}\n{SOLVE}')
    expected["killed.py"] = rows.ACCEPTED
    found = []
    (tmp_path / "killed").touch()
    for number, flags in enumerate(([], ["--ray"])):
        result = tmp_path / f"{number}.json"
        arguments = ["--backend", "cpu", "--seed", "1", "--timeout", "10", "--json", result]
        done = cli("check", "--folder", folder, *arguments, *flags)
        assert done.returncode == 1, done.stderr
        document = json.loads(result.read_text())
        assert {Path(row["file"]).name: row["verdict"] for row in document["rows"]} == expected
        found.append(document["rows"])
        (tmp_path / "killed").unlink()
    for pooled, shipped in zip(*found, strict=True):
        for name in ("file", "verdict", "flags", "source_hash", "problem_version"):
            assert shipped[name] == pooled[name], shipped["message"]
        assert [c["verdict"] for c in shipped["cases"]] == [c["verdict"] for c in pooled["cases"]], shipped["file"]
        assert [c["replay"] for c in shipped["cases"]] == [c["replay"] for c in pooled["cases"]]
    assert loaded(tmp_path).count("killed.py") == 3  # in the pool where nothing ended it, on Ray twice


# Several nodes, here on one machine: each a `ray start` in the foreground, the head with no core to judge on.


@contextmanager
def node(token, *arguments, cores=1):
    """A node of a Ray cluster; the process id of its raylet."""
    variables = {**os.environ, **token, "RAY_USAGE_STATS_ENABLED": "0"}
    options = ["--block", f"--num-cpus={cores}", "--object-store-memory=100000000", *arguments]
    command = [find_tool("ray"), "start", *options]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as start:
        try:
            said = []
            while "Ray runtime started." not in (line := start.stdout.readline()):
                said.append(line)
                assert line, "".join(said)
            children = map(int, Path(f"/proc/{start.pid}/task/{start.pid}/children").read_text().split())
            (raylet,) = [c for c in children if b"raylet/raylet" in Path(f"/proc/{c}/cmdline").read_bytes()]
            yield raylet
        finally:
            start.terminate()
            start.communicate()


@pytest.fixture
def cluster():
    """The head of a Ray cluster: its address, and what shows whoever speaks to it to be ours."""
    pytest.importorskip("ray")
    with socket.socket() as free, tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
        with node(token, *head, cores=0):
            yield f"127.0.0.1:{port}", token


def written(folder, name, top="", solve=SOLVE):
    """A solve that knows the folder it comes from, wherever it is judged."""
    (folder / name).write_text(HEAD.replace("Path(__file__).parent", f"Path({str(folder)!r})") + top + solve)


def test_files_of_a_node_that_ends_are_judged_by_another_and_what_it_has_finished_stays(cli, cluster, tmp_path):
    address, token = cluster
    # The doomed node ends with its second file; until then the other one does not get on with its first.
    ends_its_node = """
raylet = ancestor(b"raylet/raylet")
with open(HERE / "nodes", "a") as log:
    log.write(f"{Path(__file__).name} {raylet}\\n")
if raylet != int((HERE / "doomed").read_text()):
    while not (HERE / "killed").exists():
        os.sched_yield()
elif (HERE / "nodes").read_text().count(f" {raylet}\\n") == 2:
    once("killed")
    os.kill(raylet, signal.SIGKILL)
    signal.pause()
"""
    for name in ("a.py", "b.py", "c.py", "d.py"):
        written(tmp_path, name, ends_its_node)
    written(tmp_path, "wrong.py", ends_its_node, "def solve(input, output, N):\n    pass\n")
    with node(token, f"--address={address}") as doomed, node(token, f"--address={address}"):
        (tmp_path / "doomed").write_text(str(doomed))
        arguments = ("check", "--folder", ".", "--backend", "cpu", "--json", "run.json", "--ray", address)
        done = cli(*arguments, cwd=tmp_path, **token)
    assert done.returncode == 1, done.stderr
    found = {row["file"]: row["verdict"] for row in json.loads((tmp_path / "run.json").read_text())["rows"]}
    assert found == {**dict.fromkeys(("a.py", "b.py", "c.py", "d.py"), rows.ACCEPTED), "wrong.py": rows.WRONG_ANSWER}
    judged = [line.split() for line in (tmp_path / "nodes").read_text().splitlines()]
    judged = [(file, int(raylet) == doomed) for file, raylet in judged]
    finished, killed = [file for file, was_doomed in judged if was_doomed]
    assert sorted(file for file, was_doomed in judged if not was_doomed) == sorted(found.keys() - {finished})
    assert killed in found


def test_a_run_on_a_cluster_that_was_killed_goes_on_and_enters_nothing_twice(cli, cluster, tmp_path):
    address, token = cluster
    waits_for_the_end = """
if not (HERE / "reached").exists():
    journal = HERE / ".run.json.rows"
    while not (journal.exists() and all(name in journal.read_text() for name in ("a.py", "b.py"))):
        os.sched_yield()
    (HERE / "solve").write_text(str(os.getpid()))
    once("reached")
    signal.pause()
"""
    written(tmp_path, "a.py")
    written(tmp_path, "b.py", solve="def solve(input, output, N):\n    pass\n")
    written(tmp_path, "c.py", waits_for_the_end)
    arguments = ("submit", "--folder", ".", "--backend", "cpu", "--json", "run.json", "--db", "board.sqlite3")

    def lines():
        board = sqlite3.connect(tmp_path / "board.sqlite3")
        found = board.execute("SELECT file, verdict FROM lines WHERE label = '' ORDER BY file").fetchall()
        board.close()
        return found

    with (
        subprocess.Popen(
            [sys.executable, "-m", "harness", *arguments, "--ray", address],
            cwd=tmp_path,
            env={**os.environ, **token, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        ) as driver,
        ExitStack() as stack,
    ):
        stack.callback(driver.kill)
        said = [driver.stderr.readline() for _ in range(2)]
        assert said[1] == "the Ray cluster has no CPU yet: waiting for a node that has\n", said
        stack.enter_context(node(token, f"--address={address}"))
        wait_for_file(tmp_path / "reached")
        driver.kill()
        assert driver.wait() == -signal.SIGKILL
        assert lines() == [("a.py", "accepted"), ("b.py", "wrong-answer")]
        wait_for_the_end([int((tmp_path / "solve").read_text())])
        again = cli(*arguments, "--resume", "--ray", address, cwd=tmp_path, **token)
    assert again.returncode == 1, again.stderr
    assert "2 of 3 are judged already" in again.stderr
    assert lines() == [("a.py", "accepted"), ("b.py", "wrong-answer"), ("c.py", "accepted")]
    # What is accepted is loaded once more, to be timed.
    assert loaded(tmp_path) == ["a.py", "a.py", "b.py", "c.py", "c.py", "c.py"]
