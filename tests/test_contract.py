"""What the contract of `solve` asks of the bundled solves beside right answers: bad arguments touch nothing."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

from harness.build import build_file, toolchain
from harness.signature import DEFAULT_PROBLEM, PARAMETERS, problems_named_in

# The numbers after the two buffers, for 8 elements in all; those of no elements, which must touch nothing.
CALLS = {
    "softmax": ((8,), [(0,)]),
    "subtract_one": ((8,), [(0,)]),
    "softmax_rows": ((2, 3, 5, 4), [(0, 3, 5, 4), (2, 0, 5, 4)]),
}
CALLS["softmax_rows_f16"] = CALLS["softmax_rows_bf16"] = CALLS["softmax_rows"]


def problem_of(source):
    return (problems_named_in(source) or (DEFAULT_PROBLEM,))[0]


@pytest.mark.parametrize("source", sorted((ROOT / "cuda").glob("*.cu")), ids=lambda path: path.name)
def test_cuda_solves_return_at_once_for_null_pointers_and_no_elements(source):
    problem = problem_of(source)
    numbers, nothing = CALLS[problem]
    solve = ctypes.CDLL(build_file(source, "cpu", PARAMETERS[problem], toolchain(None)).shared_object).solve
    data, result = np.arange(8, dtype=np.float32), np.full(8, 7, dtype=np.float32)
    input_, output = (ctypes.c_void_p(array.ctypes.data) for array in (data, result))
    solve(None, output, *numbers)
    solve(input_, None, *numbers)
    for none in nothing:
        for low in (0, -1, -(2**31)):
            solve(input_, output, *(number or low for number in none))
    assert np.array_equal(result, np.full(8, 7, dtype=np.float32))
    solve(input_, output, *numbers)
    assert np.any(result != 7)


VECTOR_PROGRAM = """
import importlib.util, sys, torch
specification = importlib.util.spec_from_file_location("submission", sys.argv[1])
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
x, y = torch.arange(8.0), torch.full((8,), 7.0)
assert module.solve(x, y, 0) is None and torch.equal(y, torch.full((8,), 7.0)), "N = 0 writes"
for bad in [(x, y, 9), (x, y[:4], 8), (torch.arange(16.0)[::2], y, 8), (x, torch.full((16,), 7.0)[::2], 8),
            (x, torch.empty(8, device="meta"), 8)]:
    try:
        module.solve(*bad)
    except AssertionError:
        continue
    sys.exit(f"no assertion for {bad}")
assert module.solve(x, y, 5) is None and torch.equal(y[5:], torch.full((3,), 7.0)), "writes past N"
assert not torch.any(y[:5] == 7), "does not write"
"""

ROWS_PROGRAM = """
import importlib.util, sys, torch
specification = importlib.util.spec_from_file_location("submission", sys.argv[1])
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
x, y = torch.arange(8.0), torch.full((8,), 7.0)
for none in [(0, 3, 5, 4), (2, 0, 5, 4)]:
    assert module.solve(x, y, *none) is None and torch.equal(y, torch.full((8,), 7.0)), "no elements, yet it writes"
for bad in [(x, y, 2, 3, 6, 4), (x, y, 2, 3, 5, 6), (x, y, 2, 3, 2, 4), (x, y, 2, 3, 5, 2),
            (torch.arange(16.0)[::2], y, 2, 3, 5, 4), (x, torch.full((16,), 7.0)[::2], 2, 3, 5, 4),
            (x, torch.empty(8, device="meta"), 2, 3, 5, 4)]:
    try:
        module.solve(*bad)
    except AssertionError:
        continue
    sys.exit(f"no assertion for {bad}")
assert module.solve(x, y, 2, 3, 5, 4) is None and y[3] == y[7] == 7, "writes beside its rows"
assert not torch.any(y[[0, 1, 2, 4, 5, 6]] == 7), "does not write"
"""


@pytest.mark.parametrize("source", sorted((ROOT / "triton_solutions").glob("*.py")), ids=lambda path: path.name)
def test_triton_solves_assert_what_they_need_and_write_nothing_else(source):
    program = ROWS_PROGRAM if problem_of(source).startswith("softmax_rows") else VECTOR_PROGRAM
    done = subprocess.run(
        [sys.executable, "-c", program, source], env={"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
