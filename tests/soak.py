"""Bad submissions one after the other, and what they leave behind: `python tests/soak.py --rounds 200 --json PATH`.

Each round judges one specimen of the corpus, drawn at random, in a judge of its own, with a fresh seed. Afterwards no
process of it may live, no file lie where it may write temporary ones, no memory be held, on the host or on the GPU.
Exit status 1 if something is left or a verdict is not the expected one. Not part of the tests: it takes its time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from harness import corpus, gpu  # noqa: E402 (the repository first)


def shared_memory_kb() -> int:
    """What memfds and the like hold on this machine: it would grow with every arena that is never freed."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Shmem:"))


def device_bytes() -> int:
    try:
        gpu.open_context()
    except gpu.GpuError:
        return 0
    return gpu.used_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--backend", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--json", type=Path, help="where the figures go, after every round")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    everything = [s for s in corpus.read_corpus() if not s.is_good and options.backend in s.backends]
    with tempfile.TemporaryDirectory(prefix="solve-judge-soak-") as home:
        temporary = Path(home) / "tmp"
        temporary.mkdir()
        os.environ.update(XDG_CACHE_HOME=f"{home}/cache", XDG_DATA_HOME=f"{home}/data", TMPDIR=str(temporary))
        tempfile.tempdir = str(temporary)
        started, shared_before, device_before = time.monotonic(), shared_memory_kb(), device_bytes()
        unexpected, processes, files = [], 0, 0
        for number in range(1, options.rounds + 1):
            specimen, seed = chance.choice(everything), chance.randrange(2**32)
            found = corpus.run([specimen], options.backend, seed)
            why = corpus.why_unexpected(specimen, found)
            left = sorted(str(path) for path in temporary.iterdir())
            if why or found.left or left:
                name = specimen.path.relative_to(corpus.FOLDER)
                unexpected.append(f"{name} with seed {seed}: {why or found.left or left}")
                print(unexpected[-1], flush=True)
            processes += len(found.left)
            files += len(left)
            for path in left:
                print(f"left: {path}", flush=True)
            figures = {
                "seed": options.seed,
                "rounds": number,
                "seconds": round(time.monotonic() - started),
                "processes_left": processes,
                "files_left": files,
                "shared_memory_grown_kb": shared_memory_kb() - shared_before,
                "device_memory_grown_bytes": device_bytes() - device_before,
                "unexpected": unexpected,
            }
            if options.json:
                options.json.write_text(json.dumps(figures, indent=1) + "\n")
            if number % 10 == 0:
                print(f"{number} of {options.rounds} rounds, {figures['seconds']} s", flush=True)
    for name, value in figures.items():
        print(f"{name}: {len(value) if name == 'unexpected' else value}")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
