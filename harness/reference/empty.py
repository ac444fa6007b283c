"""The floor: an empty kernel. It is timed, never judged."""

import torch
import triton


@triton.jit
def empty_kernel() -> None:
    pass


def solve(input: torch.Tensor, output: torch.Tensor, *sizes: int) -> None:
    empty_kernel[(1,)]()
