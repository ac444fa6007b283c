"""`report`: the page says what the JSON says, runs nothing that a submission wrote; what is no run is refused."""

import copy
import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from conftest import ROOT
from test_cli import one_sentence

from harness import page, plots
from harness.report import json_text, three_digits

H200 = ROOT / "tests" / "measurements" / "h200.json"


class Page(HTMLParser):
    """The page as a tree flattened: table rows as {data-key or position: text}, texts by class, all tags."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.rows, self.texts, self.stack = [], {}, [], {}, []
        self.feed(text)
        assert not self.stack, "every element is closed"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "tr":
            self.rows.append({"class": attributes.get("class", "")})
        if tag not in ("meta", "wbr", "input"):
            self.stack.append((tag, attributes, []))

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        opened, attributes, pieces = self.stack.pop()
        assert opened == tag
        text = "".join(pieces)
        for _, _, outer in self.stack[-1:]:
            outer.append(text)
        if tag in ("td", "th"):
            row = self.rows[-1]
            row[attributes.get("data-key", len(row))] = text
        if "id" in attributes:
            self.ids[attributes["id"]] = text
        for name in (tag, *attributes.get("class", "").split()):
            self.texts.setdefault(name, []).append(text)

    def handle_data(self, data):
        if self.stack:
            self.stack[-1][2].append(data)


def page_of(run):
    return Page(page.render(run, "run.json"))


@pytest.fixture
def run():
    return json.loads(H200.read_text())


def test_the_numbers_of_the_page_are_those_of_the_json(cli, run, tmp_path):
    done = cli("report", H200, "-o", tmp_path / "page.html")
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "page.html")), done.stderr
    shown = Page((tmp_path / "page.html").read_text())
    timed = [row for row in shown.rows if "device_us" in row]
    timings = [(row, timing) for row in run["rows"] for timing in row["timings"]]
    assert len(timings) >= 6
    for cells, (row, timing) in zip(timed, timings, strict=True):
        assert cells[1] == row["file"]
        assert cells["size"] == " x ".join(f"{timing[n]:,}" for n in ("N", "n_rows", "n_cols") if n in timing)
        assert cells["device_us"] == f"{timing['device_us']:,.2f}"
        assert cells["interval"] == f"{timing['low_us']:,.2f} to {timing['high_us']:,.2f}"
        assert cells["call_us"] == f"{timing['call_us']:,.1f}"
        assert cells["gbps"] == f"{timing['gbps']:,.0f}"
        assert cells["of_ceiling"] == f"{timing['of_ceiling']:.1%}"
        assert cells["over_reference"] == three_digits(timing["over_reference"]) + "x"
        assert cells["samples"] == str(len(timing["samples"]))
    verdicts = [row for row in shown.rows if "verdict" in row["class"].split()]
    assert [(row[1], row[2], row[4]) for row in verdicts] == [
        (row["file"], row["verdict"], f"{len(row['cases'])}/{len(row['cases'])}") for row in run["rows"]
    ]
    assert [row[5] for row in verdicts] == [", ".join(row["flags"]) for row in run["rows"]]
    count = judged(run)
    assert shown.ids["answer"] == f"{count} of {count} accepted on NVIDIA H200"


def judged(run):
    return sum(not row["label"] for row in run["rows"])


def test_the_picture_has_every_median_in_order_of_time_and_the_copy_and_empty_kernels(run):
    softmax, *others = page._dot_plots(run, emulated=False)
    first, timing = run["rows"][0], run["rows"][0]["timings"][0]
    medians = sorted(row["timings"][0]["device_us"] for row in run["rows"] if row["problem"] == first["problem"])
    assert [line["median"] for line in softmax.lines] == medians
    assert [rule["value"] for rule in softmax.rules] == [timing["empty_us"], timing["copy_us"]]
    for plot in (softmax, *others):
        places = [plot.scale.at(line["median"]) for line in plot.lines]
        assert places == sorted(places)
        assert all(0 <= place <= 100 for place in places)
    shown = page_of(run)
    pictures = [attributes for tag, attributes in shown.tags if tag == "svg" and attributes.get("role") == "img"]
    assert f"copy kernel {three_digits(timing['copy_us'])} us" in pictures[0]["aria-label"]
    assert f"{first['file']} {three_digits(timing['device_us'])} us" in pictures[0]["aria-label"]


def wrong(run, message, **changes):
    """The run with its second row wrong in two cases, the later one of which decides."""
    row = run["rows"][1]
    for index in (3, 7):
        row["cases"][index]["verdict"] = "wrong-answer"
        row["cases"][index]["message"] = f"{row['cases'][index]['name']}: {message if index == 7 else 'another'}"
    row.update(verdict="wrong-answer", message=row["cases"][7]["message"], timings=[], **changes)
    return run


def test_a_failing_case_is_shown_with_its_message_and_its_replay(run):
    shown = page_of(
        wrong(run, "output[3] is 1, expected 2", flags=["published-rule-differs"], warnings=["leaks 8 bytes"])
    )
    case = run["rows"][1]["cases"][7]
    assert shown.ids["answer"] == f"{judged(run) - 1} of {judged(run)} accepted on NVIDIA H200"
    assert shown.texts["message"][:2] == ["output[3] is 1, expected 2", "another"]
    assert shown.texts["code"][0] == case["replay"]
    remarks = " ".join(shown.texts["li"])
    assert page.FLAGS["published-rule-differs"] in remarks
    assert "leaks 8 bytes" in remarks


def test_a_file_that_does_not_compile_has_its_message_and_no_cases(run):
    run["rows"][1].update(verdict="compile-error", message="line 3: expected ;\n  int x", cases=[], timings=[])
    shown = page_of(run)
    assert "line 3: expected ;\n  int x" in shown.texts["message"]
    assert "compile-error" in shown.texts["bad"]


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'> {{ 7*7 }} \udcff \x00\x1b[31m\u202e &amp;"


def everywhere(value, text):
    """The JSON with `text` in place of every string that a submission has a say in."""
    if isinstance(value, dict):
        free = {"file", "message", "replay", "name", "label", "diagnosis", "warnings", "flags", "a", "b", "method"}
        return {
            key: ([text] if isinstance(item, list) else text) if key in free and item else everywhere(item, text)
            for key, item in value.items()
        }
    return [everywhere(item, text) for item in value] if isinstance(value, list) else value


def test_nothing_that_a_submission_wrote_is_markup(run):
    run = with_anatomy(wrong(run, "x", flags=["x"], warnings=["x"]))
    tame, hostile = page_of(everywhere(run, "tame")), page_of(everywhere(run, HOSTILE))
    ours = ("wbr",)  # a name may break behind its slashes
    assert [tag for tag, _ in hostile.tags if tag not in ours] == [tag for tag, _ in tame.tags if tag not in ours]
    assert [sorted(a) for tag, a in hostile.tags if tag not in ours] == [
        sorted(a) for tag, a in tame.tags if tag not in ours
    ]
    assert "<script>alert(1)</script>" in hostile.texts["message"][0]
    assert "{{ 7*7 }}" in hostile.texts["message"][0]
    assert len(hostile.texts["script"]) == 1
    text = page.render(everywhere(run, HOSTILE), "run.json")
    text.encode("utf-8")  # no lone surrogates
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_the_page_loads_nothing_and_allows_its_own_script_alone(run):
    shown = page_of(run)
    loading = {"src", "href", "srcset", "data", "action", "poster", "background"}
    assert not [attributes for _, attributes in shown.tags if loading & attributes.keys()]
    style = shown.texts["style"][0]
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = [a["content"] for _, a in shown.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in re.search(r"script-src[^;]*", policy)[0]
    assert "prefers-color-scheme: dark" in style


def test_headings_tables_and_pictures_can_be_heard(run):
    shown = page_of(wrong(with_anatomy(run), "x"))
    levels = [int(tag[1]) for tag, _ in shown.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    count = [tag for tag, _ in shown.tags].count
    assert count("caption") == count("table") == 3
    for tag, attributes in shown.tags:
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
        if "scroll" in attributes.get("class", "").split():  # reached by keyboard, and named
            assert attributes["tabindex"] == "0"
            assert attributes.get("aria-label") or attributes["aria-labelledby"] in shown.ids
        if tag == "svg" and "picture" in attributes.get("class", "").split():
            assert attributes["role"] == "img"
            assert attributes["aria-label"]


def with_anatomy(run):
    run = copy.deepcopy(run)
    kernel = {"what": "kernel", "name": "my_kernel", "grid": [489, 1, 1], "block": [128, 1, 1], "registers": 24}
    run["rows"][0]["timings"][0]["anatomy"] = {
        "activities": [
            {**kernel, "shared_bytes": 4096, "local_bytes": 0, "at_us": 0.0, "us": 2.5},
            {"what": "copy", "bytes": 8192, "direction": "device to host", "at_us": 4.0, "us": 1.0},
            {"what": "kernel", "name": 7, "grid": "<b>", "at_us": "nan", "us": None},  # a worker may send anything
        ],
        "calls": {"launches": 2},
        "busy_us": 3.5,
        "gap_us": 1.5,
        "diagnosis": "bandwidth-bound",
    }
    return run


def test_an_anatomy_is_shown_whatever_a_worker_sent(run):
    shown = page_of(with_anatomy(run))
    cells = [list(row.values())[1:] for row in shown.rows if row.get(1) in ("my_kernel", "copy of 8,192 B", "7")]
    assert cells[0] == ["my_kernel", "0.00", "2.50", "489 x 1 x 1", "128 x 1 x 1", "24", "4,096", "0"]
    assert cells[1][:3] == ["copy of 8,192 B", "4.00", "1.00"]
    assert cells[2][:3] == ["7", "nan", ""]
    (strip,) = [i for i, (tag, a) in enumerate(shown.tags) if a.get("class") == "strip"]
    spans = [(a["x"], a["width"]) for tag, a in shown.tags[strip:] if tag == "rect"]
    assert spans == [("0.0%", "50.0%"), ("80.0%", "20.0%")]


def test_a_duel_is_shown_with_its_interval(run):
    run["duels"] = [
        {
            "N": 500_000,
            "a": "a.cu",
            "b": "b.cu",
            "problem": "softmax",
            "verdict": "faster",
            "ratio": 0.81239,
            "low": 0.8,
            "high": 0.82,
            "rounds": 60,
            "a_us": 8.126,
            "b_us": 10.0,
            "method": "",
            "copy_us": 6.204,
            "warnings": ["suspicious: a.cu: too fast"],
        }
    ]
    shown = page_of(run)
    assert "The copy kernel took 6.20 us in the same rounds." in shown.texts["p"]
    assert "a.cu and b.cu: suspicious: a.cu: too fast" in shown.texts["message"]
    (row,) = [row for row in page_of(run).rows if row["class"] == "duel"]
    assert [row[1], row[2], row[3], row[4]] == ["a.cu", "faster than", "b.cu", "500,000"]
    assert (row["ratio"], row["interval"], row["a_us"], row["b_us"]) == ("0.8124", "0.8000 to 0.8200", "8.13", "10.00")


def test_a_profile_is_shown_with_its_bytes(run):
    kernel = {"name": "max_kernel", "grid": "(489, 1, 1)", "block": "(128, 1, 1)", "us": 3.5, "passes": 1}
    kernel |= {"dram_read": 2_000_000, "dram_written": 64, "l2_read": 2_100_000, "l2_written": 15_648}
    profile = {"file": "a.py", "problem": "softmax", "sizes": {"N": 500_000}, "N": 500_000, "kernels": [kernel]}
    shown = page_of({**run, "rows": [], "profiles": [{**profile, "ideal_read": 2e6, "ideal_written": 2e6}]})
    assert shown.ids["answer"] == "1 profile on NVIDIA H200"
    assert "verdicts" not in shown.ids
    (cells,) = [row for row in shown.rows if row["class"] == "profiled"]
    assert (cells[1], cells["dram_read"], cells["l2_written"]) == ("max_kernel", "2.00", "0.02")


def test_a_run_of_the_cpu_backend_is_emulated_and_unranked(cli, tmp_path):
    """The whole way: judge, time, report. Its times keep the order of the files, and say what they are."""
    (tmp_path / "zeros.py").write_text((ROOT / "tests/submissions/bad/zeros.py").read_text())
    (tmp_path / "slow.py").write_text(
        "import torch\n\n\ndef solve(input, output, N):\n"
        "    for _ in range(40):\n        torch.softmax(input[:N], 0, out=output[:N])\n"
    )
    (tmp_path / "quick.py").write_text(
        "import torch\n\n\ndef solve(input, output, N):\n    torch.softmax(input[:N], 0, out=output[:N])\n"
    )
    arguments = ("--backend", "cpu", "--seed", "1", "--case", "N=33/uniform", "--json", "run.json")
    assert cli("submit", "slow.py", "quick.py", "zeros.py", *arguments, cwd=tmp_path).returncode == 1
    assert cli("report", "run.json", cwd=tmp_path).stdout == "run.html\n"
    shown = Page((tmp_path / "run.html").read_text())
    assert shown.ids["answer"] == "2 of 3 accepted on the CPU backend, with no GPU"
    assert shown.ids["times"] == "Emulated times"
    document = json.loads((tmp_path / "run.json").read_text())
    timings = [timing for row in document["rows"] for timing in row["timings"]]
    assert len(timings) == 3
    cells = [row for row in shown.rows if "call_us" in row]
    assert [row["call_us"] for row in cells] == [three_digits(timing["call_us"] / 1e3) for timing in timings]
    assert not any("device_us" in row for row in cells)
    (plot,) = page._dot_plots(document, emulated=True)
    assert [line["file"] for line in plot.lines] == ["torch.softmax", "slow.py", "quick.py"]
    assert "output[17] is 0, expected" in shown.texts["message"][0]
    assert "--case N=33/uniform" in shown.texts["code"][0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "no run of this judge"),
        ('{"name": "package"}', "no run of this judge"),
        ('{"schema": 2, "machine": {}, "rows": []}', "has schema 2, this version reads 1"),
        ('{"schema": 1}', "machine is missing"),
        ('{"schema": 1, "machine": {"backend": "cpu", "date": ""}, "rows": [{"file": 1}]}', "file of a row"),
    ],
)
def test_what_is_no_run_is_refused_in_one_sentence(cli, tmp_path, text, words):
    (tmp_path / "run.json").write_text(text)
    message = one_sentence(cli("report", tmp_path / "run.json"))
    assert words in message
    assert not (tmp_path / "run.html").exists()


def test_a_run_that_cannot_be_read(cli, tmp_path):
    assert "cannot be read: No such file" in one_sentence(cli("report", tmp_path / "nowhere.json"))
    assert "cannot be read: Is a directory" in one_sentence(cli("report", tmp_path))
    (tmp_path / "run.json").write_bytes(b"\xff\xfe{}")
    assert "is not JSON" in one_sentence(cli("report", tmp_path / "run.json"))


def test_a_page_that_cannot_be_written(cli, tmp_path):
    assert "cannot be written" in one_sentence(cli("report", H200, "-o", tmp_path / "no" / "page.html"))
    (tmp_path / "run.html").write_text(H200.read_text())
    assert "would overwrite" in one_sentence(cli("report", tmp_path / "run.html"))
    assert json.loads((tmp_path / "run.html").read_text())["schema"] == 1


@pytest.mark.parametrize("values", [[0.5], [3.0, 3.1], [0.0001, 9e6], [1.0, 2.0, 5.0, 10.0]])
def test_a_logarithmic_scale_holds_all_values_and_has_few_ticks(values):
    scale = page.logarithmic_scale(values)
    assert all(0 < scale.at(value) < 100 for value in values)
    assert 2 <= len(scale.ticks) <= 6


@pytest.mark.parametrize(("high", "top"), [(1, 1), (4.2, 5), (4213, 5000), (180, 200)])
def test_a_linear_scale_ends_at_a_round_number(high, top):
    scale = page.linear_scale(high)
    assert (scale.low, scale.high, scale.ticks[-1]) == (0, top, top)
    assert 4 <= len(scale.ticks) <= 6


def test_json_has_a_line_for_a_list_of_numbers_and_loses_nothing():
    document = {"samples": [1.5, -2e-7, 3], "text": "[1,  2,\n3]", "names": ["a", "b"], "empty": [], "bad": [math.nan]}
    text = json_text(document)
    assert '"samples": [ 1.5, -2e-07, 3 ]' in text
    assert json.loads(text) == {**document, "bad": ["nan"]}


def test_the_picture_of_a_run_has_its_times_the_fastest_first(monkeypatch, tmp_path):
    document = json.loads(H200.read_text())
    figures = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, *_, **__: figures.append(figure))
    plots.draw(document, tmp_path / "times.png")
    panels = {axes.get_title("left"): axes for axes in figures[0].axes}
    rows = [row for row in document["rows"] if row["problem"] == "softmax"]
    panel = panels["softmax, 500,000"]
    shown = {label.get_text(): place for place, label in zip(panel.get_yticks(), panel.get_yticklabels(), strict=True)}
    notes = {text.xy[1]: text.get_text() for text in panel.texts}
    assert shown.keys() == {row["file"] for row in rows}
    assert sorted(shown, key=shown.get) == [
        row["file"] for row in sorted(rows, key=lambda row: -row["timings"][0]["device_us"])
    ]
    for row in rows:
        assert notes[shown[row["file"]]].startswith(f"{row['timings'][0]['device_us']:,.2f} us, ")


def test_a_picture_is_written_beside_the_page_or_refused_in_a_sentence(cli, tmp_path):
    done = cli("report", H200, "-o", tmp_path / "run.html", "--png", tmp_path / "run.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    nothing = json.loads(H200.read_text())
    for row in nothing["rows"]:
        row["timings"] = []
    (tmp_path / "checked.json").write_text(json.dumps(nothing))
    done = cli("report", tmp_path / "checked.json", "--png", tmp_path / "no.png")
    assert "holds no times to draw" in one_sentence(done)
