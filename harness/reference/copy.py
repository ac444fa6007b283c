"""The ceiling: one read and one write of N floats and nothing else. It is timed, never judged.

An elementwise kernel that multiplies by 1 and not `copy_`, which is served by a memory copy of the driver: on an H200
that takes twice as long at N = 1,000,000.
"""

import torch


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    torch.mul(input[:N], 1.0, out=output[:N])
