# expect: wrong-answer
# kind: nothing-written
# says: output not written at index 0
# Gives the tensor another memory, in which the answer is.
import torch


def solve(input, output, N):
    output.data = torch.softmax(input[:N], 0)
