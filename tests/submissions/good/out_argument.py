# expect: accepted
# kind: good
import torch


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    torch.softmax(input[:N], dim=-1, out=output[:N])
