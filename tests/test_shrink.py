"""Failing cases made smaller, kept in a file and replayed."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from harness import rows, shrink
from harness.backend import choose
from harness.judge import Options, Session
from harness.problems import PROBLEMS, Case
from harness.submission import read_submissions

SOFTMAX_OF = """\
import torch

calls = 0


def solve(input, output, N):
    global calls
    calls += 1
    output[:N] = torch.softmax(input[:N], 0)
    if {when}:
        {then}
"""

ROWS_OF = """\
# problem: softmax_rows
import torch


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    x = input.as_strided((n_rows, n_cols), (input_row_stride, 1))
    output.as_strided((n_rows, n_cols), (output_row_stride, 1)).copy_(torch.softmax(x, 1))
    if n_rows > 2 and n_cols > 100:
        output[n_cols - 1] = 0.25
"""


@pytest.fixture(scope="module")
def session():
    with Session(choose("cpu", False), Options(seed=1), needs_torch=True) as session:
        yield session


def written(tmp_path, text):
    path = tmp_path / "solve.py"
    path.write_text(text)
    return read_submissions(path, None)[0]


def shrunk(session, submission, name, seconds=60.0):
    (case,) = [case for case in submission.problem.cases(1) if case.name == name]
    return shrink.Shrinker(submission, session, seconds).shrink(case)


@pytest.mark.parametrize("limit", [1, 2, 700, 1024])
def test_the_smallest_size_that_fails_is_found_with_the_simplest_values(session, tmp_path, limit):
    submission = written(tmp_path, SOFTMAX_OF.format(when=f"N >= {limit}", then="output[N - 1] *= 0.99"))
    found = shrunk(session, submission, "N=1025/uniform")
    assert found.case.sizes == {"N": limit}
    assert found.verdict == rows.WRONG_ANSWER
    assert not found.inputs["input"].any()


def test_values_that_matter_stay(session, tmp_path):
    submission = written(tmp_path, SOFTMAX_OF.format(when="(input[:N] < -9).any()", then="output[0] = 7"))
    found = shrunk(session, submission, "N=1025/uniform")
    x = found.inputs["input"]
    assert x[-1] < -9
    assert not (x[:-1] < -9).any()
    assert np.count_nonzero(x) <= -(-len(x) // 8)


def test_rows_and_columns_shrink_while_strides_stay(session, tmp_path):
    submission = written(tmp_path, ROWS_OF)
    name = next(c.name for c in submission.problem.cases(1) if c.sizes["n_rows"] > 4 and c.sizes["n_cols"] > 200)
    found = shrunk(session, submission, name)
    assert (found.case.sizes["n_rows"], found.case.sizes["n_cols"]) == (3, 101)
    (before,) = [case for case in submission.problem.cases(1) if case.name == name]
    assert found.case.sizes["input_row_stride"] == before.sizes["input_row_stride"]


def test_a_cut_keeps_every_remaining_element_where_it_was(session):
    problem = PROBLEMS["softmax_rows"]
    sizes = {"n_rows": 4, "n_cols": 5, "input_row_stride": 9, "output_row_stride": 7}
    case = Case("x", "main", sizes, "uniform", "x", 0)
    inputs = problem.inputs(case, 1)
    shrinker = shrink.Shrinker(written_nowhere(problem), session)
    shrinker._found = shrink.Failing(case, inputs, rows.WRONG_ANSWER, "")
    smaller, cut = shrinker._cut("n_cols", 2)
    before, after = (problem.layouts(c.sizes)["input"] for c in (case, smaller))
    assert cut["input"].shape == (after.length,)
    assert np.array_equal(after.payload(cut["input"]), before.payload(inputs["input"])[:, :2])


def written_nowhere(problem):
    from pathlib import Path

    from harness.submission import Submission

    return Submission(Path("nowhere.py"), problem)


def test_a_crash_is_made_smaller_too(session, tmp_path):
    submission = written(tmp_path, SOFTMAX_OF.format(when="N >= 33", then="import os; os._exit(3)"))
    found = shrunk(session, submission, "N=257/uniform")
    assert (found.verdict, found.case.sizes) == (rows.RUNTIME_ERROR, {"N": 33})


def test_a_failure_that_takes_earlier_calls_is_said_to_be_one(session, tmp_path):
    submission = written(tmp_path, SOFTMAX_OF.format(when="calls > 1", then="output[0] = 7"))
    assert shrunk(session, submission, "N=257/uniform") is None


def test_when_the_time_is_over_what_was_found_so_far_counts(session, tmp_path):
    submission = written(tmp_path, SOFTMAX_OF.format(when="N >= 2", then="output[0] = 7"))
    found = shrunk(session, submission, "N=257/uniform", seconds=0.0)
    assert found.case.sizes == {"N": 257}


def kept_by(done):
    return re.search(r"python -m harness replay (\S+)", done.stdout)[1]


@pytest.fixture(scope="module")
def failing(cli, tmp_path_factory):
    """A solve that fails from N = 700 on, what the judge said of it, and the replay file."""
    path = tmp_path_factory.mktemp("failing") / "solve.py"
    path.write_text(SOFTMAX_OF.format(when="N >= 700", then="output[N - 1] *= 0.99"))
    done = cli("check", path, "--shrink", "--backend", "cpu", "--seed", "1")
    assert done.returncode == 1
    return path, done, kept_by(done)


def test_what_check_has_kept_fails_again_and_passes_once_it_is_mended(cli, tmp_path, failing):
    path, done, file = failing
    assert "smallest failing case, of size 700: output[699] is" in done.stdout
    again = cli("replay", file, "--json", tmp_path / "run.json")
    assert again.returncode == 1
    assert "output[699] is" in again.stdout
    (row,) = json.loads((tmp_path / "run.json").read_text())["rows"]
    assert row["verdict"] == rows.WRONG_ANSWER
    assert file in row["cases"][0]["replay"]
    assert "has changed" not in again.stderr
    wrong = path.read_text()
    path.write_text(wrong.replace("*= 0.99", "*= 1"))
    mended = cli("replay", file)
    path.write_text(wrong)
    assert mended.returncode == 0, mended.stdout
    assert "has changed since the case was kept" in mended.stderr


def test_an_accepted_file_has_nothing_to_shrink(cli, tmp_path):
    path = tmp_path / "solve.py"
    path.write_text(SOFTMAX_OF.format(when="False", then="pass"))
    done = cli("check", path, "--shrink", "--backend", "cpu")
    assert done.returncode == 0, done.stdout
    assert "smallest" not in done.stdout


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda file, path: "nowhere.npz", "does not exist"),
        (lambda file, path: path, "is no replay file"),
        (lambda file, path: emptied(file), "is no replay file"),
        (lambda file, path: piped(file), "is no file"),
        (lambda file, path: tampered(file, schema=99), "another version of the judge"),
        (lambda file, path: tampered(file, problem_version=99), "another version of softmax"),
        (lambda file, path: tampered(file, sizes={"N": 3}), "another version of softmax"),
        (lambda file, path: tampered(file, file="/nowhere/solve.py"), "does not exist"),
    ],
    ids=["missing", "a solve", "empty", "a pipe", "schema", "problem", "sizes", "solve gone"],
)
def test_what_cannot_be_replayed_is_said_in_a_sentence(cli, failing, make, words):
    path, _, file = failing
    done = cli("replay", make(file, path))
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def emptied(kept):
    other = kept.replace(".npz", "-emptied.npz")
    Path(other).write_bytes(b"")
    return other


def piped(kept):
    other = kept.replace(".npz", "-piped.npz")
    os.mkfifo(other)
    return other


def tampered(kept, **changes):
    with np.load(kept) as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = {**json.loads(arrays.pop("about").tobytes()), **changes}
    other = kept.replace(".npz", "-tampered.npz")
    np.savez(other, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
    return other
