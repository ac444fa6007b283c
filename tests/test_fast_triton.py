"""The fast Triton solves beyond what is judged on the CPU: how they are cut, how programs meet, what compiles."""

import importlib.util
import json
import subprocess
import sys

import pytest
from conftest import ROOT

VECTOR = ROOT / "triton_solutions" / "softmax_fast.py"
ROWS = ROOT / "triton_solutions" / "softmax_rows_fast.py"


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def vector():
    return load(VECTOR)


@pytest.fixture(scope="module")
def rows():
    return load(ROWS)


@pytest.mark.parametrize("sms", [1, 8, 40, 132])
def test_every_element_has_one_place_and_only_the_last_tile_of_a_program_may_be_partial(vector, sms):
    for N in (1, 1023, 1025, 16_384, 16_385, 65_537, 500_000, 4_325_377, 10**8, 2**31 - 1):
        cut = vector.plan(N, sms)
        assert 1 <= cut.programs <= 4 * sms
        assert cut.programs * cut.tiles * cut.elements >= N
        # Those before the last are read without a mask: all of them end before N.
        assert cut.programs * (cut.tiles - 1) * cut.elements < N
        assert cut.programs * (cut.tiles - 1) <= N // cut.elements


def test_short_vectors_have_nobody_to_meet_and_longer_ones_fill_the_gpu(vector):
    assert vector.plan(1024, 132) == (1, 8, 1, 1)
    assert vector.plan(4096, 132) == (1, 8, 4, 1)
    assert vector.plan(16_384, 132) == (32, 4, 1, 1)
    assert vector.plan(65_536, 132) == (128, 4, 1, 1)
    assert vector.plan(262_144, 132) == (128, 8, 2, 1)
    assert vector.plan(500_000, 132) == (123, 8, 4, 1)
    assert vector.plan(2**20, 132) == (256, 8, 4, 1)
    assert vector.plan(2**22, 132) == (512, 8, 8, 1)
    assert vector.plan(2**23, 132) == (528, 8, 8, 2)
    assert vector.plan(2**26, 132) == (264, 16, 8, 16)


def test_rows_get_a_tile_a_team_or_a_walk(rows):
    gpu = rows.Gpu(132, 1024)
    assert rows.plan(10**6, 256, 4, gpu) == ("tile", 4, 1, 256, 1)
    assert rows.plan(4096, 1000, 4, gpu) == ("tile", 1, 1, 1024, 1)
    assert rows.plan(64, 1000, 4, gpu) == ("tile", 1, 1, 1024, 2)  # few rows
    assert rows.plan(4096, 1025, 2, gpu) == ("tile", 1, 1, 2048, 4)
    assert rows.plan(4096, 32_768, 4, gpu) == ("tile", 1, 1, 32_768, 32)
    assert rows.plan(4096, 32_769, 4, gpu) == ("team", 1, 3, 16_384, 16)
    assert rows.plan(4096, 262_144, 4, gpu) == ("team", 1, 16, 16_384, 16)
    assert rows.plan(4096, 16_384, 2, gpu).kind == "tile"
    assert rows.plan(4096, 32_768, 2, gpu) == ("team", 1, 4, 8_192, 8)  # halves
    assert rows.plan(4096, 131_072, 2, gpu) == ("team", 1, 16, 8_192, 8)
    assert rows.plan(4096, 131_073, 2, gpu) == ("team", 1, 9, 16_384, 16)
    assert rows.plan(4096, 262_144, 4, rows.Gpu(7, 1024)).kind == "walk"  # a GPU that does not hold a team
    assert rows.plan(4096, 32_769, 4, rows.Gpu(1, 0)).kind == "walk"  # no GPU
    assert rows.plan(1, 10**7, 4, rows.Gpu(10**6, 1024)).kind == "walk"


def test_no_program_takes_more_warps_than_there_are(rows):
    for item_bytes in (2, 4):
        for n_cols in (1, 33, 1025, 5000, 16_384, 16_385, 32_768, 65_536, 10**6):
            for n_rows in (1, 10**6):
                assert 1 <= rows.plan(n_rows, n_cols, item_bytes, rows.Gpu(132, 1024)).num_warps <= 32


def test_the_width_divides_all_sizes(rows):
    assert rows.width(4, 1024, 1024, 2048) == 4
    assert rows.width(4, 1000, 1000, 1002) == 2
    assert rows.width(4, 1000, 1001, 1000) == 1
    assert rows.width(2, 1000, 1024, 8) == 8
    assert rows.width(2, 1004, 1024, 8) == 4


# The meeting of one: a program sees its own word at once, so that the interpreter can run it. The parity of a word,
# which changes every other call, must not change what it carries.
MEETING = """
import importlib.util, sys, torch, triton
import triton.language as tl
specification = importlib.util.spec_from_file_location("vector", sys.argv[1])
vector = importlib.util.module_from_spec(specification)
specification.loader.exec_module(vector)
meet = vector.meet

@triton.jit
def kernel(words_ptr, count_ptr, pair_ptr, PROGRAMS: tl.constexpr, PADDED: tl.constexpr):
    m, l = meet(words_ptr, count_ptr, tl.load(pair_ptr), tl.load(pair_ptr + 1), PROGRAMS, PADDED)
    tl.store(pair_ptr, m)
    tl.store(pair_ptr + 1, l)

inf, nan = float("inf"), float("nan")
words, count = torch.zeros(2, dtype=torch.int64), torch.zeros(1, dtype=torch.int32)
pairs = [(1.5, 3.0), (-2.0, 1.0), (3e38, 7.0), (-1e-40, 2.0**20), (0.0, nan), (-3e38, 1.0), (5.0, inf)]
for call, (m, l) in enumerate(2 * pairs):
    pair = torch.tensor([m, l])
    kernel[(1,)](words, count, pair, PROGRAMS=1, PADDED=32)
    assert int(count) == call + 1
    assert torch.equal(pair.nan_to_num(7, 8), torch.tensor([m, l]).nan_to_num(7, 8)), (m, l, pair)
"""


def test_a_word_carries_every_pair_whatever_its_parity(tmp_path):
    (tmp_path / "meeting.py").write_text(MEETING)
    done = subprocess.run(
        [sys.executable, tmp_path / "meeting.py", VECTOR],
        env={"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


TEAM_OF_ONE = """
import importlib.util, sys, torch
specification = importlib.util.spec_from_file_location("rows", sys.argv[1])
rows = importlib.util.module_from_spec(specification)
specification.loader.exec_module(rows)
inf, nan = float("inf"), float("nan")
teams = 2
words, counts = torch.zeros(2 * teams, dtype=torch.int64), torch.zeros(teams, dtype=torch.int32)
for call in range(3):
    x = torch.randn(7, 1000) * 10 - call
    x[1, 7], x[2, 8], x[3, 9], x[4], x[5, :-1] = -inf, inf, nan, -inf, -inf
    y = torch.full_like(x, 7)
    rows.team_kernel[(teams,)](
        x, y, words, counts, 7, 250, 250, 250, WIDTH=4, TEAM=1, PADDED_TEAM=32, BLOCK=1024
    )
    assert counts.tolist() == [4 * (call + 1), 3 * (call + 1)]
    assert torch.allclose(y, torch.softmax(x, 1), rtol=1e-5, atol=1e-38, equal_nan=True), call
"""


def interpret(program, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env={"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_team_finds_its_words_new_in_every_row_and_call():
    interpret(TEAM_OF_ONE, ROWS)


# Wider than what a team would take on a GPU: walked over here.
WALK = """
import importlib.util, sys, torch
specification = importlib.util.spec_from_file_location("rows", sys.argv[1])
rows = importlib.util.module_from_spec(specification)
specification.loader.exec_module(rows)
inf, nan = float("inf"), float("nan")
for columns, gap in ((32_769, 0), (50_000, 8)):
    x = torch.randn(7, columns + gap) * 10
    x[1, 7], x[2, 8], x[3, 9], x[4], x[5, : columns - 1] = -inf, inf, nan, -inf, -inf
    y = torch.full_like(x, 7)
    rows.solve(x.flatten(), y.view(-1), 7, columns, columns + gap, columns + gap)
    assert torch.all(y[:, columns:] == 7)
    wanted = torch.softmax(x[:, :columns].double(), 1).float()
    assert torch.allclose(y[:, :columns], wanted, rtol=2e-5, atol=1e-38, equal_nan=True), columns
"""


def test_rows_beyond_a_team_are_walked_over():
    interpret(WALK, ROWS)


COMPILE = """
import importlib.util, json, sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
for path, name, capability, constants, options in json.loads(sys.argv[1]):
    specification = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    kernel = getattr(module, name)
    types = dict.fromkeys(("input_ptr", "output_ptr"), "*fp32") | {"words_ptr": "*i64"}
    types |= dict.fromkeys(("count_ptr", "counts_ptr"), "*i32")
    signature = {n: "constexpr" if n in constants else types.get(n, "i32") for n in kernel.arg_names}
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(kernel.arg_names) if n in types}
    source = ASTSource(kernel, signature, constants, aligned)
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    assert "ld.global.v4" in compiled.asm["ptx"], (name, "loads are narrower than 16 bytes")
    print(compiled.metadata.shared)
"""


def test_the_kernels_compile_for_old_and_new_gpus_and_load_16_bytes_at_a_time(tmp_path):
    """Triton compiles for a GPU where there is none."""
    resident = {"ROWS": 8, "COLUMNS": 2048, "PROGRAMS": 264, "PADDED": 512, "STAGES": 1}
    smaller = {"ROWS": 8, "COLUMNS": 1024, "PROGRAMS": 528, "PADDED": 1024, "STAGES": 1}
    team = {"WIDTH": 4, "TEAM": 16, "PADDED_TEAM": 32, "BLOCK": 16_384}
    tile = {"WIDTH": 4, "ROWS": 2, "BLOCK": 1024}
    cooperative = {"num_warps": 16, "maxnreg": 64, "launch_cooperative_grid": True}
    kernels = [
        (str(VECTOR), "resident_kernel", 90, resident, cooperative),
        (str(VECTOR), "resident_kernel", 75, resident, cooperative),
        (str(VECTOR), "resident_kernel", 90, smaller, cooperative | {"num_warps": 8}),
        (str(ROWS), "team_kernel", 90, team, cooperative),
        (str(ROWS), "team_kernel", 75, team, cooperative),
        (str(ROWS), "tile_kernel", 80, tile, {"num_warps": 4}),
    ]
    done = subprocess.run(
        [sys.executable, "-c", "import triton\n" + COMPILE, json.dumps(kernels)],
        env={"TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert all(int(shared) < 49_152 for shared in done.stdout.split())


GPU_PROGRAM = """
import importlib.util, sys, threading, torch
def load(path):
    specification = importlib.util.spec_from_file_location(path.split("/")[-1][:-3], path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
vector, rows = load(sys.argv[1]), load(sys.argv[2])
errors = []
def work(number):
    try:
        with torch.cuda.stream(torch.cuda.Stream()):
            for turn in range(20):
                N = 500_000 + 4096 * number + turn
                x = torch.randn(N, device="cuda") * 5
                y = torch.empty_like(x)
                vector.solve(x, y, N)
                wanted = torch.softmax(x.double(), 0)
                assert torch.all((y - wanted).abs() <= 2e-5 * wanted), (number, N)
                x = torch.randn(9 + turn, 65_536 + 4 * number, device="cuda") * 5
                y = torch.empty_like(x)
                rows.solve(x.view(-1), y.view(-1), *x.shape, x.shape[1], x.shape[1])
                wanted = torch.softmax(x.double(), 1)
                assert torch.all((y - wanted).abs() <= 2e-5 * wanted), (number, turn)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
if errors:
    raise errors[0]
"""


@pytest.mark.gpu
def test_on_a_gpu_programs_meet_also_when_two_threads_and_two_processes_call_at_once():
    command = [sys.executable, "-c", GPU_PROGRAM, str(VECTOR), str(ROWS)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        _, stderr = process.communicate(timeout=240)
        assert process.returncode == 0, stderr
