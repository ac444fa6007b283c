# expect: accepted
# kind: good
import torch


class Solve:
    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, input, output, N):
        output[:N] = torch.softmax(input[:N].to(self.dtype), 0)


solve = Solve(torch.float64)
