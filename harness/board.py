"""The board: keeps the results of all runs in SQLite, and ranks those that may be compared."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median_high

import platformdirs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import rows
from harness.errors import UsageError
from harness.report import STYLES, print_table
from harness.rows import Row, Timing

APPLICATION_ID = 0x534F4C56  # "SOLV" in the file's header: this database is a board
SCHEMA = 1  # the header's user_version; any change of Line's fields is a new one

BUSY_SECONDS = 30.0  # how long one judge waits for another that is writing
CLOCK_TOLERANCE = 0.03

# Where SQLite's write-ahead log is safe. It lives in memory shared by all writers, which two hosts on one network file
# system do not have: there it raises no error but loses rows. Anywhere else the default journal does, only slower.
LOCAL_FILE_SYSTEMS = {"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}


@dataclass(frozen=True)
class Line:
    """One line as stored: a timing of a judged file, or a verdict alone. A line with a `label` is a reference."""

    date: str
    file: str
    source_hash: str
    problem: str
    problem_version: int
    backend: str
    verdict: str
    flags: str  # separated by spaces
    seed: int
    sizes: str | None  # JSON; None in a line without timing, as all numbers up to the method
    device_us: float | None
    call_us: float | None
    low_us: float | None
    high_us: float | None
    gbps: float | None
    of_ceiling: float | None
    over_reference: float | None
    method: str | None
    label: str
    gpu: str | None
    driver: str | None
    torch: str | None
    triton: str | None
    nvcc: str | None
    python: str | None
    sm_clock_mhz: float | None
    cpu: str | None


_COLUMNS = [field.name for field in fields(Line)]
_NUMBERS = ("device_us", "call_us", "low_us", "high_us", "gbps", "of_ceiling", "over_reference", "method")
_OF_ONE_RUN = ("file", "source_hash", "problem", "problem_version", "backend", "seed", "label", "gpu")
# A run that goes on after a kill (--resume) has another date, and times what the first part has judged.
DROP_UNTIMED = f"""DELETE FROM lines WHERE sizes IS NULL AND (date IS :date OR verdict IS :verdict)
    AND {" AND ".join(f"{name} IS :{name}" for name in _OF_ONE_RUN)}"""


@dataclass(frozen=True)
class Conditions:
    """What two lines must have in common to be compared, beside sizes and method."""

    problem: str
    problem_version: int
    backend: str
    device: str | None  # the GPU; on the CPU backend the CPU
    driver: str | None
    torch: str | None
    triton: str | None
    nvcc: str | None


@dataclass(frozen=True)
class Standing:
    """A line in its group. `rank` is None where a rank would mean nothing, and `note` or the verdict says why."""

    rank: int | None
    tie: bool
    line: Line
    runs: int  # of this source under these conditions; a line with a rank is the best of them, another the latest
    note: str


@dataclass(frozen=True)
class Group:
    """Lines that may be compared. `sizes` and `method` are empty where nothing was timed."""

    conditions: Conditions
    sizes: dict
    method: str
    standings: list[Standing]


def default_path() -> Path:
    return platformdirs.user_data_path("solve-judge") / "board.sqlite3"


def open_board(path: Path) -> sqlite3.Connection:
    """The board at `path`, made if there is none. Raises UsageError if it cannot be written or is something else."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        board = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from None
    try:
        _check_or_create(board, path)
    except (OSError, sqlite3.Error) as error:
        board.close()
        raise _unusable(path, error) from None
    except UsageError:
        board.close()
        raise
    return board


def _unusable(path: Path, error: Exception) -> UsageError:
    if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return UsageError(f"{path} is not a board of results ({error}): name another file with --db PATH")
    reason = getattr(error, "strerror", None) or error
    return UsageError(f"the board {path} cannot be written ({reason}): name another file with --db PATH")


def _check_or_create(board: sqlite3.Connection, path: Path) -> None:
    # All of it holds the write lock: two judges may find the file missing at the same moment.
    with board:
        board.execute("BEGIN IMMEDIATE")
        (application,) = board.execute("PRAGMA application_id").fetchone()
        (version,) = board.execute("PRAGMA user_version").fetchone()
        is_new = path.stat().st_size == 0
        if is_new:
            board.execute(f"CREATE TABLE lines (id INTEGER PRIMARY KEY, {', '.join(_COLUMNS)})")
            board.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            board.execute(f"PRAGMA user_version = {SCHEMA}")
        elif application != APPLICATION_ID:
            raise UsageError(f"{path} holds something else than a board: name another file with --db PATH")
        elif version > SCHEMA:
            raise UsageError(
                f"the board {path} is of a newer version of this program: update it, or use another with --db PATH"
            )
        else:
            # Changes nothing, but fails where the file can only be read, which BEGIN IMMEDIATE lets pass.
            board.execute("UPDATE lines SET id = id WHERE false")
    if is_new and _is_local(path.parent):
        with suppress(sqlite3.OperationalError):  # another judge is at it already: the default journal does, too
            board.execute("PRAGMA journal_mode = WAL")


def _is_local(directory: Path) -> bool:
    device = directory.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError), open("/proc/self/mountinfo", errors="replace") as mounts:
        for mount in mounts:
            columns = mount.split()
            if columns[2] == number:
                return columns[columns.index("-") + 1] in LOCAL_FILE_SYSTEMS
    return False


def record(board: sqlite3.Connection, results: list[Row], machine: dict) -> None:
    """Adds rows: all of their lines or, if the board cannot be written any more (UsageError), none.

    Times take the place of the line that the same run has entered when their file was judged.
    """
    gpu = machine.get("gpu") or {}
    where = {
        "date": machine["date"],
        "gpu": gpu.get("name"),
        "driver": gpu.get("driver"),
        "sm_clock_mhz": (machine.get("clocks") or {}).get("sm_mhz_median"),
        **{name: machine.get(name) for name in ("torch", "triton", "nvcc", "python", "cpu")},
    }
    # A file that was not run has no verdict.
    judged = [row for row in results if row.verdict != rows.NOT_RUN]
    lines = [_line(row, timing, where) for row in judged for timing in row.timings or [None]]
    places = ", ".join("?" * len(_COLUMNS))
    try:
        with board:
            board.execute("BEGIN IMMEDIATE")
            board.executemany(DROP_UNTIMED, [vars(line) for line in lines if line.sizes is not None])
            board.executemany(f"INSERT INTO lines ({', '.join(_COLUMNS)}) VALUES ({places})", map(astuple, lines))
    except sqlite3.Error as error:
        path = board.execute("PRAGMA database_list").fetchone()[2]
        raise UsageError(
            f"this run is not on the board {path} ({error}): submit again, or to another board with --db PATH"
        ) from None


def find_row(
    board: sqlite3.Connection, file: str, source_hash: str, problem: str, version: int, machine: dict
) -> Row | None:
    """The row of a file as it was last submitted on this backend and GPU model, None if it was not."""
    key = {
        "file": _printable(file),
        "source_hash": source_hash,
        "problem": _printable(problem),
        "problem_version": version,
        "backend": machine["backend"],
        "gpu": (machine.get("gpu") or {}).get("name"),
        "label": "",
    }
    question = " AND ".join(f"{name} IS :{name}" for name in key)
    everything = board.execute(f"SELECT {', '.join(_COLUMNS)} FROM lines WHERE {question} ORDER BY id", key)
    lines = [line for line in (Line(*values) for values in everything) if line.verdict != rows.INTERNAL_ERROR]
    if not lines:
        return None
    last = lines[-1]
    timed = [line for line in lines if (line.date, line.seed) == (last.date, last.seed) and line.sizes is not None]
    return Row(
        file=file,
        problem=problem,
        backend=last.backend,
        verdict=last.verdict,
        message="" if last.verdict == rows.ACCEPTED else "the board does not keep why: judge it without --resume",
        flags=last.flags.split(),
        warnings=[f"not judged again: it is on the board since {last.date}"],
        seed=last.seed,
        cases=[],
        timings=[
            Timing(sizes=json.loads(str(line.sizes)), samples=[], **{name: getattr(line, name) for name in _NUMBERS})
            for line in timed
        ],
        source_hash=source_hash,
        problem_version=version,
    )


def _line(row: Row, timing: Timing | None, where: dict) -> Line:
    return Line(
        file=_printable(row.file),
        source_hash=row.source_hash,
        problem=_printable(row.problem),
        problem_version=row.problem_version,
        backend=row.backend,
        verdict=row.verdict,
        flags=" ".join(row.flags),
        seed=row.seed,
        label=_printable(row.label),
        sizes=json.dumps(timing.sizes) if timing else None,
        **{name: getattr(timing, name, None) for name in _NUMBERS},
        **where,
    )


def _printable(text: str) -> str:
    """Names may hold bytes that are no text, which SQLite refuses, and control characters, which a terminal obeys."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def read_lines(board: sqlite3.Connection, problem: str | None) -> list[Line]:
    """All lines, or those of a problem, in the order in which they were entered."""
    everything = board.execute(f"SELECT {', '.join(_COLUMNS)} FROM lines ORDER BY id")
    return [line for line in (Line(*values) for values in everything) if problem in (None, line.problem)]


def standings(board: sqlite3.Connection, problem: str | None) -> list[Group]:
    """All results, or those of a problem, in groups of what may be compared; lines of two groups never are."""
    lines = read_lines(board, problem)
    by_conditions: dict[Conditions, list[Line]] = defaultdict(list)
    for line in lines:
        shared = (line.driver, line.torch, line.triton, line.nvcc)
        device = line.cpu if line.backend == "cpu" else line.gpu
        by_conditions[Conditions(line.problem, line.problem_version, line.backend, device, *shared)].append(line)
    groups = []
    for conditions, members in by_conditions.items():
        accepted, refused, untimed = _by_latest_verdict(members)
        timed: dict[tuple[str, str], list[Line]] = defaultdict(list)
        for line in accepted:
            timed[line.sizes, line.method].append(line)
        rest = [Standing(None, False, line, 1, "") for line in refused]
        rest += [Standing(None, False, line, 1, "not timed") for line in untimed]
        rest.sort(key=lambda standing: standing.line.file)
        for (sizes, method), contestants in timed.items():
            ranked = _emulated(contestants) if conditions.backend == "cpu" else _ranked(contestants)
            groups.append(Group(conditions, json.loads(sizes), method, ranked + rest))
        if not timed:
            groups.append(Group(conditions, {}, "", rest))
    return sorted(groups, key=_heading_order)


def _heading_order(group: Group) -> tuple:
    problem, version, *rest = astuple(group.conditions)
    names = [value or "" for value in rest]
    return problem, version, names, list(group.sizes), list(group.sizes.values()), group.method


def _by_latest_verdict(lines: list[Line]) -> tuple[list[Line], list[Line], list[Line]]:
    """Timed lines of accepted sources; the refused files' latest lines; accepted sources that were never timed.

    A source's latest verdict holds for its older lines, too: a fault that only a later seed finds was always there.
    Of the versions of a file that were refused only the newest is of interest.
    """
    latest: dict[tuple[str, str], Line] = {}
    newest: dict[str, str] = {}
    for line in lines:
        source = (line.file, line.source_hash)
        newest[line.file] = line.source_hash
        # The judge's own fault says nothing about the file.
        if line.verdict != rows.INTERNAL_ERROR or latest.get(source, line).verdict == rows.INTERNAL_ERROR:
            latest[source] = line
    accepted = {source for source, line in latest.items() if line.verdict == rows.ACCEPTED}
    timed = [line for line in lines if line.sizes is not None and (line.file, line.source_hash) in accepted]
    with_times = {(line.file, line.source_hash) for line in timed}
    current = [latest[source] for source in newest.items()]
    return (
        timed,
        [line for line in current if line.verdict != rows.ACCEPTED],
        [latest[source] for source in sorted(accepted - with_times)],
    )


def _emulated(lines: list[Line]) -> list[Standing]:
    """The latest line of each source, by name: even an order by time would look like a ranking."""
    by_source = _by_source(lines)
    return [Standing(None, False, by_source[s][-1], len(by_source[s]), "emulated") for s in sorted(by_source)]


def _by_source(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    sources: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        sources[line.file, line.source_hash].append(line)
    return sources


def _ranked(lines: list[Line]) -> list[Standing]:
    """The best line of each source by time, with ranks; after them the lines that deserve no rank."""
    clocks = [line.sm_clock_mhz for line in lines if line.sm_clock_mhz]
    # A clock that some line really had: between two clocks the middle would leave neither with a rank.
    usual_clock = median_high(clocks) if clocks else None
    by_note: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_note[_doubt(line, usual_clock)].append(line)
    runs_of = _by_source(by_note.pop("", []))
    best = sorted((min(runs, key=_device_time) for runs in runs_of.values()), key=_device_time)

    ranks = ranks_of(best)
    result = [
        Standing(rank, ranks.count(rank) > 1, line, len(runs_of[line.file, line.source_hash]), "")
        for rank, line in zip(ranks, best, strict=True)
    ]
    for note, doubtful in sorted(by_note.items()):
        by_source = _by_source(doubtful)
        result += [Standing(None, False, by_source[s][-1], len(by_source[s]), note) for s in sorted(by_source)]
    return result


def ranks_of(best: list[Line]) -> list[int]:
    """The ranks of lines in order of time.

    Lines share a rank where their intervals overlap, and so does a chain of such lines: any cut through it would part
    two that were not measured to differ. Each is compared with all before it, as the widest may reach furthest.
    """
    ranks: list[int] = []
    reach = float("-inf")
    for place, line in enumerate(best, start=1):
        ranks.append(ranks[-1] if line.low_us <= reach else place)
        reach = max(reach, line.high_us)
    return ranks


def _device_time(line: Line) -> float:
    return line.device_us


def _doubt(line: Line, usual_clock: float | None) -> str:
    """Why a timed line gets no rank, or ""."""
    if line.device_us is None:
        return "no device time"
    if rows.SUSPICIOUS in line.flags.split():
        return rows.SUSPICIOUS
    # No rank, rather than a group for each clock: a throttled run would be the first of its own group, and the edges
    # of such groups would part clocks that hardly differ.
    if line.sm_clock_mhz and usual_clock and abs(line.sm_clock_mhz / usual_clock - 1) > CLOCK_TOLERANCE:
        return f"clock differs (usual here: {usual_clock:,.0f} MHz)"
    return ""


def print_board(board: sqlite3.Connection, problem: str | None, console: Console) -> None:
    groups = standings(board, problem)
    if not groups:
        what = f"results for the problem {problem!r}" if problem else "results"
        console.print(Text(f"no {what} yet: python -m harness submit FILE"))
    for number, group in enumerate(groups):
        if number:
            console.print()
        console.print(Text(_heading(group), style="bold"), soft_wrap=True)
        if group.method:
            console.print(Text(group.method), soft_wrap=True)
        print_table(console, _table(group))


def _heading(group: Group) -> str:
    """Everything by which groups differ, but the method."""
    c = group.conditions
    sizes = [f"{name} = {value:,}" for name, value in group.sizes.items()]
    versions = {"driver": c.driver, "torch": c.torch, "triton": c.triton, "nvcc": c.nvcc}
    backend = "cpu backend (emulated)" if c.backend == "cpu" else f"{c.backend} backend"
    parts = [f"{c.problem} version {c.problem_version}", *sizes, backend, c.device or "unknown device"]
    return ", ".join([*parts, *(f"{name} {version}" for name, version in versions.items() if version)])


def _table(group: Group) -> Table:
    emulated = group.conditions.backend == "cpu"
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    times = ["emulated call ms"] if emulated else ["device us", "99 % interval", "call us", "GB/s", "of copy"]
    numbers = [*times, "x reference", *([] if emulated else ["SM MHz"]), "runs"] if group.method else []
    if not emulated:
        table.add_column("rank", no_wrap=True)
    for name in ("file", "source", "verdict"):
        table.add_column(name, overflow="fold", no_wrap=name != "file")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("date", "note"):
        table.add_column(name, no_wrap=True)
    for s in group.standings:
        line = s.line
        cells = [] if emulated else [f"{s.rank or ''}{' tie' * s.tie}"]
        cells += [line.file, line.source_hash[:12], Text(line.verdict, style=STYLES.get(line.verdict, "bold red"))]
        cells += _number_cells(s, emulated) if numbers and line.sizes else [""] * len(numbers)
        notes = [s.note, "reference" * bool(line.label), *line.flags.split()]
        cells += [line.date, ", ".join(dict.fromkeys(filter(None, notes)))]
        # Text, since rich would take [...] in a file's name for markup.
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in cells))
    return table


def _number_cells(standing: Standing, emulated: bool) -> list[str]:
    line = standing.line
    over = _number(line.over_reference, ",.2f", "x")
    if emulated:
        return [_number(line.call_us / 1e3, ",.3f"), over, str(standing.runs)]
    return [
        _number(line.device_us, ",.2f"),
        f"{line.low_us:,.2f} to {line.high_us:,.2f}",
        _number(line.call_us, ",.1f"),
        _number(line.gbps, ",.0f"),
        _number(line.of_ceiling, ".1%"),
        over,
        _number(line.sm_clock_mhz, ",.0f"),
        str(standing.runs),
    ]


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "" if value is None else f"{value:{form}}{unit}"
