"""The picture of a sweep, drawn by matplotlib: GB/s over size, the copy kernel's as the ceiling, cliffs marked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import patheffects, pyplot
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

# Okabe and Ito's colours, which colour-blind readers tell apart; each with a marker of its own.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
CLIFF = "#B3261E"

# Inches. The legend and the caption stand below the axes, one line of the legend for so many names.
WIDTH, HEIGHT, LEGEND_LINE, LEGEND_COLUMNS = 10.5, 5.4, 0.24, 3
LEFT, RIGHT, TOP, TICKS, CAPTION = 0.85, 0.3, 0.45, 0.85, 0.5


def draw_sweep(document: dict, path: Path) -> None:
    """Writes the PNG of a sweep's document."""
    sweep, machine = document["sweep"], document["machine"]
    emulated = machine["backend"] == "cpu"
    name, geometric = sweep["axis"]["name"], sweep["axis"]["geometric"]
    points = [point for point in sweep["points"] if not point.get("left_out")]
    timed = [row for row in document["rows"] if row["timings"]]
    legend = LEGEND_LINE * math.ceil((len(timed) + 1) / LEGEND_COLUMNS)
    below = TICKS + legend + CAPTION
    height = HEIGHT + legend
    figure = pyplot.figure(figsize=(WIDTH, height))
    box = (LEFT / WIDTH, below / height, 1 - (LEFT + RIGHT) / WIDTH, 1 - (below + TOP) / height)
    axes = figure.add_axes(box)

    order = [point["value"] for point in points]
    ceiling = "copy kernel" if emulated else "copy kernel, the ceiling"
    copies = [_height(point["copy_us"], point["copy_gbps"], emulated) for point in points]
    axes.plot(order, copies, "--", color="0.45", linewidth=1.8, label=ceiling)
    for index, row in enumerate(timed):
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
        values = {t[name]: _height(t["call_us"], t["gbps"], emulated) for t in row["timings"]}
        # A point without a value breaks the line, so that a failure is not bridged.
        heights = [values.get(value, math.nan) for value in order]
        every = max(1, len(order) // 24)
        axes.plot(order, heights, color=colour, marker=marker, markersize=5, markevery=every, label=row["file"])
        _mark_failures(axes, points, row["file"], values, colour)
        for cliff in sweep["cliffs"]:
            if (cliff["file"], cliff["kind"]) == (row["file"], "loss"):
                axes.plot(cliff["after"], values[cliff["after"]], "o", markersize=13, fillstyle="none", color=CLIFF)

    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    if geometric:
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
    axes.xaxis.set_major_formatter(plain)
    if emulated:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(plain)
    rows = sweep["axis"]["rows"]
    axes.set_xlabel(name if rows is None else f"{name}, at {rows:,} rows")
    axes.set_ylabel("emulated call time, ms" if emulated else "GB/s, read and written")
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    title = f"{sweep['problem']} over {name}" + (": emulated, says nothing about a GPU" if emulated else "")
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold")
    figure.legend(
        loc="upper left",
        bbox_to_anchor=(LEFT / WIDTH, (below - TICKS + 0.1) / height),
        ncols=LEGEND_COLUMNS,
        frameon=False,
        fontsize=9,
        borderaxespad=0,
    )
    figure.text(LEFT / WIDTH, 0.12 / height, _caption(sweep, machine, emulated), fontsize=8, color="0.35")
    try:
        figure.savefig(path, dpi=150, format="png", metadata={"Description": title})
    finally:
        pyplot.close(figure)


def _height(us: float | None, gbps: float | None, emulated: bool) -> float:
    value = us if emulated else gbps
    return math.nan if value is None else value / 1e3 if emulated else value


def _mark_failures(axes: Any, points: list[dict], file: str, values: dict[int, float], colour: str) -> None:
    """A cross where the file failed, at the height of the last point that it reached."""
    height, failed = min(values.values()), False
    for point in points:
        if file not in point["failures"]:
            height, failed = values.get(point["value"], height), False
            continue
        axes.plot(point["value"], height, "x", markersize=8, markeredgewidth=2, color=colour)
        if not failed:
            text = axes.annotate("fails", (point["value"], height), (7, 5), textcoords="offset points", color=colour)
            text.set_path_effects([patheffects.withStroke(linewidth=3, foreground="white")])
        failed = True


def _caption(sweep: dict, machine: dict, emulated: bool) -> str:
    where = machine["gpu"]["name"] if machine["gpu"] else f"CPU backend, {machine['cpu']}"
    method = sweep["method"][:1].upper() + sweep["method"][1:]
    marks = "Cross: it fails there." + ("" if emulated else " Ring: 20 % or more lost since the point before.")
    return f"{where}, {machine['date'][:10]}. {marks}\n{method}."
