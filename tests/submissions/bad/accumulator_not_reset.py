# expect: wrong-answer
# kind: remembers
# A sum that only the first call finds at 0.
import torch

total = None


def solve(input, output, N):
    global total
    if total is None:
        total = torch.zeros(1, dtype=torch.float64, device=input.device)
    e = torch.exp(input[:N].double() - input[:N].max())
    total += e.sum()
    output[:N] = e / total
