# kind: nothing-written
# expect: wrong-answer
# says: output not written at index 0
import torch


def solve(input, output, N):
    return torch.softmax(input[:N], 0)
