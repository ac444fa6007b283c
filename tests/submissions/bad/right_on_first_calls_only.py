# expect: wrong-answer
# kind: remembers
# says: output not written at index 0
import torch

calls = 0


def solve(input, output, N):
    global calls
    calls += 1
    if calls <= 3:
        output[:N] = torch.softmax(input[:N].double(), 0)
