"""The picture of a sweep, drawn by matplotlib: GB/s over size, the copy kernel's as the ceiling, cliffs marked."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter

# Okabe and Ito's colours, which colour-blind readers tell apart; each with a marker of its own.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def draw_sweep(document: dict, path: Path) -> None:
    """Writes the PNG of a sweep's document."""
    sweep, machine = document["sweep"], document["machine"]
    emulated = machine["backend"] == "cpu"
    axis = sweep["axis"]["name"]
    figure, axes = pyplot.subplots(figsize=(10.5, 6.2), layout="constrained")
    copies = {p["value"]: p.get("copy_us") if emulated else p.get("copy_gbps") for p in sweep["points"]}
    copies = {value: rate / 1e3 if emulated else rate for value, rate in copies.items() if rate is not None}
    axes.plot(list(copies), list(copies.values()), "--", color="0.45", linewidth=1.8, label="copy kernel: the ceiling")
    timed = [row for row in document["rows"] if row["timings"]]
    every = max(1, len(copies) // 24)
    for index, row in enumerate(timed):
        colour = COLOURS[index % len(COLOURS)]
        values = {t[axis]: t["call_us"] / 1e3 if emulated else t["gbps"] for t in row["timings"]}
        # A point without a value breaks the line, so that a failure is not bridged.
        order = [p["value"] for p in sweep["points"] if not p.get("left_out")]
        heights = [values.get(value, math.nan) for value in order]
        style = {"color": colour, "marker": MARKERS[index % len(MARKERS)], "markersize": 5, "markevery": every}
        axes.plot(order, heights, linewidth=1.6, label=row["file"], **style)
        _mark_cliffs(axes, sweep["cliffs"], row["file"], values, colour)
    if sweep["axis"]["geometric"]:
        axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.tick_params(axis="x", labelrotation=30 if sweep["axis"]["geometric"] else 0)
    if emulated:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(axis if sweep["axis"]["rows"] is None else f"{axis}, {sweep['axis']['rows']:,} rows")
    axes.set_ylabel("emulated call time, ms (says nothing about a GPU)" if emulated else "GB/s, read and written")
    axes.grid(color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    title = f"{sweep['problem']} over {axis}" + (", emulated on the CPU backend" if emulated else "")
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    where = machine["gpu"]["name"] if machine["gpu"] else machine["cpu"]
    marks = "x: fails there; ring: lost 20 % since the point before"
    caption = f"{where}, {machine['date'][:10]}. {sweep['method'][:1].upper()}{sweep['method'][1:]}. {marks}."
    figure.supxlabel(caption, fontsize=8, color="0.35", wrap=True)
    try:
        figure.savefig(path, dpi=150, format="png")
    finally:
        pyplot.close(figure)


def _mark_cliffs(axes: pyplot.Axes, cliffs: list[dict], file: str, values: dict[int, float], colour: str) -> None:
    for cliff in cliffs:
        if cliff["file"] != file:
            continue
        if cliff["kind"] == "loss":
            axes.plot(cliff["after"], values[cliff["after"]], "o", markersize=13, fillstyle="none", color="#B3261E")
        else:
            # At the height of the point before it, which is where the line breaks off.
            height = values.get(cliff["before"], min(values.values()))
            axes.plot(cliff["after"], height, "x", markersize=9, markeredgewidth=2.2, color=colour)
            axes.annotate(
                "fails", (cliff["after"], height), (6, 6), textcoords="offset points", color=colour, fontsize=9
            )
