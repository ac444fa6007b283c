"""One call of a solve in a process of its own, each buffer an allocation of exactly its size: for tools that watch it.

Run as `python -m harness.bare TASK.json`, under ncu. The first call warms up and is not watched; before the second the
inputs are refilled, the outputs poisoned and the L2 flushed, as in a timed call. What it wrote is left beside the task.
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


class ExactMemory:
    """Allocations of exactly the size of their buffer."""

    def place(self, size: int) -> Buffer:
        begin = gpu.allocate(size)
        return Buffer(begin, begin, begin + size, begin + size)

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
    solve.prepare(buffers, task["sizes"], {**task, "op": "profile"})

    import torch

    tensors, contents = [], []
    for parameter in pointers:
        name, dtype = parameter["name"], parameter["dtype"]
        tensors.append(memory.tensor(buffers[name], dtype))
        before = path.with_name(f"{name}.before.npy")
        host = np.load(before) if before.exists() else np.full(-(-task["bytes"][name] // 8), POISONS[0])
        contents.append(torch.from_numpy(host.view(np.uint8)[: task["bytes"][name]]).view(getattr(torch, dtype)))
    flush = torch.empty(2 * gpu.describe().l2_bytes, dtype=torch.uint8, device="cuda")
    for watched in (False, True):
        for tensor, before in zip(tensors, contents, strict=True):
            tensor.copy_(before)
        flush.fill_(1)
        gpu.synchronize()
        if watched:
            gpu.start_profiler()
        solve()
        gpu.synchronize()
        if watched:
            gpu.stop_profiler()
    for parameter, tensor in zip(pointers, tensors, strict=True):
        np.save(path.with_name(f"{parameter['name']}.after.npy"), tensor.view(torch.uint8).cpu().numpy())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, gpu.GpuError) as error:
        print(error, file=sys.stderr)
        sys.exit(SOLVE_FAILED)
