"""What only a GPU can show: the clock, the reference row, the way without CUDA IPC, errors with CUDA's words."""

import json
import re
import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.gpu


def rows_of(cli, tmp_path, *arguments, **environment):
    result = tmp_path / "run.json"
    done = cli(*arguments, "--backend", "gpu", "--json", result, **environment)
    assert result.exists(), done.stderr
    return done, json.loads(result.read_text())["rows"]


def test_solves_are_accepted_and_timed_beside_a_reference(cli, tmp_path):
    files = ("cuda/softmax.cu", "triton_solutions/softmax_baseline.py", "triton_solutions/subtract_one.py")
    done, rows = rows_of(cli, tmp_path, "submit", *files, "--db", tmp_path / "board.sqlite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["file"] for row in rows if row["problem"] == "softmax"} >= {"torch.softmax", "cuda/softmax.cu"}
    assert {row["verdict"] for row in rows} == {"accepted"}
    for row in rows:
        (timing,) = row["timings"]
        assert 0 < timing["low_us"] <= timing["device_us"] <= timing["high_us"]
        assert timing["device_us"] < timing["call_us"]
        assert timing["over_reference"] > 0
        assert 0 < timing["of_ceiling"]
        assert len(timing["samples"]) >= 6 * 30
        assert "suspicious" not in row["flags"], row["warnings"]


def test_device_time_agrees_with_events_for_a_long_kernel():
    """Two clocks on one kernel of some milliseconds, beside which the cost of its launch does not matter."""
    program = """
import torch
from harness import gpu
from harness.clock import GpuClock
gpu.open_context()
x = torch.zeros(1, device="cuda")
cycles = 10_000_000
def work():
    torch.cuda._sleep(cycles)
device = GpuClock().device_times(work, 9, 60.0)
times = []
for _ in range(9):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(); work(); end.record(); torch.cuda.synchronize()
    times.append(begin.elapsed_time(end) * 1e6)
print(sorted(device)[4], sorted(times)[4])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    device, events = map(float, done.stdout.split())
    assert device > 1e6
    assert abs(device / events - 1) <= 0.03


def test_what_a_solve_allocates_lies_elsewhere_in_every_series():
    """Where it lies tells: a file would be timed by chance."""
    program = """
import torch
from harness import gpu
from harness.clock import GpuClock
gpu.open_context()
places = []
def work():
    places.append(torch.zeros(1, device="cuda").data_ptr())
clock = GpuClock()
for _ in range(12):
    clock.device_times(work, 3, 60.0)
    clock.call_times(work, 3, 60.0)
series = [set(places[i : i + 6]) for i in range(0, len(places), 6)]
print(max(map(len, series)), len(set(places)))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    in_a_series, in_all = map(int, done.stdout.split())
    assert in_a_series == 1
    assert in_all >= 6


def test_activity_of_another_stream_and_of_copies_is_counted(cli, tmp_path):
    """The same kernels on a side stream, with a copy between: not less device time than the copy alone."""
    path = tmp_path / "streams.py"
    path.write_text(
        "import torch\n\n\n"
        "def solve(input, output, N):\n"
        "    side = torch.cuda.Stream()\n"
        "    side.wait_stream(torch.cuda.current_stream())\n"
        "    with torch.cuda.stream(side):\n"
        "        y = torch.softmax(input[:N], 0)\n"
        "        output[:N].copy_(y)\n"
    )
    _, rows = rows_of(cli, tmp_path, "submit", path)
    reference, row = rows
    assert row["verdict"] == "accepted", row["message"]
    assert row["timings"][0]["device_us"] > reference["timings"][0]["device_us"]


def test_the_anatomy_of_a_call_names_its_kernels(cli, tmp_path):
    done, rows = rows_of(cli, tmp_path, "bench", "triton_solutions/softmax_baseline.py", "cuda/softmax.cu", "--anatomy")
    assert done.returncode == 0, done.stdout + done.stderr
    baseline, one_block = (row["timings"][0]["anatomy"] for row in rows[1:])
    names = ["max_kernel", "sum_kernel", "normalise_kernel"]
    kernels = [a for a in baseline["activities"] if a["what"] == "kernel" and a["name"] in names]
    assert [kernel["name"] for kernel in kernels] == names
    assert all(kernel["grid"] == [489, 1, 1] and kernel["block"] == [128, 1, 1] for kernel in kernels)
    (kernel,) = one_block["activities"]
    assert (kernel["grid"], kernel["block"], kernel["shared_bytes"]) == ([1, 1, 1], [256, 1, 1], 32)
    assert one_block["calls"]["launches"] == 1
    assert one_block["calls"]["synchronisations"] == 1
    assert "too little parallelism" in one_block["diagnosis"]
    assert 0 < one_block["busy_us"]


def duel_of(cli, tmp_path, *arguments):
    result = tmp_path / "duel.json"
    done = cli("compare", *arguments, "--backend", "gpu", "--json", result)
    assert done.returncode == 0, done.stdout + done.stderr
    (duel,) = json.loads(result.read_text())["duels"]
    return duel


def test_a_file_against_itself_is_a_tie(cli, tmp_path):
    copy = tmp_path / "copy.py"
    copy.write_text((ROOT / "triton_solutions" / "softmax_baseline.py").read_text())
    assert duel_of(cli, tmp_path, "triton_solutions/softmax_baseline.py", copy)["verdict"] == "tie"


def test_the_baseline_is_faster_than_one_block(cli, tmp_path):
    duel = duel_of(cli, tmp_path, "triton_solutions/softmax_baseline.py", "cuda/softmax.cu")
    assert duel["verdict"] == "faster"
    assert duel["low"] <= duel["ratio"] <= duel["high"] < 1


def test_a_few_per_cent_more_work_are_found(cli, tmp_path):
    """softmax.cu with an eighth of its first pass done once more."""
    source = (ROOT / "cuda" / "softmax.cu").read_text()
    line = (
        "    for (long long i = threadIdx.x; i < N; i += BLOCK_SIZE) local_max = Max::combine(local_max, input[i]);\n"
    )
    assert line in source
    slower = tmp_path / "slower.cu"
    slower.write_text(source.replace(line, line + line.replace("i < N;", "i < N / 8;")))
    duel = duel_of(cli, tmp_path, slower, "cuda/softmax.cu")
    assert duel["verdict"] == "slower"
    assert 1.005 < duel["ratio"] < 1.15


FORGERIES = {
    "the clocks a benchmark would use": """
import time
torch.cuda.Event.elapsed_time = lambda self, other: 1e-6
time.perf_counter = time.monotonic = lambda: 0.0
torch.profiler.profile = None
""",
    "the judge's clock in the worker": """
from harness import clock
def forged(measure):
    return lambda *arguments: [max(1, t // 25) for t in measure(*arguments)]
for name in ("device_times", "call_times"):
    setattr(clock.GpuClock, name, forged(getattr(clock.GpuClock, name)))
""",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_times_are_not_believed(cli, tmp_path, forgery):
    path = tmp_path / "forger.py"
    body = "\n\ndef solve(input, output, N):\n    torch.softmax(input[:N], 0, out=output[:N])\n"
    path.write_text("import torch\n" + FORGERIES[forgery] + body)
    _, (_, row) = rows_of(cli, tmp_path, "submit", path, "--db", tmp_path / "board.sqlite")
    assert row["verdict"] == "accepted", row["message"]
    told = row["timings"][0]["over_reference"]
    assert "suspicious" in row["flags"] or 0.9 <= told <= 1.1, row


def test_a_forged_time_wins_no_duel_unremarked(cli, tmp_path):
    path = tmp_path / "forger.py"
    body = "\n\ndef solve(input, output, N):\n    torch.softmax(input[:N], 0, out=output[:N])\n"
    path.write_text("import torch\n" + FORGERIES["the judge's clock in the worker"] + body)
    duel = duel_of(cli, tmp_path, path, "cuda/softmax.cu")
    assert any("suspicious" in warning and "forger.py" in warning for warning in duel["warnings"]), duel


def test_what_timed_calls_leave_is_looked_at(cli, tmp_path):
    """Solves that behave for as many calls as a judge makes, and no longer."""
    for name, statement in (("scribbler", "input[3] = 1"), ("slacker", "output[N - 1] = 0")):
        body = f"    torch.softmax(input[:N], 0, out=output[:N])\n    if next(calls) > 400:\n        {statement}\n"
        head = "import itertools\n\nimport torch\n\ncalls = itertools.count()\n\n\ndef solve(input, output, N):\n"
        (tmp_path / f"{name}.py").write_text(head + body)
    files = (tmp_path / "scribbler.py", tmp_path / "slacker.py")
    _, (_, *rows) = rows_of(cli, tmp_path, "submit", *files, "--db", tmp_path / "board.sqlite")
    assert [row["verdict"] for row in rows] == ["accepted", "accepted"]
    assert [row["timings"] for row in rows] == [[], []]
    scribbler, slacker = (" ".join(row["warnings"]) for row in rows)
    assert "a timed call changed input" in scribbler
    assert "a timed call gave a wrong answer" in slacker


def test_without_ipc_buffers_and_guards_are_copied(cli, tmp_path):
    wanted = {
        "cuda/softmax.cu": "accepted",
        "triton_solutions/softmax_baseline.py": "accepted",
        "tests/submissions/bad/one_past_the_end.cu": "out-of-bounds",
        "tests/submissions/bad/one_before_the_start.cu": "out-of-bounds",
        "tests/submissions/bad/input_as_scratch.py": "input-modified",
    }
    for copying in (True, False):
        _, rows = rows_of(cli, tmp_path, "check", *wanted, JUDGE_NO_IPC="1" if copying else None)
        assert {row["file"]: row["verdict"] for row in rows} == wanted
        for row in rows:
            assert any("buffers were copied" in warning for warning in row["warnings"]) == copying


def test_without_ipc_times_are_taken_all_the_same(cli, tmp_path):
    _, rows = rows_of(cli, tmp_path, "bench", "triton_solutions/softmax_baseline.py", JUDGE_NO_IPC="1")
    assert all(row["timings"] for row in rows), [row["warnings"] for row in rows]


def test_a_lost_context_is_not_blamed_on_later_cases(cli, tmp_path):
    """illegal_address.cu faults above N = 1000 only, where CUDA's context is lost; a new worker takes the next case."""
    _, (row,) = rows_of(cli, tmp_path, "check", "tests/submissions/bad/illegal_address.cu", "--seed", "1")
    assert "an illegal memory access was encountered" in row["message"]
    run = [case for case in row["cases"] if case["verdict"] != "not-run"]
    for case in run:
        small = int(re.match(r"N=(\d+)/", case["name"])[1]) <= 1000
        assert case["verdict"] == ("accepted" if small else "runtime-error"), case["message"]
    first_fault = [case["verdict"] for case in run].index("runtime-error")
    assert "accepted" in [case["verdict"] for case in run[first_fault:]]


def test_a_large_case(cli, tmp_path):
    name = f"N={2**24 + 1}/uniform"
    done, (row,) = rows_of(cli, tmp_path, "check", "triton_solutions/softmax_baseline.py", "--large", "--case", name)
    assert done.returncode == 0, done.stdout
    assert [(case["name"], case["group"], case["verdict"]) for case in row["cases"]] == [(name, "large", "accepted")]


SLOW_ABOVE = """import torch


def solve(input, output, N):
    if N >= 4_000_000:
        raise ValueError("too large for me")
    for _ in range(8 if N >= 1_000_000 else 1):
        torch.softmax(input[:N], 0, out=output[:N])
"""


def test_a_sweep_marks_its_cliffs_and_explains_them(cli, tmp_path):
    """From 524,288 to 1,048,576 the file does its work eight times, and beyond 4 M it raises."""
    path = tmp_path / "slow_above.py"
    path.write_text(SLOW_ABOVE)
    flags = ("--n", "131072:8388608:x2", "--case", "N=33/uniform", "--png", tmp_path / "run.png")
    done, (reference, row) = rows_of(cli, tmp_path, "sweep", path, *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [timing["N"] for timing in reference["timings"]] == [2**exponent for exponent in range(17, 24)]
    assert [timing["N"] for timing in row["timings"]] == [2**exponent for exponent in range(17, 22)]
    for timing in (*reference["timings"], *row["timings"]):
        assert 0 < timing["low_us"] <= timing["device_us"] <= timing["high_us"]
        assert timing["gbps"] > 0
    sweep = json.loads((tmp_path / "run.json").read_text())["sweep"]
    assert all(point["copy_gbps"] > 0 and point["empty_us"] > 0 for point in sweep["points"])
    assert all(limit > 0 for limit in sweep["limits"].values()), sweep["limits"]
    assert sweep["limits"]["threads"] % 32 == 0
    mine = [cliff for cliff in sweep["cliffs"] if cliff["file"] == str(path)]
    (loss,) = [cliff for cliff in mine if cliff["kind"] == "loss" and cliff["after"] == 2**20]
    for facts in (loss["facts_before"], loss["facts_after"]):
        assert facts["registers"] > 0
        assert 0 < facts["occupancy"] <= 1
        assert facts["waves"] > 0
    assert loss["facts_after"]["kernels"] == loss["facts_before"]["kernels"] * 8
    assert "occupancy" in loss["text"]
    (failure,) = [cliff for cliff in mine if cliff["kind"] == "failure"]
    assert (failure["before"], failure["after"]) == (2**21, 2**22)
    assert "too large for me" in failure["text"]
    looked_at = {timing["N"] for timing in row["timings"] if timing["anatomy"]}
    assert {2**19, 2**20, 2**21} <= looked_at
    assert (tmp_path / "run.png").stat().st_size > 10_000
    again, rows = rows_of(cli, tmp_path, "sweep", path, *flags, "--resume")  # nothing is left to do
    assert again.returncode == 0, again.stderr
    assert rows == [reference, row]
