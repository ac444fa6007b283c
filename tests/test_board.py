"""The board: nothing is lost, only what is comparable is ranked, and a file that is no board is left alone."""

import hashlib
import io
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT
from rich.console import Console

from harness import board as board_module
from harness import report, rows
from harness.board import APPLICATION_ID, SCHEMA, default_path, open_board, print_board, read_lines, record, standings
from harness.errors import UsageError
from harness.rows import Row, Timing

GPU = {"name": "NVIDIA H200", "driver": "580.65"}
MACHINE = {
    "date": "2025-06-01T12:00:00+00:00",
    "gpu": GPU,
    "cpu": "AMD EPYC",
    "python": "3.11.7",
    "torch": "2.8.0",
    "triton": "3.4.0",
    "nvcc": "13.0",
    "clocks": {"sm_mhz_median": 1980},
}
HASH = hashlib.sha256(b"").hexdigest()


def timing(device_us=10.0, half=0.1, sizes=None, method="device time"):
    return Timing(
        sizes=sizes or {"N": 500_000},
        device_us=device_us,
        call_us=device_us + 15,
        low_us=device_us - half,
        high_us=device_us + half,
        gbps=400.0,
        of_ceiling=0.9,
        over_reference=0.5,
        samples=[device_us],
        method=method,
    )


def row(file="a.cu", *timings, **fields):
    accepted = Row(
        file=file,
        problem="softmax",
        problem_version=1,
        backend="gpu",
        verdict=rows.ACCEPTED,
        message="",
        flags=[],
        warnings=[],
        seed=7,
        cases=[],
        timings=list(timings),
        source_hash=HASH,
    )
    return replace(accepted, **fields)


def at_clock(mhz):
    return {**MACHINE, "clocks": {"sm_mhz_median": mhz}}


@pytest.fixture
def board(tmp_path):
    connection = open_board(tmp_path / "board.sqlite3")
    yield connection
    connection.close()


@pytest.fixture(params=["own choice of journal", "default journal"])
def path(request, tmp_path, monkeypatch):
    """Of a board that does not exist yet, and of one on a file system that allows no write-ahead log."""
    path = tmp_path / "board.sqlite3"
    if request.param == "default journal":
        monkeypatch.setattr(board_module, "_is_local", lambda directory: False)
        open_board(path).close()
        assert journal(path) == "delete"
    return path


def journal(path):
    connection = sqlite3.connect(path)
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    connection.close()
    return mode


def only_group(board):
    (group,) = standings(board, None)
    return group


def ranks(board):
    return [(s.line.file, s.rank, s.tie) for s in only_group(board).standings]


def start(code, path):
    """A process that can use this file's helpers, and `path`."""
    code = f"from test_board import *\npath = Path(sys.argv[1])\n{code}"
    search = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(path)],
        env={**os.environ, "PYTHONPATH": search},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


# Keeping


def test_two_judges_at_once_lose_nothing(path):
    code = """
print("ready", flush=True)
name = sys.stdin.readline()
board = open_board(path)
for number in range(200):
    record(board, [row(f"{name.strip()} {number}", timing())], MACHINE)
"""
    judges = {name: start(code, path) for name in ("one", "two")}
    for judge in judges.values():
        assert judge.stdout.readline() == "ready\n"
    for name, judge in judges.items():  # both wait here: they create the board and write at the same time
        judge.stdin.write(name + "\n")
        judge.stdin.flush()
    for judge in judges.values():
        judge.communicate()
        assert judge.returncode == 0
    board = open_board(path)
    files = [file for (file,) in board.execute("SELECT file FROM lines")]
    board.close()
    assert sorted(files) == sorted(f"{name} {number}" for name in judges for number in range(200))


def test_a_judge_waits_for_another_that_is_writing(board):
    assert board.execute("PRAGMA busy_timeout").fetchone() == (30_000,)


def test_a_killed_judge_leaves_the_earlier_runs_and_a_usable_board(path):
    board = open_board(path)
    record(board, [row("earlier.cu", timing())], MACHINE)
    board.close()
    judge = start(
        """
def stop_before_commit(statement):
    if statement.startswith("COMMIT"):
        print("about to commit", flush=True)
        sys.stdin.read()

board = open_board(path)
board.execute("PRAGMA cache_size = 1")  # so that most of the lines are in the files already
board.set_trace_callback(stop_before_commit)
record(board, [row(f"lost {number}", timing()) for number in range(2000)], MACHINE)
""",
        path,
    )
    assert judge.stdout.readline() == "about to commit\n"
    beside = sum(file.stat().st_size for file in path.parent.iterdir())
    assert beside > 200_000, "nothing was half written: this test shows nothing"
    judge.send_signal(signal.SIGKILL)
    judge.communicate()
    assert judge.returncode == -signal.SIGKILL

    board = open_board(path)
    record(board, [row("later.cu", timing(20.0))], MACHINE)
    assert [file for file, *_ in ranks(board)] == ["earlier.cu", "later.cu"]
    assert board.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    board.close()


def test_a_run_is_kept_whole_or_not_at_all(board):
    board.execute(
        "CREATE TRIGGER full BEFORE INSERT ON lines WHEN new.file = 'b.cu' BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(UsageError, match=r"not on the board .*board\.sqlite3 \(full\).*--db PATH"):
        record(board, [row("a.cu"), row("b.cu")], MACHINE)
    assert board.execute("SELECT count(*) FROM lines").fetchone() == (0,)


def test_what_is_kept(board):
    results = [
        row("torch.softmax", timing(20.0), label="torch.softmax"),
        row("a.cu", timing(10.0), timing(90.0, sizes={"N": 4_000_000}), flags=["nondeterministic"]),
        row("b.cu", verdict=rows.WRONG_ANSWER),
        row("c.cu", verdict=rows.NOT_RUN),
    ]
    record(board, results, MACHINE)
    board.row_factory = sqlite3.Row
    kept = [dict(line) for line in board.execute("SELECT * FROM lines ORDER BY id")]
    assert [(line["file"], line["label"], line["sizes"]) for line in kept] == [
        ("torch.softmax", "torch.softmax", '{"N": 500000}'),
        ("a.cu", "", '{"N": 500000}'),
        ("a.cu", "", '{"N": 4000000}'),
        ("b.cu", "", None),
    ]
    assert kept[1] == {
        "id": 2,
        "date": "2025-06-01T12:00:00+00:00",
        "file": "a.cu",
        "source_hash": HASH,
        "problem": "softmax",
        "problem_version": 1,
        "backend": "gpu",
        "verdict": "accepted",
        "flags": "nondeterministic",
        "seed": 7,
        "sizes": '{"N": 500000}',
        "device_us": 10.0,
        "call_us": 25.0,
        "low_us": 9.9,
        "high_us": 10.1,
        "gbps": 400.0,
        "of_ceiling": 0.9,
        "over_reference": 0.5,
        "method": "device time",
        "label": "",
        "gpu": "NVIDIA H200",
        "driver": "580.65",
        "torch": "2.8.0",
        "triton": "3.4.0",
        "nvcc": "13.0",
        "python": "3.11.7",
        "sm_clock_mhz": 1980,
        "cpu": "AMD EPYC",
    }
    assert kept[3]["device_us"] is None and kept[3]["method"] is None


def test_times_take_the_place_of_the_verdict_alone_also_in_a_run_that_goes_on_later(board):
    later = {**MACHINE, "date": "2025-06-02T12:00:00+00:00"}
    record(board, [row("a.cu"), row("b.cu", seed=8), row("c.cu", verdict=rows.WRONG_ANSWER)], MACHINE)
    record(board, [row("a.cu", timing()), row("b.cu", timing()), row("c.cu", timing())], later)
    found = [(line.file, line.verdict, line.seed, line.sizes is None) for line in read_lines(board, None)]
    assert found == [
        ("b.cu", rows.ACCEPTED, 8, True),  # of another run
        ("c.cu", rows.WRONG_ANSWER, 7, True),  # what was once found counts
        *((name, rows.ACCEPTED, 7, False) for name in ("a.cu", "b.cu", "c.cu")),
    ]


def test_a_machine_without_gpu_clocks_and_nvcc(board):
    machine = {"date": MACHINE["date"], "gpu": None, "cpu": "AMD EPYC", "torch": None}
    record(board, [row("a.py", backend="cpu")], machine)
    assert board.execute("SELECT gpu, driver, sm_clock_mhz, nvcc, torch FROM lines").fetchone() == (None,) * 5


# Ranking


@pytest.mark.parametrize(
    ("other_row", "other_machine", "in_heading"),
    [
        (row("b.cu", timing()), {"gpu": {**GPU, "name": "NVIDIA L4"}}, "NVIDIA L4"),
        (row("b.cu", timing()), {"gpu": {**GPU, "driver": "570.1"}}, "driver 570.1"),
        (row("b.cu", timing()), {"torch": "2.9.0"}, "torch 2.9.0"),
        (row("b.cu", timing()), {"triton": "3.5.0"}, "triton 3.5.0"),
        (row("b.cu", timing()), {"nvcc": "12.9"}, "nvcc 12.9"),
        (row("b.cu", timing(), problem="softmax_rows"), {}, "softmax_rows version 1"),
        (row("b.cu", timing(), problem_version=2), {}, "softmax version 2"),
        (row("b.cu", timing(), backend="cpu"), {}, "cpu backend (emulated), AMD EPYC"),
        (row("b.cu", timing(sizes={"N": 1_000})), {}, "N = 1,000"),
        (row("b.cu", timing(method="events")), {}, "events"),
    ],
)
def test_what_is_not_comparable_is_never_ranked_together(board, other_row, other_machine, in_heading):
    record(board, [row("a.cu", timing())], MACHINE)
    record(board, [other_row], {**MACHINE, **other_machine})
    groups = standings(board, None)
    assert sorted([s.line.file for s in group.standings] for group in groups) == [["a.cu"], ["b.cu"]]
    assert all(not s.tie and s.rank in (1, None) for group in groups for s in group.standings)
    text = printed(board)
    shown = [part for part in text.split("\n\n") if in_heading in part.partition("\nrank")[0]]
    assert len(shown) == 1 and "b.cu" in shown[0] and "a.cu" not in shown[0]


def test_matrices_stand_beside_vectors_in_groups_of_their_own_by_rows_and_columns(board):
    small, large = ({"n_rows": 64, "n_cols": 1000}, {"n_rows": 4096, "n_cols": 1000})
    results = [
        row("vector.cu", timing(10.0)),
        row("one.cu", timing(20.0, sizes=large), timing(5.0, sizes=small), problem="softmax_rows"),
        row("two.cu", timing(10.0, sizes=large), problem="softmax_rows"),
        row("untimed.cu", problem="softmax_rows"),
    ]
    record(board, results, MACHINE)
    groups = standings(board, None)
    found = [(g.conditions.problem, g.sizes, [s.line.file for s in g.standings if s.rank]) for g in groups]
    assert found == [
        ("softmax", {"N": 500_000}, ["vector.cu"]),
        ("softmax_rows", small, ["one.cu"]),
        ("softmax_rows", large, ["two.cu", "one.cu"]),
    ]
    assert "softmax_rows version 1, n_rows = 4,096, n_cols = 1,000, gpu backend" in printed(board)


def test_only_one_problem(board):
    record(board, [row("a.cu", timing()), row("b.cu", timing(), problem="softmax_rows")], MACHINE)
    assert [group.conditions.problem for group in standings(board, "softmax_rows")] == ["softmax_rows"]
    assert standings(board, "unknown") == []


def test_ranks_and_ties(board):
    results = [
        row("slow.cu", timing(30.0)),
        row("close.cu", timing(10.15)),
        row("fast.cu", timing(10.0)),
        row("torch.softmax", timing(20.0), label="torch.softmax"),
        row("apart.cu", timing(10.5)),
    ]
    record(board, results, MACHINE)
    assert ranks(board) == [
        ("fast.cu", 1, True),
        ("close.cu", 1, True),
        ("apart.cu", 3, False),
        ("torch.softmax", 4, False),
        ("slow.cu", 5, False),
    ]


def test_a_wide_interval_ties_with_all_that_it_reaches(board):
    record(
        board, [row("wide.cu", timing(10.0, half=5.0)), row("b.cu", timing(11.0)), row("c.cu", timing(12.0))], MACHINE
    )
    assert ranks(board) == [("wide.cu", 1, True), ("b.cu", 1, True), ("c.cu", 1, True)]


def test_the_best_run_of_each_version_of_a_file(board):
    for device_us in (12.0, 11.0, 13.0):
        record(board, [row("a.cu", timing(device_us))], MACHINE)
    record(board, [row("a.cu", timing(9.0), source_hash="edited")], MACHINE)
    found = [(s.rank, s.line.source_hash, s.line.device_us, s.runs) for s in only_group(board).standings]
    assert found == [(1, "edited", 9.0, 1), (2, HASH, 11.0, 3)]


def test_refused_files_are_listed_with_their_latest_verdict(board):
    record(board, [row("good.cu", timing()), row("bad.cu", verdict=rows.WRONG_ANSWER)], MACHINE)
    record(board, [row("bad.cu", verdict=rows.OUT_OF_BOUNDS, source_hash="edited")], MACHINE)
    found = [(s.line.file, s.rank, s.line.verdict) for s in only_group(board).standings]
    assert found == [("good.cu", 1, "accepted"), ("bad.cu", None, "out-of-bounds")]


def test_a_fault_found_later_takes_the_rank_away_and_the_judges_own_fault_does_not(board):
    record(board, [row("a.cu", timing(10.0)), row("b.cu", timing(20.0))], MACHINE)
    record(board, [row("a.cu", verdict=rows.WRONG_ANSWER), row("b.cu", verdict=rows.INTERNAL_ERROR)], MACHINE)
    found = [(s.line.file, s.rank, s.line.verdict) for s in only_group(board).standings]
    assert found == [("b.cu", 1, "accepted"), ("a.cu", None, "wrong-answer")]


def test_accepted_but_not_timed(board):
    record(board, [row("a.cu")], MACHINE)
    (standing,) = only_group(board).standings
    assert (standing.rank, standing.note) == (None, "not timed")


def test_suspicious_lines_carry_no_rank(board):
    record(board, [row("magic.cu", timing(0.1), flags=[rows.SUSPICIOUS]), row("a.cu", timing(10.0))], MACHINE)
    found = [(s.line.file, s.rank, s.note) for s in only_group(board).standings]
    assert found == [("a.cu", 1, ""), ("magic.cu", None, "suspicious")]


def test_cpu_lines_carry_no_rank_and_no_order(board):
    cpu = replace(timing(), device_us=None, gbps=None)
    results = [
        row("b.py", replace(cpu, call_us=1e3), backend="cpu"),
        row("a.py", replace(cpu, call_us=2e3), backend="cpu"),
    ]
    record(board, results, {**MACHINE, "gpu": None})
    found = [(s.line.file, s.rank, s.tie, s.note) for s in only_group(board).standings]
    assert found == [("a.py", None, False, "emulated"), ("b.py", None, False, "emulated")]
    text = printed(board)
    assert "emulated call ms" in text and "rank" not in text and "device us" not in text


def test_a_line_at_another_clock_carries_no_rank(board):
    record(board, [row("a.cu", timing(10.0)), row("a.cu", timing(10.1))], at_clock(1980))
    record(board, [row("near.cu", timing(12.0))], at_clock(1980 * 0.98))
    record(board, [row("throttled.cu", timing(5.0))], at_clock(1980 * 0.96))
    record(board, [row("unknown.cu", timing(14.0))], {**MACHINE, "clocks": None})
    found = [(s.line.file, s.rank, s.note) for s in only_group(board).standings]
    assert found[:3] == [("a.cu", 1, ""), ("near.cu", 2, ""), ("unknown.cu", 3, "")]
    assert found[3][:2] == ("throttled.cu", None) and found[3][2].startswith("clock differs")


def test_of_two_clocks_one_is_ranked(board):
    record(board, [row("a.cu", timing())], at_clock(1000))
    record(board, [row("b.cu", timing())], at_clock(2000))
    assert ranks(board) == [("b.cu", 1, False), ("a.cu", None, False)]


# Files that are no board


def foreign(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE lines (id)")
    connection.commit()
    connection.close()


def newer(path):
    open_board(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    connection.close()


def damaged(path):
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_text("x"), "something else"),
        (lambda path: path.write_text("not a database\n" * 1000), "not a board"),
        (damaged, "not a board"),
        (foreign, "something else"),
        (newer, "newer version"),
    ],
    ids=["one letter", "text", "damaged", "foreign", "newer"],
)
def test_a_file_that_is_no_board_is_left_alone(tmp_path, make, says):
    path = tmp_path / "file"
    make(path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=f"(?s)^(?=.*{says})(?=.*--db PATH)(?=.*{path})") as caught:
        open_board(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    for path in (tmp_path / "file" / "board", tmp_path / "directory", Path("/proc/board")):
        with pytest.raises(UsageError, match=r"cannot be written \(.*--db PATH"):
            open_board(path)


def test_a_board_that_can_only_be_read(tmp_path, monkeypatch):
    """Noticed before the judging; access rights would not stop root, so SQLite is told."""
    path = tmp_path / "board.sqlite3"
    open_board(path).close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(f"file:{path}?mode=ro", uri=True, **options)
    )
    with pytest.raises(UsageError, match=r"cannot be written \(attempt to write a readonly database\).*--db PATH"):
        open_board(path)


def test_it_is_made_with_its_directory_and_opens_again(tmp_path):
    path = tmp_path / "a" / "b" / "board.sqlite3"
    first = open_board(path)
    record(first, [row()], MACHINE)
    second = open_board(path)
    assert len(standings(second, None)) == 1
    assert second.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    first.close()
    second.close()


def test_write_ahead_log_only_on_file_systems_of_this_host(tmp_path, monkeypatch):
    for local, mode in ((True, "wal"), (False, "delete")):
        monkeypatch.setattr(board_module, "_is_local", lambda directory, local=local: local)
        open_board(tmp_path / mode).close()
        assert journal(tmp_path / mode) == mode


def test_which_file_systems_are_of_this_host():
    assert not board_module._is_local(Path("/proc"))
    if Path("/dev/shm").is_mount():
        assert board_module._is_local(Path("/dev/shm"))


def test_default_path_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "solve-judge" / "board.sqlite3"


# Printing


def printed(board, problem=None):
    out = io.StringIO()
    console = Console(file=out, width=10_000, no_color=True, highlight=False)
    print_board(board, problem, console)
    return out.getvalue()


def test_printed_whole_and_plain(board, monkeypatch):
    """Piped: names of any length and any bytes in one line, no escapes, no markup."""
    names = ["deep/" * 60 + "solve.cu", "[red]markup[/red].cu", "\x1b[31mred.cu", os.fsdecode(b"\xff.cu")]
    record(board, [row(name, timing(10.0 + 5 * i), flags=["launch-error"]) for i, name in enumerate(names)], MACHINE)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out := io.BytesIO(), "utf-8"))
    print_board(board, None, report.console())
    sys.stdout.flush()
    text = out.getvalue().decode()
    assert "\x1b" not in text
    lines = text.splitlines()
    for name in (names[0], names[1], "\N{REPLACEMENT CHARACTER}[31mred.cu", "\N{REPLACEMENT CHARACTER}.cu"):
        (line,) = [line for line in lines if name in line]
        assert line.rstrip().endswith("launch-error") and MACHINE["date"] in line
    assert lines[0] == (
        "softmax version 1, N = 500,000, gpu backend, NVIDIA H200, driver 580.65, torch 2.8.0, triton 3.4.0, nvcc 13.0"
    )
    assert lines[1] == "device time"


def test_printed_numbers(board):
    record(
        board, [row("a.cu", timing()), row("b.cu", timing()), row("torch.softmax", timing(20.0), label="x")], MACHINE
    )
    first, _, last = printed(board).splitlines()[-3:]
    numbers = "10.00 9.90 to 10.10 25.0 400 90.0% 0.50x 1,980 1"
    assert first.split() == f"1 tie a.cu {HASH[:12]} accepted {numbers} {MACHINE['date']}".split()
    assert last.split()[0] == "3" and last.split()[-1] == "reference"


def test_an_empty_board_says_how_to_fill_it(board):
    assert printed(board) == "no results yet: python -m harness submit FILE\n"
    assert printed(board, "softmax") == "no results for the problem 'softmax' yet: python -m harness submit FILE\n"
