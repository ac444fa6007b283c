# expect: accepted
# kind: good
# Works in the output from beginning to end.
import torch


@torch.no_grad()
def solve(input, output, N):
    y = output[:N].copy_(input[:N])
    y.sub_(y.max()).exp_().div_(y.sum())
