"""The reference row of subtract_one: torch.sub, judged and timed like any submission."""

import torch


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    torch.sub(input[:N], 1.0, out=output[:N])
