"""Where temporaries lie tells in a short kernel: `python tests/clock/places.py --json PATH` on a GPU.

The Triton baseline has two scalars that all programs update by atomics, in the first page of the memory that nobody
else has. It is timed at N = 500,000 with 0 and more pages held by somebody else, twice over: medians differ from place
to place more than they do at the same place from the first time to the second.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from harness.backend import choose, machine  # noqa: E402 (the repository first)
from harness.errors import UsageError  # noqa: E402

N, CALLS, SECONDS = 500_000, 40, 5.0
HELD = (*range(24), 50, 100, 200, 400)
TIMES = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True, help="where the figures go")
    options = parser.parse_args()
    backend = choose("gpu", needs_nvcc=False)

    import torch

    from harness import gpu
    from harness.clock import GpuClock
    from triton_solutions.softmax_baseline import solve

    gpu.open_context()
    given = torch.randn(N, device="cuda", generator=torch.Generator(device="cuda").manual_seed(1))
    output = torch.empty_like(given)
    held = 0
    clock = GpuClock(pages=lambda: held)
    clock.use([given], [output])

    def median() -> float:
        times = clock.device_times(lambda: solve(given, output, N), CALLS, SECONDS)
        return float(np.median(times)) / 1e3

    median()  # compiles
    places = [{"held_pages": pages, "median_us": []} for pages in HELD]
    for _ in range(TIMES):
        for place in places:
            held = place["held_pages"]
            place["median_us"].append(round(median(), 3))
            print(f"{held} pages held: {place['median_us'][-1]:.3f} us", flush=True)
    by_place = np.array([place["median_us"] for place in places])
    between = float(np.ptp(by_place.mean(axis=1)))
    within = float(np.median(np.ptp(by_place, axis=1)))
    document = {"schema": 1, "machine": machine(backend), "N": N, "places": places}
    options.json.write_text(json.dumps(document, indent=1) + "\n")
    print(f"between places {between:.3f} us, at one place, from one time to the next, {within:.3f} us")
    return 0 if between > within else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
