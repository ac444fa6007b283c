# expect: wrong-answer
# kind: arithmetic
# says: x the tolerance
# flags: --case N=1025/uniform
import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N], 0) * 0.9995
