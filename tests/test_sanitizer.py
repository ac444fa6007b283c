"""What is made of compute-sanitizer's output, with a program in its place; compute-sanitizer itself, on a GPU."""

import ctypes
import json
import re
import sys
from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT

from harness import alone, bare, rows, sanitizer
from harness.arena import POISONS
from harness.bare import SOLVE_FAILED, UNWRITTEN, WATCHED
from harness.errors import UsageError
from harness.judge import Options
from harness.problems import PROBLEMS
from harness.rows import CaseResult, Row
from harness.sanitizer import Buffers, SanitizeError, find_fault, find_undefined, parse
from harness.submission import Submission
from harness.supervisor import ForkServer
from harness.worker import FENCE

SOFTMAX = PROBLEMS["softmax"]
INPUT, OUTPUT, BYTES = 0x7F6510C00000, 0x7F6510C01200, 4100
BUFFERS = Buffers(SOFTMAX, {"input": INPUT, "output": OUTPUT}, {"input": BYTES, "output": BYTES})
BEGIN = "========= COMPUTE-SANITIZER\n"
CLEAN = f"{BEGIN}========= ERROR SUMMARY: 0 errors\n"
NO_RACE = f"{BEGIN}========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"


def invalid(what, address, nearest, at="scale(float *, float)+0x70 in scale.cu:6", more=""):
    """An error of memcheck as its manual shows it, and the sum below."""
    return (
        f"{BEGIN}========= Invalid __{what}\n"
        f"=========     at {at}\n"
        "=========     by thread (255,0,0) in block (3,0,0)\n"
        f"=========     {address}\n"
        f"{nearest and f'=========     and is {nearest}'}\n"
        f"{more}"
        "========= \n"
        "========= ERROR SUMMARY: 1 error\n"
    )


ONE_PAST = invalid(
    "global__ read of size 4 bytes",
    f"Access at {INPUT + BYTES:#x} is out of bounds",
    f"1 bytes after the nearest allocation at {INPUT:#x} of size 4,100 bytes",
)
BY = "by thread (255, 0, 0) of block (3, 0, 0) in kernel scale at scale.cu:6"

# Faults and what must be said of each.
FAULTS = {
    "one past the end": (
        ONE_PAST,
        rows.OUT_OF_BOUNDS,
        f"read 4 bytes at input[1025], 1 past the end of its 1025 elements, {BY}",
    ),
    "an older version's words": (
        invalid(
            "global__ write of size 4",
            f"Address {OUTPUT - 4:#x} is out of bounds",
            "",
            at="0x160 in /home/me/scale.cu:6:scale(float*, float)",
        ),
        rows.OUT_OF_BOUNDS,
        f"wrote 4 bytes at output[-1], 1 before the start of its 1025 elements, {BY}",
    ),
    "the tail of a vector, of which the first element is inside": (
        invalid(
            "global__ read of size 16 bytes",
            f"Access to {INPUT + 4096:#x} is out of bounds",
            f"inside the nearest allocation at {INPUT:#x} of size 4100 bytes",
        ),
        rows.OUT_OF_BOUNDS,
        f"read 16 bytes at input[1025], 1 past the end of its 1025 elements, {BY}",
    ),
    "memory of its own": (
        invalid(
            "global__ atomic of size 8 bytes",
            "Address 0x7f6520000010 is out of bounds",
            "9 bytes after the nearest allocation at 0x7f6520000000 of size 8 bytes",
        ),
        rows.OUT_OF_BOUNDS,
        f"accessed 8 bytes at byte 16, 8 bytes behind the end of 8 bytes of memory from cudaMalloc, {BY}",
    ),
    "shared memory": (
        invalid("shared__ write of size 4 bytes", "Address 0x400 is out of bounds", ""),
        rows.OUT_OF_BOUNDS,
        f"wrote 4 bytes at address 0x400 of shared memory, outside what the kernel has of it, {BY}",
    ),
    "in a function that the kernel calls": (
        invalid(
            "global__ read of size 4 bytes",
            f"Access at {INPUT + BYTES:#x} is out of bounds",
            f"1 bytes after the nearest allocation at {INPUT:#x} of size 4,100 bytes",
            at="load<(int)4>(float *)+0xb0 in scale.cu:6",
            more="=========     Device Frame: void scale<(int)4, float (*)(float)>(float *)+0x30 in scale.cu:44\n",
        ),
        rows.OUT_OF_BOUNDS,
        "read 4 bytes at input[1025], 1 past the end of its 1025 elements, by thread (255, 0, 0) of block (3, 0, 0) "
        "in kernel scale<(int)4, float (*)(float)> at scale.cu:6",
    ),
    "without lines": (
        invalid(
            "global__ read of size 4 bytes",
            f"Access at {INPUT + BYTES:#x} is out of bounds",
            f"1 bytes after the nearest allocation at {INPUT:#x} of size 4,100 bytes",
            at="scale+0x70",
        ),
        rows.OUT_OF_BOUNDS,
        "read 4 bytes at input[1025], 1 past the end of its 1025 elements, by thread (255, 0, 0) of block (3, 0, 0) "
        "in kernel scale",
    ),
    "misaligned": (
        invalid(
            "global__ write of size 16 bytes",
            f"Address {OUTPUT + 4:#x} is misaligned",
            f"inside the nearest allocation at {OUTPUT:#x} of size 4,100 bytes",
        ),
        rows.RUNTIME_ERROR,
        f"wrote 16 bytes at an address that is not a multiple of its size, {BY}",
    ),
    "null": (
        invalid(
            "global__ read of size 4 bytes",
            "Access at 0x0 is out of bounds",
            f"{INPUT:,} bytes before the nearest allocation at {INPUT:#x} of size 4,100 bytes",
        ),
        rows.RUNTIME_ERROR,
        f"an illegal memory access: read 4 bytes at 0x0, {BY}",
    ),
    "a free of nothing": (
        f"{BEGIN}========= Malloc/Free error encountered : Double free\n=========     at 0x79d8\n"
        "=========     by thread (0,0,0) in block (0,0,0)\n=========     Address 0x400aff920\n",
        rows.RUNTIME_ERROR,
        "Malloc/Free error encountered : Double free, by thread (0, 0, 0) of block (0, 0, 0)",
    ),
}


@pytest.mark.parametrize(("log", "verdict", "text"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_element_thread_kernel_and_line(log, verdict, text):
    (found,) = filter(None, (find_fault(record, BUFFERS) for record in parse(log)))
    assert (found.verdict, found.text) == (verdict, text)


@pytest.mark.parametrize(("offset", "near"), [(BYTES + FENCE - 1, True), (BYTES + FENCE, False)])
def test_what_a_32_bit_index_can_reach_from_a_buffer_is_beside_it(offset, near):
    address = f"Access at {INPUT + offset:#x} is out of bounds"
    log = invalid(
        "global__ read of size 1 bytes", address, f"9 bytes after the nearest allocation at {INPUT:#x} of size 4,100"
    )
    (found,) = filter(None, (find_fault(record, BUFFERS) for record in parse(log)))
    assert found.verdict == (rows.OUT_OF_BOUNDS if near else rows.RUNTIME_ERROR)


@pytest.mark.parametrize(
    "log",
    [
        CLEAN,
        "printed by the program\n" + CLEAN,
        "========= Error: process didn't terminate successfully\n========= Target application returned an error\n",
        '========= Program hit cudaErrorInvalidValue (error 1) due to "x" on CUDA API call to cudaMalloc.\n'
        "=========     Saved host backtrace up to driver entry point at error\n",
    ],
)
def test_what_is_about_no_access_is_no_fault(log):
    assert [fault for record in parse(log) if (fault := find_fault(record, BUFFERS))] == []


RACE = (
    f"{BEGIN}========= Error: Race reported between Write access at sum(int *)+0x90 in sum.cu:41\n"
    "=========     and Read access at sum(int *)+0x100 in sum.cu:51 [508 hazards]\n"
    "=========\n========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
)
UNWRITTEN_READ = (
    f"{BEGIN}========= Uninitialized __global__ memory read of size 4 bytes\n"
    "=========     at add(int *)+0x70 in memset.cu:41\n"
    "=========     by thread (31,0,0) in block (1,0,0)\n"
    "=========     Address 0x7f3c7ec000fc\n========= \n========= ERROR SUMMARY: 1 error\n"
)


def sentences(log):
    return list(filter(None, map(find_undefined, parse(log))))


def test_a_race_and_a_read_of_unwritten_memory_become_sentences():
    places = "a write in kernel sum at sum.cu:41 and a read in kernel sum at sum.cu:51"
    # On an H200 the race of race_on_the_maximum.cu was an error at N = 1,025 and a warning at N = 100,000.
    for log in (RACE, RACE.replace("Error:", "Warning:")):
        assert sentences(log) == [f"data race on shared memory, between {places}"]
    (unwritten,) = sentences(UNWRITTEN_READ)
    assert unwritten == (
        "read 4 bytes of global memory that nobody has written, by thread (31, 0, 0) of block (1, 0, 0) "
        "in kernel add at memset.cu:41"
    )


@pytest.mark.parametrize(
    "log",
    [
        NO_RACE,
        f"{BEGIN}========= Host API memory access error at host access to 0x7f of size 4 bytes\n"
        "=========     Uninitialized access at 0x7f on access by cudaMemcpy source\n",
    ],
)
def test_no_race_and_copies_of_unwritten_memory_are_no_flag(log):
    assert sentences(log) == []


# ---- a call under it --------------------------------------------------------------------------------------------

# A program in compute-sanitizer's place: for each of its tools a log and a status, and the addresses bare.py leaves.
STAND_IN = """#!{python}
import json, pathlib, sys
arguments = sys.argv[1:]
tool = arguments[arguments.index("--tool") + 1]
folder = pathlib.Path(arguments[-1]).parent
task = json.loads((folder / "task.json").read_text())
with open({notes!r}, "a") as notes:
    notes.write(json.dumps([arguments, task["way"], sorted(each.name for each in folder.glob("*.npy"))]) + "\\n")
log, status, said = json.loads({logs!r})[tool]
(folder / "addresses.json").write_text({addresses!r})
pathlib.Path(arguments[arguments.index("--log-file") + 1]).write_text(log)
print(said)
sys.exit(status)
"""


def accepted(cases):
    results = [CaseResult(case.name, case.group, rows.ACCEPTED, "", f"replay {case.name}") for case in cases]
    return Row("f.py", "softmax", "gpu", rows.ACCEPTED, "", [], [], 1, results)


@pytest.fixture(scope="module")
def session():
    with ForkServer("gpu", ()) as server:
        yield SimpleNamespace(build=lambda _: {"python": None}, options=Options(seed=1), fork_server=server)


@pytest.fixture
def sanitize(session, tmp_path):
    """sanitize(memcheck, racecheck, initcheck, row) -> the row by a stand-in; `.asked` is what that was asked."""
    submission = Submission(ROOT / "triton_solutions" / "softmax_baseline.py", SOFTMAX)
    case = next(case for case in SOFTMAX.cases(1) if case.name == "N=1025/uniform")
    tool, notes = tmp_path / "compute-sanitizer", tmp_path / "notes"

    def run(memcheck=CLEAN, racecheck=NO_RACE, initcheck=CLEAN, status=0, said="", row=None, options=None):
        logs = {"memcheck": memcheck, "racecheck": racecheck, "initcheck": initcheck}
        tool.write_text(
            STAND_IN.format(
                python=sys.executable,
                notes=str(notes),
                logs=json.dumps({name: [log, status, said] for name, log in logs.items()}),
                addresses=json.dumps(BUFFERS.addresses),
            )
        )
        tool.chmod(0o755)
        chosen = SimpleNamespace(**{**vars(session), "options": options or session.options})
        inputs = SOFTMAX.inputs(case, 1)
        found = sanitizer.sanitize_row(row or accepted([case]), submission, case, inputs, chosen, str(tool))
        run.asked = [json.loads(line) for line in notes.read_text().splitlines()]
        return found

    run.case = case
    return run


def test_the_first_fault_becomes_the_verdict_and_the_replay_is_one_with_the_flag(sanitize):
    row = sanitize(ONE_PAST, status=SOLVE_FAILED)
    assert row.verdict == rows.OUT_OF_BOUNDS
    assert row.message == f"N=1025/uniform: {FAULTS['one past the end'][2]} (seen by compute-sanitizer)"
    assert row.cases[0].replay == "replay N=1025/uniform --sanitize"
    (asked,) = sanitize.asked  # no race is looked for behind a fault
    arguments, way, arrays = asked
    assert arguments[arguments.index("--tool") + 1] == "memcheck"
    assert int(arguments[arguments.index("--padding") + 1]) > 0
    assert arguments[-5:-1] == [sys.executable, "-P", "-m", "harness.bare"]
    assert (way, arrays) == (WATCHED, ["input.before.npy"])


def test_a_file_that_is_clean_stays_as_it_was_and_all_three_tools_have_looked(sanitize):
    row = accepted([sanitize.case])
    assert sanitize(row=row) == row
    tools = [(arguments[arguments.index("--tool") + 1], way) for arguments, way, _ in sanitize.asked]
    assert tools == [("memcheck", WATCHED), ("racecheck", WATCHED), ("initcheck", UNWRITTEN)]


def test_races_and_unwritten_memory_are_a_flag_that_decides_only_with_strict(sanitize):
    row = sanitize(racecheck=RACE, initcheck=UNWRITTEN_READ)
    assert (row.verdict, row.flags) == (rows.ACCEPTED, [rows.UNDEFINED_BEHAVIOUR])
    assert [re.search("data race|nobody has written", warning)[0] for warning in row.warnings] == [
        "data race",
        "nobody has written",
    ]
    strict = sanitize(racecheck=RACE, options=Options(seed=1, strict=True))
    assert strict.verdict == rows.RUNTIME_ERROR
    assert "data race" in strict.message


@pytest.mark.parametrize(
    ("verdict", "after"),
    [(rows.WRONG_ANSWER, rows.OUT_OF_BOUNDS), (rows.RUNTIME_ERROR, rows.OUT_OF_BOUNDS), (rows.OUT_OF_MEMORY,) * 2],
)
def test_a_fault_stands_where_it_comes_in_the_order_of_verdicts(sanitize, verdict, after):
    row = accepted([sanitize.case])
    failed = CaseResult(sanitize.case.name, "main", verdict, "N=1025/uniform: off", "replay")
    row = Row(**{**vars(row), "verdict": verdict, "message": failed.message, "cases": [failed]})
    assert sanitize(ONE_PAST, row=row).verdict == after


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"status": SOLVE_FAILED, "said": "line 7: NameError: no x"}, "the call failed: line 7: NameError: no x"),
        ({"memcheck": f"{BEGIN}========= Error: Device not supported\n", "status": 1}, "Device not supported"),
        ({"memcheck": BEGIN}, "memcheck has not come to its end"),
        ({"memcheck": CLEAN.replace("0 errors", "2 errors")}, "memcheck has not come to its end"),
        ({"racecheck": BEGIN}, "racecheck has not come to its end"),
    ],
)
def test_a_call_that_could_not_be_watched_is_not_taken_for_a_clean_one(sanitize, arguments, words):
    with pytest.raises(SanitizeError, match=words):
        sanitize(**arguments)


def test_beside_a_failure_that_is_only_a_warning(sanitize):
    failed = CaseResult(sanitize.case.name, "main", rows.WRONG_ANSWER, "N=1025/uniform: off", "replay")
    row = Row(**{**vars(accepted([])), "verdict": rows.WRONG_ANSWER, "message": failed.message, "cases": [failed]})
    found = sanitize(status=SOLVE_FAILED, said="no x", row=row)
    assert found.verdict == rows.WRONG_ANSWER
    assert "the call failed: no x" in found.warnings[0]


def test_the_program_under_the_tool_is_the_one_that_makes_the_call(session, tmp_path):
    """A stand-in that runs what it is given; with no GPU to be seen the call says so."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(
        f"#!{sys.executable}\nimport os, sys\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n"
        "at = sys.argv.index('--log-file') + 2\nos.execv(sys.argv[at], sys.argv[at:])\n"
    )
    tool.chmod(0o755)
    submission = Submission(ROOT / "triton_solutions" / "softmax_baseline.py", SOFTMAX)
    case = SOFTMAX.cases(1)[0]
    with pytest.raises(SanitizeError, match=r"the call failed: .*(no NVIDIA driver|no CUDA-capable device)"):
        sanitizer.sanitize_row(accepted([case]), submission, case, SOFTMAX.inputs(case, 1), session, str(tool))


NOTES_WHAT_IT_GETS = """\
import json, pathlib
def solve(input, output, N):
    here = pathlib.Path({folder!r})
    seen = [N, input.tolist(), output.view(output.dtype).numpy().tobytes().hex(), (here / "addresses.json").exists()]
    (here / "seen").write_text(json.dumps([*seen, input.data_ptr(), output.data_ptr()]))
"""


@pytest.mark.parametrize("way", [WATCHED, UNWRITTEN])
def test_the_one_call_gets_the_inputs_and_poison_or_nothing_at_all(tmp_path, monkeypatch, way):
    """bare.py's own way, with host memory in the device's place."""
    kept = {}

    def allocate(size):
        memory = ctypes.create_string_buffer(b"\x55" * size, size)
        kept[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory)

    def tensor(buffer, dtype):
        return torch.frombuffer(kept[buffer.begin], dtype=getattr(torch, dtype))

    for name in ("open_context", "synchronize"):
        monkeypatch.setattr(bare.gpu, name, lambda: None)
    freed = []
    monkeypatch.setattr(bare.gpu, "allocate", allocate)
    monkeypatch.setattr(bare.gpu, "free", freed.append)
    monkeypatch.setattr(bare, "device_tensor", tensor)
    monkeypatch.setattr(sys, "path", [*sys.path])  # both of which loading a solve changes
    monkeypatch.setitem(sys.modules, "submission", None)
    path = tmp_path / "solve.py"
    path.write_text(NOTES_WHAT_IT_GETS.format(folder=str(tmp_path)))
    session = SimpleNamespace(
        build=lambda _: {"python": None}, fork_server=SimpleNamespace(folder=tmp_path), options=Options(seed=1)
    )
    case = next(case for case in SOFTMAX.cases(1) if case.sizes["N"] == 3)
    inputs = SOFTMAX.inputs(case, 1)
    with alone.prepared(Submission(path, SOFTMAX), case, inputs, session, way) as folder:
        (tmp_path / "addresses.json").symlink_to(folder / "addresses.json")
        monkeypatch.setattr(sys, "argv", ["bare", str(folder / "task.json")])
        assert bare.main() == 0
        addresses = json.loads((folder / "addresses.json").read_text())
    n, x, y, had_addresses, input_at, output_at = json.loads((tmp_path / "seen").read_text())
    assert (n, x, had_addresses) == (3, inputs["input"].tolist(), True)
    assert y == (b"\x55" * 12 if way == UNWRITTEN else POISONS[0].tobytes() * 2)[:12].hex()
    assert addresses == {"input": input_at, "output": output_at}
    assert len(freed) == 2 and not {input_at, output_at} & set(freed)  # the holes behind them


def test_the_case_to_watch_is_the_one_that_failed_else_the_largest_small_one_that_ends_within_its_allocation():
    submission = Submission(ROOT / "triton_solutions" / "softmax_baseline.py", SOFTMAX)
    cases = [case for case in SOFTMAX.cases(1) if case.group != "special"]
    row = accepted(cases)
    assert sanitizer.choose_case(row, submission, 1).sizes == {"N": 4097}
    three = next(case for case in cases if case.sizes["N"] == 3)
    failed = [
        result if result.name != three.name else CaseResult(three.name, "main", rows.WRONG_ANSWER, "off", "")
        for result in row.cases
    ]
    row = Row(**{**vars(row), "verdict": rows.WRONG_ANSWER, "message": "off", "cases": failed})
    assert sanitizer.choose_case(row, submission, 1).name == three.name
    teaching = PROBLEMS["subtract_one"]
    row = accepted(teaching.cases(1))
    assert sanitizer.choose_case(row, Submission(submission.path, teaching), 1).sizes == {"N": 1025}
    assert sanitizer.choose_case(accepted([]), submission, 1) is None


def test_a_row_without_a_call_is_left_alone():
    row = Row("f.cu", "softmax", "gpu", rows.COMPILE_ERROR, "no", [], [], 1, [])
    assert sanitizer.sanitize_one(row, None, None, None, "none") == (row, "")


# ---- usage ------------------------------------------------------------------------------------------------------


def usage_error(done):
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_on_the_cpu_backend_it_is_refused(cli, tmp_path):
    path = tmp_path / "x.py"
    path.write_text("def solve(input, output, N):\n    pass\n")
    assert "--sanitize needs a GPU" in usage_error(cli("check", path, "--sanitize", "--backend", "cpu"))
    kept = re.search(r"replay (\S+)", cli("check", path, "--shrink", "--backend", "cpu").stdout)[1]
    assert "--sanitize needs a GPU" in usage_error(cli("replay", kept, "--sanitize"))


def test_without_the_tool_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sanitizer, "find_tool", lambda name: None)
    monkeypatch.setattr(sanitizer, "find_nvcc", lambda: None)
    monkeypatch.setattr(sanitizer.shutil, "which", lambda name, path: None)
    with pytest.raises(UsageError, match=r"^--sanitize needs compute-sanitizer .* add its directory to PATH$"):
        sanitizer.find_sanitizer()


# ---- on a GPU ---------------------------------------------------------------------------------------------------


def judged(cli, tmp_path, *arguments):
    done = cli("check", *arguments, "--backend", "gpu", "--json", tmp_path / "run.json")
    assert (tmp_path / "run.json").exists(), done.stderr
    return done, json.loads((tmp_path / "run.json").read_text())["rows"]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["reads_past_the_end.cu", "reads_past_the_end.py"])
def test_a_read_past_the_end_is_let_pass_without_and_named_with_it(cli, tmp_path, name):
    path = f"tests/submissions/bad/{name}"
    done, (row,) = judged(cli, tmp_path, path, "--case", "N=1025/uniform")
    assert row["verdict"] == "accepted", row["message"]
    done, (row,) = judged(cli, tmp_path, path, "--case", "N=1025/uniform", "--sanitize")
    assert row["verdict"] == "out-of-bounds", done.stdout + done.stderr
    says = r"read \d+ bytes at input\[\d+\], \d+ past the end of its 1025 elements, by thread .* in kernel \w+ at "
    assert re.search(says + re.escape(name) + r":\d+", row["message"]), row["message"]
    assert row["cases"][0]["replay"].endswith("--sanitize")


@pytest.mark.gpu
def test_a_race_on_shared_memory_is_a_flag(cli, tmp_path):
    done, (row,) = judged(cli, tmp_path, "tests/submissions/bad/race_on_the_maximum.cu", "--sanitize")
    assert row["verdict"] == "accepted", done.stdout + done.stderr
    assert "undefined-behaviour" in row["flags"], row["warnings"]
    assert any("race_on_the_maximum.cu:" in warning for warning in row["warnings"])


@pytest.mark.gpu
def test_bundled_solves_are_clean_under_it(cli, tmp_path):
    files = ["cuda/softmax.cu", "triton_solutions/softmax_baseline.py", "triton_solutions/subtract_one.py"]
    done, found = judged(cli, tmp_path, *files, "--sanitize")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["verdict"] for row in found] == ["accepted"] * 3
    assert all("undefined-behaviour" not in row["flags"] for row in found), found
