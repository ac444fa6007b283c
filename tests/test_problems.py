"""The problems on matrices: their cases, what lies between rows, the reference, the sizes that can be timed."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

from harness.arena import HostArena
from harness.errors import UsageError
from harness.judge import Options, select_cases
from harness.layout import Layout
from harness.problems import CONTENTS, OTHER_CONTENTS, PROBLEMS
from harness.signature import C_HEADERS, check_text, write_check

TYPES = {"softmax_rows": "float32", "softmax_rows_f16": "float16", "softmax_rows_bf16": "bfloat16"}
SEEDS = (0, 1, 2, 12345)


def cases_of(name, seed, backend="cpu"):
    return select_cases(PROBLEMS[name], Options(seed), backend)


def deciding(cases):
    return [case for case in cases if case.group in ("main", "random")]


# ---- the cases --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TYPES)
def test_the_cases_of_rows_cover_what_row_kernels_get_wrong(name, seed):
    cases = deciding(cases_of(name, seed))
    sizes = [case.sizes for case in cases]
    columns = {size["n_cols"] for size in sizes}
    for power in (2, 32, 128, 256, 1024, 2048, 4096):
        assert {power, power + 1} <= columns
        assert power == 2 or power == 4096 or power - 1 in columns
    assert max(columns) == 16_384
    assert any(size["n_rows"] == 1 and size["n_cols"] > 1 for size in sizes)
    assert any(size["n_cols"] == 1 and size["n_rows"] > 1 for size in sizes)
    assert any(_is_prime(size["n_rows"]) and _is_prime(size["n_cols"]) for size in sizes)
    assert any(size["input_row_stride"] == size["output_row_stride"] == size["n_cols"] for size in sizes)
    different = [s for s in sizes if len({s["input_row_stride"], s["output_row_stride"], s["n_cols"]}) == 3]
    assert any(size["n_rows"] > 1 and size["input_row_stride"] % 2 == 1 for size in different)
    for name_of_stride in ("input_row_stride", "output_row_stride"):
        assert any(s["n_rows"] > 1 and s[name_of_stride] > s["n_cols"] for s in sizes)
        assert all(size[name_of_stride] >= size["n_cols"] for size in sizes)
    assert {case.kind for case in cases} == {*CONTENTS, "twin"}
    assert {case.poison for case in cases} == {0, 1}
    assert {case.shift for case in cases} == {0, 1}
    assert len({case.name for case in cases}) == len(cases)


def _is_prime(n):
    return n > 1 and all(n % divisor for divisor in range(2, math.isqrt(n) + 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_shape_comes_twice_with_different_contents_and_another_poison(seed):
    by_sizes = {}
    for case in deciding(cases_of("softmax_rows", seed)):
        by_sizes.setdefault(tuple(case.sizes.values()), []).append(case)
    for cases in by_sizes.values():
        assert len({(case.contents, case.kind) for case in cases}) >= 2
        assert {case.poison for case in cases} == {0, 1}


def test_the_seed_chooses_sizes_and_kinds():
    first, second = ({(c.name, c.kind) for c in cases_of("softmax_rows", seed)} for seed in (1, 2))
    assert first != second
    assert first == {(c.name, c.kind) for c in cases_of("softmax_rows", 1)}


def test_with_no_gpu_a_matrix_has_at_most_64_rows_and_on_one_there_are_more():
    assert max(case.sizes["n_rows"] for case in cases_of("softmax_rows", 1, "cpu")) == 64
    assert {case.group for case in cases_of("softmax_rows", 1, "cpu")} == {"main", "random", "special"}
    on_gpu = cases_of("softmax_rows", 1, "gpu")
    assert max(case.sizes["n_rows"] for case in on_gpu) > 65_535  # the largest grid in y
    assert {case.sizes["n_cols"] for case in on_gpu} >= {1000, 1025}
    large = select_cases(PROBLEMS["softmax_rows"], Options(1, large=True), "gpu")
    assert any(case.sizes["n_rows"] * case.sizes["n_cols"] > 2**31 for case in large)
    assert max(case.sizes["n_cols"] for case in on_gpu) == 16_384  # wider rows need --large


def test_again_is_the_same_matrix_and_a_twin_has_the_same_ends_in_every_row():
    problem = PROBLEMS["softmax_rows"]
    by_name = {case.name: case for case in problem.cases(1)}
    names = [name for name in by_name if name.endswith("/twin")]
    assert len(names) == 2
    for name in names:
        case, again, twin = (by_name[name.removesuffix("/twin") + end] for end in ("", "/again", "/twin"))
        layout = problem.layouts(case.sizes)["input"]
        first, second, third = (layout.payload(problem.inputs(each, 1)["input"]) for each in (case, again, twin))
        assert np.array_equal(first, second)
        assert np.array_equal(first[:, [0, -1]], third[:, [0, -1]])
        assert np.array_equal(np.sort(first, axis=1), np.sort(third, axis=1))
        assert np.all(np.any(first != third, axis=1))


@pytest.mark.parametrize("name", TYPES)
def test_inputs_are_finite_in_their_type_but_for_the_special_ones_and_the_rows_differ(name):
    problem = PROBLEMS[name]
    for case in cases_of(name, 3):
        buffer = problem.inputs(case, 3)["input"]
        assert str(buffer.dtype) == TYPES[name]
        rows = problem.layouts(case.sizes)["input"].payload(buffer)
        if case.group != "special":
            assert np.all(np.isfinite(rows)), case.name
        if case.kind == "uniform" and case.sizes["n_cols"] > 1:
            assert len(np.unique(rows.astype(np.float32), axis=0)) == len(rows)


@pytest.mark.parametrize("name", TYPES)
def test_a_special_matrix_has_ordinary_rows_around_the_special_ones(name):
    problem = PROBLEMS[name]
    special = [case for case in cases_of(name, 3) if case.group == "special"]
    assert {case.kind for case in special} == {kind for kind in OTHER_CONTENTS if "twin" not in kind}
    for case in special:
        inputs = problem.inputs(case, 3)
        rows = problem.layouts(case.sizes)["input"].payload(inputs["input"])
        assert np.all(np.isfinite(rows[0::2])) and not np.any(np.all(np.isfinite(rows[1::2]), axis=1))
        reference = problem.reference(inputs, case.sizes)["output"]
        assert np.all(np.isfinite(reference[0::2]))
        has_answer = case.kind in ("some-minus-infinity", "first-block-minus-infinity")
        assert np.all(np.isnan(reference[1::2])) != has_answer


# ---- gaps -------------------------------------------------------------------------------------------------------


def test_a_layout_ends_with_its_last_row_and_parts_rows_from_gaps():
    layout = Layout((3, 4), 6)
    assert (layout.length, layout.elements, layout.gap) == (16, 12, 2)
    buffer = np.arange(16)
    assert layout.payload(buffer).tolist() == [[0, 1, 2, 3], [6, 7, 8, 9], [12, 13, 14, 15]]
    assert layout.gaps(buffer).tolist() == [[4, 5], [10, 11]]
    assert layout.place_in_buffer(7) == "[row 1, column 1]"
    assert layout.place_in_buffer(10) == "[10], 1 past the end of row 1 (4 columns) and 2 before row 2"
    assert layout.place(5) == "[row 1, column 1]"


@pytest.mark.parametrize("layout", [Layout((5,)), Layout((1, 4), 9), Layout((3, 4), 4)])
def test_a_vector_a_single_row_and_rows_that_follow_one_another_have_no_gaps(layout):
    buffer = np.arange(layout.length)
    assert layout.gap == 0 and layout.gaps(buffer).size == 0
    assert layout.length == layout.elements
    assert layout.payload(buffer).shape == layout.shape


@pytest.mark.parametrize("name", TYPES)
def test_gaps_of_an_input_spoil_a_sum_and_a_maximum(name):
    problem = PROBLEMS[name]
    case = next(c for c in problem.cases(1) if problem.layouts(c.sizes)["input"].gap > 1)
    gaps = problem.layouts(case.sizes)["input"].gaps(problem.inputs(case, 1)["input"])
    limit = float(ml_dtypes.finfo(TYPES[name]).max)
    assert np.all(np.isnan(gaps) | (gaps == limit))
    assert np.all(np.isnan(gaps).any(axis=1)) and np.all((gaps == limit).any(axis=1))


@pytest.mark.parametrize("name", TYPES)
def test_a_write_between_rows_of_an_output_is_damage_and_one_into_a_row_is_not(name):
    problem = PROBLEMS[name]
    case = next(c for c in problem.cases(1) if problem.layouts(c.sizes)["output"].gap > 2 and c.sizes["n_rows"] == 3)
    layout = problem.layouts(case.sizes)["output"]
    with HostArena(problem, [case]) as arena:
        segment = next(s for s in arena.segments if s.name == "output")
        for flip in (False, True):
            arena.prepare(case, problem.inputs(case, 1), flip)
            assert arena.damage() is None
            payload = arena._bytes[segment.begin :][: layout.length * arena.read("output").itemsize].view(TYPES[name])
            layout.payload(payload)[:] = 1
            assert arena.damage() is None
            layout.gaps(payload)[1, 1:3] = 1
            columns = layout.shape[1]
            index = layout.stride + columns + 1
            end = f"2 past the end of row 1 ({columns} columns) and {layout.gap - 1} before row 2"
            assert str(arena.damage()) == f"wrote output[{index}], {end} (2 elements between rows changed)"
            del payload


# ---- reference, sizes, signature --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TYPES)
def test_the_reference_is_the_softmax_of_each_row(name):
    problem = PROBLEMS[name]
    for case in cases_of(name, 5):
        if case.group == "special" or case.sizes["n_cols"] > 300:
            continue
        inputs = problem.inputs(case, 5)
        reference = problem.reference(inputs, case.sizes)["output"]
        for row in range(case.sizes["n_rows"]):
            start = row * case.sizes["input_row_stride"]
            x = inputs["input"][start : start + case.sizes["n_cols"]].astype(np.float64)
            e = np.exp(x - x.max())
            assert np.allclose(reference[row], e / e.sum(), rtol=1e-13, atol=0)


def test_sizes_to_time_have_the_dimensions_of_the_problem():
    rows, vector = PROBLEMS["softmax_rows"], PROBLEMS["softmax"]
    (case,) = rows.timing_cases(((4096, 1024),), "gpu")
    assert rows.shape(case) == {"n_rows": 4096, "n_cols": 1024}
    assert case.sizes["input_row_stride"] == case.sizes["output_row_stride"] == 1024
    assert [vector.shape(c) for c in vector.timing_cases(((7,), (9,)), "cpu")] == [{"N": 7}, {"N": 9}]
    with pytest.raises(UsageError, match=r"--sizes 1024 is no size of softmax_rows: it takes N_ROWSxN_COLS, as in"):
        rows.timing_cases(((1024,),), "gpu")
    with pytest.raises(UsageError, match=r"--sizes 4x1024 is no size of softmax: it takes N, as in 500000"):
        vector.timing_cases(((4, 1024),), "gpu")


def test_the_size_that_is_timed_by_itself_is_smaller_on_the_cpu():
    for name in TYPES:
        problem = PROBLEMS[name]
        gpu, cpu = (problem.elements(problem.timing_cases(None, backend)[0].sizes) for backend in ("gpu", "cpu"))
        assert gpu >= 4_000_000 > 100_000 >= cpu


@pytest.mark.parametrize(("name", "size"), [("softmax_rows", 4), ("softmax_rows_f16", 2), ("softmax_rows_bf16", 2)])
def test_the_least_to_move_is_every_element_in_and_out_once_without_gaps(name, size):
    sizes = {"n_rows": 10, "n_cols": 100, "input_row_stride": 128, "output_row_stride": 101}
    assert PROBLEMS[name].ideal_bytes(sizes) == 2 * size * 1000


@pytest.mark.parametrize(("name", "c_type"), [*zip(TYPES, ["float", "__half", "__nv_bfloat16"], strict=True)])
def test_solve_h_declares_the_type_and_includes_its_header(name, c_type, tmp_path):
    (tmp_path / "x.cu").write_text("")
    write_check(PROBLEMS[name].parameters, tmp_path, tmp_path / "x.cu")
    text = (tmp_path / "solve.h").read_text()
    arguments = f"const {c_type}* input, {c_type}* output, int n_rows, int n_cols, int input_row_stride, "
    assert f'extern "C" void solve({arguments}int output_row_stride);' in text
    headers = re.findall(r"#include <(.*)>", text)
    assert headers == [C_HEADERS[TYPES[name]]] if TYPES[name] in C_HEADERS else headers == []
    assert "== 6" in check_text(PROBLEMS[name].parameters)
