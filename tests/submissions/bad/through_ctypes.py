# expect: out-of-bounds
# kind: writes-outside
# backend: cpu
# says: output\[\d+\], 2 past the end
# flags: --case N=1025/uniform
# A view of the memory behind the tensor, made longer by hand.
import ctypes

import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
    longer = (ctypes.c_float * (N + 3)).from_address(output.data_ptr())
    torch.frombuffer(longer, dtype=torch.float32)[N + 1] = 1.0
