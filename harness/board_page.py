"""The board as one HTML page that needs nothing beside itself: each file's best and the history of its verdicts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness import __version__, rows
from harness.board import Group, Line, Standing, ranks_of, read_lines, standings
from harness.document import write_whole
from harness.page import hash_of, templates

# What the page can do beside being read: a heading sorts its table, the fields at the top hide what they do not name.
SCRIPT = """
const fields = Object.fromEntries(["file", "problem", "device", "verdict"].map(n => [n, document.getElementById(n)]));
document.getElementById("filters").hidden = false;
function filter() {
  let shown = 0;
  for (const section of document.querySelectorAll("section.standing")) {
    const fits = ["problem", "device"].every(n => !fields[n].value || section.dataset[n] === fields[n].value);
    let left = 0;
    for (const row of section.querySelectorAll("tbody tr")) {
      const named = row.dataset.file.toLowerCase().includes(fields.file.value.toLowerCase());
      row.hidden = !(named && (!fields.verdict.value || row.dataset.verdict === fields.verdict.value));
      left += !row.hidden;
    }
    section.hidden = !(fits && left);
    shown += section.hidden ? 0 : left;
  }
  document.getElementById("shown").textContent = shown + (shown === 1 ? " line" : " lines");
}
for (const field of Object.values(fields)) field.addEventListener("input", filter);
for (const button of document.querySelectorAll("th button")) {
  button.disabled = false;
  button.addEventListener("click", () => {
    const heading = button.closest("th"), table = heading.closest("table"), body = table.tBodies[0];
    const up = heading.getAttribute("aria-sort") !== "ascending", column = heading.cellIndex;
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
    const compare = (a, b) => {
      const x = key(a), y = key(b);
      if (x === "" || y === "") return (x === "") - (y === "");  // what was not measured comes last, either way
      const order = heading.classList.contains("n") ? x - y : x.localeCompare(y);
      return up ? order : -order;
    };
    body.append(...[...body.rows].sort(compare));
  });
}
filter();
"""


@dataclass(frozen=True)
class Entry:
    """A file in a table: its best line there, and every verdict that it ever got for the problem on such a device."""

    standing: Standing
    history: list[Line]


@dataclass(frozen=True)
class Table:
    """One group of the board with one entry a file."""

    group: Group
    entries: list[Entry]

    @property
    def emulated(self) -> bool:
        return self.group.conditions.backend == "cpu"

    @property
    def device(self) -> str:
        return self.group.conditions.device or "unknown device"

    @property
    def sizes(self) -> str:
        return ", ".join(f"{name} = {value:,}" for name, value in self.group.sizes.items())

    @property
    def versions(self) -> str:
        c = self.group.conditions
        named = {"driver": c.driver, "torch": c.torch, "triton": c.triton, "nvcc": c.nvcc}
        return ", ".join(f"{name} {version}" for name, version in named.items() if version)


def tables(board: sqlite3.Connection, problem: str | None) -> list[Table]:
    """The board's groups, those of GPUs first, in each the best of every file; ranks are among these."""
    histories: dict[tuple, dict[tuple, Line]] = {}
    for line in read_lines(board, problem):
        # Several sizes of one run are one verdict.
        histories.setdefault(_whose(line), {})[line.date, line.source_hash, line.seed, line.verdict] = line
    found = []
    for group in standings(board, problem):
        best: dict[tuple, Standing] = {}
        for standing in group.standings:
            best.setdefault((standing.line.file, standing.line.label), standing)
        chosen = _ranked_anew(best.values())
        entries = [Entry(standing, list(histories[_whose(standing.line)].values())) for standing in chosen]
        found.append(Table(group, entries))
    return sorted(found, key=lambda table: (table.group.conditions.problem, table.emulated))


def _whose(line: Line) -> tuple:
    return line.file, line.label, line.problem, line.backend, line.cpu if line.backend == "cpu" else line.gpu


def _ranked_anew(best: Iterable[Standing]) -> list[Standing]:
    """The same with ranks among themselves: of the standings with ranks, which come first, some have gone."""
    best = list(best)
    ranked = [standing for standing in best if standing.rank is not None]
    ranks = ranks_of([standing.line for standing in ranked])
    anew = [replace(s, rank=rank, tie=ranks.count(rank) > 1) for s, rank in zip(ranked, ranks, strict=True)]
    return anew + [standing for standing in best if standing.rank is None]


def render(board: sqlite3.Connection, problem: str | None) -> str:
    found = tables(board, problem)
    lines = [entry.standing.line for table in found for entry in table.entries]
    files = {line.file for line in lines if not line.label}
    return (
        templates()
        .get_template("board.html.j2")
        .render(
            tables=found,
            files=len(files),
            problems=sorted({table.group.conditions.problem for table in found}),
            devices=sorted({table.device for table in found}),
            verdicts=sorted({line.verdict for line in lines}, key=lambda v: (v != rows.ACCEPTED, v)),
            dates=sorted(line.date for table in found for entry in table.entries for line in entry.history),
            script=SCRIPT,
            script_hash=hash_of(SCRIPT),
            version=__version__,
        )
    )


def write_board(board: sqlite3.Connection, problem: str | None, target: Path) -> None:
    write_whole(target, render(board, problem).encode("utf-8"), "--html")
