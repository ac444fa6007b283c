"""`board --html`: the page says what the database says, ranks files anew, runs nothing that a name holds."""

import os
import re
import sqlite3

import pytest
from test_board import HASH, MACHINE, row, timing
from test_report import HOSTILE, Page

from harness import board_page, rows
from harness.board import open_board, record, standings

LATER = {**MACHINE, "date": "2025-06-02T12:00:00+00:00"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "board.sqlite3"


@pytest.fixture
def board(path):
    board = open_board(path)
    yield board
    board.close()


def test_the_numbers_of_the_page_are_those_of_the_database(cli, board, path, tmp_path):
    reference = row("torch.softmax", timing(20.0, 0.3), label="torch.softmax")
    record(board, [row("a.cu", timing(12.345, 0.2)), row("b.py", timing(1234.5678, 30.0)), reference], MACHINE)
    record(board, [row("bad.cu", verdict=rows.WRONG_ANSWER)], MACHINE)
    done = cli("board", "--db", path, "--html", tmp_path / "board.html")
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "board.html")), done.stderr
    page = Page((tmp_path / "board.html").read_text())
    found = sqlite3.connect(path)
    found.row_factory = sqlite3.Row
    stored = found.execute("SELECT * FROM lines").fetchall()
    found.close()
    text = (tmp_path / "board.html").read_text()
    assert len(stored) == 4
    for line in stored:
        (html,) = re.findall(rf'<tr data-file="{re.escape(line["file"])}".*?</tr>', text, re.DOTALL)
        assert f'data-verdict="{line["verdict"]}"' in html
        if line["sizes"]:
            for name in ("device_us", "gbps", "of_ceiling", "over_reference"):
                assert f'data-key="{line[name]}"' in html  # by which it is sorted
            assert f"{line['device_us']:,.2f}" in html
            assert f"{line['low_us']:,.2f} to {line['high_us']:,.2f}" in html
            assert f"{line['of_ceiling']:.1%}" in html
        assert line["source_hash"][:8] in html
    assert "3 files on the board" in page.texts["h1"][0]  # the reference is none


def test_of_every_file_the_best_version_is_shown_and_ranks_are_among_files(board):
    for number, us in enumerate((30.0, 10.0, 11.0)):
        record(board, [row("a.cu", timing(us), source_hash=f"{number}a")], MACHINE)
    record(board, [row("b.cu", timing(20.0)), row("tie.cu", timing(20.1))], MACHINE)
    (group,) = standings(board, None)
    assert [(s.rank, s.line.file) for s in group.standings][:3] == [(1, "a.cu"), (2, "a.cu"), (3, "b.cu")]
    (table,) = board_page.tables(board, None)
    found = [(e.standing.rank, e.standing.tie, e.standing.line.file, e.standing.line.device_us) for e in table.entries]
    assert found == [(1, False, "a.cu", 10.0), (2, True, "b.cu", 20.0), (2, True, "tie.cu", 20.1)]


def test_the_history_of_a_file_has_all_its_verdicts_and_each_run_once(board):
    record(board, [row("a.cu", verdict=rows.WRONG_ANSWER, source_hash="old")], MACHINE)
    record(board, [row("a.cu", timing(), timing(sizes={"N": 1024})), row("b.cu", timing())], LATER)
    record(board, [row("a.cu", backend="cpu", verdict=rows.RUNTIME_ERROR)], LATER)
    tables = board_page.tables(board, None)
    histories = {
        (t.group.conditions.backend, t.sizes, e.standing.line.file): e.history for t in tables for e in t.entries
    }
    for sizes in ("N = 1,024", "N = 500,000"):
        history = [(line.date, line.verdict, line.source_hash) for line in histories["gpu", sizes, "a.cu"]]
        assert history == [(MACHINE["date"], "wrong-answer", "old"), (LATER["date"], "accepted", HASH)]
    assert [line.verdict for line in histories["cpu", "", "a.cu"]] == ["runtime-error"]


def test_emulated_times_have_no_ranks(board):
    record(board, [row("a.py", timing(5.0), backend="cpu")], {**MACHINE, "gpu": None})
    text = board_page.render(board, None)
    assert "emulated call ms" in text
    assert ">rank<" not in text
    assert "device us" not in text


def test_one_problem_and_an_empty_board(board):
    assert "There are no results yet." in board_page.render(board, None)
    record(board, [row("a.cu", timing()), row("b.cu", timing(), problem="subtract_one")], MACHINE)
    assert "b.cu" in board_page.render(board, None)
    assert "b.cu" not in board_page.render(board, "softmax")


def test_nothing_that_a_name_holds_is_markup(board, tmp_path):
    pages = []
    for name in ("tame", HOSTILE):
        other = open_board(tmp_path / f"{len(pages)}.sqlite3")
        record(other, [row(name, timing(), flags=["launch-error"])], MACHINE)
        text = board_page.render(other, None)
        other.close()
        text.encode("utf-8")  # no lone surrogates
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
        pages.append(Page(text))
    tags = [[(tag, sorted(attributes)) for tag, attributes in page.tags if tag != "wbr"] for page in pages]
    assert tags[0] == tags[1]
    assert len(pages[1].texts["script"]) == 1


def test_the_page_loads_nothing_and_allows_its_own_script_alone(board):
    record(board, [row("a.cu", timing())], MACHINE)
    page = Page(board_page.render(board, None))
    loading = {"src", "href", "srcset", "data", "action", "poster", "background"}
    assert not [attributes for _, attributes in page.tags if loading & attributes.keys()]
    (policy,) = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in re.search(r"script-src[^;]*", policy)[0]
    assert page.texts["script"] == [board_page.SCRIPT]
    assert all(attributes["scope"] in ("row", "col") for tag, attributes in page.tags if tag == "th")


def test_a_page_that_cannot_be_written(cli, board, path, tmp_path):
    for target, says in ((tmp_path / "no" / "x.html", "cannot be written"), (path, "would overwrite")):
        done = cli("board", "--db", path, "--html", os.fspath(target))
        assert done.returncode == 2
        assert says in done.stderr and done.stderr.count("\n") == 1
