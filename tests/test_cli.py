"""The command line as a user meets it: exit status, one sentence on stderr, the table, the JSON, replaying."""

import codecs
import io
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from conftest import ROOT
from waiting import wait_for_file, wait_for_the_end

from harness import cli as cli_module
from harness import corpus, report
from harness.backend import choose
from harness.judge import Options, Session, judge_one, replay_command
from harness.problems import PROBLEMS
from harness.progress import Progress
from harness.rows import CaseResult, Duel, Row
from harness.run import Outcome
from harness.signature import problems_named_in
from harness.submission import Submission

VERDICTS = {
    "accepted",
    "wrong-answer",
    "out-of-bounds",
    "input-modified",
    "runtime-error",
    "time-limit-exceeded",
    "out-of-memory",
    "compile-error",
    "internal-error",
    "unsupported",
    "not-run",
}
ROW_KEYS = {"file", "problem", "backend", "verdict", "message", "flags", "warnings", "seed", "cases", "timings"}
CASE_KEYS = {"name", "group", "verdict", "message", "replay"}
TIMING_KEYS = {
    "N",
    "device_us",
    "call_us",
    "low_us",
    "high_us",
    "gbps",
    "of_ceiling",
    "over_reference",
    "samples",
    "method",
}

TORCH_SOLVE = "import torch\n\n\ndef solve(input, output, N):\n    torch.softmax(input[:N], 0, out=output[:N])\n"


@pytest.fixture
def torch_solve(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(TORCH_SOLVE)
    return path


def one_sentence(done):
    """The error of a run that must have failed as wrong usage: status 2, one line, no traceback, nothing on stdout."""
    assert done.returncode == 2, done.stdout + done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return errors[0]


def test_missing_file(cli):
    assert "nowhere.cu does not exist" in one_sentence(cli("check", "nowhere.cu"))


def test_directory(cli, tmp_path):
    assert "is a directory: name the .cu or .py files" in one_sentence(cli("check", tmp_path))


def test_a_control_character_in_a_name(cli, tmp_path):
    path = tmp_path / "two\nlines.cu"
    path.write_text("")
    assert "control character in its name" in one_sentence(cli("check", path))


@pytest.mark.parametrize("name", ["a.cu", "a.py"])
def test_a_file_without_a_byte_is_a_compile_error(cli, tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    done = cli("check", tmp_path / name, "--backend", "cpu")
    assert done.returncode == 1, done.stderr
    assert re.search(r"compile-error: .*no function solve", done.stdout)


def test_unknown_suffix(cli, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    assert "a solve file ends in .cu or .py" in one_sentence(cli("submit", tmp_path / "notes.txt"))


def test_unknown_problem(cli, torch_solve):
    message = one_sentence(cli("check", torch_solve, "--problem", "nosuch"))
    assert "no problem 'nosuch'" in message
    assert "softmax" in message


def test_unknown_problem_in_the_file(cli, torch_solve):
    torch_solve.write_text("# problem: nosuch\n" + TORCH_SOLVE)
    assert "mine.py: there is no problem 'nosuch'" in one_sentence(cli("check", torch_solve))


def test_unknown_case(cli, torch_solve):
    assert "no case 'N=7/nothing'" in one_sentence(cli("check", torch_solve, "--case", "N=7/nothing", "--seed", "1"))


def test_unknown_flag(cli, torch_solve):
    assert "--fast" in one_sentence(cli("check", torch_solve, "--fast"))


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "inf"])
def test_timeout_that_is_none(cli, torch_solve, value):
    assert "--timeout" in one_sentence(cli("check", torch_solve, "--timeout", value))


def test_wrong_words_are_answered_with_the_right_ones(cli, torch_solve, tmp_path):
    shutil.copy(torch_solve, tmp_path / "-dash.py")
    (tmp_path / "one.py").write_text("# problem: subtract_one\n" + TORCH_SOLVE)
    wrong = {
        "the file of this name is ./-dash.py": ("check", "-dash.py"),
        "(python -m harness check --help)": ("check", "mine.py", "--seed", "x"),
        "is too long for a file": ("check", "n" * 300 + ".py"),
        "there is no problem ''": ("check", "mine.py", "--problem", ""),
        "--json mine.py would overwrite a solve file": ("check", "--json", "mine.py", "one.py"),
        "--hot needs a GPU": ("bench", "mine.py", "--hot", "--backend", "cpu"),
        "--against one.py is no solve of softmax": ("bench", "mine.py", "--against", "one.py"),
        "--seed before check does nothing": ("--seed", "1", "check", "mine.py"),
        "python -m harness check mine.py judges that file": ("--seed", "1", "mine.py"),
        "leave out --case or --db": ("submit", "mine.py", "--case", "N=33/uniform", "--db", "board"),
    }
    for words, arguments in wrong.items():
        assert words in one_sentence(cli(*arguments, cwd=tmp_path))
    assert (tmp_path / "mine.py").read_text() == TORCH_SOLVE


def test_a_name_that_begins_with_a_dash_can_be_replayed():
    session = SimpleNamespace(options=Options(seed=1), backend=SimpleNamespace(name="cpu"))
    case = SimpleNamespace(name="N=33/uniform", group="main")
    words = shlex.split(replay_command(Submission(Path("-dash.py"), PROBLEMS["softmax"]), session, case))
    assert words[:5] == ["python", "-m", "harness", "check", "./-dash.py"]


def test_the_end_of_a_file_is_not_taken_for_ctrl_c(monkeypatch):
    def invoke(context):
        raise EOFError

    monkeypatch.setattr(cli_module.cli, "invoke", invoke)
    monkeypatch.setattr(sys, "argv", ["harness", "problems"])
    with pytest.raises(EOFError):
        cli_module.main()


def in_shell(words, *arguments, cwd):
    """A run whose standard streams are as the words say, on which a shell starts it."""
    command = ["sh", "-c", f'exec "$@" {words}', "sh", sys.executable, "-m", "harness", *arguments]
    return subprocess.run(command, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)


def test_without_standard_streams_the_exit_status_is_what_it_was(tmp_path):
    assert in_shell("<&- >&- 2>&-", "problems", cwd=tmp_path).returncode == 0
    done = in_shell("2>&-", "check", "nowhere.cu", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


def test_what_is_not_shown_is_kept_all_the_same(torch_solve, tmp_path):
    flags = ("--backend", "cpu", "--case", "N=33/uniform", "--json", "run.json")
    done = in_shell("> /dev/full", "check", torch_solve, *flags, cwd=tmp_path)
    assert "standard output cannot be written (No space left on device)" in one_sentence(done)
    assert json.loads((tmp_path / "run.json").read_text())["rows"][0]["verdict"] == "accepted"
    assert not (tmp_path / ".run.json.rows").exists()


def test_a_working_directory_that_has_gone(tmp_path):
    command = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", sys.executable, "-m", "harness", "problems"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "gone").mkdir()
    done = subprocess.run(command, cwd=tmp_path / "gone", env=environment, capture_output=True, text=True)
    assert "the working directory has gone" in one_sentence(done)


GOES = "import os\n\nos.remove(__file__)\n"
CHANGES = "open(__file__, 'a').write('#')\n"


def test_files_that_go_or_change_while_they_are_judged_do_not_end_the_run(cli, tmp_path):
    for name, head in (("changes.py", CHANGES), ("goes.py", GOES), ("stays.py", "")):
        (tmp_path / name).write_text(head + TORCH_SOLVE)
    names = ("changes.py", "goes.py", "stays.py")
    flags = ("--backend", "cpu", "--case", "N=33/uniform", "--sizes", "33", "--json", "run.json")
    done = cli("bench", *names, *flags, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    rows = {row["file"]: row for row in json.loads((tmp_path / "run.json").read_text())["rows"]}
    assert rows.keys() == {"torch.softmax", *names}
    assert [name for name in names if rows[name]["timings"]] == ["stays.py"]
    for name in names[:2]:
        assert rows[name]["verdict"] == "accepted"
        assert rows[name]["warnings"] == ["not timed: the file has changed since it was judged"]
    compared = cli("compare", "stays.py", "changes.py", *flags[:4], cwd=tmp_path)
    assert compared.returncode == 1
    assert "no duel: changes.py has changed since it was judged" in compared.stderr


def test_a_file_that_has_gone_before_its_turn_is_not_run(tmp_path):
    session = Session(choose("cpu", needs_nvcc=False), Options(seed=1), needs_torch=False)
    gone = Submission(tmp_path / "gone.py", PROBLEMS["softmax"])
    judged = judge_one(gone, session, Progress(silent=True))
    assert judged.row.verdict == "not-run"
    assert "has gone since the run began" in judged.missing_tool


@pytest.mark.parametrize(
    ("line", "names"),
    [("# problem:", ()), ("# problem: softmax, softmax", ("softmax",)), ("// problem:softmax", ("softmax",))],
)
def test_the_problems_that_a_file_names(tmp_path, line, names):
    (tmp_path / "a.py").write_text(f"{line}\nimport torch\n")
    assert problems_named_in(tmp_path / "a.py") == names


def test_a_name_is_shown_in_any_encoding():
    codecs.register_error("shown", cli_module._as_bytes_or_escaped)
    assert "\udcff".encode("ascii", "shown") == b"\xff"
    assert "\xfc.cu".encode("ascii", "shown") == rb"\xfc.cu"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [20, 60, 80])
def test_on_a_narrow_terminal_nothing_is_cut(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", Terminal())
    file = "a/long/way/to/the/handed/in/softmax.cu"
    row = Row(file, "softmax", "cpu", "wrong-answer", "", [], [], 1, [CaseResult("x", "main", "accepted", "", "")], [])
    report.print_rows([row], {"backend": "cpu"})
    lines = re.sub(r"\x1b\[[\d;]*m", "", sys.stdout.getvalue()).splitlines()
    assert "softmax  wrong-answer    1/1" in lines[1]
    assert "".join(line.split()[0] for line in lines[1:]) == file
    if columns >= 60:
        assert max(map(len, lines)) <= columns


def test_what_a_library_makes_of_ctrl_c_is_ctrl_c_all_the_same(monkeypatch, capsys):
    def main(**_):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("numpy says so") from None

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(cli_module.cli, "main", main)
    try:
        with pytest.raises(SystemExit) as ended:
            cli_module.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted: nothing of this run was kept\n"


@pytest.mark.parametrize(("verb", "goes_on"), [("check", True), ("compare", False)])
def test_only_a_verb_that_resumes_is_said_to(monkeypatch, torch_solve, tmp_path, verb, goes_on):
    monkeypatch.setattr("harness.run.run", lambda *_, **__: Outcome(is_interrupted=True))
    flags = ["--backend", "cpu", "--json", str(tmp_path / "run.json")]
    done = CliRunner().invoke(cli_module.cli, [verb, str(torch_solve), str(torch_solve), *flags])
    assert done.exit_code == 130
    assert "interrupted: 0 of 2 files are judged" in done.stderr
    assert ("--resume goes on" in done.stderr) == goes_on


def test_an_emulated_duel_shows_no_interval(capsys):
    duel = Duel("a.cu", "b.cu", "softmax", {"N": 33}, None, 2.0, 1.75, 2.25, 1, 8.0, 4.0, "")
    report.print_duels([duel, replace(duel, verdict="slower", rounds=60)])
    emulated, measured = capsys.readouterr().out.splitlines()
    assert emulated.endswith("8.00 us against 4.00 us, 2.00x its time")
    assert measured.endswith("2.00x its time (99 %: 1.75 to 2.25; 60 rounds)")


def test_the_help_says_of_every_verb_what_it_does(cli):
    verbs = cli("--help", COLUMNS="80").stdout.partition("Commands:\n")[2]
    assert len(verbs.splitlines()) >= 12
    assert "..." not in verbs


def test_no_file_at_all(cli):
    assert "FILE" in one_sentence(cli("submit"))


def test_gpu_where_there_is_none(cli, torch_solve):
    message = one_sentence(cli("check", torch_solve, "--backend", "gpu", CUDA_VISIBLE_DEVICES=""))
    assert "use --backend cpu" in message


def test_large_without_a_gpu(cli, torch_solve):
    assert "--large needs a GPU" in one_sentence(cli("check", torch_solve, "--backend", "cpu", "--large"))


def test_a_large_case_needs_its_flag(cli, torch_solve):
    assert "add --large" in one_sentence(cli("check", torch_solve, "--case", f"N={2**28}/uniform"))


def test_anatomy_without_a_gpu(cli, torch_solve):
    assert "--anatomy needs a GPU" in one_sentence(cli("bench", torch_solve, "--backend", "cpu", "--anatomy"))


def test_unwritable_json(cli, torch_solve, tmp_path):
    assert "cannot be written" in one_sentence(cli("check", torch_solve, "--json", tmp_path / "no" / "run.json"))


def test_unwritable_cache(cli, tmp_path):
    (tmp_path / "file").write_text("")  # not even root can make a directory below a file
    message = one_sentence(
        cli("check", ROOT / "tests/submissions/bad/zeros.cu", "--backend", "cpu", XDG_CACHE_HOME=str(tmp_path / "file"))
    )
    assert "set XDG_CACHE_HOME" in message


@pytest.fixture
def no_compiler(tmp_path):
    """A PATH with nothing on it but what is no compiler."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "uname", "cat"):
        (directory / name).symlink_to(shutil.which(name))
    return {"PATH": str(directory), "CXX": None, "CUDACXX": None, "CUDA_HOME": None, "CUDA_PATH": None}


def test_no_compiler(cli, no_compiler):
    message = one_sentence(cli("check", ROOT / "tests/submissions/bad/zeros.cu", "--backend", "cpu", **no_compiler))
    assert "No C++ compiler was found" in message
    assert "apt install g++" in message


def test_no_compiler_does_not_stop_python_files(cli, no_compiler, torch_solve):
    cuda = ROOT / "tests/submissions/bad/zeros.cu"
    done = cli("check", cuda, torch_solve, "--backend", "cpu", "--case", "N=33/uniform", **no_compiler)
    assert done.returncode == 2
    assert re.search(r"zeros\.cu +softmax +not-run", done.stdout)
    assert re.search(r"mine\.py +softmax +accepted", done.stdout)
    assert done.stderr.splitlines()[-1].startswith("error: No C++ compiler was found")


def test_an_unreadable_file(cli, torch_solve):
    torch_solve.chmod(0)
    if os.access(torch_solve, os.R_OK):  # root reads everything
        torch_solve.unlink()
        os.mkfifo(torch_solve)
    assert "cannot be read" in one_sentence(cli("check", torch_solve))


@pytest.mark.parametrize("contents", [b"", b"\x7fELF\x00\x01\xff\xfe", b"\x00" * 64])
def test_empty_and_binary_cuda_files_do_not_compile(cli, tmp_path, contents):
    (tmp_path / "odd.cu").write_bytes(contents)
    done = cli("check", tmp_path / "odd.cu", "--backend", "cpu")
    assert done.returncode == 1
    assert re.search(r"odd\.cu +softmax +compile-error", done.stdout)


def test_non_utf8_path(cli, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.cu"))
    path.write_bytes((ROOT / "cuda" / "softmax.cu").read_bytes())
    result = tmp_path / "run.json"
    done = cli("check", path, "--backend", "cpu", "--case", "N=33/uniform", "--json", result)
    assert done.returncode == 0, done.stderr
    assert json.loads(result.read_text())["rows"][0]["file"] == os.fspath(path)


def test_a_wrong_solve_elsewhere_is_named_and_can_be_replayed(cli, tmp_path):
    """From another directory, a file outside the tree: N, index, got, expected, and a command that shows it again."""
    source = (ROOT / "cuda" / "softmax.cu").read_text()
    broken = source.replace("return a + b;", "return a;")
    assert broken != source
    (tmp_path / "broken.cu").write_text(broken)
    done = cli("check", "broken.cu", "--backend", "cpu", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"wrong-answer: N=\d+/\S+: output\[\d+\] is \S+, expected \S+", done.stdout)
    replay = shlex.split(re.search(r"replay: (.*)", done.stdout)[1])
    assert replay[:3] == ["python", "-m", "harness"]
    again = cli(*replay[3:], cwd=tmp_path)
    assert again.returncode == 1
    message = re.search(r"wrong-answer: .*", done.stdout)[0]
    assert message in again.stdout


def test_json_has_the_promised_keys(cli, torch_solve, tmp_path):
    result = tmp_path / "run.json"
    done = cli("submit", torch_solve, "--backend", "cpu", "--seed", "7", "--json", result)
    assert done.returncode == 0, done.stderr
    document = json.loads(result.read_text())
    assert document["schema"] == 1
    assert document["machine"]["backend"] == "cpu"
    reference, row = document["rows"]
    assert reference["file"] == "torch.softmax"
    for each in document["rows"]:
        assert each.keys() >= ROW_KEYS
        assert each["verdict"] in VERDICTS
        assert each["seed"] == 7
        assert all(case.keys() >= CASE_KEYS for case in each["cases"])
        assert all(timing.keys() >= TIMING_KEYS for timing in each["timings"])
    (timing,) = row["timings"]
    assert timing["device_us"] is None  # a time on the CPU backend is never shown as a GPU's
    assert timing["call_us"] > 0
    assert "emulated" in timing["method"]
    assert timing["over_reference"] == pytest.approx(timing["call_us"] / reference["timings"][0]["call_us"])
    assert "emulated" in done.stdout


def test_json_is_strict_where_numbers_are_not_finite(cli, tmp_path):
    result = tmp_path / "run.json"
    cli("check", ROOT / "tests/submissions/bad/zeros.py", "--backend", "cpu", "--case", "N=33/nan", "--json", result)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    (row,) = json.loads(result.read_text(), parse_constant=refuse)["rows"]
    assert row["verdict"] == "wrong-answer"
    assert row["cases"][0]["numbers"]["expected"] == "nan"


def test_the_same_seed_gives_the_same_cases_and_another_seed_others(cli, torch_solve, tmp_path):
    def names(seed):
        cli("check", torch_solve, "--backend", "cpu", "--seed", str(seed), "--json", tmp_path / f"{seed}.json")
        return [case["name"] for case in json.loads((tmp_path / f"{seed}.json").read_text())["rows"][0]["cases"]]

    assert names(1) == names(1)
    assert names(1) != names(2)


def test_piped_output_has_no_escapes_and_whole_names(cli, tmp_path):
    path = tmp_path / f"{'long' * 40}.py"
    path.write_text(TORCH_SOLVE)
    done = cli("check", path, "--backend", "cpu", "--case", "N=33/uniform")
    assert "\x1b" not in done.stdout
    assert str(path) in done.stdout


def test_special_cases_decide_only_with_strict(cli, tmp_path):
    """A softmax that gives 0 instead of NaN is right on finite inputs."""
    path = tmp_path / "finite.py"
    path.write_text(TORCH_SOLVE + "    torch.nan_to_num_(output[:N], nan=0.0)\n")
    done = cli("check", path, "--backend", "cpu")
    assert done.returncode == 0, done.stdout
    assert "special cases fail" in done.stdout
    strict = cli("check", path, "--backend", "cpu", "--strict")
    assert strict.returncode == 1
    assert re.search(r"wrong-answer: N=\d+/(all-minus-infinity|plus-infinity|nan)", strict.stdout)


def test_a_file_may_name_several_problems(cli, tmp_path):
    path = tmp_path / "both.py"
    path.write_text("# problem: softmax subtract_one\n" + TORCH_SOLVE)
    done = cli("check", path, "--backend", "cpu", "--problem", "subtract_one")
    assert re.search(r"both\.py +subtract_one +wrong-answer", done.stdout)
    done = cli("check", path, "--backend", "cpu")
    assert re.search(r"both\.py +softmax +accepted", done.stdout)
    assert re.search(r"both\.py +subtract_one +wrong-answer", done.stdout)


def test_autotuned_kernels_take_their_first_configuration_without_a_gpu(cli, tmp_path):
    path = tmp_path / "tuned.py"
    path.write_text(
        "# problem: subtract_one\n"
        + (ROOT / "triton_solutions" / "subtract_one.py")
        .read_text()
        .replace(
            "@triton.jit", "@triton.autotune([triton.Config({'BLOCK_SIZE': b}) for b in (256, 512)], [])\n@triton.jit"
        )
        .replace("N, BLOCK_SIZE=BLOCK_SIZE)", "N)")
        .replace("triton.cdiv(N, BLOCK_SIZE),)", "triton.cdiv(N, 256),)")
    )
    done = cli("check", path, "--backend", "cpu")
    assert done.returncode == 0, done.stdout


def test_a_block_s_number_begins_a_loop_also_where_numpy_refuses_the_interpreters_index():
    """As Triton up to 3.6 has it, to which NumPy from 2.4 on says: only 0-dimensional arrays can be converted."""
    program = """
import torch, triton, triton.language as tl
from triton.runtime import interpreter
patch = interpreter._patch_lang_tensor
def refused(self):
    raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
def older(tensor, *scope):
    patch(tensor, *scope)
    tensor.__index__ = refused
interpreter._patch_lang_tensor = older
from harness import interpreted
interpreted.complete()
@triton.jit
def kernel(out, n):
    for row in tl.range(tl.program_id(0), n, tl.num_programs(0)):
        tl.store(out + row, row)
out = torch.zeros(10)
kernel[(3,)](out, 10)
assert out.tolist() == list(range(10))
"""
    variables = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_inline_assembly_is_unsupported_in_the_interpreter(cli, tmp_path):
    path = tmp_path / "asm.py"
    path.write_text(
        (ROOT / "triton_solutions" / "subtract_one.py")
        .read_text()
        .replace(
            "    tl.store(",
            '    x = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.float32, True, 1)\n    tl.store(',
        )
    )
    done = cli("check", path, "--backend", "cpu")
    assert done.returncode == 1
    assert re.search(r"asm\.py +subtract_one +unsupported", done.stdout)
    assert re.search(r"unsupported: \S+: line \d+: .*inline_asm not supported in interpreter mode", done.stdout)


def test_an_access_out_of_bounds_is_blamed_on_its_own_case_alone(cli, tmp_path):
    path = tmp_path / "once.py"
    text = (ROOT / "triton_solutions" / "subtract_one.py").read_text()
    text = text.replace("BLOCK_SIZE: tl.constexpr", "EXTRA, BLOCK_SIZE: tl.constexpr").replace("< N\n", "< N + EXTRA\n")
    path.write_text(text.replace("output, N, BLOCK_SIZE=", "output, N, 1 if N == 1025 else 0, BLOCK_SIZE="))
    result = tmp_path / "run.json"
    assert cli("check", path, "--backend", "cpu", "--json", result).returncode == 1
    (row,) = json.loads(result.read_text())["rows"]
    for case in row["cases"]:
        expected = "out-of-bounds" if case["name"].startswith("N=1025/") else "accepted"
        assert case["verdict"] == expected, case["message"]


def test_a_cuda_feature_the_cpu_lacks_is_unsupported_with_its_line(cli, tmp_path):
    path = tmp_path / "tensor.cu"
    path.write_text(
        '// problem: softmax\n#include <cublas_v2.h>\nextern "C" void solve(const float* i, float* o, int N) {}\n'
    )
    done = cli("check", path, "--backend", "cpu")
    assert done.returncode == 1
    assert re.search(r"tensor\.cu +softmax +unsupported", done.stdout)
    assert re.search(r"unsupported: line 2: cublas_v2\.h", done.stdout)


@pytest.mark.parametrize(
    ("line", "verdict", "words"),
    [
        ("cudaGraph_t graph;", "unsupported", r"line 3: cudaGraph_t"),
        ("cudaMalloc3D(&output, 4);", "unsupported", r"line 3: cudaMalloc3D"),
        ("cudaMaloc(&output, 4);", "compile-error", r"cudaMaloc"),
    ],
)
def test_a_name_of_cuda_that_the_cpu_lacks_is_told_from_a_misspelt_one(cli, tmp_path, line, verdict, words):
    path = tmp_path / "names.cu"
    path.write_text(
        f'// problem: softmax\nextern "C" void solve(const float* input, float* output, int N) {{\n{line}\n}}\n'
    )
    done = cli("check", path, "--backend", "cpu")
    assert re.search(rf"names\.cu +softmax +{verdict}", done.stdout), done.stdout
    assert re.search(words, done.stdout)


def test_without_a_verb_every_bundled_solve_is_judged(cli):
    done = cli("--backend", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    names = [f"cuda/{p.name}" for p in (ROOT / "cuda").glob("*.cu")]
    names += [f"triton_solutions/{p.name}" for p in (ROOT / "triton_solutions").glob("*.py")]
    assert len(names) >= 4
    for name in names:
        assert re.search(rf"^{re.escape(name)} +\w+ +accepted", done.stdout, re.MULTILINE), done.stdout
    assert "flag: " not in done.stdout  # the poison between rows is another when a case comes again


def test_problems_lists_signatures_and_cases(cli):
    done = cli("problems")
    assert done.returncode == 0
    assert "softmax: " in done.stdout
    assert "void solve(const float* input, float* output, int N)" in done.stdout
    half = "const __half* input, __half* output, int n_rows, int n_cols, int input_row_stride, int output_row_stride"
    assert f"void solve({half})" in done.stdout
    cases = cli("problems", "softmax", "--seed", "3")
    assert "N=500000/uniform  [main]" in cases.stdout


def test_the_package_works_from_elsewhere_when_installed(cli, tmp_path, torch_solve):
    """No bundled solves there: the sentence says what to do; naming a file works."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "harness", site / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    assert "no bundled solves" in one_sentence(cli(cwd=tmp_path, PYTHONPATH=str(site)))
    done = cli("check", "mine.py", "--backend", "cpu", "--case", "N=33/uniform", cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr


def test_help_imports_neither_torch_nor_numpy(cli):
    """`--help` answers at once: what is slow to import belongs into the verbs."""
    done = cli("--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    assert "submit" in done.stdout
    imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    assert not imported & {"torch", "numpy", "triton", "rich", "jinja2", "matplotlib"}


def test_pytest_judges_a_file_named_by_solve():
    """`pytest --solve PATH`: every case of the file is an item; a wrong file fails."""
    wrong = ROOT / "tests" / "submissions" / "bad" / "zeros.py"
    command = [sys.executable, "-m", "pytest", "-q", "tests/test_solves.py", "--solve", wrong, "-k", "cpu-zeros.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "wrong-answer" not in done.stderr
    assert re.search(r"\d{3} failed", done.stdout), done.stdout[-2000:]
    assert "replay: python -m harness check" in done.stdout


def test_submit_fills_the_board_and_board_shows_it_without_ranks_on_the_cpu(cli, torch_solve, tmp_path):
    path = tmp_path / "board.sqlite3"
    assert "there is no board at" in one_sentence(cli("board", "--db", path))
    assert cli("submit", torch_solve, "--backend", "cpu", "--db", path).returncode == 0
    shown = cli("board", "--db", path)
    assert shown.returncode == 0
    assert "mine.py" in shown.stdout
    assert "torch.softmax" in shown.stdout
    assert "emulated" in shown.stdout
    assert "rank" not in shown.stdout
    assert "no problem 'nosuch'" in one_sentence(cli("board", "--db", path, "--problem", "nosuch"))


def test_one_case_is_not_entered_on_the_board(cli, torch_solve, tmp_path):
    path = tmp_path / "board.sqlite3"
    cli("submit", torch_solve, "--backend", "cpu", "--db", path, "--case", "N=33/uniform")
    assert not path.exists()


def test_a_file_that_is_no_board_is_refused_before_anything_is_judged(cli, torch_solve, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no database")
    assert "--db" in one_sentence(cli("submit", torch_solve, "--backend", "cpu", "--db", path))
    assert path.read_text() == "no database"


def test_bench_times_every_size_against_a_chosen_file(cli, torch_solve, tmp_path):
    result = tmp_path / "run.json"
    other = tmp_path / "other.py"
    other.write_text(TORCH_SOLVE)
    arguments = ("--sizes", "1000,5000", "--against", other, "--backend", "cpu", "--json", result)
    done = cli("bench", torch_solve, *arguments)
    assert done.returncode == 0, done.stderr
    base, row = json.loads(result.read_text())["rows"]
    assert base["label"] == str(other)
    assert [timing["N"] for timing in row["timings"]] == [1000, 5000]
    assert [timing["over_reference"] for timing in base["timings"]] == [1.0, 1.0]


@pytest.mark.parametrize("sizes", ["0", "ten", "", "1,2147483648", "4x", "4x0", "4x2147483648", "4*4"])
def test_sizes_that_are_none(cli, torch_solve, sizes):
    assert "--sizes" in one_sentence(cli("bench", torch_solve, "--backend", "cpu", "--sizes", sizes))


@pytest.mark.parametrize(
    ("problem", "sizes", "words"),
    [
        ("softmax_rows", "1024", "--sizes 1024 is no size of softmax_rows: it takes N_ROWSxN_COLS, as in 4096x1000"),
        ("softmax_rows", "4x4,4x4x4", "--sizes 4x4x4 is no size of softmax_rows"),
        ("softmax", "1024,4x1024", "--sizes 4x1024 is no size of softmax: it takes N, as in 500000"),
    ],
)
def test_sizes_of_another_kind_of_problem(cli, torch_solve, problem, sizes, words):
    arguments = ("--problem", problem, "--backend", "cpu", "--sizes", sizes)
    assert words in one_sentence(cli("bench", torch_solve, *arguments))


def test_a_matrix_is_timed_at_rows_and_columns_and_shown_so(cli, tmp_path):
    result = tmp_path / "run.json"
    solve = ROOT / "triton_solutions" / "softmax_rows_naive.py"
    arguments = ("--problem", "softmax_rows_bf16", "--sizes", "8x1_024,16X100", "--backend", "cpu", "--json", result)
    done = cli("bench", solve, *arguments)
    assert done.returncode == 0, done.stderr
    for row in json.loads(result.read_text())["rows"]:
        assert [(t["n_rows"], t["n_cols"]) for t in row["timings"]] == [(8, 1024), (16, 100)]
    assert re.search(r"^file +problem +verdict +cases +size +emulated call ms", done.stdout)
    assert re.search(r"softmax_rows_bf16 +accepted +(\d+)/\1 +8 x 1,024 ", done.stdout)
    assert re.search(r"^ +16 x 100 ", done.stdout, re.MULTILINE)


def test_a_size_that_does_not_fit_into_memory_is_refused_before_anything_is_judged(cli, torch_solve):
    available = int(re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())[1]) * 1024
    size = available // 30  # of each element a judge holds 40 bytes
    if size >= 2**31:
        pytest.skip("everything fits into this machine's memory")
    message = one_sentence(cli("bench", torch_solve, "--backend", "cpu", "--sizes", str(size)))
    assert f"--sizes {size} needs" in message


def test_compare_on_the_cpu_gives_a_duel_without_a_verdict(cli, torch_solve, tmp_path):
    result = tmp_path / "run.json"
    done = cli("compare", torch_solve, torch_solve, "--backend", "cpu", "--json", result)
    assert done.returncode == 0, done.stderr
    (duel,) = json.loads(result.read_text())["duels"]
    assert duel["verdict"] is None
    assert duel["low"] <= duel["ratio"] <= duel["high"]
    assert "emulated, which ranks nothing" in done.stdout


def test_compare_asks_for_one_problem(cli, torch_solve):
    other = ROOT / "triton_solutions" / "subtract_one.py"
    assert "different problems" in one_sentence(cli("compare", torch_solve, other, "--backend", "cpu"))


def test_compare_of_a_wrong_file_gives_its_verdict_and_no_duel(cli, torch_solve, tmp_path):
    result = tmp_path / "run.json"
    done = cli("compare", torch_solve, ROOT / "tests/submissions/bad/zeros.py", "--backend", "cpu", "--json", result)
    assert done.returncode == 1
    assert "duels" not in json.loads(result.read_text())


# ---- several judges ---------------------------------------------------------------------------------------------

HANGING = """\
import pathlib
import subprocess
import threading


def solve(input, output, N):
    subprocess.Popen(["sleep", "1000"], process_group=0)
    pathlib.Path({note!r}).touch()
    threading.Event().wait()
"""


HANGING_CHALLENGE = """\
import pathlib
import threading
from core.challenge_base import ChallengeBase


class Challenge(ChallengeBase):
    name, atol, rtol = "Hang", 1e-5, 1e-5
    num_gpus, access_tier = 1, "free"

    def reference_impl(self, *_):
        pass

    def get_solve_signature(self):
        pathlib.Path({note!r}).touch()
        threading.Event().wait()

    generate_example_test = generate_functional_test = generate_performance_test = get_solve_signature
"""


def wait_for_the_end_of_all(mark):
    """Until no process has the mark in its environment, also none that another one has started meanwhile."""
    while pids := corpus.processes_with(mark):
        wait_for_the_end(pids)


def test_a_judge_killed_in_the_middle_of_a_call_leaves_nothing_and_disturbs_nobody(cli, torch_solve, tmp_path):
    note, temporary = tmp_path / "hangs", tmp_path / "temporary"
    temporary.mkdir()
    hanging = tmp_path / "hanging.py"
    hanging.write_text(HANGING.format(note=str(note)))
    mark = f"{corpus.MARK}={secrets.token_hex(8)}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **dict([mark.split("=")])}
    command = [sys.executable, "-m", "harness", "check", "--backend", "cpu"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    victim = subprocess.Popen([*command, "--timeout", "1000", hanging], env=environment, **quiet)
    other = subprocess.Popen([*command, torch_solve], env=environment, **quiet)
    wait_for_file(note)
    assert corpus.processes_with(mark)
    victim.kill()
    victim.wait()
    assert other.wait(60) == 0
    wait_for_the_end_of_all(mark)
    assert list(temporary.iterdir()) == []
    assert cli("check", torch_solve, "--backend", "cpu").returncode == 0


def test_a_judge_killed_while_a_challenge_runs_leaves_nothing(torch_solve, tmp_path):
    note, temporary, challenge = tmp_path / "hangs", tmp_path / "temporary", tmp_path / "challenges" / "easy" / "1_hang"
    temporary.mkdir()
    challenge.mkdir(parents=True)
    shutil.copytree(ROOT / "tests" / "challenges" / "core", tmp_path / "challenges" / "core")
    (challenge / "challenge.py").write_text(HANGING_CHALLENGE.format(note=str(note)))
    mark = f"{corpus.MARK}={secrets.token_hex(8)}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **dict([mark.split("=")])}
    command = [sys.executable, "-m", "harness", "check", torch_solve, "--challenge", challenge, "--backend", "cpu"]
    victim = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_file(note)
    assert list(temporary.iterdir()) != []
    victim.kill()
    victim.wait()
    wait_for_the_end_of_all(mark)
    assert list(temporary.iterdir()) == []


def test_limits_that_are_lower_already_stay(tmp_path):
    """As in a batch job: a judge that may not raise its own limits cannot set those of compilers and workers higher."""
    path = tmp_path / "a.cu"
    path.write_text(f"// {secrets.token_hex(8)}\n{(ROOT / 'cuda' / 'softmax.cu').read_text()}")
    lowered = ["/bin/sh", "-c", 'ulimit -f 1000000 && exec "$@"', "sh", sys.executable, "-m", "harness"]
    done = subprocess.run(
        [*lowered, "check", path, "--backend", "cpu", "--case", "N=33/uniform"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "accepted" in done.stdout) == (0, True), done.stdout + done.stderr
