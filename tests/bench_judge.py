"""How fast the judge itself is: `python tests/bench_judge.py` prints the median wall time of a few command lines."""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROUNDS = 5


def seconds(arguments, cache):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": path}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "harness", *arguments], env=environment, capture_output=True, text=True
    )
    elapsed = time.perf_counter() - started
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} ended with status {done.returncode}: {done.stderr}{done.stdout}")
    return elapsed


def main():
    print(f"{platform.platform()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
        cuda = Path(folder) / "mine.cu"
        text = (ROOT / "cuda" / "softmax.cu").read_text()
        triton = str(ROOT / "triton_solutions" / "softmax_online.py")
        check = ["check", "--backend", "cpu", "--seed", "1"]

        def report(name, runs):
            print(f"{name:58} {statistics.median(runs):6.2f} s   (of {len(runs)})", flush=True)

        report("--help", [seconds(["--help"], cache) for _ in range(ROUNDS)])
        report("check of a Triton file", [seconds([*check, triton], cache) for _ in range(ROUNDS)])
        cuda.write_text(text)
        report("check of a .cu, the very first: toolchain set up", [seconds([*check, str(cuda)], cache)])
        cold = []
        for round_ in range(ROUNDS):
            cuda.write_text(f"{text}// {round_}\n")
            cold.append(seconds([*check, str(cuda)], cache))
        report("check of a .cu, not in the build cache", cold)
        warm = [seconds([*check, str(cuda)], cache) for _ in range(ROUNDS)]
        report("check of a .cu, in the build cache", warm)
        report("check of a .cu, one case, in the build cache",
               [seconds([*check, str(cuda), "--case", "N=1025/uniform"], cache) for _ in range(ROUNDS)])  # fmt: skip


if __name__ == "__main__":
    main()
