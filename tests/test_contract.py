"""What the contract of `solve` asks of the bundled solves beside right answers: bad arguments touch nothing."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

from harness.build import build_file, toolchain
from harness.signature import VECTOR


@pytest.mark.parametrize("source", sorted((ROOT / "cuda").glob("*.cu")), ids=lambda path: path.name)
def test_cuda_solves_return_at_once_for_null_pointers_and_no_elements(source):
    solve = ctypes.CDLL(build_file(source, "cpu", VECTOR, toolchain(None)).library).solve
    data, result = np.arange(8, dtype=np.float32), np.full(8, 7, dtype=np.float32)
    input_, output = (ctypes.c_void_p(array.ctypes.data) for array in (data, result))
    solve(None, output, 8)
    solve(input_, None, 8)
    for n in (0, -1, -(2**31)):
        solve(input_, output, n)
    assert np.array_equal(result, np.full(8, 7, dtype=np.float32))
    solve(input_, output, 8)
    assert not np.any(result == 7)


PROGRAM = """
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


@pytest.mark.parametrize("source", sorted((ROOT / "triton_solutions").glob("*.py")), ids=lambda path: path.name)
def test_triton_solves_assert_what_they_need_and_write_no_more_than_n(source):
    command = [sys.executable, "-c", PROGRAM, source]
    done = subprocess.run(command, env={"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
