"""Times the same kernels with the judge's clock and with others: `python tests/clock/compare_clocks.py --json PATH`.

The measure is the replay of a CUDA graph of many identical nodes: it uses nothing of CUPTI and no clock of the host,
and the cost of its launch is shared by all nodes. Above 20 us the judge's device time must be within 3 % of it, else
the exit status is 1. The L2 cache is hot for every clock: nothing is flushed between calls.

Graph replay, events, calls and the judge's clock run in one process, and whatever CUPTI could disturb runs before it is
loaded. The profiler, cupti-python and nvbench get a process each: CUPTI has room for one set of callbacks in a process.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

LIMIT, ABOVE_US = 0.03, 20.0
TOTAL_SECONDS = 86.0
SAMPLES, SECONDS = 60, 0.15  # of one clock at one kernel; at least FEWEST samples
FEWEST = 5
PROFILER_CALLS = 50

WALK, STREAM, TWO_KERNELS = 0, 1, 2  # Kind in kernels.cu
# (kernel, kind, repeats, target in us). The walk's repeats keep its n under 2 MB, which every L2 holds. 22 and not 20:
# calibration is not exact, and this one is meant to be judged.
PLAN = [
    ("empty", WALK, 1, 0),
    *[("walk", WALK, 4, target) for target in (3, 10, 22, 100)],
    ("walk", WALK, 40, 1_000),
    ("walk", WALK, 400, 10_000),
    *[("stream", STREAM, 1, target) for target in (10, 100, 500)],
    *[("two kernels", TWO_KERNELS, 1, target) for target in (10, 100)],
]
CALIBRATION = {WALK: (1 << 14, 1 << 17), STREAM: (1 << 24, 1 << 26), TWO_KERNELS: (1 << 24, 1 << 26)}
NVBENCH_CASES = [("walk", 100), ("stream", 100)]

GRAPH = "graph replay"
JUDGE = {"async": "GpuClock, async", "sync": "GpuClock, sync"}
CLOCKS = [
    GRAPH,
    *JUDGE.values(),
    "events, async",
    "events, sync",
    "profiler, async",
    "profiler, sync",
    "cupti-python, async",
    "cupti-python, sync",
]
CALL, CALL_PAUSED, CALL_RECORDING = "call, no CUPTI", "call, recorder paused", "call, recording"

# ---- measuring: in processes of their own -----------------------------------------------------------------------


class Kernels:
    """The library of kernels.cu and two buffers on the GPU. A case is one row of PLAN with its n."""

    def __init__(self, library: str) -> None:
        import torch  # first: it loads the CUDA runtime that the library shares with it

        from harness import gpu

        torch.cuda.init()
        self._torch = torch
        # Floats in a buffer: both together take at most an eighth of the memory.
        self.capacity = min(1 << 28, gpu.describe().memory_bytes // 64)
        self._in = torch.rand(self.capacity, device="cuda")
        self._out = torch.zeros(self.capacity, device="cuda")
        torch.cuda.synchronize()
        self._library = ctypes.CDLL(library)
        arguments = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_int]
        for name, types in (
            ("solve_async", arguments),
            ("solve_sync", arguments),
            ("launch_stream", [*arguments, ctypes.c_void_p]),
        ):
            function = getattr(self._library, name)
            function.argtypes, function.restype, function.errcheck = types, ctypes.c_int, _check
        for kind in (WALK, STREAM, TWO_KERNELS):  # kernels are loaded at their first launch, which no capture allows
            self._library.solve_sync(kind, *self._arguments({"n": 1024, "repeats": 1}))

    def _arguments(self, case: dict) -> tuple[int, int, int, int]:
        return self._out.data_ptr(), self._in.data_ptr(), case["n"], case["repeats"]

    def solve(self, case: dict, variant: str) -> Callable[[], int]:
        """A call without arguments; variant is async or sync."""
        function = getattr(self._library, f"solve_{variant}")
        kind, arguments = case["kind"], self._arguments(case)
        return lambda: function(kind, *arguments)

    def launch(self, case: dict, stream: int) -> None:
        self._library.launch_stream(case["kind"], *self._arguments(case), stream)

    def warm_up(self, solve: Callable[[], int], seconds: float = 0.02) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            solve()
            self._torch.cuda.synchronize()

    def graph(self, case: dict, nodes: int) -> Any:
        """A CUDA graph of `nodes` calls in a row."""
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.stream(self._torch.cuda.Stream()):
            graph.capture_begin()
            for _ in range(nodes):
                self.launch(case, self._torch.cuda.current_stream().cuda_stream)
            graph.capture_end()
        self._torch.cuda.synchronize()
        return graph

    def between_events(self, work: Callable[[], Any]) -> float:
        """Microseconds between two events around `work` on the current stream."""
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3

    def replay_us(self, case: dict, about_us: float, seconds: float) -> tuple[list[float], int]:
        """Microseconds per node, one sample a replay, and the number of nodes: enough for 4 ms, 10 to 400."""
        nodes = int(min(max(4000 / max(about_us, 1.0), 10), 400))
        graph = self.graph(case, nodes)
        for _ in range(2):
            self.between_events(graph.replay)
        return collect(lambda: self.between_events(graph.replay) / nodes, seconds), nodes


def _check(status: int, *_: object) -> int:
    if status != 0:
        raise RuntimeError(f"a launch failed with CUDA error {status}")
    return status


def collect(sample: Callable[[], float], seconds: float = SECONDS) -> list[float]:
    results: list[float] = []
    deadline = time.monotonic() + seconds
    while len(results) < SAMPLES and (len(results) < FEWEST or time.monotonic() < deadline):
        results.append(sample())
    return results


def call_us(solve: Callable[[], int]) -> float:
    started = time.perf_counter_ns()
    solve()
    return (time.perf_counter_ns() - started) / 1e3


def summary(samples: list[float], **details: object) -> dict:
    """Median and spread of samples in microseconds."""
    import numpy as np

    low, quarter, median, three_quarters, high = np.percentile(samples, [0, 25, 50, 75, 100])
    return {
        "median_us": round(float(median), 4),
        "p25_us": round(float(quarter), 4),
        "p75_us": round(float(three_quarters), 4),
        "min_us": round(float(low), 4),
        "max_us": round(float(high), 4),
        "samples": len(samples),
        **details,
    }


class Part:
    """What one process measured, written after each step: what a time limit cuts off is all that is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._monitor: Any = None
        self.data: dict = {"cases": [], "overheads": {}}

    def watch_clocks(self) -> None:
        """From now on each sample set says what the SM clock was after it."""
        with contextlib.suppress(Exception):  # clocks explain a result, they are not part of it
            from harness.noise import Monitor

            self._monitor = Monitor()

    def step(self, cells: dict, name: str, measure: Callable[[], dict]) -> None:
        """Puts what `measure` returns, or why it failed, into `cells`: one failing clock does not stop the others."""
        try:
            cells[name] = measure()
        except Exception as error:
            cells[name] = {"error": f"{type(error).__name__}: {error}"}
        with contextlib.suppress(Exception):
            if self._monitor is not None and (reading := self._monitor.read()):
                cells[name]["sm_mhz"] = reading.sm_mhz
                cells[name]["throttled"] = list(reading.throttled)
        self.save()

    def save(self) -> None:
        with contextlib.suppress(Exception):
            if self._monitor is not None:
                self.data["noise"] = {**self._monitor.summary(), "warnings": self._monitor.warnings()}
        scratch = self._path.with_suffix(".new")
        scratch.write_text(json.dumps(self.data))
        scratch.replace(self._path)


def measure_direct(kernels: Kernels, part: Part, _: list[dict]) -> None:
    """Makes the cases. Without CUPTI: graph replay, events, call time. Then the judge's clock."""
    import torch

    from harness import gpu
    from harness.clock import GpuClock

    part.watch_clocks()
    started = time.perf_counter()
    cases = calibrate(kernels)
    part.data["cases"] = [{**case, "clocks": {}} for case in cases]
    part.data["overheads"]["calibration"] = {"seconds": time.perf_counter() - started}

    def replay(case: dict) -> dict:
        samples, nodes = kernels.replay_us(case, case["target_us"], SECONDS)
        return summary(samples, nodes=nodes)

    for case in part.data["cases"]:
        cells, launch, solve = case["clocks"], kernels.solve(case, "async"), kernels.solve(case, "sync")
        kernels.warm_up(solve)
        part.step(cells, GRAPH, lambda case=case: replay(case))
        part.step(cells, "events, async", lambda f=launch: summary(collect(lambda: kernels.between_events(f))))
        part.step(cells, "events, sync", lambda f=solve: summary(collect(lambda: kernels.between_events(f))))
        part.step(cells, CALL, lambda f=solve: summary(collect(lambda: call_us(f))))

    # The clock's other buffer, for flushing the cache, comes from torch's pool: what remains is the recorder.
    flush = torch.empty(2 * gpu.describe().l2_bytes, dtype=torch.uint8, device="cuda")
    del flush
    started = time.perf_counter()
    clock = GpuClock()
    part.data["overheads"]["recorder, first in the process"] = {"seconds": time.perf_counter() - started}

    def judge(solve: Callable[[], int]) -> dict:
        device = clock.device_times(solve, SAMPLES, SECONDS, cold=False)
        return summary([nanoseconds / 1e3 for nanoseconds in device], without_activity=device.count(0))

    for case in part.data["cases"]:
        for variant, name in JUDGE.items():
            solve = kernels.solve(case, variant)
            kernels.warm_up(solve)
            part.step(case["clocks"], name, lambda f=solve: judge(f))

    def recorded_call(solve: Callable[[], int]) -> dict:
        clock._recorder.resume()
        try:
            return summary(collect(lambda: call_us(solve)))
        finally:
            torch.cuda.synchronize()
            clock._recorder.take()
            clock._recorder.pause()

    for case in part.data["cases"]:
        solve = kernels.solve(case, "sync")
        kernels.warm_up(solve)
        part.step(case["clocks"], CALL_PAUSED, lambda f=solve: summary(collect(lambda: call_us(f))))
        part.step(case["clocks"], CALL_RECORDING, lambda f=solve: recorded_call(f))


def calibrate(kernels: Kernels) -> list[dict]:
    """The rows of PLAN with the n that takes about the target: durations are straight lines in n * repeats."""
    lines = {}
    for kind, sizes in CALIBRATION.items():
        times = []
        for size in sizes:
            case = {"kind": kind, "n": min(size, kernels.capacity), "repeats": 4}
            kernels.warm_up(kernels.solve(case, "sync"))
            samples, _ = kernels.replay_us(case, 40, 0.03)
            times.append((case["n"] * (4 if kind == WALK else 1), summary(samples)["median_us"]))
        (less, short), (more, long) = times
        slope = (long - short) / (more - less)
        lines[kind] = (short - slope * less, slope)
    cases = []
    for kernel, kind, repeats, target in PLAN:
        base, slope = lines[kind]
        n = int((target - base) / (slope * repeats)) // 1024 * 1024 if target else 0
        n = min(max(n, 1024), kernels.capacity // 1024 * 1024) if target else 0
        cases.append({"kernel": kernel, "kind": kind, "repeats": repeats, "target_us": target, "n": n})
    return cases


def measure_profiler(kernels: Kernels, part: Part, cases: list[dict]) -> None:
    """torch.profiler's records: the sum of the kernels of a call."""
    import torch
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    part.watch_clocks()
    part.data["cases"] = [{**case, "clocks": {}} for case in cases]

    def session(case: dict, variant: str) -> tuple[list[float], float]:
        """Microseconds of each call's kernels, and seconds for the whole session."""
        solve = kernels.solve(case, variant)
        started = time.perf_counter()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(PROFILER_CALLS):
                solve()
                torch.cuda.synchronize()
        seconds = time.perf_counter() - started
        events = [
            (event.start_ns(), event.duration_ns())
            for event in profiler.profiler.kineto_results.events()
            if event.device_type() == DeviceType.CUDA and any(name in event.name() for name in ("walk", "stream"))
        ]
        return per_call(sorted(events), case), seconds

    def first() -> dict:
        started = time.perf_counter()
        session(part.data["cases"][0], "async")
        return {"seconds": time.perf_counter() - started}

    def later() -> dict:
        seconds = sorted(session(part.data["cases"][0], "async")[1] for _ in range(5))
        return {"seconds": seconds[2]}

    part.step(part.data["overheads"], "torch.profiler, first session in the process", first)
    part.step(part.data["overheads"], f"torch.profiler, a later session of {PROFILER_CALLS} calls", later)
    for case in part.data["cases"]:
        for variant in JUDGE:
            kernels.warm_up(kernels.solve(case, variant))
            part.step(case["clocks"], f"profiler, {variant}", lambda c=case, v=variant: summary(session(c, v)[0]))


def per_call(kernels: list[tuple[int, int]], case: dict, calls: int = PROFILER_CALLS) -> list[float]:
    """Microseconds per call from (start, duration) in nanoseconds of all kernels, in order of start."""
    each = 2 if case["kind"] == TWO_KERNELS else 1
    if len(kernels) != each * calls:
        raise RuntimeError(f"{len(kernels)} records of {each * calls} kernels")
    durations = [duration for _, duration in kernels]
    return [sum(durations[i : i + each]) / 1e3 for i in range(0, len(durations), each)]


def measure_cupti_python(kernels: Kernels, part: Part, cases: list[dict]) -> None:
    """NVIDIA's own Python package for CUPTI, the same records."""
    import torch

    part.watch_clocks()
    part.data["cases"] = [{**case, "clocks": {}} for case in cases]
    started = time.perf_counter()
    from cupti import cupti

    imported = time.perf_counter()
    records: list[tuple[int, int]] = []

    def buffer_requested() -> tuple[int, int]:
        return 8 << 20, 0  # bytes, as in NVIDIA's samples, and any number of records

    def buffer_completed(activities: list) -> None:
        for activity in activities:
            if activity.kind == cupti.ActivityKind.CONCURRENT_KERNEL:
                records.append((activity.start, activity.end - activity.start))

    cupti.activity_register_callbacks(buffer_requested, buffer_completed)
    cupti.activity_enable(cupti.ActivityKind.CONCURRENT_KERNEL)
    registered = time.perf_counter()
    part.data["overheads"]["cupti-python, import"] = {"seconds": imported - started}
    part.data["overheads"]["cupti-python, register and enable"] = {"seconds": registered - imported}

    def flush() -> None:
        torch.cuda.synchronize()
        cupti.activity_flush_all(1)  # forced: buffers that are not full too

    def session(case: dict, variant: str) -> list[float]:
        solve = kernels.solve(case, variant)
        flush()
        records.clear()
        for _ in range(PROFILER_CALLS):
            solve()
            torch.cuda.synchronize()
        flush()
        return per_call(sorted(records), case)

    def timed_session() -> dict:
        started = time.perf_counter()
        session(part.data["cases"][0], "async")
        return {"seconds": time.perf_counter() - started}

    part.step(part.data["overheads"], f"cupti-python, a session of {PROFILER_CALLS} calls", timed_session)
    for case in part.data["cases"]:
        for variant in JUDGE:
            kernels.warm_up(kernels.solve(case, variant))
            part.step(case["clocks"], f"cupti-python, {variant}", lambda c=case, v=variant: summary(session(c, v)))


def measure_nvbench(kernels: Kernels, part: Part, cases: list[dict]) -> None:
    """NVIDIA's nvbench: isolated runs, cold L2; batches, hot L2, only of what does not synchronise."""
    import cuda.bench as bench

    from harness import gpu

    chosen = [case for case in cases if (case["kernel"], case["target_us"]) in NVBENCH_CASES]
    names = []

    def register(name: str, case: dict, synchronises: bool) -> None:
        def benchmark(state: Any) -> None:
            def launcher(launch: Any) -> None:
                kernels.launch(case, launch.get_stream().addressof())
                if synchronises:
                    gpu.synchronize()

            # Without sync=True nvbench holds the stream back until launches are queued: a synchronise would not end.
            state.exec(launcher, sync=synchronises, batched=not synchronises)

        bench.register(benchmark).set_name(name)
        names.append((name, case, synchronises))

    for number, case in enumerate(chosen):
        register(f"case_{number}_async", case, False)
        register(f"case_{number}_sync", case, True)
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "nvbench.json"
        limits = ["--timeout", "2", "--batch-target-time", "0.3"]
        bench.run_all_benchmarks(["self_test", "--devices", "0", "--json", str(output), *limits])
        found = {entry["name"]: entry for entry in json.loads(output.read_text())["benchmarks"]}
    part.data["cases"] = []
    for name, case, synchronises in names:
        state = found[name]["states"][0]
        values = {}
        for entry in state.get("summaries") or []:
            for item in entry.get("data") or []:
                if item["name"] == "value" and item["type"] != "string" and math.isfinite(float(item["value"])):
                    values[entry["tag"]] = float(item["value"])
        times = {tag: value * 1e6 for tag, value in values.items() if "/time/" in tag and "relative" not in tag}
        row = {**case, "synchronises": synchronises, "times_us": times, "summaries": values}
        part.data["cases"].append({**row, "skipped": state.get("skip_reason")} if state.get("is_skipped") else row)
    part.save()


MEASURES = {
    "direct": (measure_direct, 55),
    "profiler": (measure_profiler, 35),
    "cupti-python": (measure_cupti_python, 25),
    "nvbench": (measure_nvbench, 30),
}
NEEDS = {"cupti-python": ("cupti", "cupti-python"), "nvbench": ("cuda.bench", "cuda-bench")}

# ---- running, judging, showing ----------------------------------------------------------------------------------


def build_library(directory: Path, capability: str) -> Path:
    from harness.build import find_nvcc

    nvcc = find_nvcc()
    if nvcc is None:
        raise RuntimeError("there is no nvcc: put a CUDA toolkit on PATH, or set CUDA_HOME")
    library = directory / "libkernels.so"
    source = Path(__file__).with_name("kernels.cu")
    architecture = f"-arch=sm_{capability.replace('.', '')}"
    flags = ["-O3", architecture, "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared"]
    done = subprocess.run([nvcc, *flags, "-o", str(library), str(source)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"nvcc could not build {source.name}: {done.stderr.strip() or done.stdout.strip()}")
    return library


def importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # the package above it is missing
        return False


def run_part(name: str, directory: Path, library: Path, cases: list[dict], deadline: float) -> dict:
    """What a part measured; "error" in it says why it stopped, "skipped" why it did not start."""
    if name in NEEDS and not importable(NEEDS[name][0]):
        return {"cases": [], "overheads": {}, "skipped": f"{NEEDS[name][1]} is not installed"}
    limit = min(MEASURES[name][1], deadline - time.monotonic())
    if limit < 5:
        return {"cases": [], "overheads": {}, "skipped": "no time was left"}
    request, answer = directory / f"{name}.request.json", directory / f"{name}.json"
    request.write_text(json.dumps({"library": str(library), "cases": cases}))
    command = [sys.executable, str(Path(__file__).resolve()), "--part", name, str(request), str(answer)]
    started, error = time.perf_counter(), None
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit)
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
            # The exception's line: libraries that log while they are unloaded write after it.
            raised = [text for text in lines if re.match(r"[\w.]*(Error|Exception)\b", text)]
            error = f"ended with status {done.returncode}: {(raised or lines)[-1]}"
    except subprocess.TimeoutExpired:
        error = f"took longer than {limit:.0f} s"
    data = json.loads(answer.read_text()) if answer.exists() else {"cases": [], "overheads": {}}
    data["seconds"] = round(time.perf_counter() - started, 2)
    if error:
        data["error"] = error
    return data


def run_one_part(name: str, request: Path, answer: Path) -> None:
    """In the process of a part."""
    wanted = json.loads(request.read_text())
    part = Part(answer)
    MEASURES[name][0](Kernels(wanted["library"]), part, wanted["cases"])
    part.save()


def merge(parts: dict[str, dict]) -> list[dict]:
    """The cases of `direct`, each with the cells of all parts; a part that stopped says why in its empty cells."""
    cases = parts["direct"]["cases"]
    for name in ("direct", "profiler", "cupti-python"):
        measured = parts[name]["cases"]
        reason = parts[name].get("error") or parts[name].get("skipped") or "not measured"
        for index, case in enumerate(cases):
            if index < len(measured) and name != "direct":
                case["clocks"].update(measured[index]["clocks"])
            mine = [c for c in CLOCKS if c.startswith(name)] if name != "direct" else [GRAPH, *CLOCKS[1:5]]
            for clock in mine:
                case["clocks"].setdefault(clock, {"error": reason})
    return cases


def verdict(cases: list[dict]) -> dict:
    """Each comparison of the judge's clock with graph replay, and whether all above ABOVE_US are within LIMIT."""
    comparisons = []
    for case in cases:
        graph = case["clocks"][GRAPH].get("median_us")
        for variant, name in JUDGE.items():
            mine = case["clocks"][name].get("median_us")
            compared = {"kernel": case["kernel"], "n": case["n"], "target_us": case["target_us"], "variant": variant}
            if graph is None or mine is None:
                # Without a number nothing is shown, so it fails where it would have been judged.
                comparisons.append({**compared, "missing": True, "passed": case["target_us"] <= ABOVE_US})
                continue
            compared |= {"graph_us": graph, "judge_us": mine, "difference_us": mine - graph, "ratio": mine / graph}
            judged = graph > ABOVE_US
            passed = abs(mine / graph - 1) <= LIMIT if judged else None
            comparisons.append({**compared, "passed": passed})
    passed = bool(cases) and all(comparison["passed"] is not False for comparison in comparisons)
    return {"limit": LIMIT, "above_us": ABOVE_US, "passed": passed, "comparisons": comparisons, "line": line(cases)}


def line(cases: list[dict]) -> dict | None:
    """Judge = offset + slope * graph over the walks (relative least squares): what a node adds, and any stretch."""
    import numpy as np

    pairs = [
        (graph, mine)
        for case in cases
        if case["kernel"] == "walk"
        and (graph := case["clocks"][GRAPH].get("median_us"))
        and (mine := case["clocks"][JUDGE["async"]].get("median_us"))
    ]
    if len(pairs) < 3:
        return None
    graph, mine = np.array(pairs).T
    slope, offset = np.polyfit(graph, mine, 1, w=1 / graph)
    return {"offset_us": round(float(offset), 4), "slope": round(float(slope), 5)}


def digits(value: float) -> str:
    """At least three digits, and always hundredths of a microsecond below 100."""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def cell(content: dict) -> str:
    if "error" in content:
        return content["error"]
    spread = (content["p75_us"] - content["p25_us"]) / content["median_us"] if content["median_us"] else 0.0
    return f"{digits(content['median_us'])} ±{spread / 2:.1%}"


def show(result: dict) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    # A pipe gets whole lines; on a terminal the cells fold.
    out = Console() if sys.stdout.isatty() else Console(width=240, no_color=True, highlight=False)

    def table(title: str, headers: list[str], rows: list[list[str]]) -> None:
        built = Table(title=title, title_justify="left")
        for index, header in enumerate(headers):
            built.add_column(header, justify="left" if index == 0 else "right", overflow="fold")
        for row in rows:
            built.add_row(*map(escape, row))
        out.print(built)

    def label(case: dict) -> str:
        return f"{case['kernel']}, n = {case['n']:,} x {case['repeats']}" if case["n"] else case["kernel"]

    cases = result["cases"]
    table(
        "Microseconds per call, hot L2: median, ± half the range of the middle half",
        ["kernel", *CLOCKS],
        [[label(case), *(cell(case["clocks"][clock]) for clock in CLOCKS)] for case in cases],
    )
    calls = [CALL, CALL_PAUSED, CALL_RECORDING]
    missing = {"error": "not measured"}
    table(
        "Call time of solve_sync by the host's clock, microseconds",
        ["kernel", *calls],
        [[label(case), *(cell(case["clocks"].get(name, missing)) for name in calls)] for case in cases],
    )
    rows = [[name, cell_of_overhead(entry)] for name, entry in result["overheads"].items()]
    table("What a clock costs", ["step", "seconds"], rows)
    nvbench = result["parts"]["nvbench"]
    wanted = {
        "batch (hot)": "nv/batch/time/gpu/mean",
        "isolated (cold)": "nv/cold/time/gpu/mean",
        "isolated, median": "nv/cold/time/gpu/median",
    }
    rows = []
    for case in result["nvbench"]:
        name = f"{label(case)}, {'sync' if case['synchronises'] else 'async'}"
        if case.get("skipped"):
            rows.append([name, case["skipped"], *[""] * (len(wanted) - 1)])
            continue
        times = case["times_us"]
        rows.append([name, *(digits(times[tag]) if tag in times else "-" for tag in wanted.values())])
    if not rows:
        rows = [[nvbench.get("error") or nvbench.get("skipped") or "not measured", *[""] * len(wanted)]]
    table("nvbench, microseconds of its events", ["kernel", *wanted], rows)

    for name, part in result["parts"].items():
        for reason in filter(None, [part.get("error"), part.get("skipped")]):
            out.print(f"{name}: {reason}", markup=False)
        for warning in part.get("noise", {}).get("warnings", []):
            out.print(f"{name}: {warning}", markup=False)

    judged = result["verdict"]
    out.print(f"\nGpuClock against graph replay, limit {LIMIT:.0%} above {ABOVE_US:.0f} us", markup=False)
    for comparison in judged["comparisons"]:
        name = f"  {comparison['kernel']}, about {comparison['target_us']:,} us, {comparison['variant']}: "
        if comparison.get("missing"):
            text = "no numbers" if comparison["passed"] else "no numbers, FAILED"
        elif comparison["passed"] is None:
            text = f"{comparison['difference_us']:+.2f} us"
        else:
            text = f"{comparison['ratio'] - 1:+.2%}{'' if comparison['passed'] else ' FAILED'}"
        out.print(name + text, markup=False)
    if judged["line"]:
        offset, slope = judged["line"]["offset_us"], judged["line"]["slope"]
        out.print(f"  over the walks: GpuClock = {offset:+.2f} us + {slope:.4f} x graph replay", markup=False)
    out.print("passed" if judged["passed"] else "FAILED", markup=False)


def cell_of_overhead(entry: dict) -> str:
    return f"{entry['seconds']:.4f}" if "seconds" in entry else entry["error"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--part", nargs=3, metavar=("NAME", "REQUEST", "ANSWER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        run_one_part(options.part[0], Path(options.part[1]), Path(options.part[2]))
        return 0

    from harness.backend import choose, machine
    from harness.errors import UsageError

    started = time.monotonic()
    try:
        backend = choose("gpu", needs_nvcc=True)
    except UsageError as error:
        print(str(error), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="self-test-") as scratch:
        directory = Path(scratch)
        try:
            library = build_library(directory, backend.gpu.capability)
        except RuntimeError as error:
            print(str(error), file=sys.stderr)
            return 2
        parts: dict[str, dict] = {}
        for name in MEASURES:
            print(f"measuring: {name}", file=sys.stderr, flush=True)
            keys = ("kernel", "kind", "repeats", "target_us", "n")
            cases = [{key: case[key] for key in keys} for case in parts.get("direct", {}).get("cases", [])]
            parts[name] = run_part(name, directory, library, cases, started + TOTAL_SECONDS)
    cases = merge(parts)
    result = {
        "schema": 1,
        "machine": machine(backend),
        "cases": cases,
        "nvbench": parts["nvbench"]["cases"],
        "overheads": {name: entry for part in parts.values() for name, entry in part["overheads"].items()},
        "verdict": verdict(cases),
        "parts": {
            name: {key: value for key, value in part.items() if key not in ("cases", "overheads")}
            for name, part in parts.items()
        },
        "seconds": round(time.monotonic() - started, 1),
    }
    # Written before anything is shown: a table that cannot be drawn costs no measurement.
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n")
    show(result)
    return 0 if result["verdict"]["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
