# expect: runtime-error
# kind: writes-outside
# backend: cpu
# says: SIGSEGV
# flags: --case N=1025/uniform
# An address a million elements past the end, where nothing is mapped: of a Python file only the signal is seen.
import ctypes

import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
    ctypes.memset(output.data_ptr() + 4 * (N + 1_000_000), 0, 4)
