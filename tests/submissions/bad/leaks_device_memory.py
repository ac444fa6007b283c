# expect: accepted
# kind: leaks
# backend: gpu
# warns: leaks about 4\.2 MB of device memory a call
# Right, and 4 MiB of device memory are lost in each call.
import torch

kept = []


def solve(input, output, N):
    kept.append(torch.empty(1 << 20, device=input.device))
    output[:N] = torch.softmax(input[:N].double(), 0)
