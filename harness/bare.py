"""One call of a solve in a process of its own, each buffer an allocation of exactly its size: for tools that watch it.

Run as `python -m harness.bare TASK.json`. Under ncu there are two calls, the first of which warms up and is not
watched; before the second the inputs are refilled, the outputs poisoned and the L2 flushed, as in a timed call. What it
wrote is left beside the task. Under compute-sanitizer there is one call, and before it the buffers' addresses are left.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from harness import gpu
from harness.arena import POISONS
from harness.facts import Facts
from harness.worker import Buffer, CudaSolve, Failure, PythonSolve, device_tensor

SOLVE_FAILED = 3  # exit status

# What the task asks for: to be profiled; to be watched; to be watched with outputs that nobody has written.
PROFILED, WATCHED, UNWRITTEN = WAYS = ("profiled", "watched", "unwritten")


SPACE_BYTES = 1 << 16


class ExactMemory:
    """Allocations of exactly the size of their buffer, behind each a hole that belongs to nobody."""

    def __init__(self) -> None:
        self._holes: list[int] = []

    def place(self, size: int) -> Buffer:
        begin = gpu.allocate(size)
        self._holes.append(gpu.allocate(SPACE_BYTES))
        return Buffer(begin, begin, begin + size, begin + size)

    def open_holes(self) -> None:
        """Once everything is placed."""
        while self._holes:
            gpu.free(self._holes.pop())

    def tensor(self, buffer: Buffer, dtype: str) -> object:
        return device_tensor(buffer, dtype)


def main() -> int:
    path = Path(sys.argv[1])
    task = json.loads(path.read_text())
    gpu.open_context()
    memory = ExactMemory()
    solve = (CudaSolve if task["library"] else PythonSolve)(task, Facts(), memory)
    pointers = [p for p in task["parameters"] if p["role"] not in ("scalar", "object")]
    buffers = {p["name"]: memory.place(task["bytes"][p["name"]]) for p in pointers}
    memory.open_holes()
    solve.prepare(buffers, task["sizes"], {**task, "op": "profile"})

    import torch

    filled = []
    for parameter in pointers:
        name, dtype = parameter["name"], parameter["dtype"]
        before = path.with_name(f"{name}.before.npy")
        if not before.exists() and task["way"] == UNWRITTEN:
            continue
        host = np.load(before) if before.exists() else np.full(-(-task["bytes"][name] // 8), POISONS[0])
        contents = torch.from_numpy(host.view(np.uint8)[: task["bytes"][name]]).view(getattr(torch, dtype))
        filled.append((memory.tensor(buffers[name], dtype), contents))
    if task["way"] != PROFILED:
        for tensor, contents in filled:
            tensor.copy_(contents)
        gpu.synchronize()
        addresses = {name: buffer.begin for name, buffer in buffers.items()}
        path.with_name("addresses.json").write_text(json.dumps(addresses))
        solve()
        gpu.synchronize()
        return 0
    flush = torch.empty(2 * gpu.describe().l2_bytes, dtype=torch.uint8, device="cuda")
    for watched in (False, True):
        for tensor, contents in filled:
            tensor.copy_(contents)
        flush.fill_(1)
        gpu.synchronize()
        if watched:
            gpu.start_profiler()
        solve()
        gpu.synchronize()
        if watched:
            gpu.stop_profiler()
    for parameter, (tensor, _) in zip(pointers, filled, strict=True):
        np.save(path.with_name(f"{parameter['name']}.after.npy"), tensor.view(torch.uint8).cpu().numpy())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, gpu.GpuError) as error:
        print(error, file=sys.stderr)
        sys.exit(SOLVE_FAILED)
