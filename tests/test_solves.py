"""Judges every solve in cuda/ and triton_solutions/, and every --solve PATH: one item per solve and case."""

from pathlib import Path

import pytest
from conftest import ROOT, SEED

from harness import rows
from harness.backend import choose
from harness.judge import Options, Session, judge, select_cases
from harness.submission import bundled_submissions, read_submissions

OPTIONS = Options(seed=SEED)
BUNDLED = (ROOT / "cuda", ROOT / "triton_solutions")


def pytest_generate_tests(metafunc):
    submissions = bundled_submissions()
    for path in metafunc.config.getoption("--solve"):
        submissions += read_submissions(Path(path).resolve(), None)
    several = {s.path for s in submissions if sum(t.path == s.path for t in submissions) > 1}
    parameters = []
    for backend, marks in (("cpu", ()), ("gpu", (pytest.mark.gpu,))):
        for submission in submissions:
            label = submission.path.name + (f":{submission.problem.name}" if submission.path in several else "")
            for case in select_cases(submission.problem, OPTIONS, backend):
                item = pytest.param(backend, submission, case.name, id=f"{backend}-{label}-{case.name}", marks=marks)
                parameters.append(item)
    metafunc.parametrize(("backend", "submission", "case"), parameters)


@pytest.fixture(scope="module")
def sessions():
    """A judging session for each backend, started when it is first asked for."""
    started = {}

    def session(backend):
        if backend not in started:
            started[backend] = Session(choose(backend, needs_nvcc=True), OPTIONS, needs_torch=True)
        return started[backend]

    yield session
    for opened in started.values():
        opened.__exit__()


@pytest.fixture(scope="module")
def judged(sessions):
    """The row of a submission, judged when its first case is asked for."""
    found = {}

    def row(backend, submission):
        key = (backend, submission.path, submission.problem.name)
        if key not in found:
            found[key] = judge(submission, sessions(backend), lambda total: lambda: None)
        return found[key]

    return row


def test_case(judged, backend, submission, case):
    row = judged(backend, submission)
    result = next((c for c in row.cases if c.name == case), None)
    assert result is not None, f"{row.verdict}: {row.message}"
    if result.group == "special" and submission.path.resolve().parent not in BUNDLED:
        pytest.skip("special values decide only for the bundled solves")
    assert result.verdict == rows.ACCEPTED, f"{result.message}\nreplay: {result.replay}"
