"""The ceiling: one read of the input and one write of the output and nothing else. It is timed, never judged.

An elementwise kernel that multiplies by 1 and not `copy_`, which is served by a memory copy of the driver: on an H200
that takes twice as long at N = 1,000,000. Timed rows follow one another, so that a matrix is a vector here.
"""

import torch


def solve(input: torch.Tensor, output: torch.Tensor, *sizes: int) -> None:
    torch.mul(input, 1.0, out=output)
