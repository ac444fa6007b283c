# expect: accepted
# kind: persisting-l2
# backend: gpu
# verb: bench
# Right. It asks for a part of the L2 that outlives its calls.
import ctypes

import torch

driver = ctypes.CDLL("libcuda.so.1")


def solve(input, output, N):
    driver.cuCtxSetLimit(6, ctypes.c_size_t(1 << 20))  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE
    output[:N] = torch.softmax(input[:N].double(), 0)
