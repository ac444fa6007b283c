"""How steady the clock is, at N = 500,000 on a GPU: `python tests/clock/steadiness.py --json PATH`.

Ten benches of the Triton baseline and the single block, each with new workers, must give medians within 2 % of each
other; of twenty duels of the baseline against a copy of itself at least nineteen must be ties. Exit status 1 if not.
What `bench` and `compare` do is done here in one process, so that files are judged once. What an interrupted run left
at PATH is gone on with.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from harness import rows, timing  # noqa: E402 (the repository first)
from harness.backend import choose, machine  # noqa: E402
from harness.errors import UsageError  # noqa: E402
from harness.judge import Options, Session, judge  # noqa: E402
from harness.noise import Monitor  # noqa: E402
from harness.progress import Progress  # noqa: E402
from harness.submission import read_submissions  # noqa: E402

COUNTS = {"benches": 10, "duels": 20}
LARGEST_SPREAD, LEAST_TIES = 0.02, 19
CASE = "N=1025/uniform"  # the one that is judged: what is looked at here is time


def save(path: Path, document: dict) -> None:
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(document, indent=1) + "\n")
    scratch.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True, help="where the figures go, after each step")
    parser.add_argument("--only", choices=["benches", "duels"], help="half of it, for another GPU to do the other half")
    options = parser.parse_args()
    path = options.json
    counts = {name: count for name, count in COUNTS.items() if options.only in (None, name)}
    backend = choose("gpu", needs_nvcc=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(backend, Options(seed=1, case=CASE), needs_torch=True) as session,
        Progress() as progress,
    ):
        twin = Path(folder) / "twin.py"
        shutil.copy(ROOT / "triton_solutions" / "softmax_baseline.py", twin)
        files = [ROOT / "triton_solutions" / "softmax_baseline.py", ROOT / "cuda" / "softmax.cu", twin]
        baseline, one_block, other = (read_submissions(file, None)[0] for file in files)
        judged = [(judge(s, session, progress.cases), s) for s in (baseline, one_block)]
        if any(row.verdict != rows.ACCEPTED for row, _ in judged):
            sys.exit(f"not accepted: {[(row.file, row.message) for row, _ in judged]}")
        monitor = Monitor()
        plan = timing.Plan(generations=timing.MOST_GENERATIONS)
        document: dict = {"schema": 1, "machine": machine(backend), "benches": [], "duels": []}
        if path.exists():
            document = json.loads(path.read_text())

        medians: dict[str, list[float]] = {}
        for bench in document["benches"]:
            for name, one in bench.items():
                medians.setdefault(name, []).append(one["device_us"])
        for number in range(len(document["benches"]), counts.get("benches", 0)):
            started = time.monotonic()
            timed = timing.time_rows(judged, session, monitor, progress, plan)
            found = {Path(row.file).name: row.timings[0] for row in timed}
            for name, one in found.items():
                medians.setdefault(name, []).append(one.device_us)
            shown = (
                "device_us",
                "low_us",
                "high_us",
                "call_us",
                "copy_us",
                "empty_us",
                "throttled_samples",
                "processes_us",
            )
            document["benches"].append({name: {key: vars(one)[key] for key in shown} for name, one in found.items()})
            save(path, document)
            figures = ", ".join(f"{name} {values[-1]:.2f} us" for name, values in medians.items())
            print(f"bench {number + 1}, {time.monotonic() - started:.0f} s: {figures}", flush=True)
        document["spread"] = {name: (max(v) - min(v)) / sorted(v)[len(v) // 2] for name, v in medians.items()}
        for name, values in medians.items():
            print(
                f"{name}: {min(values):.2f} to {max(values):.2f} us, spread {document['spread'][name]:.2%}", flush=True
            )

        for number in range(len(document["duels"]), counts.get("duels", 0)):
            started = time.monotonic()
            (duel,) = timing.duel(baseline, other, session, monitor, progress, plan)
            document["duels"].append({**duel.to_json(), "a": "softmax_baseline.py", "b": "a copy of it"})
            save(path, document)
            interval = f"{duel.ratio:.4f} ({duel.low:.4f} to {duel.high:.4f})"
            print(
                f"duel {number + 1}, {time.monotonic() - started:.0f} s: {duel.verdict} {interval}",
                flush=True,
            )
    ties = sum(duel["verdict"] == "tie" for duel in document["duels"])
    document["noise"] = {**monitor.summary(), "warnings": monitor.warnings()}
    passed = {
        "benches": all(document["spread"].get(file.name, 1) < LARGEST_SPREAD for file in files[:2]),
        "duels": ties >= LEAST_TIES,
    }
    document["passed"] = all(passed[name] for name in counts)
    save(path, document)
    print(f"{ties} ties in {len(document['duels'])} duels of the baseline against itself")
    return 0 if document["passed"] else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
