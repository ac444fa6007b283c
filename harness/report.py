"""How results are shown: the table for people, the JSON for tools."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import rows
from harness.anatomy import lines
from harness.profiling import MOVED, Profile
from harness.rows import Duel, Row

if TYPE_CHECKING:
    from harness.doctor import Finding, Tally
    from harness.selftest import Outcome

SCHEMA = 1

STYLES = {rows.ACCEPTED: "bold green", rows.NOT_RUN: "yellow", rows.UNSUPPORTED: "yellow"}


LEAST_NAME = 16  # letters of a name on one line


def console() -> Console:
    """On a terminal with its colours; of any width, so that no name is ever shortened."""
    return Console(width=10_000) if sys.stdout.isatty() else Console(width=10_000, no_color=True, highlight=False)


def print_table(out: Console, table: Table) -> None:
    """Prints all of it: where a terminal is too narrow, names are folded, and if that is not enough its lines wrap."""
    if out.is_terminal:
        names = next(column for column in table.columns if column.overflow == "fold")
        room = shutil.get_terminal_size().columns
        if out.measure(table).maximum > room:
            names.max_width = LEAST_NAME
            spare = room - out.measure(table).maximum
            names.max_width = LEAST_NAME + spare if spare >= 0 else None
    out.print(table)


def print_rows(results: list[Row], machine: dict) -> None:
    out = console()
    timed = any(row.timings for row in results)
    emulated = machine["backend"] == "cpu"
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    for name in ("file", "problem", "verdict"):
        table.add_column(name, overflow="fold", no_wrap=name != "file")
    table.add_column("cases", justify="right", no_wrap=True)
    if timed:
        hot = any(t.hot_us is not None for row in results for t in row.timings)
        size = "size" if any(len(t.sizes) > 1 for row in results for t in row.timings) else "N"
        headings = [size, "device us", *(["hot us"] if hot else []), "call us", "GB/s", "of copy"]
        headings = [size, "emulated call ms"] if emulated else headings
        for heading in [*headings, "x reference"]:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in results:
        counted = [c for c in row.cases if c.verdict != rows.NOT_RUN]
        passed = sum(c.verdict == rows.ACCEPTED for c in row.cases)
        cells: list[Any] = [
            Text(_printable(row.file)),  # a Text: square brackets in a name are no markup
            row.problem,
            Text(row.verdict, style=STYLES.get(row.verdict, "bold red")),
            f"{passed}/{len(row.cases)}" if counted else "",
        ]
        if timed:
            cells += _timing_cells(row, emulated, hot) or [""] * (len(headings) + 1)
        table.add_row(*cells)
    print_table(out, table)
    _print_ceilings(results, out)
    for row in results:
        _print_notes(row, out)


def _print_ceilings(results: list[Row], out: Console) -> None:
    """The copy kernel and the empty kernel of each timed size: the same for every row of a problem."""
    seen = set()
    for row in results:
        for t in row.timings:
            size = rows.size_text(t.sizes)
            if t.copy_us is not None and t.empty_us is not None and (row.problem, size) not in seen:
                seen.add((row.problem, size))
                out.print(f"{row.problem}, {size}: copy kernel {t.copy_us:.2f} us, empty kernel {t.empty_us:.2f} us")


def print_duels(duels: Sequence[Duel]) -> None:
    out = console()
    for duel in duels:
        size = rows.size_text(duel.sizes)
        ratio = f"{three_digits(duel.ratio)}x its time"
        if duel.verdict:  # an emulation has one round, and no interval
            ratio += f" (99 %: {duel.low:.4g} to {duel.high:.4g}; {duel.rounds} rounds)"
        words = {
            "faster": f"{duel.a} is faster than {duel.b}",
            "slower": f"{duel.a} is slower than {duel.b}",
            "tie": f"tie between {duel.a} and {duel.b}",
            None: f"emulated, which ranks nothing: {duel.a} against {duel.b}",
        }[duel.verdict]
        out.print(Text(f"{words} at {size}: {duel.a_us:,.2f} us against {duel.b_us:,.2f} us, {ratio}"), soft_wrap=True)
        if duel.copy_us is not None:
            out.print(f"copy kernel {duel.copy_us:.2f} us in the same rounds")
        for warning in duel.warnings:
            out.print(Text(f"warning: {_printable(warning)}"), soft_wrap=True)


def print_examination(findings: list[Finding], outcomes: list[Outcome], tallies: list[Tally]) -> None:
    """What a doctor found: the machine, the problems, and of the corpus every kind."""
    out = console()
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        style = {"ok": "green", "absent": "yellow", "broken": "bold red"}[finding.state]
        table.add_row(finding.name, Text(finding.state, style=style), Text(_printable(finding.text)))
    out.print(table)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("problem", "mutant"):
        table.add_column(name)
    table.add_column("caught", justify="right")
    for outcome in outcomes:
        missed = "" if outcome.caught else "  MISSED"
        table.add_row(outcome.problem, outcome.mutant, f"{outcome.caught} of {outcome.applicable} cases{missed}")
    out.print()
    out.print(table)
    bad, good = ([tally for tally in tallies if (tally.kind == "good") == is_good] for is_good in (False, True))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("submissions")
    for name in ("judged", "as expected"):
        table.add_column(name, justify="right")
    for tally in [*bad, *good]:
        table.add_row(tally.kind, str(tally.count), str(tally.count - len(tally.unexpected)))
    if tallies:
        out.print()
        out.print(table)
    for tally in tallies:
        for text in tally.unexpected:
            out.print(Text(f"{tally.kind}: {_printable(text)}", style="bold red"), soft_wrap=True)
    caught, rejected = (sum(len(t.unexpected) for t in group) for group in (bad, good))
    if tallies:
        count = sum(tally.count for tally in bad)
        out.print(
            f"{count - caught} of {count} bad submissions caught, "
            f"{rejected} of {sum(tally.count for tally in good)} good ones falsely rejected"
        )


def print_profiles(profiles: Sequence[Profile]) -> None:
    """Each kernel's time and bytes; the bytes of all, as multiples of what the inputs and the outputs hold."""
    out = console()
    for profile in profiles:
        table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
        for name in ("kernel", "grid", "block"):
            table.add_column(name, overflow="fold")
        for name in ("us", "DRAM read", "DRAM written", "L2 read", "L2 written"):
            table.add_column(name, justify="right", no_wrap=True)
        for kernel in profile.kernels:
            moved = (kernel.dram_read, kernel.dram_written, kernel.l2_read, kernel.l2_written)
            cells = [kernel.grid, kernel.block, f"{kernel.us:,.2f}", *(_bytes(count) for count in moved)]
            table.add_row(Text(_printable(kernel.name)), *cells)
        ideal = (profile.ideal_read, profile.ideal_written) * 2
        total = [sum(getattr(k, name) for k in profile.kernels) for name in MOVED]
        table.add_row("all", "", "", f"{sum(k.us for k in profile.kernels):,.2f}", *map(_bytes, total), style="bold")
        shares = [f"{moved / least:.2f}x" for moved, least in zip(total, ideal, strict=True)]
        table.add_row("of the least", "", "", "", *shares)
        size = rows.size_text(profile.sizes)
        least = f"at least {_bytes(profile.ideal_read)} to read and {_bytes(profile.ideal_written)} to write"
        out.print(Text(f"{_printable(profile.file)} ({profile.problem}) at {size}: {least}", style="bold"))
        print_table(out, table)
        if any(not kernel.passes <= 1 for kernel in profile.kernels):
            out.print("warning: ncu needed several passes, between which the caches change")


def _bytes(count: float) -> str:
    """123 B, 2.05 MB, 1.07 GB: three significant digits."""
    for unit, worth in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= worth:
            return f"{three_digits(count / worth)} {unit}"
    return f"{count:.0f} B"


def _timing_cells(row: Row, emulated: bool, hot: bool) -> list[str]:
    table = []
    for t in row.timings:
        size = rows.size_text(t.sizes)
        over = "" if t.over_reference is None else three_digits(t.over_reference) + "x"
        if emulated:
            table.append([size, three_digits(t.call_us / 1e3), over])
        else:
            share = "" if t.of_ceiling is None else f"{t.of_ceiling:.1%}"
            rate = "" if t.gbps is None else f"{t.gbps:,.0f}"
            warm = [] if not hot else ["" if t.hot_us is None else f"{t.hot_us:,.2f}"]
            table.append([size, f"{t.device_us:,.2f}", *warm, f"{t.call_us:,.1f}", rate, share, over])
    return ["\n".join(column) for column in zip(*table, strict=True)]


def three_digits(value: float) -> str:
    """0.0605, 3.81, 2,400: at least three significant digits, never an exponent."""
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def _print_notes(row: Row, out: Console) -> None:
    notes = []
    if row.message:
        notes.append(f"{row.verdict}: {row.message}")
        replay = next((c.replay for c in row.cases if c.message == row.message), "")
        if replay:
            notes.append(f"replay: {_printable(replay)}")
    for t in row.timings:
        if t.anatomy:
            first, *rest = lines(t.anatomy)
            notes += [f"anatomy at {rows.size_text(t.sizes)}: {first}", *rest]
    notes += [f"flag: {flag}" for flag in row.flags]
    notes += [f"warning: {warning}" for warning in row.warnings]
    if notes:
        out.print()
        out.print(Text(_printable(row.file) + f" ({row.problem})", style="bold"))
        for note in notes:
            out.print(Text(f"  {note}"), soft_wrap=True)  # a command must survive being copied


def finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become the words "nan", "inf" and "-inf"."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _printable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def json_text(document: dict) -> str:
    """The document as JSON, one line for a list of numbers: a timing has hundreds of samples."""
    text = json.dumps(finite(document), indent=1, allow_nan=False)
    return re.sub(r"\[\n[-+.\deE,\s]+\]", lambda numbers: " ".join(numbers[0].split()), text) + "\n"


def run_document(
    results: list[Row],
    machine: dict,
    *,
    duels: Sequence[Duel] = (),
    profiles: Sequence[Profile] = (),
    examination: dict[str, list] | None = None,
    options: dict | None = None,
) -> dict[str, Any]:
    """A run as --json writes it."""
    document: dict[str, Any] = {"schema": SCHEMA, "machine": machine, "rows": [row.to_json() for row in results]}
    for name, records in (("duels", duels), ("profiles", profiles)):
        if records:
            document[name] = [record.to_json() for record in records]
    if examination:
        document["doctor"] = {name: [vars(record) for record in records] for name, records in examination.items()}
    if options:
        document["options"] = options
    return document
