"""The row-wise solves beyond what is judged on the CPU: S4's launch on several GPUs, its `softmax`, wide rows."""

import ctypes
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

from harness.build import build_file, toolchain
from harness.check import check_softmax
from harness.problems import PROBLEMS
from harness.signature import PARAMETERS

S4 = ROOT / "triton_solutions" / "softmax_rows.py"


@pytest.fixture(scope="module")
def s4():
    specification = importlib.util.spec_from_file_location("softmax_rows", S4)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


# Multiprocessors, warp size, registers and bytes of shared memory per SM, bytes per block: CUDA C++ Programming Guide,
# "Compute Capabilities", and the GPUs' data sheets.
GPUS = {
    "T4": (40, 32, 65_536, 65_536, 65_536),
    "A100": (108, 32, 65_536, 167_936, 166_912),
    "H200": (132, 32, 65_536, 233_472, 232_448),
    "RTX 4090": (128, 32, 65_536, 102_400, 101_376),
    "Jetson Orin Nano": (8, 32, 65_536, 167_936, 166_912),
}


@pytest.fixture
def gpus(s4):
    return {name: s4.Gpu(*numbers) for name, numbers in GPUS.items()}


def test_the_pipeline_is_deep_only_where_shared_memory_is_large(s4, gpus):
    assert {name: s4.stages(gpu) for name, gpu in gpus.items()} == {
        "T4": 2,
        "A100": 2,
        "H200": 4,
        "RTX 4090": 2,
        "Jetson Orin Nano": 2,
    }


@pytest.mark.parametrize(
    ("name", "registers", "shared", "expected"),
    [
        ("T4", 32, 0, 40 * 8),  # 65,536 / (32 x 32 x 8) = 8 programs an SM
        ("A100", 32, 4_128, 108 * 8),
        ("A100", 32, 32_768, 108 * 5),  # 167,936 // 32,768
        ("H200", 26, 12_320, 132 * 9),
        ("H200", 96, 98_336, 132 * 2),
        ("H200", 255, 196_640, 132 * 1),
        ("RTX 4090", 40, 65_568, 128 * 1),
        ("Jetson Orin Nano", 64, 16_384, 8 * 4),
    ],
)
def test_the_gpu_is_filled_once(s4, gpus, name, registers, shared, expected):
    assert s4.programs(10**6, s4.Usage(registers, shared), gpus[name]) == expected


def test_no_shared_memory_is_no_cap_and_too_much_of_it_still_leaves_a_program(s4, gpus):
    for gpu in gpus.values():
        assert s4.programs(10**6, s4.Usage(32, 0), gpu) == gpu.sms * 8
        assert s4.programs(10**6, s4.Usage(32, gpu.shared_per_sm + 1), gpu) >= gpu.sms


def test_there_is_a_program_whatever_the_kernel_takes_and_never_more_than_rows(s4, gpus):
    for gpu in gpus.values():
        for registers in (16, 32, 128, 255, 256, 512):  # 512: more than any thread has
            for shared in (0, 1, 1_024, 65_536, gpu.shared_per_block, gpu.shared_per_sm):
                for rows in (1, 7, gpu.sms, 100_000):
                    assert 1 <= s4.programs(rows, s4.Usage(registers, shared), gpu) <= rows


def test_a_row_that_does_not_fit_is_refused_in_one_sentence(s4, gpus):
    with pytest.raises(ValueError, match=r"^rows of 32,768 columns .* 393,248 bytes .* may have 232,448$"):
        s4.check_fits(32_768, s4.Usage(0, 393_248), gpus["H200"])
    s4.check_fits(16_384, s4.Usage(0, 196_640), gpus["H200"])


COMPILE = """
import importlib.util, json, sys, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
specification = importlib.util.spec_from_file_location("softmax_rows", sys.argv[1])
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
def shared(dtype, columns, num_stages, capability, ones):
    kernel = module.softmax_rows_kernel
    constants = {"BLOCK_SIZE": triton.next_power_of_2(columns), "NUM_STAGES": num_stages, **dict.fromkeys(ones, 1)}
    signature = {name: "constexpr" if name in constants else "i32" for name in kernel.arg_names}
    signature |= {name: f"*{dtype}" for name in ("input_ptr", "output_ptr")}
    aligned = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(kernel.arg_names) if name not in constants}
    source = ASTSource(kernel, signature, constants, aligned)
    target = GPUTarget("cuda", capability, 32)
    return triton.compile(source, target=target, options={"num_warps": module.NUM_WARPS}).metadata.shared
print(json.dumps([shared(*arguments) for arguments in json.loads(sys.argv[2])]))
"""


def test_the_kernel_compiles_for_gpus_and_takes_the_shared_memory_that_its_header_says(tmp_path):
    """Triton compiles for a GPU where there is none."""
    kernels = [
        ("fp32", 32_768, 4, 90, []),
        ("fp32", 16_384, 4, 90, []),
        ("bf16", 1000, 2, 75, []),
        ("fp16", 1, 2, 80, ["n_rows", "n_cols", "input_row_stride", "output_row_stride"]),
    ]
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, S4, json.dumps(kernels)],
        env={"TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    too_long, longest, old, single = json.loads(done.stdout)
    assert too_long > 232_448 >= longest
    assert max(old, single) < 65_536


PROGRAM = """
import importlib.util, sys, torch
specification = importlib.util.spec_from_file_location("softmax_rows", sys.argv[1])
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
wide = torch.randn(9, 80)
for dtype, tolerance in ((torch.float32, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)):
    x = wide.to(dtype)
    for view in (x, x[:, :33], x[:5, 7:40], x[::2, 1:2], x[3:4], x.t()[:1].t()):
        y = module.softmax(view)
        assert y.shape == view.shape and y.dtype == dtype
        wanted = torch.softmax(view.double(), dim=1)
        assert torch.all(torch.abs(y.double() - wanted) <= tolerance * wanted + 1e-7), (dtype, view.shape)
assert module.softmax(wide[:0]).shape == (0, 80)
for bad in (wide.t(), wide[0]):
    try:
        module.softmax(bad)
    except AssertionError:
        continue
    sys.exit("no assertion")
assert torch.equal(module.softmax(torch.zeros(2, 20_000)), torch.full((2, 20_000), 1 / 20_000)), "wide rows"
"""


def test_softmax_takes_views_of_any_stride_and_returns_a_new_matrix():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, S4], env={"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


GPU_PROGRAM = """
import importlib.util, sys, torch
specification = importlib.util.spec_from_file_location("softmax_rows", sys.argv[1])
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
refused = []
for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)):
    for columns in (1, 2, 33, 1000, 1024, 1025, 8192, 16384, 32768, 65536):
        for gap in (0, 3, 64):
            x = torch.randn(70, columns + gap, device="cuda").to(dtype)[:, :columns]
            try:
                y = module.softmax(x)
            except ValueError as error:
                assert str(error).startswith(f"rows of {columns:,} columns are too long for this kernel here"), error
                refused.append(columns)
                continue
            wanted = torch.softmax(x.double(), dim=1)
            assert torch.all(torch.abs(y.double() - wanted) <= tolerance * wanted + 1e-7), (dtype, columns, gap)
assert all(columns > 8192 for columns in refused), refused
"""


@pytest.mark.gpu
def test_on_a_gpu_softmax_agrees_with_torch_or_refuses_in_a_sentence():
    done = subprocess.run([sys.executable, "-c", GPU_PROGRAM, S4], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("case", ["3x32768/uniform", "2x262144/strides=262144,262208/uniform"])
def test_on_a_gpu_the_cuda_solves_take_wide_rows(cli, dtype, case):
    done = cli("check", ROOT / "cuda" / SOURCES[dtype], "--backend", "gpu", "--large", "--case", case)
    assert done.returncode == 0, done.stdout + done.stderr


SOURCES = {"float32": "softmax_rows.cu", "float16": "softmax_rows_f16.cu", "bfloat16": "softmax_rows_bf16.cu"}


# Of float32, 512 columns are the last that a warp takes, 2,048 that threads of few words do and 32,768 that a block
# keeps in registers; on the CPU layer a block may have 227 KB of shared memory, 53,248 columns in whole tiles. Of half
# types it is twice as many.
@pytest.mark.parametrize("gaps", [(0, 0), (4, 12), (8, 16), (3, 1)])
@pytest.mark.parametrize(
    ("dtype", "columns"),
    [
        *(("float32", columns) for columns in (512, 513, 2048, 2051, 32_768, 32_769, 53_248, 53_249, 100_003)),
        *(("float16", columns) for columns in (1024, 1025, 4096, 4097, 65_536, 65_537, 131_072)),
        *(("bfloat16", columns) for columns in (1026, 4100, 65_543, 131_072)),
    ],
)
def test_the_cuda_solves_take_rows_of_any_width(dtype, columns, gaps):
    problem = next(p for p in PROBLEMS.values() if p.name.startswith("softmax_rows") and p.buffers[0].dtype == dtype)
    library = build_file(ROOT / "cuda" / SOURCES[dtype], "cpu", problem.parameters, toolchain(None)).shared_object
    solve = ctypes.CDLL(library).solve
    sizes = {
        "n_rows": 3,
        "n_cols": columns,
        "input_row_stride": columns + gaps[0],
        "output_row_stride": columns + gaps[1],
    }
    layouts = problem.layouts(sizes)
    rng = np.random.default_rng(columns)
    buffers = {name: _aligned(layout.length, dtype) for name, layout in layouts.items()}
    buffers["input"][:] = np.nan
    x, y = (layouts[name].payload(buffers[name]) for name in ("input", "output"))
    x[:] = rng.uniform(-10, 10, x.shape)
    x[1, columns - 1] = 15.0  # the maximum comes last
    x[2, :-1] = -np.inf
    buffers["output"][:] = 7
    solve(*(ctypes.c_void_p(buffers[name].ctypes.data) for name in ("input", "output")), *sizes.values())
    reference = problem.reference(buffers, sizes)["output"]
    check = check_softmax(x, y, reference, np.full_like(y, 7))
    assert check.passed, check.message
    assert np.all(layouts["output"].gaps(buffers["output"]) == 7)


def _aligned(length, dtype):
    """An array that begins at a multiple of 256 bytes."""
    size = length * np.dtype(dtype).itemsize
    memory = np.empty(size + 256, dtype=np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start : start + size].view(dtype)


ARITHMETIC = """
{header}
#define solve rows_solve
#include "{source}"
#undef solve

extern "C" void solve(const float* input, float* output, int n_rows, int n_cols, int sms, int largest) {{
    const int blocks = blocks_per_row(n_rows, n_cols, sms, largest);
    output[0] = blocks;
    output[1] = part_of(n_cols, blocks);
    output[2] = block_threads<BLOCK_WORDS>(part_of(n_cols, blocks));
}}
"""


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory):
    """(blocks of a row, columns of each, its threads) of a type's rows, multiprocessors and largest cluster."""
    solves = {}
    for dtype, header in (("float32", ""), ("float16", "#include <cuda_fp16.h>\n#define ELEMENT __half")):
        path = tmp_path_factory.mktemp("arithmetic") / "arithmetic.cu"
        path.write_text(ARITHMETIC.format(header=header, source=ROOT / "cuda" / "softmax_rows.cu"))
        library = build_file(path, "cpu", PARAMETERS["softmax_rows"], toolchain(None)).shared_object
        solves[dtype] = ctypes.CDLL(library).solve

    def ask(dtype, *numbers):
        output = np.zeros(3, dtype=np.float32)
        solves[dtype](None, ctypes.c_void_p(output.ctypes.data), *numbers)
        return tuple(int(number) for number in output)

    return ask


@pytest.mark.parametrize(
    ("dtype", "rows", "columns", "sms", "largest", "expected"),
    [
        ("float32", 4096, 1025, 132, 16, (1, 1056, 64)),
        ("float32", 4096, 32_768, 132, 16, (1, 32_768, 1024)),
        ("float32", 4096, 32_769, 132, 16, (2, 16_416, 544)),
        ("float32", 1024, 262_144, 132, 16, (8, 32_768, 1024)),
        ("float32", 1024, 262_144, 132, 4, (4, 65_536, 2048)),  # a GPU whose clusters end at 4: read twice
        ("float32", 1024, 32_768, 40, 1, (1, 32_768, 1024)),  # none
        ("float32", 4096, 12_672, 132, 16, (1, 12_672, 416)),
        ("float32", 1, 16_384, 132, 16, (8, 2_048, 64)),  # few rows: more blocks for each, of at least 2,048 columns
        ("float32", 100, 16_384, 132, 16, (2, 8_192, 256)),
        ("float32", 132, 16_384, 132, 16, (1, 16_384, 512)),
        ("float16", 4096, 65_536, 132, 16, (1, 65_536, 1024)),
        ("float16", 1024, 262_144, 132, 16, (4, 65_536, 1024)),
    ],
)
def test_a_row_gets_the_blocks_that_its_width_and_the_gpu_ask_for(
    arithmetic, dtype, rows, columns, sms, largest, expected
):
    assert arithmetic(dtype, rows, columns, sms, largest) == expected


def test_parts_cover_every_row_in_whole_lines_whatever_the_gpu(arithmetic):
    for columns in (1, 31, 1025, 99_991, 1_000_003, 2_097_152, 2**24):
        for rows in (1, 7, 1000):
            for sms, largest in ((1, 1), (40, 1), (132, 8), (132, 16)):
                blocks, part, _ = arithmetic("float32", rows, columns, sms, largest)
                assert 1 <= blocks <= largest
                assert blocks * part >= columns
                assert part % 32 == 0
