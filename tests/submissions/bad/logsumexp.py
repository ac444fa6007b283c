# expect: wrong-answer
# kind: arithmetic
# says: near-limit
# In logarithms: beside the largest floats the logarithm of the sum is lost, even in float64.
import torch


def solve(input, output, N):
    x = input[:N].double()
    output[:N] = torch.exp(x - torch.logsumexp(x, dim=0))
