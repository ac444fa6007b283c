# expect: out-of-memory
# kind: memory
# flags: --case N=1/uniform
# Tensors until there is no memory left.
import torch

kept = []


def solve(input, output, N):
    while True:
        kept.append(torch.ones(1 << 26, device=input.device))
