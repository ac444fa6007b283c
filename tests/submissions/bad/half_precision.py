# expect: wrong-answer
# kind: arithmetic
# flags: --case N=1025/uniform
# Half precision: 11 bits of mantissa, and nothing under 6e-8.
import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].half(), 0).float()
