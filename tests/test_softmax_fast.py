"""cuda/softmax_fast.cu where its ways meet: sizes, alignments, call after call, calls at once, a GPU that is shared."""

import ctypes
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import ROOT

from harness.build import build_file, find_nvcc, toolchain
from harness.check import check_softmax
from harness.problems import PROBLEMS
from harness.signature import PARAMETERS

SOURCE = ROOT / "cuda" / "softmax_fast.cu"
GUARD = 64  # elements on both sides of a buffer


@pytest.fixture(scope="module")
def solve():
    return ctypes.CDLL(build_file(SOURCE, "cpu", PARAMETERS["softmax"], toolchain(None)).shared_object).solve


def run(solve, x, input_shift=0, output_shift=0):
    """The softmax of x by the library, both buffers so many elements behind a multiple of 256 bytes."""
    source, into = _aligned(len(x) + 2 * GUARD), _aligned(len(x) + 2 * GUARD)
    begin, end = GUARD + input_shift, GUARD + output_shift
    source[:] = np.nan  # whoever uses what lies beside the input is found out
    source[begin : begin + len(x)] = x
    into[:] = 7
    y = into[end : end + len(x)]
    solve(*(ctypes.c_void_p(each.ctypes.data) for each in (source[begin:], y)), len(x))
    assert np.all(into[:end] == 7)
    assert np.all(into[end + len(x) :] == 7)
    return y


def assert_right(x, y):
    reference = PROBLEMS["softmax"].reference({"input": x}, {"N": len(x)})["output"]
    check = check_softmax(x, y, reference, np.full_like(y, 7))
    assert check.passed, check.message


def uniform(n, seed):
    return np.random.default_rng(seed).uniform(-10, 10, n).astype(np.float32)


# On the CPU layer, which models 132 multiprocessors: one block, a grid with 4, 8, 16 and 32 elements a thread, and the
# kernel for long vectors, which keeps 32,768 elements of a block in registers and 57,344 in shared memory.
@pytest.mark.parametrize("n", [4096, 4097, 540_672, 540_673, 1_081_345, 2_162_689, 4_325_376, 4_325_377, 12_000_001])
def test_it_is_right_where_its_ways_meet(solve, n):
    x = uniform(n, n)
    x[-1] = 12.0  # the maximum comes last
    assert_right(x, run(solve, x))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 4097, 70_001])
@pytest.mark.parametrize("shifts", [(1, 1), (0, 3), (2, 0), (3, 2)])
def test_it_is_right_at_any_alignment_of_floats(solve, n, shifts):
    x = uniform(n, n)
    assert_right(x, run(solve, x, *shifts))


@pytest.mark.parametrize("n", [4099, 600_001, 4_400_003])
@pytest.mark.parametrize(
    ("place", "value"), [(0, np.nan), (-1, np.nan), (-1, np.inf), (slice(None), -np.inf), (slice(1, None), -np.inf)]
)
def test_special_values_go_through_the_exchange(solve, n, place, value):
    x = uniform(n, n)
    x[place] = value
    assert_right(x, run(solve, x))


def test_what_an_earlier_call_left_in_the_slots_is_not_taken(solve):
    """More calls than there are sets of slots, of other sizes and contents, so that each meets slots of another."""
    for call in range(40):
        x = uniform((300_000, 5000, 90_001)[call % 3], call) + np.float32(call)
        assert_right(x, run(solve, x))


def test_two_host_threads_call_at_once(solve):
    vectors = [[uniform(n, i) + np.float32(i) for i in range(12)] for n in (40_000, 200_001)]
    results = [[], []]

    def work(which):
        for x in vectors[which]:
            results[which].append(run(solve, x))

    threads = [threading.Thread(target=work, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for xs, ys in zip(vectors, results, strict=True):
        for x, y in zip(xs, ys, strict=True):
            assert_right(x, y)


def test_blocks_that_cannot_run_at_once_do_the_work_of_those_that_wait():
    """One OS thread runs the blocks one after another: the first of them has nobody to wait for."""
    library = build_file(SOURCE, "cpu", PARAMETERS["softmax"], toolchain(None)).shared_object
    program = (
        "import ctypes, numpy as np, sys\n"
        "x, y = np.zeros(500_000, np.float32), np.full(500_000, 7, np.float32)\n"
        "solve = ctypes.CDLL(sys.argv[1]).solve\n"
        "solve(*(ctypes.c_void_p(a.ctypes.data) for a in (x, y)), len(x))\n"
        "assert np.allclose(y, 1 / len(x), rtol=1e-6, atol=0), y\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, library], env={"CUDACPU_THREADS": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", ["N=4097/one-hot", "N=65537/uniform"])
def test_no_race_is_found(cli, case):
    done = cli("check", SOURCE, "--backend", "cpu", "--races", "--strict", "--case", case)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "race" not in done.stdout


@pytest.mark.skipif(find_nvcc() is None, reason="needs nvcc")
def test_it_compiles_for_older_gpus():
    """Where there is no GPU a file is built for compute capability 7.5, 8.0 and 9.0."""
    build_file(SOURCE, "gpu", PARAMETERS["softmax"], toolchain(None))


# ---- on a GPU ---------------------------------------------------------------------------------------------------

# Prints "right" once everything is; `calls` says what is done.
GPU_PROGRAM = """
import ctypes, sys, threading, torch
solve = ctypes.CDLL(sys.argv[1]).solve
def call(x, y):
    solve(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), x.numel())
def check(x, y):
    wanted = torch.softmax(x.double(), 0)
    bound = (1e-5 + 1.2e-7 * x.numel() ** 0.5 + 2.4e-7 * (x.max() - x).double()) * wanted + 2.4e-38
    assert torch.all((y.double() - wanted).abs() <= bound), x.numel()
def pair(n, seed, shift=0):
    torch.manual_seed(seed)
    memory = [torch.empty(n + 8, device="cuda") for _ in range(2)]
    x, y = (each[shift : shift + n] for each in memory)
    return x.uniform_(-10, 10), y.fill_(7)
"""

REPEATED = """
for seed in range(60):
    n = (500_000, 4_325_376, 9_000_001, 20_000, 20_000_003)[seed % 5] - seed
    x, y = pair(n, seed, seed % 7 == 0)
    call(x, y)
    check(x, y)
"""

AT_ONCE = """
failed = []
def work(which):
    try:
        exec(REPEATED, dict(globals()))
    except BaseException as error:
        failed.append(error)
        raise
threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed
"""

# A block of the other kernel keeps a multiprocessor for some tenths of a second, and a block of ours fills one.
SHARED = """
for n in (4_325_376, 9_000_001):
    x, y = pair(n, n)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(500_000_000)
    call(x, y)
    check(x, y)
"""


def on_a_gpu(program):
    from harness import gpu

    library = build_file(SOURCE, "gpu", PARAMETERS["softmax"], toolchain(gpu.describe().capability)).shared_object
    source = f"{GPU_PROGRAM}\nREPEATED = {REPEATED!r}\n{program}\nprint('right')\n"
    return subprocess.Popen(
        [sys.executable, "-c", source, library], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def assert_all_right(*processes):
    for process in processes:
        output, _ = process.communicate()
        assert process.returncode == 0, output
        assert output.endswith("right\n"), output


@pytest.mark.gpu
@pytest.mark.parametrize("program", [REPEATED, AT_ONCE, SHARED], ids=["repeated", "threads", "shared"])
def test_on_a_gpu_it_is_right(program):
    assert_all_right(on_a_gpu(program))


@pytest.mark.gpu
def test_on_a_gpu_two_processes_call_at_once():
    assert_all_right(on_a_gpu(REPEATED), on_a_gpu(REPEATED))


@pytest.mark.gpu
def test_on_a_gpu_it_is_right_after_a_process_was_killed_half_way():
    killed = on_a_gpu("while True:\n    print('begun', flush=True)\n    exec(REPEATED)")
    assert killed.stdout.readline() == "begun\n"
    killed.kill()
    killed.communicate()
    assert_all_right(on_a_gpu(REPEATED))


def _aligned(length):
    """A float32 array that begins at a multiple of 256 bytes."""
    memory = np.empty(4 * length + 256, dtype=np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start : start + 4 * length].view(np.float32)
