# expect: accepted
# kind: good
import torch


def solve(input, output=None, N=0, dim=0, *, dtype=torch.float64, **rest):
    output[:N] = torch.softmax(input[:N].to(dtype), dim)
