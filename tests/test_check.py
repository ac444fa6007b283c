"""The check of an output: what it accepts, what it rejects, and the sentence it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness import check as check_module
from harness.arena import POISONS, poison
from harness.check import FLT_MIN, PUBLISHED_ATOL, check_bitwise, check_softmax
from harness.problems import CONTENTS, OTHER_CONTENTS, PROBLEMS, Case

SOFTMAX = PROBLEMS["softmax"]
SEED = 1
CASES = [case for case in SOFTMAX.cases(SEED) if case.group != "large"]
BY_NAME = {case.name: case for case in CASES}

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
VECTORS = hnp.arrays(np.float32, st.integers(1, 64), elements=FINITE)


class Softmax:
    """One softmax case with its float64 reference, the correctly rounded output, and the check."""

    def __init__(self, case, pattern=None):
        if pattern is not None:
            case = Case(case.name, case.group, case.sizes, case.kind, case.contents, pattern)
        self.inputs = SOFTMAX.inputs(case, SEED)
        self.reference = SOFTMAX.reference(self.inputs, case.sizes)["output"]
        self.rounded = self.reference.astype(np.float32)
        self.poison = poison(case, len(self.rounded), "float32")

    def check(self, output):
        return check_softmax(self.inputs["input"], output, self.reference, self.poison)

    def check_with(self, index, value):
        output = self.rounded.copy()
        output[index] = value
        return self.check(output)


def bounds(x, r):
    """The documented bound of each element, restated."""
    u = 2.0**-24
    distance = np.where(r > 0, x.max() - x.astype(np.float64), 0.0)
    return (1e-5 + 2 * u * np.sqrt(len(r)) + 4 * u * distance) * r + 2 * FLT_MIN


def softmax_in_float64(x):
    return SOFTMAX.reference({"input": x}, {"N": len(x)})["output"]


NO_POISON = poison(CASES[0], 64, "float32")


# ---- softmax ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*CONTENTS, *OTHER_CONTENTS])
def test_the_correctly_rounded_softmax_passes_with_every_kind_of_contents(kind):
    cases = [case for case in CASES if case.kind == kind]
    assert cases
    for case in cases:
        softmax = Softmax(case)
        check = softmax.check(softmax.rounded)
        assert check.passed and check.published_passed and check.message == "", (case.name, check)
        assert 0 <= check.ratio < 1


@given(VECTORS)
def test_the_correctly_rounded_softmax_of_any_vector_passes(x):
    r = softmax_in_float64(x)
    check = check_softmax(x, r.astype(np.float32), r, NO_POISON[: len(x)])
    assert check.passed, check.message


@given(VECTORS, st.data())
def test_one_element_off_by_more_than_three_bounds_fails(x, data):
    r = softmax_in_float64(x)
    index = data.draw(st.integers(0, len(x) - 1))
    factor = data.draw(st.floats(3, 1e6)) * data.draw(st.sampled_from([-1, 1]))
    y = r.astype(np.float32)
    y[index] = r[index] + factor * bounds(x, r)[index]
    check = check_softmax(x, y, r, NO_POISON[: len(x)])
    assert not check.passed
    assert check.index == index and check.ratio >= 2.9


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_result_scaled_by_0_9995_fails_at_every_size_up_to_500_000(kind):
    for case in CASES:
        if case.kind == kind:
            softmax = Softmax(case)
            assert not softmax.check(softmax.rounded * np.float32(0.9995)).passed, case.name


@pytest.mark.parametrize("name", ["N=33/uniform", "N=1024/uniform", "N=4097/normal", "N=500000/uniform"])
def test_half_precision_fails(name):
    softmax = Softmax(BY_NAME[name])
    assert not softmax.check(softmax.rounded.astype(np.float16).astype(np.float32)).passed


def test_zeros_in_place_of_elements_below_a_millionth_fail():
    softmax = Softmax(BY_NAME["N=1024/uniform"])
    small = softmax.rounded < 1e-6
    assert 0 < small.sum() < len(small)
    check = softmax.check(np.where(small, np.float32(0), softmax.rounded))
    assert not check.passed
    assert f"{small.sum()} of 1024 elements wrong" in check.message


def test_two_elements_in_each_others_place_fail():
    softmax = Softmax(BY_NAME["N=1025/uniform"])
    low, high = int(np.argmin(softmax.reference)), int(np.argmax(softmax.reference))
    output = softmax.rounded.copy()
    output[[low, high]] = output[[high, low]]
    check = softmax.check(output)
    assert not check.passed
    assert "2 of 1025 elements wrong" in check.message


@pytest.mark.parametrize("index", [0, -1])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, -np.inf])
def test_one_wrong_number_fails_at_either_end_and_is_named(index, value):
    softmax = Softmax(BY_NAME["N=257/uniform"])
    check = softmax.check_with(index, value)
    position = index % 257
    assert not check.passed
    assert check.index == position and check.ratio > 1
    assert check.message.startswith(f"output[{position}] is {value:.9g}, expected {softmax.reference[position]:.9g} ")


def test_the_worst_of_several_wrong_elements_is_named():
    softmax = Softmax(BY_NAME["N=1024/equal"])
    output = softmax.rounded.copy()
    output[[3, 700, 1000]] *= np.float32([1.5, 4, 2])
    assert softmax.check(output).index == 700


@pytest.mark.parametrize("unwritten", [[], [514, 1020]], ids=["wrong", "not written"])
def test_a_large_output_that_is_looked_at_in_parts_gets_the_same_check(monkeypatch, unwritten):
    softmax = Softmax(BY_NAME["N=1025/uniform"], pattern=1)
    output = softmax.rounded.copy()
    output[[3, 700, 1024]] *= np.float32([1.5, 4, 2])
    output[unwritten] = softmax.poison[unwritten]
    whole = softmax.check(output)
    monkeypatch.setattr(check_module, "PART", 256)
    parts = softmax.check(output)
    assert not whole.passed and parts.message == whole.message
    assert list(vars(parts).values())[2:-1] == pytest.approx(list(vars(whole).values())[2:-1], rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("name", ["N=33/nan", "N=33/plus-infinity", "N=33/all-minus-infinity"])
def test_a_number_where_nan_is_expected_fails(name, value):
    check = Softmax(BY_NAME[name]).check_with(5, value)
    assert not check.passed and not check.published_passed
    assert check.message.startswith(f"output[5] is {value:.9g}, expected nan ")


@pytest.mark.parametrize("pattern", range(len(POISONS)))
@pytest.mark.parametrize("name", ["N=1025/uniform", "N=2500/nan"])
def test_poison_that_was_left_standing_fails_also_where_nan_is_expected(name, pattern):
    softmax = Softmax(BY_NAME[name], pattern)
    n = len(softmax.rounded)
    for count, more in ((1, ""), (2, " and 1 more")):
        check = softmax.check_with(slice(n - count, n), softmax.poison[n - count :])
        assert not check.passed
        expected = softmax.reference[n - count]
        text = f"output not written at index {n - count}{more}: the poison is still there, expected {expected:.9g}"
        assert check.message == text


def test_the_published_rule_lets_a_result_pass_that_is_a_fifth_too_small():
    softmax = Softmax(BY_NAME["N=500000/uniform"])
    check = softmax.check(softmax.rounded * np.float32(0.8))
    assert check.published_passed is True
    assert check.passed is False


def test_the_published_rule_fails_what_differs_by_more_than_its_tolerance():
    softmax = Softmax(BY_NAME["N=3/equal"])
    assert softmax.check_with(1, softmax.rounded[1] + 1.5 * PUBLISHED_ATOL).published_passed is False


# ---- rows -------------------------------------------------------------------------------------------------------

ROW_PROBLEMS = ["softmax_rows", "softmax_rows_f16", "softmax_rows_bf16"]


class Matrix:
    """One case of softmax_rows with its float64 reference, the correctly rounded output, and the check."""

    def __init__(self, problem, case):
        self.problem, self.case = PROBLEMS[problem], case
        self.inputs = self.problem.inputs(case, SEED)
        self.reference = self.problem.reference(self.inputs, case.sizes)
        self.dtype = self.inputs["input"].dtype
        self.rounded = self.reference["output"].astype(self.dtype)

    def check(self, rows):
        """The Check of these rows in an output full of poison."""
        layout = self.problem.layouts(self.case.sizes)["output"]
        before = poison(self.case, layout.length, str(self.dtype))
        buffer = before.copy()
        layout.payload(buffer)[:] = rows
        return self.problem.examine(self.case, self.inputs, {"output": buffer}, self.reference, {"output": before})


def matrix(problem, columns, kind="uniform"):
    """A matrix of `columns` columns whose rows have gaps."""
    sizes = {"n_rows": 5, "n_cols": columns, "input_row_stride": columns + 9, "output_row_stride": columns + 3}
    return Matrix(problem, Case("case", "main", sizes, kind, f"{columns}/{kind}", 0))


@pytest.mark.parametrize("problem", ROW_PROBLEMS)
def test_correctly_rounded_rows_pass_in_every_case(problem):
    for case in PROBLEMS[problem].cases(SEED):
        if case.group in ("main", "random", "special"):
            each = Matrix(problem, case)
            check = each.check(each.rounded)
            assert check.passed and check.published_passed and check.message == "", (case.name, check)
            assert 0 <= check.ratio < 1
            assert check.relative_l2 < 2.0**-8, case.name


@pytest.mark.parametrize("columns", [1, 2, 33, 1000, 16_384])
def test_float32_rows_scaled_by_0_9995_fail(columns):
    each = matrix("softmax_rows", columns)
    assert not each.check(each.rounded * np.float32(0.9995)).passed


@pytest.mark.parametrize("problem", ["softmax_rows_f16", "softmax_rows_bf16"])
@pytest.mark.parametrize("units", [-2, 2])
def test_one_element_two_units_in_the_last_place_off_fails_in_half_types(problem, units):
    each = matrix(problem, 1000)
    # Where the mantissa is between 0.75 and 1 two units are two to three times the bound.
    mantissa, _ = np.frexp(each.reference["output"])
    index = np.argmax(np.where(mantissa > 0.75, each.reference["output"], 0))
    rows = each.rounded.copy()
    rows.view(np.int16).reshape(-1)[index] += units
    check = each.check(rows)
    assert not check.passed
    assert check.index == index and 1.5 < check.ratio < 4


@pytest.mark.parametrize("problem", ROW_PROBLEMS)
def test_the_sum_in_the_type_itself_fails_in_half_types(problem):
    each = matrix(problem, 1000)
    x = each.problem.layouts(each.case.sizes)["input"].payload(each.inputs["input"]).astype(np.float32)
    e = np.exp(x - x.max(axis=1, keepdims=True)).astype(each.dtype)
    total = np.zeros((len(e), 1), dtype=each.dtype)
    for column in range(e.shape[1]):
        total = total + e[:, column : column + 1]
    check = each.check((e.astype(np.float32) / total.astype(np.float32)).astype(each.dtype))
    assert check.passed == (problem == "softmax_rows")


@pytest.mark.parametrize("problem", ROW_PROBLEMS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1.0])
def test_one_wrong_number_is_named_by_row_and_column(problem, value):
    each = matrix(problem, 257)
    rows = each.rounded.copy()
    column = int(np.argmax(each.reference["output"][3]))
    rows[3, column] = value
    check = each.check(rows)
    assert not check.passed
    assert check.index == 3 * 257 + column and check.ratio > 1
    assert check.message.startswith(f"output[row 3, column {column}] is {value:.9g}, expected ")
    assert "1 of 1285 elements wrong" in check.message
    assert "sum of row 3 " in check.message


@pytest.mark.parametrize("problem", ROW_PROBLEMS)
def test_a_nan_row_is_expected_to_be_nan_and_leaves_the_others_alone(problem):
    for kind in ("nan", "plus-infinity", "all-minus-infinity"):
        each = matrix(problem, 33, kind)
        assert np.isnan(each.rounded[[1, 3]]).all() and np.isfinite(each.rounded[[0, 2, 4]]).all()
        assert each.check(each.rounded).passed
        assert each.check(each.rounded).relative_l2 <= 2.0**-8
        number = each.rounded.copy()
        number[3, 7] = 0
        assert each.check(number).message.startswith("output[row 3, column 7] is 0, expected nan ")
        spread = each.rounded.copy()
        spread[2] = np.nan
        assert each.check(spread).message.startswith("output[row 2, column 0] is nan, expected ")
        assert "33 of 165 elements wrong" in each.check(spread).message


def test_rows_are_held_to_a_maximum_of_their_own():
    # By the largest number of the matrix the term in |x - m| would allow 0.7 % in rows far below it.
    each = matrix("softmax_rows", 64)
    layout = each.problem.layouts(each.case.sizes)["input"]
    rows = layout.payload(each.inputs["input"])
    rows[0] = 30_000.0
    each.reference = each.problem.reference(each.inputs, each.case.sizes)
    off = each.reference["output"].copy()
    off[1:] *= 1.001
    check = each.check(off.astype(np.float32))
    assert not check.passed
    assert "256 of 320 elements wrong" in check.message


@pytest.mark.parametrize("problem", ROW_PROBLEMS)
@pytest.mark.parametrize("kind", ["uniform", "nan"])
def test_a_row_that_was_not_written_is_told_with_its_place(problem, kind):
    each = matrix(problem, 40, kind)
    layout = each.problem.layouts(each.case.sizes)["output"]
    rows = each.rounded.copy()
    rows[1] = layout.payload(poison(each.case, layout.length, str(each.dtype)))[1]
    check = each.check(rows)
    expected = each.reference["output"][1, 0]
    text = "output not written at row 1, column 0 and 39 more: the poison is still there"
    assert check.message == f"{text}, expected {expected:.9g}"


def test_a_large_matrix_that_is_looked_at_in_parts_gets_the_same_check(monkeypatch):
    each = matrix("softmax_rows", 1025)
    rows = each.rounded.copy()
    rows[2, 700] *= 4
    whole = each.check(rows)
    monkeypatch.setattr(check_module, "PART", 256)
    again = matrix("softmax_rows", 1025)  # the reference, too
    parts = again.check(rows)
    assert not whole.passed and parts.message == whole.message
    assert list(vars(parts).values())[2:-1] == pytest.approx(list(vars(whole).values())[2:-1], rel=1e-12)


def test_the_published_rule_speaks_of_float32_alone():
    for problem in ROW_PROBLEMS:
        each = matrix(problem, 3)
        rows = each.rounded.copy()
        rows[0] = (each.reference["output"][0] * 0.97).astype(each.dtype)
        assert not each.check(rows).passed and not each.check(rows).published_passed
        assert each.check(each.rounded).published_passed


# ---- bit for bit ------------------------------------------------------------------------------------------------


@given(hnp.arrays(np.uint32, st.integers(1, 64)))
def test_equal_bits_pass_whatever_they_mean(bits):
    r = bits.view(np.float32)
    with np.errstate(all="ignore"):
        assert check_bitwise(r.copy(), r, (~bits).view(np.float32)).passed


@settings(deadline=None)
@given(VECTORS, st.data())
def test_one_changed_bit_fails_and_its_element_is_named(r, data):
    index = data.draw(st.integers(0, len(r) - 1))
    y = r.copy()
    y.view(np.uint32)[index] ^= np.uint32(1 << data.draw(st.integers(0, 31)))
    with np.errstate(all="ignore"):
        check = check_bitwise(y, r, NO_POISON[: len(r)])
    assert not check.passed
    assert check.index == index
    assert check.message.startswith(f"output[{index}] is {y[index]:.9g}, expected {r[index]:.9g} ")


@pytest.mark.parametrize("pattern", POISONS)
def test_poison_left_standing_is_told_from_a_wrong_number(pattern):
    left = np.full(8, pattern).view(np.float32)
    r = np.arange(4, dtype=np.float32)
    y = r.copy()
    y[2] = left[2]
    check = check_bitwise(y, r, left)
    assert not check.passed
    assert check.message == "output not written at index 2: the poison is still there, expected 2"


def test_minus_zero_is_not_zero_bit_for_bit_but_passes_the_published_rule():
    check = check_bitwise(np.float32([-0.0]), np.float32([0.0]), NO_POISON[:1])
    assert not check.passed and check.published_passed
