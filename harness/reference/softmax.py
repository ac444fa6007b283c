"""The reference row of softmax: torch.softmax, judged and timed like any submission."""

import torch


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    torch.softmax(input[:N], dim=0, out=output[:N])
