"""What the judge does where a machine refuses something, with stand-ins for what cannot be had here."""

from types import SimpleNamespace

from harness import judge as module
from harness import rows
from harness.arena import HostArena
from harness.judge import Options, judge
from harness.problems import PROBLEMS
from harness.submission import Submission


class RefusedWorker:
    """A worker that cannot open the arena through CUDA IPC."""

    def wait_loaded(self, _):
        return SimpleNamespace(body={"failed": ["ipc", "invalid device context (201)"]}, outcome="answered")

    def __exit__(self, *_):
        pass


def test_a_worker_that_is_refused_ipc_makes_the_session_copy_and_the_file_is_judged_again(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("def solve(input, output, N):\n    pass\n")
    session = SimpleNamespace(
        backend=SimpleNamespace(name="gpu", gpu=None),
        options=Options(seed=1, case="N=33/uniform"),
        copying=False,
        build=lambda submission: {"python": None},
        arena=lambda problem, cases: HostArena(problem, cases),
        worker=lambda *_: RefusedWorker(),
    )
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
