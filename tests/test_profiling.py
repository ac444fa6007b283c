"""What is made of ncu's output; ncu itself, on a GPU."""

import json
import stat
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT

from harness import profiling
from harness.problems import PROBLEMS
from harness.report import print_profiles
from harness.submission import Submission
from harness.supervisor import ForkServer

HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Section Name","Metric Name","Metric Unit","Metric Value"\n'
)
MEASURED = {
    "dram__bytes_read.sum": "2,304",
    "dram__bytes_write.sum": "0",
    "gpu__time_duration.sum": "1,760",
    "lts__t_sectors_srcunit_tex_op_read.sum": "0",
    "lts__t_sectors_srcunit_tex_op_write.sum": "4",
    "profiler__replayer_passes": "1",
}


def log(*launches):
    """ncu's log of these launches: (name, changed metrics)."""
    lines = (
        "==WARNING== Note: Running with uncontrolled GPU caches.\n==PROF== Connected to process 938 (/tmp/t)\n" + HEAD
    )
    for number, (name, changed) in enumerate(launches):
        for metric, value in {**MEASURED, **changed}.items():
            lines += (
                f'"{number}","938","t","127.0.0.1","{name}","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0",'
                f'"Command line profiler metrics","{metric}","unit","{value}"\n'
            )
    return lines


def test_kernels_come_in_order_of_launch_with_microseconds_and_bytes():
    first, second = profiling.parse(
        log(("k(float *)", {}), ("f(int, float)", {"dram__bytes_read.sum": "3,223,927,552"}))
    )
    assert first == profiling.Kernel("k(float *)", "(1, 1, 1)", "(32, 1, 1)", 1.76, 2304, 0, 0, 128, 1)
    assert (second.name, second.dram_read) == ("f(int, float)", 3_223_927_552)


def test_a_log_without_kernels_gives_none():
    assert profiling.parse("==PROF== Connected to process 938 (/tmp/t)\n==WARNING== No kernels were profiled.\n") == []


# A program in ncu's place: writes the log, and what the solve would have left.
STAND_IN = """#!{python}
import pathlib, sys
import numpy as np
folder = pathlib.Path(sys.argv[-1]).parent
x = np.load(folder / "input.before.npy").astype(np.float64)
y = np.exp(x - x.max())
np.save(folder / "output.after.npy", (y / y.sum() * float("{factor}")).astype(np.float32).view(np.uint8))
pathlib.Path(sys.argv[sys.argv.index("--log-file") + 1]).write_text({log!r})
print({said!r})
sys.exit({status})
"""


@pytest.fixture(scope="module")
def fork_server():
    with ForkServer("gpu", ()) as server:
        yield server


@pytest.fixture
def profile(tmp_path, fork_server):
    """profile(log, status, said, factor) -> the Profile of softmax_baseline.py by a stand-in for ncu."""

    def run(log, status=0, said="", factor=1.0):
        ncu = tmp_path / "ncu"
        ncu.write_text(STAND_IN.format(python=sys.executable, log=log, status=status, said=said, factor=factor))
        ncu.chmod(ncu.stat().st_mode | stat.S_IXUSR)
        problem = PROBLEMS["softmax"]
        submission = Submission(ROOT / "triton_solutions" / "softmax_baseline.py", problem)
        session = SimpleNamespace(
            build=lambda _: {"python": None},
            options=SimpleNamespace(seed=1),
            fork_server=fork_server,
            turn=lambda alone: nullcontext(),
        )
        return profiling.profile(submission, problem.timing_case(1000), session, str(ncu))

    return run


def test_bytes_stand_beside_the_least_that_would_do(profile, capsys):
    found = profile(log(("a", {"dram__bytes_read.sum": "8,000"}), ("b", {"dram__bytes_read.sum": "4,000"})))
    assert (found.ideal_read, found.ideal_written) == (4000, 4000)
    assert json.loads(json.dumps(found.to_json()))["N"] == 1000
    print_profiles([found])
    shown = capsys.readouterr().out
    assert "3.00x" in shown
    assert "several passes" not in shown


def test_several_passes_are_warned_of(profile, capsys):
    print_profiles([profile(log(("a", {"profiler__replayer_passes": "2"})))])
    assert "several passes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"log": "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "status": 1},
            "may not read the GPU",
        ),
        ({"log": "==ERROR== Failed to find metric dram__bytes\n", "status": 1}, "ncu failed: Failed to find metric"),
        ({"log": "", "status": 3, "said": "line 7: NameError: no x"}, "the call failed: line 7: NameError: no x"),
        ({"log": "", "status": 9}, "ncu failed: exit status 9"),
        ({"log": "==WARNING== No kernels were profiled.\n"}, "saw no kernel"),
        ({"log": log(("a", {})), "factor": 0.9995}, r"gave a wrong answer: .*output\[\d+\]"),
        ({"log": log(("a", {})), "factor": float("nan")}, "gave a wrong answer"),
    ],
)
def test_what_cannot_be_profiled_is_said_in_a_sentence(profile, arguments, words):
    with pytest.raises(profiling.ProfileError, match=words):
        profile(**arguments)


def test_without_a_gpu_there_is_nothing_to_profile(cli):
    done = cli("profile", "cuda/softmax.cu", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert done.stderr.startswith("error: profile needs a GPU: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.gpu
def test_the_traffic_that_the_solves_claim_is_counted(cli, tmp_path):
    """3 + 2, 3 + 1 and 2 + 1 reads and writes of N, for a vector much larger than the L2, which keeps some."""
    files = ["cuda/softmax.cu", "triton_solutions/softmax_baseline.py", "triton_solutions/softmax_online.py"]
    result = tmp_path / "run.json"
    done = cli("profile", *files, "--sizes", str(2**27), "--json", result)
    assert done.returncode == 0, done.stdout + done.stderr
    profiles = json.loads(result.read_text())["profiles"]
    assert [profile["file"] for profile in profiles] == files
    for profile, (reads, writes) in zip(profiles, [(3, 2), (3, 1), (2, 1)], strict=True):
        assert all(kernel["passes"] == 1 for kernel in profile["kernels"])
        for level, tolerance in (("dram", 0.15), ("l2", 0.01)):
            read, written = (sum(k[f"{level}_{way}"] for k in profile["kernels"]) for way in ("read", "written"))
            moved = np.array([read / profile["ideal_read"], written / profile["ideal_written"]])
            assert np.all(np.abs(moved - [reads, writes]) <= tolerance * np.array([reads, writes])), (level, moved)
