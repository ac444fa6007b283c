# expect: wrong-answer
# kind: tail
# says: not written at index
# flags: --case N=1025/uniform
# The last element is not written.
import torch


def solve(input, output, N):
    output[: N - 1] = torch.softmax(input[:N].double(), 0)[:-1]
