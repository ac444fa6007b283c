"""A run as one HTML page that needs nothing beside itself: reads the JSON of a run, gives its facts to page.html.j2."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from harness import __version__, rows
from harness.document import write_whole
from harness.report import three_digits

FLAGS = {
    rows.NONDETERMINISTIC: "Two runs on the same input differ in bits. That is allowed: sums in another order do it.",
    rows.SUSPICIOUS: "The times cannot be true, by the memory's peak bandwidth or by the judge's own clock.",
    rows.PUBLISHED_RULE_DIFFERS: "The published tolerance would have decided at least one case the other way.",
    rows.LAUNCH_ERROR: "A CUDA call or a launch was refused, and the output was right all the same.",
    rows.UNDEFINED_BEHAVIOUR: "The CPU backend saw what CUDA leaves undefined: a race, say, or an uninitialised read.",
}

# The fields of a timing and of a duel beside their sizes, which stand among them.
TIMING_FIELDS = set(rows.Timing.__dataclass_fields__) - {"sizes"}
DUEL_FIELDS = set(rows.Duel.__dataclass_fields__) - {"sizes"}
BYTES = {"dram_read": "DRAM read", "dram_written": "DRAM written", "l2_read": "L2 read", "l2_written": "L2 written"}

SHOWN_CASES = 3  # failing cases of a file that are shown before one has to ask for more
SHOWN_TIMINGS = 24  # more than so many lines are folded away

SCRIPT = """
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const command = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
"""


def _number(value: Any) -> float | None:
    """A finite number, or None: JSON has the words "nan" and "inf" instead, and None for what was not measured."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


# ---- words ------------------------------------------------------------------------------------------------------


def _shown(value: Any, pattern: str, unit: float = 1.0) -> str:
    """A number in a format such as ",.2f"; nothing where there is none, and the value itself where it is no number."""
    if value is None or isinstance(value, jinja2.Undefined):
        return ""
    number = _number(value)
    return str(value) if number is None else format(number / unit, pattern)


def _multiple(value: Any) -> str:
    number = _number(value)
    return "" if number is None else three_digits(number) + "x"


def _milliseconds(us: Any) -> str:
    number = _number(us)
    return str(us) if number is None else three_digits(number / 1e3)


def size_of(record: dict, fields: set[str] = TIMING_FIELDS) -> str:
    """ "500,000" for one size, "4,096 x 1,024" for the rows and columns of more; strides are not named."""
    return _join({name: value for name, value in record.items() if name not in fields})


def _join(sizes: dict) -> str:
    return " x ".join(_shown(value, ",.0f") for name, value in sizes.items() if "stride" not in name)


def _plain(text: str) -> str:
    """Without lone surrogates, which no encoding has, and without control characters, which HTML does not allow."""
    clean = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(
        c if c in "\n\t" or (c >= " " and not 0x7F <= ord(c) < 0xA0) else "\N{REPLACEMENT CHARACTER}" for c in clean
    )


def _breakable(name: str) -> Markup:
    """A file's name that may go on in the next line behind a slash or an underscore."""
    return Markup(re.sub(r"([/_])", r"\1<wbr>", str(escape(_plain(name)))))


def _kind(verdict: str) -> str:
    """Which of three colours a verdict has."""
    if verdict == rows.ACCEPTED:
        return "good"
    return "open" if verdict in (rows.NOT_RUN, rows.UNSUPPORTED) else "bad"


def _answer(run: dict) -> str:
    """One line: how many were accepted, where."""
    judged = [row for row in run["rows"] if not row.get("label")]
    accepted = sum(row["verdict"] == rows.ACCEPTED for row in judged)
    gpu, backend = run["machine"].get("gpu"), run["machine"]["backend"]
    where = f"on {gpu['name']}" if gpu else f"on the {backend.upper()} backend, with no GPU"
    if not judged:
        profiled = len(run.get("profiles", []))
        return f"{profiled} {'profile' if profiled == 1 else 'profiles'} {where}"
    return f"{accepted} of {len(judged)} accepted {where}"


def _failures(row: dict) -> dict:
    """What is shown of a file that is not accepted: the case that decides first, then the others that failed."""
    failed = [c for c in row["cases"] if c["verdict"] not in (rows.ACCEPTED, rows.NOT_RUN)]
    failed.sort(key=lambda case: case["message"] != row["message"])  # stable: the others stay in run order
    return {
        "row": row,
        "first": failed[:SHOWN_CASES],
        "more": failed[SHOWN_CASES:],
        "not_run": sum(case["verdict"] == rows.NOT_RUN for case in row["cases"]),
    }


def _activities(anatomy: dict) -> list[dict]:
    """The activities of a call with what is shown of them; their records came from the submission's process."""
    shown = []
    ends = []
    for activity in anatomy["activities"]:
        at, us = _number(activity.get("at_us")), _number(activity.get("us"))
        if at is not None and us is not None:
            ends.append(at + us)
        is_kernel = activity.get("what") == "kernel"
        name = (
            activity.get("name")
            if is_kernel
            else f"{activity.get('what')} of {_shown(activity.get('bytes'), ',.0f')} B"
        )
        grid, block = (activity.get(key) for key in ("grid", "block"))
        shapes = [" x ".join(map(str, shape)) if isinstance(shape, list) else "" for shape in (grid, block)]
        shown.append({**activity, "name": str(name), "grid": shapes[0], "block": shapes[1], "width": 0})
    span = max(ends, default=0)
    for activity in shown:
        at, us = _number(activity.get("at_us")), _number(activity.get("us"))
        if span > 0 and at is not None and us is not None:
            activity["left"], activity["width"] = round(100 * at / span, 2), max(0.3, round(100 * us / span, 2))
    return shown


# ---- pictures ---------------------------------------------------------------------------------------------------
#
# Drawn as SVG whose horizontal coordinates are shares of the width and whose text and markers are pixels, so that one
# picture is right on a phone and on a desk. Colours are the page's, so that they follow light and dark.


@dataclass(frozen=True)
class Scale:
    """Maps values to 0..100 between two ends, evenly or by their logarithm; `ticks` are the values to name."""

    low: float
    high: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        low, high, value = (math.log(v) if self.logarithmic else v for v in (self.low, self.high, value))
        return round(100 * (value - low) / (high - low), 3)


def logarithmic_scale(values: Iterable[float]) -> Scale:
    """A scale from the number 1, 2 or 5 times a power of ten below all values to the one above."""
    values = list(values)
    steps = [m * 10.0**e for e in range(-9, 15) for m in (1, 2, 5)]
    low = max((step for step in steps if step < min(values)), default=steps[0])
    high = min((step for step in steps if step > max(values)), default=steps[-1])
    ticks = [step for step in steps if low <= step <= high]
    if len(ticks) > 6:
        ticks = [
            t for t in ticks if math.isclose(math.log10(t) % 1, 0, abs_tol=1e-9) or math.isclose(math.log10(t) % 1, 1)
        ]
    return Scale(low, high, True, tuple(ticks[:: math.ceil(len(ticks) / 6)]))


def linear_scale(high: float) -> Scale:
    """A scale from 0 to a round number not below `high`, with four or five steps."""
    step = next(m * 10.0**e for e in range(-9, 15) for m in (1, 2, 2.5, 5) if 5 * m * 10.0**e >= high)
    count = math.ceil(high / step)
    return Scale(0.0, count * step, False, tuple(i * step for i in range(count + 1)))


def _tick(value: float) -> str:
    for limit, letter in ((1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (limit if letter == 'M' else 1e3):.3g} {letter}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


@dataclass(frozen=True)
class DotPlot:
    """Medians on a logarithmic axis of time: one line for each contestant, the copy and the empty kernel as rules."""

    title: str
    unit: str
    scale: Scale
    lines: list[dict]
    rules: list[dict]
    words: str  # the same for those who do not see it


def _dot_plots(run: dict, emulated: bool) -> list[DotPlot]:
    groups: dict[tuple[str, str], list[tuple[dict, dict]]] = {}
    for row in run["rows"]:
        for timing in row["timings"]:
            groups.setdefault((row["problem"], size_of(timing)), []).append((row, timing))
    return [
        plot
        for (problem, size), group in groups.items()
        if (plot := _dot_plot(problem, size, group, emulated)) is not None
    ]


def _dot_plot(problem: str, size: str, group: list[tuple[dict, dict]], emulated: bool) -> DotPlot | None:
    factor, unit = (1e-3, "ms") if emulated else (1.0, "us")
    lines = []
    for row, timing in group:
        median = _number(timing["call_us"] if emulated else timing.get("device_us"))
        low, high = _number(timing["low_us"]), _number(timing["high_us"])
        if median is None or low is None or high is None or not 0 < low <= high or not median > 0:
            continue
        samples = sorted(n for n in map(_number, timing["samples"]) if n is not None and n > 0) or [median]
        spread = samples[len(samples) // 20], samples[-1 - len(samples) // 20]
        lines.append(
            {
                "file": row["file"],
                "label": row.get("label", ""),
                "median": median * factor,
                "interval": (low * factor, high * factor),
                "spread": (spread[0] * factor, spread[1] * factor),
                "samples": len(samples),
            }
        )
    if not lines:
        return None
    rules = []
    for name, key in (("empty kernel", "empty_us"), ("copy kernel", "copy_us")):
        value = _number(group[0][1].get(key))
        if value is not None and value > 0 and not emulated:
            rules.append({"name": name, "value": value, "text": three_digits(value)})
    if not emulated:
        lines.sort(key=lambda line: line["median"])
    ends = [v for line in lines for v in (*line["spread"], *line["interval"], line["median"])]
    for line in lines:
        line["text"] = three_digits(line["median"])
    words = "; ".join([f"{line['file']} {line['text']} {unit}" for line in lines])
    words += "".join(f"; {rule['name']} {rule['text']} {unit}" for rule in rules)
    scale = logarithmic_scale([*ends, *(rule["value"] for rule in rules)])
    return DotPlot(f"{problem}, {size}", unit, scale, lines, rules, words)


@dataclass(frozen=True)
class Curve:
    """One contestant of a sweep: `runs` are stretches of neighbouring points, `lost` where it failed."""

    name: str
    style: int
    runs: list[list[dict]]
    lost: list[dict]


@dataclass(frozen=True)
class SweepPlot:
    title: str
    quantity: str
    x: Scale
    y: Scale
    curves: list[Curve]
    cliffs: list[dict]
    words: str


def _drawn(us: Any, gbps: Any, emulated: bool) -> float | None:
    """What is drawn of a point: GB/s, or milliseconds where they are emulated."""
    value = _number(us if emulated else gbps)
    return value if value is None or not emulated else value / 1e3


def _sweep_plot(run: dict, emulated: bool) -> SweepPlot | None:
    sweep = run["sweep"]
    axis = str(sweep["axis"].get("name"))
    order = [point["value"] for point in sweep["points"] if not point.get("left_out")]
    series: list[tuple[str, dict[int, float]]] = []
    for row in run["rows"]:
        values = {
            timing.get(axis): _drawn(timing["call_us"], timing.get("gbps"), emulated) for timing in row["timings"]
        }
        series.append((row["file"], {x: y for x, y in values.items() if y is not None and y > 0}))
    copies = {p["value"]: _drawn(p.get("copy_us"), p.get("copy_gbps"), emulated) for p in sweep["points"]}
    series = [(name, values) for name, values in series if values]
    series.append(("copy kernel", {x: y for x, y in copies.items() if y is not None and y > 0}))
    heights = [y for _, values in series for y in values.values()]
    if not heights:
        return None
    low, high = float(order[0]), float(max(order[-1], order[0] + 1))
    geometric = sweep["axis"].get("geometric") is True and low > 0
    named = {order[round(i * (len(order) - 1) / 3)] for i in range(4)}
    x = Scale(low, high, geometric, tuple(map(float, sorted(named))))
    y = logarithmic_scale(heights) if emulated else linear_scale(max(heights))
    curves = []
    for style, (name, values) in enumerate(series):
        runs: list[list[dict]] = [[]]
        lost = []
        last = None
        for point in sweep["points"]:
            value = values.get(point["value"])
            if value is not None:
                last = {
                    "x": x.at(point["value"]),
                    "y": 100 - y.at(value),
                    "value": point["value"],
                    "text": three_digits(value),
                }
                runs[-1].append(last)
                continue
            runs.append([])
            if name in point.get("failures", {}):
                why = str(point["failures"][name])
                height = last["y"] if last else 100.0
                lost.append({"x": x.at(point["value"]), "y": height, "value": point["value"], "why": why})
        curves.append(Curve(name, -1 if name == "copy kernel" else style, [r for r in runs if r], lost))
    cliffs = []
    for cliff in sweep["cliffs"]:
        for curve in curves:
            for point in (p for stretch in curve.runs for p in stretch):
                if cliff.get("kind") == "loss" and (curve.name, point["value"]) == (
                    cliff.get("file"),
                    cliff.get("after"),
                ):
                    cliffs.append(point)
    quantity = "emulated call time, ms" if emulated else "GB/s"
    words = (
        f"{quantity} of {len(curves)} contestants at {len(order)} values of {axis} from {order[0]:,} to {order[-1]:,}"
    )
    row_count = _number(sweep["axis"].get("rows"))
    title = f"{sweep['problem']} over {axis}" + ("" if row_count is None else f", at {row_count:,.0f} rows")
    return SweepPlot(title, quantity, x, y, curves, cliffs, words)


# ---- the page ---------------------------------------------------------------------------------------------------


def templates() -> jinja2.Environment:
    """Where pages come from: whatever is put into one is escaped and made printable."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,  # what another version did not write stays empty,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _plain(value) if type(value) is str else value,
    )
    filters: dict[str, Callable] = {
        "shown": _shown,
        "multiple": _multiple,
        "ms": _milliseconds,
        "size": size_of,
        "breakable": _breakable,
        "kind": _kind,
        "tick": _tick,
    }
    environment.filters.update(filters)
    return environment


def hash_of(script: str) -> str:
    """By which a page's policy names the one script that may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def render(run: dict, name: str) -> str:
    """The page of a run that was read from a file called `name`."""
    emulated = run["machine"]["backend"] == "cpu"
    sweep = run.get("sweep")
    timings = [(row, timing) for row in run["rows"] for timing in row["timings"]]
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            run=run,
            machine=run["machine"],
            duel_fields=DUEL_FIELDS,
            profiles=[(profile, _join(profile["sizes"])) for profile in run.get("profiles", [])],
            bytes_moved=BYTES,
            name=name,
            answer=_answer(run),
            counts=Counter(row["verdict"] for row in run["rows"] if not row.get("label")),
            emulated=emulated,
            failures=[_failures(row) for row in run["rows"] if row["verdict"] != rows.ACCEPTED],
            remarks=[row for row in run["rows"] if row["flags"] or row["warnings"]],
            flag_words=FLAGS,
            timings=timings,
            folded=len(timings) > SHOWN_TIMINGS,
            hot=any(timing.get("hot_us") is not None for _, timing in timings),
            methods=sorted({timing["method"] for _, timing in timings}),
            dot_plots=[] if sweep else _dot_plots(run, emulated),
            sweep_plot=_sweep_plot(run, emulated) if sweep and sweep["points"] else None,
            anatomies=[
                (row, timing, _activities(timing["anatomy"])) for row, timing in timings if timing.get("anatomy")
            ],
            seeds=sorted({str(row.get("seed")) for row in run["rows"]}),
            accepted=rows.ACCEPTED,
            script=SCRIPT,
            script_hash=hash_of(SCRIPT),
            version=__version__,
        )
    )


def write_page(run: dict, name: str, target: Path) -> None:
    write_whole(target, render(run, name).encode("utf-8"), "-o")
