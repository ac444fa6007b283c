"""How steady the clock is, at N = 500,000 on a GPU: `python tests/clock/steadiness.py --json PATH`.

Ten runs of `bench` on the Triton baseline and the single block must give medians within 2 % of each other; of twenty
duels of the baseline against a copy of itself at least nineteen must be ties. Exit status 1 if not. Each run judges one
case, since what is looked at here is time. All go through the command line, as a user's runs do.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BASELINE, ONE_BLOCK = "triton_solutions/softmax_baseline.py", "cuda/softmax.cu"
BENCHES, LARGEST_SPREAD = 10, 0.02
DUELS, LEAST_TIES = 20, 19


def run(*arguments: str) -> dict:
    """The JSON of one run of the judge; ends the process where the run fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        command = [sys.executable, "-m", "harness", *arguments, "--case", "N=1025/uniform", "--backend", "gpu"]
        started = time.monotonic()
        done = subprocess.run([*command, "--json", str(path)], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return {**json.loads(path.read_text()), "seconds": time.monotonic() - started}


def benches(count: int) -> tuple[dict, bool]:
    runs, medians, machine = [], {}, {}
    for i in range(count):
        document = run("bench", BASELINE, ONE_BLOCK)
        machine = document["machine"]
        found = {row["file"]: row["timings"][0] for row in document["rows"]}
        for file, timing in found.items():
            medians.setdefault(file, []).append(timing["device_us"])
        runs.append(
            {file: {k: t[k] for k in ("device_us", "low_us", "high_us", "call_us")} for file, t in found.items()}
        )
        print(
            f"bench {i + 1} of {count}, {document['seconds']:.0f} s", {f: v[-1] for f, v in medians.items()}, flush=True
        )
    spread = {file: (max(values) - min(values)) / sorted(values)[len(values) // 2] for file, values in medians.items()}
    for file, value in spread.items():
        print(f"{file}: medians {min(medians[file]):.2f} to {max(medians[file]):.2f} us, spread {value:.2%}")
    passed = all(spread[file] < LARGEST_SPREAD for file in (BASELINE, ONE_BLOCK))
    return {"machine": machine, "runs": runs, "spread": spread, "passed": passed}, passed


def duels(count: int) -> tuple[dict, bool]:
    fought = []
    with tempfile.TemporaryDirectory() as folder:
        twin = Path(folder) / "twin.py"
        shutil.copy(ROOT / BASELINE, twin)
        for i in range(count):
            document = run("compare", BASELINE, str(twin))
            (duel,) = document["duels"]
            fought.append({**duel, "b": "a copy of it"})
            print(
                f"duel {i + 1} of {count}, {document['seconds']:.0f} s: {duel['verdict']} {duel['ratio']:.4f}",
                flush=True,
            )
    ties = sum(duel["verdict"] == "tie" for duel in fought)
    passed = ties >= LEAST_TIES * count / DUELS
    print(f"{ties} ties in {count} duels of {BASELINE} against itself")
    return {"machine": document["machine"], "duels": fought, "ties": ties, "passed": passed}, passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True, help="where the figures go")
    parser.add_argument("--benches", type=int, default=BENCHES)
    parser.add_argument("--duels", type=int, default=DUELS)
    options = parser.parse_args()
    bench, bench_passed = benches(options.benches)
    duel, duel_passed = duels(options.duels)
    options.json.write_text(json.dumps({"schema": 1, "benches": bench, "duels": duel}, indent=1) + "\n")
    return 0 if bench_passed and duel_passed else 1


if __name__ == "__main__":
    sys.exit(main())
