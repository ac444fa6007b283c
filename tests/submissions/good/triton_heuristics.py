# expect: accepted
# kind: good
# Heuristics choose the block, a helper of its own does the arithmetic.
import torch
import triton
import triton.language as tl


LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def exponential(x, m):
    return tl.exp2((x - m) * LOG2_E)


@triton.heuristics({"BLOCK_SIZE": lambda arguments: min(8192, triton.next_power_of_2(arguments["N"]))})
@triton.jit
def softmax_kernel(input_ptr, output_ptr, N, BLOCK_SIZE: tl.constexpr):
    m = -float("inf")
    for start in range(0, N, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        m = tl.maximum(m, tl.max(tl.load(input_ptr + offsets, mask=offsets < N, other=-float("inf")), axis=0))
    l = 0.0
    for start in range(0, N, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(input_ptr + offsets, mask=offsets < N, other=-float("inf"))
        l += tl.sum(tl.where(offsets < N, exponential(x, m), 0.0), axis=0)
    for start in range(0, N, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(input_ptr + offsets, mask=offsets < N, other=0.0)
        tl.store(output_ptr + offsets, exponential(x, m) / l, mask=offsets < N)


def solve(input, output, N):
    softmax_kernel[(1,)](input, output, N)
