"""What the judge does where a machine refuses something, with stand-ins for what cannot be had here."""

import os
import threading
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import judge as module
from harness import rows
from harness.arena import HostArena
from harness.backend import Backend, choose
from harness.build import BuildError
from harness.judge import Options, Session, building_ahead, judge
from harness.problems import PROBLEMS
from harness.submission import Submission, read_submissions


class RefusedWorker:
    """A worker that cannot open the arena through CUDA IPC."""

    def wait_loaded(self, _):
        return SimpleNamespace(body={"failed": ["ipc", "invalid device context (201)"]}, outcome="answered")

    def __exit__(self, *_):
        pass


class OnADevice(HostArena):
    kind = "device"


def refused_session(backend, arena):
    """A session whose workers all say that CUDA IPC was refused them."""
    return SimpleNamespace(
        backend=SimpleNamespace(name=backend, gpu=None),
        options=Options(seed=1, case="N=33/uniform"),
        copying=False,
        build=lambda submission: {"python": None},
        arena=arena,
        worker=lambda *_: RefusedWorker(),
        turn=lambda alone: nullcontext(),
    )


def test_a_worker_that_is_refused_ipc_makes_the_session_copy_and_the_file_is_judged_again(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("def solve(input, output, N):\n    pass\n")
    session = refused_session("gpu", OnADevice)
    accepted = rows.CaseResult("N=33/uniform", "main", rows.ACCEPTED, "", "")
    first_run = module._Trial.run
    runs = []

    def run(trial, progress):
        runs.append(session.copying)
        return first_run(trial, progress) if not session.copying else [accepted]

    monkeypatch.setattr(module._Trial, "run", run)
    row = judge(Submission(path, PROBLEMS["softmax"]), session, lambda total: lambda: None)
    assert runs == [False, True]
    assert row.verdict == rows.ACCEPTED
    assert any("IPC is refused" in warning for warning in row.warnings)


def test_ipc_that_nobody_has_asked_for_is_not_refused_but_a_lie_of_the_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def solve(input, output, N):\n    pass\n")
    session = refused_session("cpu", HostArena)
    row = judge(Submission(path, PROBLEMS["softmax"]), session, lambda total: lambda: None)
    assert (row.verdict, session.copying) == (rows.RUNTIME_ERROR, False)
    assert "private pipe" in row.message


@pytest.mark.parametrize("suffix", [".py", ".cu"])
def test_a_file_of_any_size_is_told_its_size_and_is_not_read(tmp_path, suffix):
    path = tmp_path / f"large{suffix}"
    path.touch()
    os.truncate(path, module.SOURCE_BYTES + 1)
    (submission,) = read_submissions(path, "softmax")
    session = Session(Backend("cpu", "test", None), Options(seed=1), needs_torch=False)
    with pytest.raises(BuildError, match=r"^the file has 16,777,217 bytes, a solve at most 16,777,216$") as raised:
        session.build(submission)
    assert raised.value.verdict == rows.COMPILE_ERROR


def test_cuda_files_to_come_are_built_while_others_are_judged(tmp_path):
    built, judging, last = [], threading.Event(), threading.Event()

    def build(submission):
        if submission.path.stem != "a":
            assert judging.wait(20), "nothing was judged meanwhile"
        built.append(submission.path.name)
        if submission.path.stem == "b":
            raise BuildError("compile-error", "it does not compile")
        if submission.path.stem == "c":
            last.set()

    session = SimpleNamespace(build=build)
    files = [Submission(Path(name), PROBLEMS["softmax"]) for name in ("a.cu", "p.py", "b.cu", "c.cu")]
    with building_ahead(files, session):
        judging.set()
        assert last.wait(20)
    assert sorted(built) == ["a.cu", "b.cu", "c.cu"]


@pytest.mark.parametrize("names", [["a.cu"], ["a.py", "b.py"], ["a.cu", "b.py"]])
def test_a_single_cuda_file_is_built_when_it_is_judged(names):
    def build(submission):
        raise AssertionError("built ahead")

    with building_ahead([Submission(Path(n), PROBLEMS["softmax"]) for n in names], SimpleNamespace(build=build)):
        pass


def test_all_calls_together_are_limited_too(tmp_path, monkeypatch):
    """Each call in time, and yet no end: the case at which the sum is over is named, the others are not run."""
    path = tmp_path / "right.py"
    path.write_text("import torch\n\n\ndef solve(input, output, N):\n    output[:N] = torch.softmax(input[:N], 0)\n")
    (submission,) = read_submissions(path, None)
    monkeypatch.setattr(module, "CALLS_SECONDS", 0)
    with Session(choose("cpu", False), Options(seed=1), needs_torch=True) as session:
        row = judge(submission, session, lambda _: lambda: None)
    assert row.verdict == rows.TIME_LIMIT_EXCEEDED
    assert "all calls up to this one took longer than 0 s together" in row.message
    assert {case.verdict for case in row.cases[1:]} == {rows.NOT_RUN}


def test_workers_inherit_what_triton_hashes_of_itself():
    from harness import triton_key

    assert triton_key.hash_triton.cache_info().currsize == 1
    for name, needs_torch, wanted in (("gpu", True, True), ("gpu", False, False), ("cpu", True, False)):
        session = Session(Backend(name, "asked for", None), Options(1), needs_torch)
        assert (triton_key.__name__ in session._modules) is wanted
