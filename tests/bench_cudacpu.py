"""How fast the CUDA-on-CPU layer is: `python tests/bench_cudacpu.py` prints a table, the best of some runs a line."""

import ctypes
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from harness.build import build_file, toolchain  # noqa: E402
from harness.signature import VECTOR  # noqa: E402

# Number in bench_cudacpu.cu, what it is, how one unit's seconds are shown.
LINES = [
    (0, "switch between two threads of a block", lambda s: f"{1e9 * s:,.1f} ns"),
    (1, "barrier of 256 threads, per thread", lambda s: f"{1e9 * s:,.1f} ns"),
    (2, "shuffle of a warp, per lane", lambda s: f"{1e9 * s:,.1f} ns"),
    (3, "launches of one block", lambda s: f"{1 / s:,.0f} a second"),
    (4, "launches of 64 blocks", lambda s: f"{1 / s:,.0f} a second"),
    (5, "y = a x + y over 4 M, one thread each", lambda s: f"{1e-6 / s:,.0f} M elements a second"),
    (6, "the same as a plain C++ loop", lambda s: f"{1e-6 / s:,.0f} M elements a second"),
    (7, "naive 1024-cubed matrix product", lambda s: f"{s:,.2f} s"),
    (8, "the same in shared tiles of 16 x 16", lambda s: f"{s:,.2f} s"),
]
RUNS = 5


def main():
    tools = toolchain(None)

    def solve_of(path):
        return ctypes.CDLL(str(build_file(path, "cpu", VECTOR, tools).shared_object)).solve

    print(f"{platform.platform()}, {len(os.sched_getaffinity(0))} cores, {tools.compiler}")
    values = np.random.default_rng(1).uniform(-1, 1, 1 << 22).astype(np.float32)
    output = np.zeros(values.size + 1, np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (values, output)]
    bench, softmax = solve_of(ROOT / "tests" / "bench_cudacpu.cu"), solve_of(ROOT / "cuda" / "softmax.cu")
    for number, name, show in LINES:
        times = []
        for _ in range(RUNS):
            bench(*pointers, number)
            times.append(float(output[0]))
        print(f"{name:42} {show(min(times)):>28}", flush=True)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        softmax(*pointers, 500_000)
        times.append(time.perf_counter() - start)
    print(f"{'cuda/softmax.cu at N = 500,000':42} {1e3 * min(times):>25,.2f} ms", flush=True)


if __name__ == "__main__":
    main()
