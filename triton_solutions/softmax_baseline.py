# problem: softmax
"""Softmax of one vector with three kernels, joined by two atomics: the Triton baseline.

Idea     1. max kernel: every program reduces its block to a maximum and `atomic_max`es it into one float.
         2. sum kernel: every program reads that maximum m and `atomic_add`s its sum of exp(x - m) into another.
         3. normalise kernel: y = exp(x - m) / l.
         A kernel boundary is the only grid-wide barrier used: m is final before the sum kernel starts.
Launch   grid = cdiv(N, 1024) programs of 4 warps, three times.
Traffic  3 reads and 1 write of N floats; two scalars through global memory; two kinds of atomics.
Limit    Small N: three launches and two fills. Large N: memory traffic, 4 N where 2 N is the least for a vector that
         fits on the chip. The order of the atomic adds varies, so the last bits of the sum do too.
Special  -inf adds exp(-inf) = 0. All -inf, a +inf or a NaN give NaN everywhere, as torch.softmax has it: `tl.max` and
         the atomic may drop a NaN, but exp(NaN - m) carries it into the sum.
Judge    python -m harness submit triton_solutions/softmax_baseline.py
"""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024
NUM_WARPS = 4


@triton.jit
def max_kernel(input_ptr, max_ptr, N, BLOCK_SIZE: tl.constexpr):
    # 64-bit: near N = 2^31 - 1 a 32-bit program_id * BLOCK_SIZE + arange would wrap in the last block.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + offsets, mask=offsets < N, other=-float("inf"))
    tl.atomic_max(max_ptr, tl.max(x, axis=0))


@triton.jit
def sum_kernel(input_ptr, max_ptr, sum_ptr, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + offsets, mask=offsets < N, other=-float("inf"))
    m = tl.load(max_ptr)
    # Masked lanes are excluded here, not left to exp(-inf - m): that is NaN where m is -inf.
    e = tl.where(offsets < N, tl.exp(x - m), 0.0)
    tl.atomic_add(sum_ptr, tl.sum(e, axis=0))


@triton.jit
def normalise_kernel(input_ptr, output_ptr, max_ptr, sum_ptr, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + offsets, mask=offsets < N)
    y = tl.exp(x - tl.load(max_ptr)) / tl.load(sum_ptr)
    tl.store(output_ptr + offsets, y, mask=offsets < N)


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    assert input.is_contiguous() and output.is_contiguous(), "input and output must be contiguous"
    assert input.device == output.device, "input and output must be on the same device"
    assert N <= input.numel() and N <= output.numel(), "N exceeds a buffer"
    if N == 0:
        return
    grid = (triton.cdiv(N, BLOCK_SIZE),)
    maximum = torch.full((1,), -float("inf"), dtype=torch.float32, device=input.device)
    total = torch.zeros((1,), dtype=torch.float32, device=input.device)
    max_kernel[grid](input, maximum, N, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
    sum_kernel[grid](input, maximum, total, N, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
    normalise_kernel[grid](input, output, maximum, total, N, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
