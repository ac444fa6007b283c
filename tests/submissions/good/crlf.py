# expect: accepted
# kind: good
# Line ends of another system.
import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
