"""Challenges by path: loading, cases, the published check and the one beside it, verdicts, starters, wrong usage."""

import json
import re
import shlex
import textwrap

import numpy as np
import pytest
from conftest import ROOT, why_no_gpu

from harness import challenge as challenge_module
from harness import rows
from harness.backend import Backend
from harness.challenge import ChallengeHost, find_all, find_directory, load_challenge
from harness.check import Published, check_published
from harness.errors import UsageError
from harness.judge import Options, Session, judge, select_cases
from harness.problems import find_problem
from harness.selftest import self_test
from harness.shrink import shrink_row
from harness.signature import c_declaration
from harness.starter import write_starter
from harness.submission import read_submissions

CHALLENGES = ROOT / "tests" / "challenges"
NAMES = {place.name: place.directory for place in find_all(CHALLENGES)}


@pytest.fixture(scope="module")
def host():
    host = ChallengeHost()
    yield host
    host.close()


@pytest.fixture(scope="module")
def load(host):
    kept = {}
    return lambda name: kept.setdefault(name, kept.get(name) or load_challenge(NAMES[name], host))


@pytest.fixture(scope="module")
def session():
    with Session(Backend("cpu", "asked for", None), Options(seed=7), needs_torch=True) as session:
        yield session


@pytest.fixture
def judged(load, session, tmp_path):
    """The row of a source text for a challenge."""

    def row(name, suffix, text, **options):
        path = tmp_path / f"solve{suffix}"
        path.write_text(textwrap.dedent(text))
        (submission,) = read_submissions(path, None, challenge=load(name))
        session.options = Options(seed=7, **options)
        return judge(submission, session, lambda total: lambda: None)

    return row


# ---- loading ----------------------------------------------------------------------------------------------------


def test_parameters_are_those_of_the_signature_with_the_types_of_the_tensors(load):
    declared = {
        "axpy": "void solve(const float* x, float* y, float a, size_t n)",
        "extremes": "void solve("
        "const float* values, float* smallest, float* largest, int* place, int rows, int columns)",
        "halve": "void solve(const __half* x, __half* y, int rows, int columns, bool really)",
        "count": "void solve(const int* values, int* counts, int n, int bins)",
    }
    assert {name: c_declaration(load(name).parameters) for name in declared} == declared
    assert [p.role for p in load("axpy").parameters] == ["in", "inout", "scalar", "scalar"]
    assert [p.role for p in load("layer").parameters] == ["in", "object", "out"]


def test_cases_are_those_of_the_three_generators(load):
    cases = {case.name: case for case in load("axpy").cases(7)}
    assert list(cases) == [
        "example/a=2,n=2",
        "functional-1/a=-0.25,n=33",
        "functional-2/a=0,n=1025",
        "functional-3/a=0.001,n=2500",
        "functional-4/a=1.5,n=2097152",
        "performance/a=1.5,n=4194304",
        "functional-2/a=0,n=1025/again",
        "functional-3/a=0.001,n=2500/again",
    ]
    groups = [case.group for case in cases.values()]
    assert groups == ["main"] * 4 + ["gpu"] * 2 + ["main"] * 2  # an emulated GPU is too slow for the large ones
    assert cases["functional-1/a=-0.25,n=33"].sizes == {"x[0]": 33, "y[0]": 33, "a": -0.25, "n": 33}


def test_contents_follow_from_the_seed_and_the_case(load):
    problem = load("axpy")
    first, again, other = (problem.inputs(problem.cases(seed)[2], 0) for seed in (7, 7, 8))
    assert first["x"].shape == (1025,) and -2 <= first["x"].min() < first["x"].max() < 2
    assert all(np.array_equal(first[name], again[name]) for name in ("x", "y"))
    assert not np.array_equal(first["x"], other["x"])
    another = problem.inputs(problem.cases(7)[3], 0)
    assert not np.array_equal(first["x"], another["x"][:1025])


def test_outputs_start_as_the_challenge_has_them_and_memory_it_left_uninitialised_is_zero(load):
    problem = load("extremes")
    inputs = problem.inputs(problem.cases(0)[2], 0)
    assert [inputs[name].dtype for name in ("largest", "place")] == [np.float32, np.int32]
    assert not any(inputs[name].any() for name in ("smallest", "largest", "place"))


def test_the_reference_is_there_in_the_challenges_types_and_in_float64(load):
    problem = load("halve")
    case = problem.cases(0)[1]
    inputs = problem.inputs(case, 0)
    answer = problem.reference(inputs, case.sizes)
    exact = inputs["x"].reshape(3, 5).astype(np.float64) / 2
    assert answer["y"].dtype == np.float16 and np.array_equal(answer["y"], exact.astype(np.float16))
    assert answer["y in float64"].dtype == np.float64 and np.array_equal(answer["y in float64"], exact)


def test_what_is_timed_and_the_bytes_of_it(load):
    problem = load("axpy")
    on_gpu, emulated = (problem.timing_cases(None, backend)[0] for backend in ("gpu", "cpu"))
    assert problem.shape(on_gpu) == {"n": 1 << 22} and problem.shape(emulated) == {"n": 2500}
    assert problem.ideal_bytes(on_gpu.sizes) == 3 * 4 << 22  # y is read and written
    with pytest.raises(UsageError, match="timed at its own sizes"):
        problem.timing_cases(((77,),), "gpu")


def test_the_mutants_of_every_challenge_are_caught_but_those_of_the_weak_one(load):
    for name in NAMES:
        outcomes = {o.mutant: o for o in self_test(load(name), 7)}
        weak = {mutant for mutant, o in outcomes.items() if not o.caught}
        expected = {"zeros", "scaled", "two elements swapped", "tail dropped", "first block skipped", "stale output"}
        assert weak == (expected & outcomes.keys() if name == "tiny_shares" else set()), name
    assert all(o.flagged == o.applicable for o in self_test(load("tiny_shares"), 7) if o.mutant == "zeros")


# ---- the check --------------------------------------------------------------------------------------------------

RULE = Published(atol=1e-3, rtol=1e-2)


def check(got, expected, wide=None, rule=RULE):
    got, expected = np.asarray(got, np.float32), np.asarray(expected, np.float32)
    wide = expected.astype(np.float64) if wide is None else np.asarray(wide)
    return check_published("y", got, expected, wide, np.full_like(got, -77), rule)


@pytest.mark.parametrize(
    ("got", "expected", "passed"),
    [
        (1.0109, 1.0, True),
        (1.0111, 1.0, False),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.nan, np.nan, True),
        (np.inf, np.inf, True),
        (-np.inf, np.inf, False),
        (1e30, np.inf, False),
        (np.inf, 1.0, False),
        (np.nan, np.inf, False),
    ],
)
def test_the_published_tolerance_decides(got, expected, passed):
    checked = check([0.5, got], [0.5, expected])
    assert checked.passed is checked.published_passed is passed
    assert passed or checked.message.startswith("y[1] is ")


def test_a_tolerance_of_nothing_is_met_by_equal_numbers_alone():
    exactly = Published(0.0, 0.0)
    assert check([0.0, 3.0], [0.0, 3.0], rule=exactly).passed
    assert not check([0.0, np.nextafter(np.float32(3), 4)], [0.0, 3.0], rule=exactly).passed


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "bool"])
def test_what_is_no_floating_type_must_be_equal(dtype):
    expected = np.array([1, 0, 1], dtype)
    poison = np.full_like(expected, 1)
    assert check_published("y", expected.copy(), expected, None, poison, RULE).passed
    got = expected.copy()
    got[1] ^= True
    assert not check_published("y", got, expected, None, np.zeros_like(got), Published(5, 5)).passed


def test_whole_numbers_are_shown_whole():
    checked = check_published("y", np.int32([2147483646]), np.int32([2147483647]), None, np.int32([0]), RULE)
    assert "y[0] is 2147483646, expected 2147483647" in checked.message


def test_the_check_that_knows_the_size_of_the_answer_stands_beside():
    small = check([0.0, 0.0], [1e-5, 2e-5])
    assert small.passed and "largest error of y is 1 of the largest expected value, 2e-05" in small.difference
    assert check([1e-5, 2e-5], [1e-5, 2e-5]).difference == ""
    severe = check([1.0, 1.00001], [1.0, 1.0], rule=Published(1e-9, 0))
    assert not severe.passed and severe.difference.startswith("failed by atol = 1e-09")
    # Where the reference itself is far from the truth nothing more is asked of others.
    assert check([0.0, 0.0], [1e-5, 2e-5], wide=[2e-5, 1e-5]).difference == ""


# ---- verdicts ---------------------------------------------------------------------------------------------------

AXPY = """\
    #include <cuda_runtime.h>
    __global__ void axpy(const float* x, float* y, float a, size_t n) {
        size_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] += a * x[i];
    }
    extern "C" void solve(const float* x, float* y, float a, size_t n) {
        axpy<<<(n + 255) / 256, 256>>>(x, y, a, n);
        cudaDeviceSynchronize();
    }
"""

EXTREMES = """\
    #include <cuda_runtime.h>
    __global__ void extremes(const float* v, float* low, float* high, int* place, int rows, int columns) {
        int row = blockIdx.x * blockDim.x + threadIdx.x;
        if (row >= rows) return;
        const float* begin = v + row * columns;
        int least = 0, most = 0;
        for (int i = 1; i < columns; ++i) {
            if (begin[i] < begin[least]) least = i;
            if (begin[i] > begin[most]) most = i;
        }
        low[row] = begin[least], high[row] = begin[most], place[row] = most;
    }
    extern "C" void solve(const float* v, float* low, float* high, int* place, int rows, int columns) {
        extremes<<<(rows + 31) / 32, 32>>>(v, low, high, place, rows, columns);
        cudaDeviceSynchronize();
    }
"""

HALVE = """\
    #include <cuda_fp16.h>
    #include "solve.h"
    __global__ void halve(const __half* x, __half* y, int n, float factor) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = __float2half(__half2float(x[i]) * factor);
    }
    void solve(const __half* x, __half* y, int rows, int columns, bool really) {
        halve<<<(rows * columns + 63) / 64, 64>>>(x, y, rows * columns, really ? 0.5f : 1.0f);
        cudaDeviceSynchronize();
    }
"""

COUNT = """\
    #include <cuda_runtime.h>
    __global__ void count(const int* values, int* counts, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) atomicAdd(counts + values[i], 1);
    }
    extern "C" void solve(const int* values, int* counts, int n, int bins) {
        cudaMemset(counts, 0, bins * sizeof(int));
        count<<<(n + 255) / 256, 256>>>(values, counts, n);
        cudaDeviceSynchronize();
    }
"""
COUNT_ON_TOP = COUNT.replace("cudaMemset(counts, 0, bins * sizeof(int));", "")


@pytest.mark.parametrize(
    ("name", "source"), [("axpy", AXPY), ("extremes", EXTREMES), ("halve", HALVE), ("count", COUNT)]
)
def test_right_files_are_accepted(judged, name, source):
    row = judged(name, ".cu", source)
    assert (row.verdict, row.message, row.flags) == (rows.ACCEPTED, "", [])
    assert len(row.cases) >= 5 and all(case.verdict == rows.ACCEPTED for case in row.cases)


@pytest.mark.parametrize(
    ("name", "source", "change", "verdict", "words"),
    [
        ("axpy", AXPY, ("(n + 255) / 256", "n / 256 ? n / 256 : 1"), rows.WRONG_ANSWER, r"y\[\d+\] is "),
        ("axpy", AXPY, ("y[i] +=", "y[i] ="), rows.WRONG_ANSWER, r"y\[\d+\] is "),
        ("axpy", AXPY, ("i < n", "i <= n"), rows.OUT_OF_BOUNDS, r"y\[\d+\]|x\[\d+\]"),
        ("axpy", AXPY, ("y[i] +=", "const_cast<float*>(x)[i] = y[i] +="), rows.INPUT_MODIFIED, r"x\[\d+\] was"),
        ("axpy", AXPY, (", float a, size_t n) {\n        axpy", ", size_t n) { float a = 1;\n        axpy"),
         rows.COMPILE_ERROR, "another number of parameters"),
        ("extremes", EXTREMES, ("place[row] = most", "place[row] = most + 1"), rows.WRONG_ANSWER, r"place\[\d+\] is "),
        ("extremes", EXTREMES, ("high[row] = begin[most], ", ""), rows.WRONG_ANSWER, r"largest\[\d+\] is 0"),
        ("halve", HALVE, ("0.5f", "0.49f"), rows.WRONG_ANSWER, r"y\[row \d+, column \d+\] is "),
        ("count", COUNT, (", 1);", ", 2);"), rows.WRONG_ANSWER, r"counts\[\d+\] is "),
    ],
)  # fmt: skip
def test_wrong_files_get_the_verdict_they_would_get_for_a_built_in_problem(
    judged, name, source, change, verdict, words
):
    assert change[0] in source
    row = judged(name, ".cu", source.replace(*change))
    assert row.verdict == verdict
    assert re.search(words, row.message), row.message


def test_a_file_that_adds_to_what_outputs_hold_is_accepted_with_a_flag(judged):
    row = judged("count", ".cu", COUNT_ON_TOP)
    assert (row.verdict, row.flags) == (rows.ACCEPTED, [rows.RELIES_ON_OUTPUT_CONTENTS])
    assert "full of poison: counts[0] is " in row.warnings[0]
    strict = judged("count", ".cu", COUNT_ON_TOP, strict=True)
    assert strict.verdict == rows.WRONG_ANSWER and "--strict does not allow relies-on-output-contents" in strict.message


def test_an_answer_that_only_the_tolerance_lets_pass_is_accepted_with_a_flag(judged):
    zeros = "def solve(weights, shares, n):\n    shares.zero_()\n"
    row = judged("tiny_shares", ".py", zeros)
    assert (row.verdict, row.flags) == (rows.ACCEPTED, [rows.PUBLISHED_RULE_DIFFERS])
    assert "passed by atol = 0.001, rtol = 1e-05, yet the largest error of shares is 1 " in row.warnings[0]
    strict = judged("tiny_shares", ".py", zeros, strict=True)
    assert strict.verdict == rows.WRONG_ANSWER and "largest error of shares" in strict.message
    right = judged("tiny_shares", ".py", "def solve(weights, shares, n):\n    shares.copy_(weights / weights.sum())\n")
    assert (right.verdict, right.flags) == (rows.ACCEPTED, [])


def test_python_files_get_tensors_in_the_shapes_of_the_challenge(judged):
    source = """\
        def solve(values, smallest, largest, place, rows, columns):
            assert values.shape == (rows, columns) and place.shape == (rows,)
            smallest.copy_(values.amin(1))
            largest.copy_(values.amax(1))
            place.copy_(values.argmax(1))
    """
    assert judged("extremes", ".py", source).verdict == rows.ACCEPTED
    wrong = judged("extremes", ".py", source.replace("argmax", "argmin"))
    assert wrong.verdict == rows.WRONG_ANSWER and "place[" in wrong.message


def test_triton_files_are_judged(judged):
    source = """\
        import triton
        import triton.language as tl

        @triton.jit
        def kernel(x, y, a, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(y + i, i < n) + a * tl.load(x + i, i < n), i < n)

        def solve(x, y, a, n):
            kernel[(triton.cdiv(n, 1024),)](x, y, a, n, BLOCK=1024)
    """
    row = judged("axpy", ".py", source)
    assert (row.verdict, row.message) == (rows.ACCEPTED, "")
    assert judged("axpy", ".py", source.replace("i < n)\n", "i <= n)\n")).verdict == rows.OUT_OF_BOUNDS


def test_a_module_among_the_arguments_is_for_python_alone(judged):
    right = "def solve(x, layer, y):\n    y.copy_(x @ layer.weight.T + layer.bias)\n"
    assert judged("layer", ".py", right).verdict == rows.ACCEPTED
    assert judged("layer", ".py", right.replace("+ layer.bias", "")).verdict == rows.WRONG_ANSWER
    row = judged("layer", ".cu", 'extern "C" void solve(const float* x, float* y) {}\n')
    assert row.verdict == rows.UNSUPPORTED
    assert row.message == "layer is a Python object: only a Python solve can take it"


def test_languages_that_are_not_run_are_named(judged, load, tmp_path):
    row = judged("axpy", ".py", "import jax\nimport jax.numpy as jnp\ndef solve(x, y, a, n):\n    return a * x + y\n")
    assert (row.verdict, row.message) == (
        rows.UNSUPPORTED,
        "line 1: JAX is not run here, only CUDA C++, Triton and PyTorch",
    )
    (tmp_path / "solve.mojo").touch()
    with pytest.raises(UsageError, match="Mojo is not run here"):
        read_submissions(tmp_path / "solve.mojo", None, challenge=load("axpy"))


@pytest.mark.skipif(not why_no_gpu(), reason="there is a device cuda")
def test_torchs_device_cuda_is_unsupported_where_there_is_none(judged):
    source = "import torch\ndef solve(x, y, a, n):\n    y += a * x + torch.zeros(n, device='cuda')\n"
    row = judged("axpy", ".py", source)
    assert row.verdict == rows.UNSUPPORTED
    assert "line 3: torch's device cuda, which is not here" in row.message


def test_several_gpus_are_unsupported(tmp_path, session):
    directory = copied(tmp_path, "1_axpy", ("    atol = ", "    num_gpus = 2\n    atol = "))
    solve = tmp_path / "solve.py"
    solve.write_text("def solve(x, y, a, n):\n    y += a * x\n")
    (submission,) = read_submissions(solve, None, challenge=load_challenge(directory))
    row = judge(submission, session, lambda total: lambda: None)
    assert (row.verdict, row.message) == (rows.UNSUPPORTED, "the challenge asks for 2 GPUs: the judge runs one")


def test_the_smallest_failing_case_is_shrunk_in_its_values(judged, load, session, tmp_path):
    row = judged("axpy", ".py", "def solve(x, y, a, n):\n    y += a * x\n    y[n // 2] += 0.5 * (n > 2)\n")
    (submission,) = read_submissions(tmp_path / "solve.py", None, challenge=load("axpy"))
    warning = shrink_row(row, submission, session).warnings[-1]
    assert re.match(r"smallest failing case, of size 33: y\[16\] is 0.5, expected 0 ", warning), warning


# ---- what goes wrong with a challenge ---------------------------------------------------------------------------


def copied(tmp_path, name, *changes):
    """A challenge's directory, changed, in a checkout of its own."""
    (source,) = CHALLENGES.glob(f"*/{name}/challenge.py")
    directory = tmp_path / "easy" / name
    directory.mkdir(parents=True)
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "challenge_base.py").write_text((CHALLENGES / "core" / "challenge_base.py").read_text())
    text = source.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    (directory / "challenge.py").write_text(text)
    return directory


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("class Challenge(", "class Challenging("), "has no class Challenge"),
        (("def generate_example_test", "def another"), "its class Challenge lacks generate_example_test"),
        (("    rtol = 1e-5\n", ""), "has no number rtol"),
        (("import ctypes", "import ctypes as"), r"line 3: SyntaxError: "),
        (("    name = ", "    name = nowhere + "), r"line 10: NameError: name 'nowhere' is not defined"),
        (('        return {"x": torch', '        raise SystemExit(0)\n        return {"x": torch'),
         r"line \d+: generate_example_test raised SystemExit: 0"),
        (('"inout")', '"both")'), "the signature of y is not"),
        (('"a": (', '"a b": ('), "names a parameter 'a b', which is no name in C"),
        (("    atol = 1e-6", '    raise ValueError("\\x1b[31mred")'), r"line 11: ValueError: +\[31mred"),
        (("ctypes.c_float), \"in\")", "ctypes.c_double), \"in\")"), "x is declared as float64 but holds float32"),
        (('"a": 2.0, ', ""), "a case of generate_example_test has no a"),
        (('"a": 2.0, ', '"a": "two", '), "a of a case of generate_example_test is no number: 'two'"),
        (("import torch\n", "import os, torch\nos._exit(3)\n"), "the process of the challenge ended during describe"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_challenge_is_said_in_a_sentence(tmp_path, host, change, sentence):
    directory = copied(tmp_path, "1_axpy", change)
    with pytest.raises(UsageError) as caught:
        load_challenge(directory, host)
    assert re.search(sentence, str(caught.value)), caught.value
    assert str(directory) in str(caught.value) and str(caught.value).isprintable()


def test_a_file_in_the_working_directory_is_no_module_of_a_challenge(tmp_path, monkeypatch):
    (tmp_path / "ctypes.py").write_text("raise SystemExit('not this one')\n")
    monkeypatch.chdir(tmp_path)
    assert load_challenge(NAMES["axpy"]).cases(0)


def test_a_missing_base_class_is_named(tmp_path, host):
    directory = copied(tmp_path, "1_axpy")
    (tmp_path / "core" / "challenge_base.py").unlink()
    with pytest.raises(UsageError, match=r"no folder above it holds core/challenge_base.py"):
        load_challenge(directory, host)


def test_a_challenge_without_the_base_class_needs_none(tmp_path, host):
    base = ("(ChallengeBase)", ""), ("import ChallengeBase, FullTensor", "import FullTensor")
    assert load_challenge(copied(tmp_path, "1_axpy", *base), host).cases(0)


def test_a_reference_that_raises_ends_the_run_with_a_sentence(tmp_path, session):
    problem = load_challenge(copied(tmp_path, "1_axpy", ("y.add_(a * x)", "y.add_(a * x, nothing)")))
    with pytest.raises(UsageError, match=r"line 16: reference_impl raised NameError"):
        problem.reference(problem.inputs(problem.cases(0)[0], 0), problem.cases(0)[0].sizes)


def test_a_reference_that_takes_too_long_leaves_its_case_out(tmp_path, session, monkeypatch):
    endless = "while n == 33: pass\n        y.add_(a * x)"
    problem = load_challenge(copied(tmp_path, "1_axpy", ("y.add_(a * x)", endless)))
    cases = [case for case in problem.cases(7) if case.sizes["n"] < 100]
    monkeypatch.setattr(challenge_module, "ANSWER_SECONDS", 5.0)
    solve = tmp_path / "solve.py"
    solve.write_text("def solve(x, y, a, n):\n    y += a * x\n")
    (submission,) = read_submissions(solve, None, challenge=problem)
    row = judge(submission, session, lambda total: lambda: None, cases=cases)
    assert [case.verdict for case in row.cases] == [rows.ACCEPTED, rows.NOT_RUN]
    assert row.cases[1].message.endswith("its reference took longer than 5 s")


@pytest.mark.parametrize(
    ("wanted", "root", "sentence"),
    [
        ("nowhere/5_softmax", None, "does not exist: --challenge names a directory that holds a challenge.py"),
        ("5", None, "with --challenges where the checkout is"),
        (str(ROOT), None, "holds no challenge.py"),
        ("77", CHALLENGES, "has no challenge '77'"),
        ("axpi", CHALLENGES, "did you mean axpy"),
        ("1", ROOT / "nowhere", "is no directory"),
        ("1", ROOT / "cuda", "holds no challenges"),
    ],
)
def test_a_challenge_that_is_not_there(wanted, root, sentence):
    with pytest.raises(UsageError) as caught:
        find_directory(wanted, root)
    assert sentence in str(caught.value)


def test_a_challenge_is_found_by_number_name_and_path():
    wanted = NAMES["axpy"]
    assert {find_directory(name, CHALLENGES) for name in ("1", "axpy", "1_axpy")} == {wanted}
    assert {find_directory(str(path), None) for path in (wanted, wanted / "challenge.py")} == {wanted}


# ---- the command line -------------------------------------------------------------------------------------------


def test_a_replay_command_names_the_challenge_and_runs(cli, tmp_path):
    solve = tmp_path / "on top.py"
    solve.write_text("def solve(x, y, a, n):\n    y += a * x\n    y[n // 2] += n > 1000\n")
    common = ("--challenge", "axpy", "--challenges", CHALLENGES, "--backend", "cpu", "--json", tmp_path / "run.json")
    run = cli("check", solve, *common, cwd=tmp_path)
    (row,) = json.loads((tmp_path / "run.json").read_text())["rows"]
    assert (run.returncode, row["problem"], row["verdict"]) == (1, "1_axpy", rows.WRONG_ANSWER)
    failed = next(case for case in row["cases"] if case["verdict"] == rows.WRONG_ANSWER)
    words = shlex.split(failed["replay"])
    assert words[:6] == ["python", "-m", "harness", "check", str(solve), "--challenge"]
    again = cli(*words[3:], cwd=tmp_path)
    assert again.returncode == 1 and failed["message"] in again.stdout


def test_a_challenge_is_timed_beside_its_reference(cli, tmp_path):
    solve = tmp_path / "solve.py"
    solve.write_text("def solve(values, counts, n, bins):\n    counts += values.bincount(minlength=bins)\n")
    path = tmp_path / "run.json"
    run = cli("bench", solve, "--challenge", NAMES["count"], "--backend", "cpu", "--json", path)
    reference, row = json.loads(path.read_text())["rows"]
    assert run.returncode == 0, run.stderr
    assert (reference["file"], reference["verdict"]) == ("4_count reference", rows.ACCEPTED)
    assert [t["n"] for t in row["timings"]] == [1500] and row["timings"][0]["over_reference"] > 0
    assert row["warnings"][0].startswith("relies-on-output-contents")  # and every timed call found zeros, too


def test_the_challenges_of_a_checkout_are_listed(cli):
    run = cli("problems", "--challenges", CHALLENGES)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[::3]] == [
        f"{d.name.split('_')[0]}  {d.parent.name}  {name}" for name, d in NAMES.items()
    ]
    assert lines[:3] == [
        "1  easy  axpy: a x plus y",
        "    void solve(const float* x, float* y, float a, size_t n)",
        "    8 cases, of 2 to 4,194,304 elements; timed at n = 4,194,304",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "a.py", "--challenge", "nowhere/5_x"), "nowhere/5_x does not exist"),
        (("check", "a.py", "--challenge", NAMES["axpy"], "--problem", "softmax"), "leave one out"),
        (("--challenge", NAMES["axpy"]), "--challenge needs files to judge"),
        (("sweep", "a.py", "--challenge", NAMES["axpy"]), "nothing can sweep over"),
        (("check", "a.py", "--challenges", "x"), "says where challenges lie: add --challenge NAME"),
        (("init", "softmax", "--cuda", "--challenges", "x"), "says where challenges lie: add --challenge NAME"),
        (("problems", "softmax", "--challenges", "x"), "says where challenges lie: add --challenge NAME"),
        (("init", "--cuda"), "init takes the name of a problem, or --challenge DIR"),
        (("init", "softmax"), "init takes --cuda or --triton"),
        (("init", "--challenge", NAMES["layer"], "--cuda"), "only a Python solve can take it"),
    ],
)
def test_wrong_usage_is_one_sentence(cli, tmp_path, arguments, sentence):
    run = cli(*arguments, cwd=tmp_path)
    assert run.returncode == 2 and sentence in run.stderr
    assert run.stderr.startswith("error: ") and len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("language", ["cuda", "triton"])
@pytest.mark.parametrize("name", ["softmax", "axpy", "halve"])
def test_a_starter_builds_and_runs_and_is_wrong(load, session, tmp_path, monkeypatch, language, name):
    monkeypatch.chdir(tmp_path)
    problem = find_problem(name) if name == "softmax" else load(name)
    path = write_starter(problem, language, None)
    (submission,) = read_submissions(path, None, challenge=problem if problem.challenge else None)
    assert submission.problem is problem  # which the file names, or its command does
    session.options = Options(seed=7)
    cases = [case for case in select_cases(problem, session.options, "cpu") if problem.elements(case.sizes) < 1000]
    row = judge(submission, session, lambda total: lambda: None, cases=cases[:3])
    assert row.verdict == rows.WRONG_ANSWER and row.message, row
    with pytest.raises(UsageError, match="exists: name another file"):
        write_starter(problem, language, None)


def test_init_writes_a_file_that_says_how_it_is_judged(cli, tmp_path):
    made = cli("init", "--challenge", "1", "--challenges", CHALLENGES, "--cuda", "-o", "mine.cu", cwd=tmp_path)
    assert (made.returncode, made.stdout) == (0, "mine.cu\n"), made.stderr
    command = re.search(r"python -m harness (check .+)", (tmp_path / "mine.cu").read_text())[1]
    run = cli(*shlex.split(command), "--backend", "cpu", cwd=tmp_path)
    assert run.returncode == 1 and rows.WRONG_ANSWER in run.stdout


@pytest.mark.gpu
def test_a_challenge_on_a_gpu(cli, tmp_path):
    (tmp_path / "axpy.cu").write_text(textwrap.dedent(AXPY))
    path = tmp_path / "run.json"
    arguments = ("bench", tmp_path / "axpy.cu", "--challenge", NAMES["axpy"], "--backend", "gpu", "--json", path)
    run = cli(*arguments)
    reference, row = json.loads(path.read_text())["rows"]
    assert run.returncode == 0, run.stderr
    assert {case["name"] for case in row["cases"]} >= {"functional-4/a=1.5,n=2097152", "performance/a=1.5,n=4194304"}
    assert row["timings"][0]["n"] == 1 << 22 and row["timings"][0]["device_us"] > 0
    assert reference["timings"][0]["device_us"] > 0
