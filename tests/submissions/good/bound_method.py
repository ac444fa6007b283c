# expect: accepted
# kind: good
import torch


class Solver:
    @classmethod
    def run(cls, input, output, N):
        output[:N] = torch.softmax(input[:N].double(), 0)


solve = Solver.run
