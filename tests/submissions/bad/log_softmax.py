# expect: wrong-answer
# kind: arithmetic
# flags: --case N=1025/uniform
# The logarithm of the answer.
import torch


def solve(input, output, N):
    output[:N] = torch.log_softmax(input[:N], 0)
