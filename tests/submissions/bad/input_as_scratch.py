# expect: input-modified
# kind: input-changed
# says: of input changed
# flags: --case N=1025/uniform
import torch


def solve(input, output, N):
    input[:N] -= input[:N].max()
    output[:N] = torch.softmax(input[:N], 0)
