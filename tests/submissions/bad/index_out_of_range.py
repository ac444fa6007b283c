# expect: runtime-error
# kind: device-fault
# says: assert|out of range
# flags: --case N=1025/uniform
# An index outside a tensor: a device-side assert on a GPU, an IndexError on a CPU.
import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
    index = torch.full((1,), N + (N > 1000) * 100, device=input.device) - 1
    output[:N].index_select(0, index)
