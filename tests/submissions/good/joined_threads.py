# expect: accepted
# kind: good
# Threads of its own, which have ended when it returns.
from concurrent.futures import ThreadPoolExecutor

import torch


def solve(input, output, N):
    x = input[:N].double()
    m = x.max()
    with ThreadPoolExecutor(2) as pool:
        total = sum(pool.map(lambda part: torch.exp(part - m).sum(), x.tensor_split(2)))
        list(pool.map(lambda pair: pair[1].copy_(torch.exp(pair[0] - m) / total), zip(x.tensor_split(2), output[:N].tensor_split(2))))
