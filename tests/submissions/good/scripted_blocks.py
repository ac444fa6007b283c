# expect: accepted
# kind: good
# In blocks of 4,096 on the host's command, with a running maximum and sum.
import torch


def solve(input, output, N):
    m = torch.full((), -float("inf"), dtype=torch.float64, device=input.device)
    l = torch.zeros((), dtype=torch.float64, device=input.device)
    for part in input[:N].split(4096):
        x = part.double()
        new = torch.maximum(m, x.max())
        l = l * torch.exp(m - new) + torch.exp(x - new).sum()
        m = new
    for part, result in zip(input[:N].split(4096), output[:N].split(4096)):
        result.copy_(torch.exp(part.double() - m) / l)
