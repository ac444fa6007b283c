"""The README says what is so: its figures stand in the committed measurement, its commands exist."""

import json
import re
import statistics

import numpy as np
import pytest
from conftest import ROOT
from PIL import Image

VERBS = (
    "submit", "check", "replay", "bench", "compare", "profile", "board", "problems", "sweep", "report", "init", "doctor"
)  # fmt: skip
README = (ROOT / "README.md").read_text()


def block_after(marker):
    """The code block behind a line of the README."""
    return re.search(re.escape(marker) + r".*?```\n(.*?)```", README, re.DOTALL)[1]


def test_the_leaderboard_is_the_measurement():
    document = json.loads((ROOT / "tests" / "measurements" / "h200.json").read_text())
    table = block_after("<!-- table: tests/measurements/h200.json -->")
    lines = {tuple(line.split()[:2]): line for line in table.splitlines()[1:]}
    assert set(lines) == {(row["file"], row["problem"]) for row in document["rows"]}
    for row in document["rows"]:
        line = lines[row["file"], row["problem"]]
        (timing,) = row["timings"]
        wanted = [
            row["verdict"],
            f"{timing['device_us']:,.2f}",
            f"{timing['call_us']:,.1f}",
            f"{timing['of_ceiling']:.1%}",
        ]
        assert all(word in line.split() for word in wanted), line
    machine = document["machine"]
    assert machine["date"][:10] in README
    assert machine["gpu"]["name"] in README
    assert machine["gpu"]["driver"] in README
    assert f"torch {machine['torch']}" in README
    assert f"Triton {machine['triton']}" in README


@pytest.mark.parametrize(("folder", "language"), [("cuda", "cuda"), ("triton_solutions", "triton")])
def test_the_tables_of_the_trial_are_the_measurement(folder, language):
    document = json.loads((ROOT / "tests" / "measurements" / "softmax-fast-trial-h200.json").read_text())
    text = (ROOT / folder / "README.md").read_text()
    assert document["date"] in text
    table = text.split(f"<!-- table: {language} -->\n")[1].split("\n\n")[0].splitlines()[2:]
    assert len(table) == len(document[language])
    for line, (N, times) in zip(table, document[language].items(), strict=True):
        shown, copy, best, variant, target, word = (cell.strip() for cell in line.strip("|").split("|"))
        assert shown == f"{int(N):,}"
        assert copy == f"{min(us for name, us in times.items() if name.startswith(('copy', 'mul'))):.2f}"
        others = ("copy", "mul", "nowait", "empty", "torch", "S1")
        right = {name: us for name, us in times.items() if not name.startswith(others)}
        assert times[variant] == min(right.values())
        assert best == f"{times[variant]:.2f}"
        wanted = float(copy) + float(target[7:]) if "+" in target else float(copy) * float(target.split()[0])
        missed = times[variant] - wanted
        assert word == (f"missed by {missed:.2f}" if missed > 0 else "reached"), line


def test_the_pictures_are_those_of_the_measurements():
    folder = ROOT / "tests" / "measurements"
    pictures = sorted(folder.glob("*.png"))
    assert folder / "h200.png" in pictures
    for picture in pictures:
        with Image.open(picture) as image:
            described = image.text["Description"]
        assert json.loads(picture.with_suffix(".json").read_text())["machine"]["date"] in described, picture


def test_the_wrong_answer_shown_is_what_the_judge_says(cli, tmp_path):
    source = (ROOT / "cuda" / "softmax.cu").read_text()
    whole = "local_sum += e;"
    assert whole in source
    (tmp_path / "broken.cu").write_text(source.replace(whole, "local_sum += e * (i != 4096);"))
    done = cli("check", "broken.cu", "--seed", "1", "--backend", "cpu", cwd=tmp_path)
    assert done.returncode == 1
    shown = block_after("how to see that case alone:").split("\n", 1)[1]
    digits = re.compile(r"\d+\.\d+")  # another libm's last digits may differ
    assert digits.sub("#", done.stdout) == digits.sub("#", shown)
    assert "it adds that 4,097 zeros fail as well" in README
    shrunk = cli("check", "broken.cu", "--seed", "1", "--backend", "cpu", "--shrink", cwd=tmp_path).stdout
    with np.load(re.search(r"harness replay (\S+)", shrunk)[1]) as kept:
        x = kept["input"].view(np.float32)
    assert x.shape == (4097,)
    assert not x.any()


def test_the_table_of_clocks_is_the_measurement():
    document = json.loads((ROOT / "tests" / "measurements" / "clocks-h200.json").read_text())
    assert document["verdict"]["passed"] is True
    medians = [
        [
            case["clocks"][name].get("median_us")
            for name in ("graph replay", "GpuClock, sync", "events, async", "events, sync")
        ]
        for case in document["cases"]
    ]
    shown = re.findall(r"^\| (?:one block|full grid).*$", README, re.MULTILINE)
    assert len(shown) >= 5
    for line in shown:
        numbers = [cell.strip() for cell in line.strip("|").split("|")[1:]]
        assert numbers in [[f"{median:,.2f}" for median in row] for row in medians], line
    assert document["machine"]["date"][:10] in README


def test_what_is_said_of_steadiness_and_of_the_gpus_time_is_the_measurement():
    folder = ROOT / "tests" / "measurements"
    steadiness = json.loads((folder / "steadiness-h200.json").read_text())
    assert len(steadiness["benches"]) == 9 and "[nine benches]" in README
    for name, words in (
        ("softmax.cu", "from {:.2f} to\n{:.2f} ("),
        ("softmax_baseline.py", "from {:.2f} to {:.2f} us"),
    ):
        medians = [bench[name]["device_us"] for bench in steadiness["benches"]]
        assert words.format(min(medians), max(medians)) in README
    assert f"(H200, {steadiness['machine']['date'][:10]}; `python tests/clock/steadiness.py`)" in README
    places = json.loads((folder / "places-h200.json").read_text())["places"]
    each = [median for place in places for median in place["median_us"]]
    assert f"[{min(each):.2f} to {max(each):.2f} us]" in README
    again = [abs(first - second) for first, second in (place["median_us"] for place in places)]
    assert f"within {statistics.median(again):.2f} us" in README
    timed = json.loads((folder / "h200.json").read_text())["rows"]
    spans = {tuple(span) for row in timed for timing in row["timings"] for span in timing["spans"]}
    seconds, files = sum(end - begin for begin, end in spans), sum(not row.get("label") for row in timed)
    assert f"{files} files {seconds:.1f} s: 3,600 x {files} / {seconds:.1f} = {3600 * files / seconds:.0f}" in README


@pytest.mark.parametrize("folder", ["cuda", "triton_solutions"])
def test_the_traffic_is_the_measurement(folder):
    document = json.loads((ROOT / "tests" / "measurements" / "profile-h200.json").read_text())
    counted = {
        profile["file"]: [
            f"{sum(kernel[key] for kernel in profile['kernels']) / profile[ideal]:.2f}"
            for key, ideal in (("dram_read", "ideal_read"), ("dram_written", "ideal_written"))
        ]
        for profile in document["profiles"]
    }
    section = (ROOT / folder / "README.md").read_text().partition("## Traffic, counted")[2]
    shown = {
        f"{folder}/{name}": cells
        for name, *cells in re.findall(r"^\| (\S+) \| ([\d.]+) \| ([\d.]+) \|$", section, re.M)
    }
    assert shown == {file: counts for file, counts in counted.items() if file.startswith(f"{folder}/")}


@pytest.mark.parametrize(
    ("folder", "kernels"), [("cuda", r"t\d|b|c\d|long"), ("triton_solutions", r"[TM](cs)?\d|walk")]
)
def test_the_shares_of_a_copy_are_those_of_the_trial(folder, kernels):
    trial = json.loads((ROOT / "tests" / "measurements" / "softmax-rows-trial-h200.json").read_text())
    section = re.search(r"\n## \S+, tried\n(.*?)\n## ", (ROOT / folder / "README.md").read_text(), re.DOTALL)[1]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if re.match(r"\| [\d,]+ \| `", line)]
    shapes = {int(shape.split("x")[1]): shape for shape in trial["float32"]["times"] if _elements(shape) > 2**26}
    assert [int(line[0].replace(",", "")) for line in lines] == sorted(shapes)
    for columns, *cells in lines:
        for dtype, (best, share, now, its_share) in (("float32", cells[:4]), ("float16", cells[4:])):
            times = trial[dtype]["times"][shapes[int(columns.replace(",", ""))]]
            copy = min(median for name, (median, _) in times.items() if re.match("copy|mul", name))
            tried = {name: copy / median for name, (median, _) in times.items() if re.match(kernels, name)}
            assert best.strip("`") == max(tried, key=tried.get), (dtype, columns)
            assert share == f"{100 * tried[best.strip('`')]:.1f} %", (dtype, columns)
            assert its_share == f"{100 * tried[now.strip('`')]:.1f} %", (dtype, columns)


def _elements(shape):
    rows, columns = shape.split("x")
    return int(rows) * int(columns)


def test_every_command_line_names_verbs_and_flags_that_exist(cli):
    known = "".join(cli(verb, "--help").stdout for verb in VERBS)
    commands = re.findall(r"python -m harness([^`\n]*)", README)
    assert len(commands) > 5
    for command in commands:
        words = command.split("#")[0].split()
        if words and not words[0].startswith("-"):
            assert words[0] in VERBS, command
        assert all(word in known for word in words if word.startswith("--")), command


def test_every_link_leads_somewhere():
    for page in (ROOT / "README.md", ROOT / "cuda/README.md", ROOT / "triton_solutions/README.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_figures_of_many_files_are_those_of_runs_that_agreed():
    runs = [json.loads((ROOT / f"tests/measurements/many-{n}.json").read_text()) for n in ("pool", "ray", "ray-killed")]
    shown = [int(found) for found in re.findall(r"\| \[(\d+)\]\(tests/measurements/many-", README)]
    assert shown == [round(run["files_per_minute"]) for run in runs]
    assert all(run["by_file"] == runs[0]["by_file"] and run["unexpected"] == [] for run in runs)
    assert [run["killed_processes"] > 0 for run in runs] == [False, False, True]
    pool, often = (
        json.loads((ROOT / f"tests/measurements/many-{n}.json").read_text()) for n in ("pool-2s", "ray-killed-often")
    )
    assert pool["by_file"] == often["by_file"] and pool["unexpected"] == often["unexpected"] == []
    assert f"{often['killed_processes']} judging processes were killed" in " ".join(README.split())
    spent = [f"{runs[1][name] / 200:.2f} {what}" for name, what in (("build_s", "to build"), ("load_s", "to load"))]
    assert all(each in " ".join(README.split()) for each in spent)
