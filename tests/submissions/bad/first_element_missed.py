# expect: wrong-answer
# kind: tail
# says: not written at index 0: 
# flags: --case N=1025/uniform
# The first element is not written.
import torch


def solve(input, output, N):
    output[1:N] = torch.softmax(input[:N].double(), 0)[1:]
