"""`sweep`: its axis, its cliffs and their words, what an interruption leaves, and that one failure ends nothing."""

import copy
import json
import re
import signal
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT
from test_cli import CASE_KEYS, ROW_KEYS, TIMING_KEYS, one_sentence
from test_report import page_of

from harness import cliffs, document, sweep
from harness.errors import UsageError
from harness.gpu import Multiprocessor
from harness.problems import PROBLEMS

SOFTMAX = PROBLEMS["softmax"]
ROWS = PROBLEMS["softmax_rows"]


# ---- the axis ---------------------------------------------------------------------------------------------------


def test_a_step_is_added_and_a_factor_multiplies():
    assert sweep.read_axis(SOFTMAX, "256:1024:256", None, None).values() == [256, 512, 768, 1024]
    assert sweep.read_axis(SOFTMAX, "256:1023:256", None, None).values() == [256, 512, 768]
    assert sweep.read_axis(SOFTMAX, "1024:16384:x4", None, None).values() == [1024, 4096, 16384]
    assert sweep.read_axis(SOFTMAX, "1_024:1_024:5", None, None).values() == [1024]


def test_a_small_factor_gives_every_size_once_and_reaches_the_end():
    values = sweep.read_axis(SOFTMAX, "1:1000:x1.1", None, None).values()
    assert values == sorted(set(values))
    assert values[:3] == [1, 2, 3]
    assert 900 < values[-1] <= 1000
    assert sweep.read_axis(SOFTMAX, "1:1024:x2", None, None).values()[-1] == 1024


def test_columns_grow_at_a_number_of_rows():
    axis = sweep.read_axis(ROWS, None, "256:12672:128", 4096)
    assert (axis.name, len(axis.values())) == ("n_cols", 98)
    assert axis.shape(256) == (4096, 256)
    assert sweep.read_axis(SOFTMAX, "5:9:1", None, None).shape(5) == (5,)


def test_a_step_of_nothing_is_not_offered_as_a_factor():
    with pytest.raises(UsageError) as raised:
        sweep.read_axis(SOFTMAX, "1:2:0", None, None)
    assert "x0" not in str(raised.value)


@pytest.mark.parametrize(
    ("problem", "n", "cols", "row_count", "words"),
    [
        (SOFTMAX, None, None, None, "give --n LOW:HIGH:STEP"),
        (SOFTMAX, "1:2:1", "1:2:1", None, "--n and --cols name two axes"),
        (SOFTMAX, None, "1:2:1", 4, "softmax has one size"),
        (SOFTMAX, "1:2:1", None, 4, "neither --cols nor --rows"),
        (ROWS, "1:2:1", None, None, "softmax_rows has rows and columns"),
        (ROWS, None, "1:2:1", None, "and --rows R"),
        (ROWS, None, "1:2:1", 0, "--rows lies between 1 and"),
        (ROWS, None, None, 4096, "give --cols"),
        (SOFTMAX, "1:2", None, None, "is no LOW:HIGH:STEP"),
        (SOFTMAX, "1:2:x", None, None, "is no LOW:HIGH:STEP"),
        (SOFTMAX, "-1:2:1", None, None, "is no LOW:HIGH:STEP"),
        (SOFTMAX, "0:2:1", None, None, "1 <= LOW <= HIGH"),
        (SOFTMAX, "3:2:1", None, None, "1 <= LOW <= HIGH"),
        (SOFTMAX, "1:2147483648:x2", None, None, "1 <= LOW <= HIGH"),
        (SOFTMAX, "1:2:0", None, None, "a step must be a whole number above 0"),
        (SOFTMAX, "1:2:1.5", None, None, "a factor is written x1.5"),
        (SOFTMAX, "1:2:x1", None, None, "a factor must be above 1"),
        (SOFTMAX, "1:2147483647:1", None, None, "more than 10,000 points"),
        (SOFTMAX, "1:2147483647:x1.001", None, None, "more than 10,000 points"),
    ],
)
def test_a_wrong_axis_is_one_sentence(problem, n, cols, row_count, words):
    with pytest.raises(UsageError, match=words.replace(".", r"\.")):
        sweep.read_axis(problem, n, cols, row_count)


# ---- cliffs -----------------------------------------------------------------------------------------------------


def test_a_fifth_lost_between_neighbours_is_a_cliff_and_less_is_none():
    found = cliffs.find_cliffs("a.py", [1, 2, 3, 4], {1: 100.0, 2: 81.0, 3: 64.0, 4: 300.0}, {})
    assert [(c.kind, c.before, c.after, c.rate_before, c.rate_after) for c in found] == [("loss", 2, 3, 81.0, 64.0)]


def test_a_rate_that_is_not_a_number_is_a_cliff():
    assert [c.after for c in cliffs.find_cliffs("a.py", [1, 2], {1: 100.0, 2: float("nan")}, {})] == [2]


def test_neighbouring_failures_are_one_cliff_and_a_failure_at_the_start_is_one_too():
    found = cliffs.find_cliffs("a.py", [1, 2, 3, 4, 5], {2: 9.0, 5: 9.0}, {1: "one", 3: "three", 4: "four"})
    assert [(c.kind, c.before, c.after, c.reason) for c in found] == [
        ("failure", None, 1, "one"),
        ("failure", 2, 3, "three"),
    ]


def test_a_point_that_was_left_out_has_no_neighbours_of_its_own():
    """order holds measured points alone: 1 and 3 are neighbours when 2 did not fit."""
    assert [c.before for c in cliffs.find_cliffs("a.py", [1, 3], {1: 100.0, 3: 10.0}, {})] == [1]


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
V100 = Multiprocessor(threads=2048, blocks=32, registers=65536, shared_bytes=96 << 10, reserved_shared_bytes=0)
T4 = Multiprocessor(threads=1024, blocks=16, registers=65536, shared_bytes=64 << 10, reserved_shared_bytes=0)
A100 = Multiprocessor(threads=2048, blocks=32, registers=65536, shared_bytes=164 << 10, reserved_shared_bytes=1024)
RTX3090 = Multiprocessor(threads=1536, blocks=16, registers=65536, shared_bytes=100 << 10, reserved_shared_bytes=1024)
H100 = Multiprocessor(threads=2048, blocks=32, registers=65536, shared_bytes=228 << 10, reserved_shared_bytes=1024)


@pytest.mark.parametrize(
    ("limits", "threads", "registers", "shared_bytes", "blocks", "share", "limit"),
    [
        # CUDA C++ Best Practices Guide, "Calculating Occupancy": compute capability 7.0, 37 registers a thread.
        (V100, 128, 37, 0, 12, 0.75, "registers"),
        (V100, 320, 37, 0, 4, 0.625, "registers"),
        # The documented limits themselves: each one alone.
        (V100, 1024, 32, 0, 2, 1.0, "threads"),
        (V100, 32, 16, 0, 32, 0.5, "blocks"),
        (T4, 256, 32, 0, 4, 1.0, "threads"),
        (T4, 32, 16, 0, 16, 0.5, "blocks"),
        (T4, 256, 32, 32 << 10, 2, 0.5, "shared memory"),
        (RTX3090, 1024, 32, 0, 1, 1024 / 1536, "threads"),
        (RTX3090, 64, 24, 0, 16, 1024 / 1536, "blocks"),
        # A block may have all but the reserved 1 kB: 163 kB on an A100, 227 kB on an H100, and not a byte more.
        (A100, 256, 32, 163 << 10, 1, 0.125, "shared memory"),
        (A100, 256, 32, (163 << 10) + 1, 0, 0.0, "shared memory"),
        (H100, 256, 32, 227 << 10, 1, 0.125, "shared memory"),
        (H100, 256, 32, (227 << 10) + 1, 0, 0.0, "shared memory"),
        (H100, 256, 32, 113 << 10, 2, 0.25, "shared memory"),
        # 255 registers: 8 kB-register units of 256 a warp, 2 warps in each of the 4 parts.
        (H100, 256, 255, 0, 1, 0.125, "registers"),
        (H100, 256, 128, 0, 2, 0.25, "registers"),
    ],
)
def test_occupancy_is_the_documented_one(limits, threads, registers, shared_bytes, blocks, share, limit):
    held = cliffs.occupancy(threads, registers, shared_bytes, limits)
    assert (held.blocks, held.limit) == (blocks, limit)
    assert held.share == pytest.approx(share)


def kernel(microseconds=10, **changes):
    launch = {"name": "row_kernel", "grid": [264, 1, 1], "block": [256, 1, 1], "registers": 64, "shared_bytes": 32768}
    return {"what": "kernel", "start": 1000, "end": 1000 + 1000 * microseconds, "local_bytes": 0, **launch, **changes}


def test_the_longest_kernel_of_a_call_is_the_one_that_is_described():
    records = [kernel(1, name="fill"), kernel(), {"what": "copy", "start": 0, "end": 10**9, "bytes": 8}]
    facts = cliffs.launch_facts(records, H100, 132)
    assert (facts["kernel"], facts["kernels"], facts["blocks"], facts["threads"]) == ("row_kernel", 2, 264, 256)
    assert (facts["blocks_per_multiprocessor"], facts["limit"], facts["waves"]) == (4, "registers", 0.5)


@pytest.mark.parametrize(
    "records",
    [[], [{"what": "copy"}], [{}], ["?"], [kernel(grid="x")], [kernel(registers=None)], [kernel(block=[0, 0, 0])]],
    ids=str,
)
def test_records_that_are_none_give_no_facts(records):
    assert cliffs.launch_facts(records, H100, 132) is None


def explained(before, after):
    facts = [cliffs.launch_facts([each], H100, 132) for each in (before, after)]
    return cliffs.explain(cliffs.Cliff("a.py", "loss", 8192, 8320, 3700.0, 2553.0), "n_cols", *facts)


def test_a_loss_is_explained_by_what_changed():
    text = explained(kernel(), kernel(registers=128, shared_bytes=65536, local_bytes=96))
    assert "a.py loses 31% between n_cols = 8,192 and 8,320: 3,700 GB/s, then 2,553." in text
    assert "Before: row_kernel, 64 registers, 32,768 B shared, no local memory, 264 blocks of 256, 4 a" in text
    assert "50% occupancy, limited by registers), 0.50 waves" in text
    changed = text.partition("What changed: ")[2]
    assert "local memory 0 to 96 B (registers spill to it, or arrays lie there)" in changed
    assert "registers 64 to 128" in changed
    assert "shared memory 32,768 to 65,536 B" in changed
    assert "occupancy 50% to 25%, limited by registers" in changed
    assert "waves" not in changed


def test_another_kernel_and_another_wave_are_named():
    changed = explained(kernel(grid=[528, 1, 1]), kernel(grid=[529, 1, 1], name="other")).partition("changed: ")[2]
    assert "another kernel, other for row_kernel" in changed
    assert "1.00 to 1.00 waves" in changed
    assert "registers" not in changed


def test_where_nothing_changed_nothing_is_guessed():
    assert "Nothing of this changed, so it does not explain it." in explained(kernel(), kernel())
    unknown = cliffs.explain(cliffs.Cliff("a.py", "loss", 1, 2, 10.0, 5.0), "N", None, None)
    assert unknown.endswith("Its launches are not known.")


def test_a_failure_is_explained_by_its_own_message():
    cliff = cliffs.Cliff("a.py", "failure", 16384, 32768, 3841.0, None, "needs 393,248 bytes of shared memory")
    facts = cliffs.launch_facts([kernel()], H100, 132)
    text = cliffs.explain(cliff, "n_cols", facts, None)
    assert text.startswith("a.py fails at n_cols = 32,768: needs 393,248 bytes of shared memory. At 16,384 it ran: row")


# ---- a document as a GPU would give it --------------------------------------------------------------------------


def gpu_document(rates, failures=None, axis=None):
    """A sweep's document with these rates, {file: {N: GB/s}}: made up, for the code that reads them."""
    run = json.loads((ROOT / "tests/measurements/h200.json").read_text())
    first, timing = run["rows"][0], run["rows"][0]["timings"][0]
    values = sorted({value for each in rates.values() for value in each})
    axis = axis or sweep.Axis("N", values[0], values[-1], 2.0, True)
    rows = []
    for file, each in rates.items():
        timings = [{**timing, "N": value, "gbps": rate, "samples": [1.0]} for value, rate in each.items()]
        row = {**copy.deepcopy(first), "file": file, "label": "" if rows else file, "timings": timings}
        rows.append(row)
    points = [
        {
            "value": value,
            "sizes": {"N": value},
            "failures": {file: each[value] for file, each in (failures or {}).items() if value in each},
            "copy_us": 2.0,
            "copy_gbps": 4000.0,
            "empty_us": 0.5,
        }
        for value in values
    ]
    made = {"problem": "softmax", "axis": asdict(axis), "points": points, "method": timing["method"]}
    made |= {"cliffs": [], "sittings": [], "limits": asdict(H100), "copying": False}
    document = {"schema": 1, "machine": run["machine"], "rows": rows, "sweep": made}
    made["cliffs"] = sweep._cliffs(document, axis)
    return document, axis


RATES = {
    "torch.softmax": {1024: 1000.0, 2048: 2000.0, 4096: 1500.0},
    "a.py": {1024: 900.0, 2048: 1900.0},
}
FAILURES = {"a.py": {4096: "needs more shared memory"}}


class Records:
    """A race that gives records by (file, size), and remembers what it was asked."""

    def __init__(self, records):
        self.records, self.asked, self.renewed = records, [], 0

    def renew(self):
        self.renewed += 1

    def records_at(self, case, label):
        self.asked.append((label, case.sizes["N"]))
        return self.records[label, case.sizes["N"]]


def test_calls_are_taken_apart_on_both_sides_of_a_cliff_and_nowhere_else():
    document, axis = gpu_document(RATES, FAILURES)
    race = Records(
        {
            ("torch.softmax", 2048): [kernel(name="forward")],
            ("torch.softmax", 4096): [kernel(name="other")],
            ("a.py", 2048): [kernel()],
        }
    )
    cases = {value: SOFTMAX.timing_case(value) for value in axis.values()}
    saved = []
    progress = SimpleNamespace(describe=lambda _: None)
    sweep._explain(document, axis, cases, race, progress, lambda current: saved.append(copy.deepcopy(current)))
    assert race.asked == [("torch.softmax", 2048), ("torch.softmax", 4096), ("a.py", 2048)]
    assert race.renewed == 3  # a contestant that has failed gets a fresh worker
    texts = [cliff["text"] for cliff in document["sweep"]["cliffs"]]
    assert "another kernel, other for forward" in texts[0]
    assert "needs more shared memory. At 2,048 it ran: row_kernel, 64 registers" in texts[1]
    assert [len([c for c in current["sweep"]["cliffs"] if c["looked_at"]]) for current in saved] == [1, 2]
    anatomies = [timing["N"] for timing in document["rows"][0]["timings"] if timing["anatomy"]]
    assert anatomies == [2048, 4096]
    # Resumed after that, nothing is asked again.
    sweep._explain(document, axis, cases, Records({}), progress, saved.append)
    assert len(saved) == 2


def test_the_report_of_a_sweep_has_its_curves_its_cliffs_and_its_numbers():
    made, _ = gpu_document(RATES, FAILURES)
    shown = page_of(made)
    assert shown.texts["cliff"] == [cliff["text"] for cliff in made["sweep"]["cliffs"]]
    titles = shown.texts["title"]
    for file, each in RATES.items():
        for value, rate in each.items():
            assert any(t.startswith(f"{file} at {value:,}: {rate:,.0f} GB/s") for t in titles), (file, value)
    assert "a.py fails at 4,096: needs more shared memory" in titles
    rings = [a for tag, a in shown.tags if tag == "circle" and a.get("r") == "9"]
    assert len(rings) == 1


def colours(path):
    from matplotlib import image

    pixels = image.imread(path)
    return {tuple((255 * pixel).astype(int)[:3]) for row in pixels[::2] for pixel in row[::2]}


def test_the_picture_of_a_sweep_shows_every_contestant_the_ceiling_and_the_cliffs(tmp_path):
    from harness import plots

    made, _ = gpu_document(RATES, FAILURES)
    plots.draw_sweep(made, tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    seen = colours(tmp_path / "sweep.png")
    named = [plots.COLOURS[0], plots.COLOURS[1], plots.CLIFF]
    assert {tuple(bytes.fromhex(colour[1:])) for colour in named} <= seen
    assert len({plots.COLOURS[i % 7] + plots.MARKERS[i % 7] for i in range(7)}) == 7
    made["sweep"]["cliffs"] = []
    plots.draw_sweep(made, tmp_path / "no cliff.png")
    assert tuple(bytes.fromhex(plots.CLIFF[1:])) not in colours(tmp_path / "no cliff.png")


def test_a_document_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "run.json"
    document.write_whole(path, {"a": [1.0, float("nan")]})
    assert json.loads(path.read_text()) == {"a": [1.0, "nan"]}
    with pytest.raises(TypeError):
        document.write_whole(path, {"a": [1] * 100_000 + [object()]})
    assert json.loads(path.read_text()) == {"a": [1.0, "nan"]}


# ---- the whole way ----------------------------------------------------------------------------------------------

RIGHT = "    torch.softmax(input[:N], 0, out=output[:N])\n"
HEAD = "import os\nimport signal\nfrom pathlib import Path\n\nimport torch\n\n\ndef solve(input, output, N):\n"
PARENT = "int(open(f'/proc/{}/stat').read().rpartition(')')[2].split()[1])"
# Once, so that the same file can finish the sweep.
ENDS_THE_JUDGE = f"""
    mark = Path(__file__).with_name("ended")
    if N == 3000 and not mark.exists():
        mark.touch()
        keeper = {PARENT.format("{os.getppid()}")}  # of the fork server, whose child a worker is
        os.kill({PARENT.format("{keeper}")}, signal.SIGNAL)
        signal.pause()
"""
FLAGS = ("--backend", "cpu", "--case", "N=33/uniform")


@pytest.fixture
def write(tmp_path):
    def write(name, body=""):
        (tmp_path / name).write_text(HEAD + body + RIGHT)
        return name

    return write


def test_a_contestant_that_fails_at_one_point_goes_on_at_the_next(cli, tmp_path, write):
    write(
        "good.py", "    if (input == 12).any():\n        Path(__file__).with_name('altered').open('a').write(f'{N} ')\n"
    )
    write("raises.py", "    if N == 2000:\n        raise ValueError('not <b>this</b> one')\n")
    write("dies.py", "    if N == 2000:\n        os._exit(3)\n")
    (tmp_path / "wrong.py").write_text(HEAD + RIGHT + "    if N == 3000:\n        output[7] = 1\n")
    (tmp_path / "zeros.py").write_text((ROOT / "tests/submissions/bad/zeros.py").read_text())
    files = ("good.py", "raises.py", "dies.py", "wrong.py", "zeros.py")
    results = ("--json", "run.json", "--png", "run.png", "--seed", "5")
    done = cli("sweep", *files, "--n", "1000:3000:1000", *results, *FLAGS, cwd=tmp_path)
    assert done.returncode == 1, done.stderr  # zeros.py is not accepted
    run = json.loads((tmp_path / "run.json").read_text())
    assert [row["file"] for row in run["rows"]] == ["torch.softmax", *files]
    for row in run["rows"]:
        assert row.keys() >= ROW_KEYS
        assert all(case.keys() >= CASE_KEYS for case in row["cases"])
        assert all(timing.keys() >= TIMING_KEYS for timing in row["timings"])
        assert all("emulated" in timing["method"] for timing in row["timings"])
    timed = {row["file"]: [timing["N"] for timing in row["timings"]] for row in run["rows"]}
    assert timed["torch.softmax"] == timed["good.py"] == [1000, 2000, 3000]
    assert timed["raises.py"] == timed["dies.py"] == [1000, 3000]
    assert timed["wrong.py"] == [1000, 2000]
    assert timed["zeros.py"] == []
    failures = {point["value"]: point["failures"] for point in run["sweep"]["points"]}
    assert (tmp_path / "altered").read_text() == "1000 "  # with another element in the input, once
    assert failures[1000] == {}
    assert set(failures[2000]) == {"raises.py", "dies.py"}
    assert "ValueError: not <b>this</b> one" in failures[2000]["raises.py"]
    assert "exited with status 3 during a timed call" in failures[2000]["dies.py"]
    assert "a timed call gave a wrong answer: output[7] is 1" in failures[3000]["wrong.py"]
    assert {(cliff["file"], cliff["kind"], cliff["after"]) for cliff in run["sweep"]["cliffs"]} == {
        ("raises.py", "failure", 2000),
        ("dies.py", "failure", 2000),
        ("wrong.py", "failure", 3000),
    }
    assert all(point["copy_us"] > 0 and point["copy_gbps"] is None for point in run["sweep"]["points"])
    assert "emulated call time" in done.stdout
    assert "cliff: raises.py fails at N = 2,000" in done.stdout
    assert "zeros.py was not timed: wrong-answer" in done.stdout
    assert len(colours(tmp_path / "run.png")) > 20
    assert cli("report", "run.json", cwd=tmp_path).returncode == 0
    assert "not &lt;b&gt;this&lt;/b&gt; one" in (tmp_path / "run.html").read_text()


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_sweep_that_was_ended_in_the_middle_goes_on_where_it_was(cli, tmp_path, write, name):
    write("a.py", ENDS_THE_JUDGE.replace("SIGNAL", name))
    arguments = ("sweep", "a.py", "--n", "1000:4000:1000", "--json", "run.json", *FLAGS)
    done = cli(*arguments, cwd=tmp_path)
    assert done.returncode == (130 if name == "SIGINT" else -signal.SIGKILL), done.stderr
    assert ("--resume goes on" in done.stderr) == (name == "SIGINT")
    before = json.loads((tmp_path / "run.json").read_text())
    assert [point["value"] for point in before["sweep"]["points"]] == [1000, 2000]
    again = cli(*arguments, "--resume", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    after = json.loads((tmp_path / "run.json").read_text())
    assert [point["value"] for point in after["sweep"]["points"]] == [1000, 2000, 3000, 4000]
    assert after["sweep"]["seed"] == before["sweep"]["seed"]  # nobody has to type it again
    assert after["sweep"]["copying"] is False
    assert after["sweep"]["points"][:2] == before["sweep"]["points"]
    for old, new in zip(before["rows"], after["rows"], strict=True):
        assert [timing["N"] for timing in new["timings"]] == [1000, 2000, 3000, 4000]
        assert new["timings"][:2] == old["timings"]
        assert new["cases"] == old["cases"]
    assert [sitting["points"] for sitting in after["sweep"]["sittings"]] == [2, 2]


def test_another_sweep_is_not_resumed_and_its_file_stays(cli, tmp_path, write):
    write("a.py")
    sizes, result = ("--n", "1000:1500:500"), ("--json", "run.json")
    assert cli("sweep", "a.py", *sizes, *result, *FLAGS, "--seed", "5", cwd=tmp_path).returncode == 0
    text = (tmp_path / "run.json").read_text()
    write("b.py")
    others = {
        "its seed was 5, now it is 6": ("a.py", *sizes, "--seed", "6"),
        "its axis was": ("a.py", "--n", "1000:2000:500"),
        "b.py differs, was added": ("a.py", "b.py", *sizes),
    }
    for words, arguments in others.items():
        assert words in one_sentence(cli("sweep", *arguments, *result, *FLAGS, "--resume", cwd=tmp_path))
    write("a.py", "    # other\n")
    assert "a.py differs" in one_sentence(cli("sweep", "a.py", *sizes, *result, *FLAGS, "--resume", cwd=tmp_path))
    write("a.py")
    done = cli("sweep", "a.py", *sizes, *result, *FLAGS, "--resume", cwd=tmp_path)  # nothing is left to do
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.json").read_text() == text


@pytest.mark.parametrize(
    ("key", "value"),
    [("gpu", "NVIDIA T4"), ("driver", "1.2"), ("problem_version", 7), ("torch", "1.0"), ("backend", "gpu")],
)
def test_a_sweep_of_another_machine_or_problem_is_not_resumed(tmp_path, key, value):
    same = {"gpu": None, "driver": None, "problem_version": 1, "torch": "2.9", "backend": "cpu", "sources": {}}
    document = {"sweep": {**same, "seed": 1, "points": []}}
    sweep.check_same(document, same, tmp_path)
    with pytest.raises(UsageError, match=key.replace("_", " ")):
        sweep.check_same(document, {**same, key: value}, tmp_path)


def test_wrong_usage_is_one_sentence(cli, tmp_path, write):
    write("a.py")
    write("b.py")
    (tmp_path / "b.py").write_text("# problem: subtract_one\n" + (tmp_path / "b.py").read_text())
    (tmp_path / "bench.json").write_text((ROOT / "tests/measurements/h200.json").read_text())
    n = ("--n", "10:20:10")
    wrong = {
        "--problem NAME says what to sweep": n,
        "there is no problem 'nosuch'": ("--problem", "nosuch", *n),
        "solve different problems": ("a.py", "b.py", *n),
        "a.py is named twice": ("a.py", "a.py", *n),
        "softmax has one size: give --n": ("a.py",),
        "--resume needs --json": ("a.py", *n, "--resume"),
        "none.json cannot be read": ("a.py", *n, "--resume", "--json", "none.json"),
        "bench.json is no sweep": ("a.py", *n, "--resume", "--json", "bench.json"),
        "--json no/run.json cannot be written": ("a.py", *n, "--json", "no/run.json"),
        "--png . cannot be written": ("a.py", *n, "--png", "."),
        "--png a.py would overwrite a solve file": ("a.py", *n, "--png", "a.py"),
        "--json x would overwrite x, which": ("a.py", *n, "--png", "x", "--json", "x"),
    }
    for words, arguments in wrong.items():
        assert words in one_sentence(cli("sweep", *arguments, "--backend", "cpu", cwd=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py", "bench.json"]


def test_without_files_the_bundled_solves_of_the_problem_are_swept(cli, tmp_path):
    result = tmp_path / "run.json"
    case = ("--case", "N=1023/uniform")
    done = cli("sweep", "--problem", "subtract_one", "--n", "100:200:x2", "--backend", "cpu", "--json", result, *case)
    assert done.returncode == 0, done.stderr
    run = json.loads(result.read_text())
    assert [row["file"] for row in run["rows"]] == ["torch.sub", "triton_solutions/subtract_one.py"]
    assert all(len(row["timings"]) == 2 for row in run["rows"])


def test_columns_of_a_matrix_are_swept_at_its_rows(cli, tmp_path):
    result, case = tmp_path / "run.json", ROWS.cases(5)[0].name
    size = ("--cols", "3:9:x3", "--rows", "5", "--seed", "5", "--case", case)
    naive = "triton_solutions/softmax_rows_naive.py"
    done = cli("sweep", naive, "--problem", "softmax_rows", *size, "--backend", "cpu", "--json", result)
    assert done.returncode == 0, done.stderr
    run = json.loads(result.read_text())
    strides = {"input_row_stride": 9, "output_row_stride": 9}
    assert run["sweep"]["points"][1]["sizes"] == {"n_rows": 5, "n_cols": 9, **strides}
    for row in run["rows"]:
        assert [(timing["n_rows"], timing["n_cols"]) for timing in row["timings"]] == [(5, 3), (5, 9)]
    shown = page_of(run)
    assert "softmax_rows over n_cols, at 5 rows" in shown.texts["figcaption"][0]
    assert {row["size"] for row in shown.rows if "size" in row} == {"5 x 3", "5 x 9"}


def test_a_point_that_does_not_fit_is_left_out_with_one_line(cli, tmp_path, write):
    write("a.py")
    available = int(re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())[1]) * 1024
    size = available // 30  # of each element a judge holds 40 bytes
    if size >= 2**31:
        pytest.skip("everything fits into this machine's memory")
    done = cli("sweep", "a.py", "--n", f"1000:{size}:{size - 1000}", "--json", "run.json", *FLAGS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "left out" in line]
    assert line.startswith(f"N = {size:,} is left out: it needs ")
    small, large = json.loads((tmp_path / "run.json").read_text())["sweep"]["points"]
    assert (small["value"], small.get("left_out"), large["value"]) == (1000, None, size)
    assert "GB of memory" in large["left_out"]
    message = one_sentence(cli("sweep", "a.py", "--n", f"{size}:{size}:1", *FLAGS, cwd=tmp_path))
    assert f"no point fits: N = {size:,} needs" in message
