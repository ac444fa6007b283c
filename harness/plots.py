"""Pictures of a run, drawn by matplotlib: times beside the copy kernel's, or GB/s over size with cliffs marked."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import patheffects, pyplot
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.document import write_whole
from harness.errors import UsageError
from harness.page import size_of
from harness.report import three_digits

# Okabe and Ito's colours, which colour-blind readers tell apart; each with a marker of its own.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
CLIFF = "#B3261E"

# Inches. The legend and the caption stand below the axes, one line of the legend for so many names.
WIDTH, HEIGHT, LEGEND_LINE, LEGEND_COLUMNS = 10.5, 5.4, 0.24, 3
LEFT, RIGHT, TOP, TICKS, CAPTION = 0.85, 0.3, 0.45, 0.85, 0.5


# Of the leaderboard, in inches: a line, and what a problem takes beside its lines.
LINE, PANEL, NAMES = 0.25, 0.75, 3.1


def draw(document: dict, path: Path) -> None:
    """Writes the PNG of a document that a verb wrote. Raises UsageError where it holds no times."""
    if "sweep" in document:
        draw_sweep(document, path)
    else:
        draw_times(document, path)


def draw_times(document: dict, path: Path) -> None:
    """Writes the PNG of a run: by problem and size the times, the fastest first, and the copy kernel as a line."""
    machine = document["machine"]
    emulated = machine["backend"] == "cpu"
    groups: dict[tuple[str, str], list[tuple[str, dict]]] = {}
    for row in document["rows"]:
        for timing in row["timings"]:
            groups.setdefault((row["problem"], size_of(timing)), []).append((row["file"], timing))
    if not groups:
        raise UsageError("the run holds no times to draw: `submit` and `bench` take them, `check` does not")
    height = CAPTION + TOP + sum(PANEL + LINE * len(group) for group in groups.values())
    figure = pyplot.figure(figsize=(WIDTH, height))
    above = height - TOP / 4
    for (problem, size), group in groups.items():
        group = sorted(group, key=lambda entry: _microseconds(entry[1]), reverse=True)
        tall = LINE * len(group)
        above -= PANEL / 2 + tall
        axes = figure.add_axes((NAMES / WIDTH, above / height, 1 - (NAMES + RIGHT) / WIDTH, tall / height))
        above -= PANEL / 2
        _draw_panel(axes, group, emulated)
        axes.set_title(f"{problem}, {size}", loc="left", fontsize=11, fontweight="bold")
    what = "Emulated call time, ms, says nothing about a GPU" if emulated else "Device time, us. Dashed: copy kernel"
    method = group[0][1]["method"]
    caption = f"{_where(machine)}. {what}. Bars: 99 % intervals.\n{method[:1].upper()}{method[1:]}."
    figure.text(0.02, 0.12 / height, caption, fontsize=8, color="0.35")
    try:
        _write(figure, path, f"times, {machine['date']}")
    finally:
        pyplot.close(figure)


def _write(figure: Figure, path: Path, description: str) -> None:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format="png", metadata={"Description": description})
    write_whole(path, picture.getvalue(), "--png")


def _microseconds(timing: dict) -> float:
    """What a contestant is compared by; on the CPU backend there is no device time."""
    return timing["call_us"] if timing.get("device_us") is None else timing["device_us"]


def _draw_panel(axes: Any, group: list[tuple[str, dict]], emulated: bool) -> None:
    factor = 1e-3 if emulated else 1.0
    for place, (file, timing) in enumerate(group):
        middle, low, high = (us * factor for us in (_microseconds(timing), timing["low_us"], timing["high_us"]))
        colour = "0.45" if file.startswith("torch.") else COLOURS[0]
        axes.plot([low, high], [place, place], color=colour, linewidth=3, solid_capstyle="butt", alpha=0.5)
        axes.plot(middle, place, "o", color=colour, markersize=6)
        share = "" if timing.get("of_ceiling") is None else f", {timing['of_ceiling']:.1%} of copy"
        note = f"{three_digits(middle) if emulated else format(middle, ',.2f')} {'ms' if emulated else 'us'}{share}"
        end = (max(high, middle), place)
        text = axes.annotate(note, end, (7, 0), textcoords="offset points", va="center", fontsize=8)
        text.set_path_effects([patheffects.withStroke(linewidth=3, foreground="white")])
    if not emulated and group[0][1].get("copy_us"):
        axes.axvline(group[0][1]["copy_us"], color=CLIFF, linestyle="--", linewidth=1.2)
    axes.set_yticks(range(len(group)), [file for file, _ in group], fontsize=9)
    axes.set_ylim(-0.6, len(group) - 0.4)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.1, max(1.5 * high, high * (high / low) ** 0.35))  # room for the last one's note
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


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
        _write(figure, path, f"{title}, {machine['date']}")
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
    method = sweep["method"][:1].upper() + sweep["method"][1:]
    marks = "Cross: it fails there." + ("" if emulated else " Ring: 20 % or more lost since the point before.")
    return f"{_where(machine)}. {marks}\n{method}."


def _where(machine: dict) -> str:
    where = machine["gpu"]["name"] if machine["gpu"] else f"CPU backend, {machine['cpu']}"
    return f"{where}, {machine['date'][:10]}"
