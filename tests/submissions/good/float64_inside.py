# expect: accepted
# kind: good
import torch


def solve(input, output, N):
    x = input[:N].to(torch.float64)
    e = torch.exp(x - x.amax())
    output[:N].copy_((e / e.sum()).to(output.dtype))
