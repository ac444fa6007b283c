# kind: input-changed
# expect: input-modified
# says: of input changed
import torch


def solve(input, output, N):
    input[:N] -= input[:N].max()
    output[:N] = torch.softmax(input[:N], 0)
