# problem: subtract_one
"""The smallest useful Triton kernel: subtract 1 from every element of a vector.

Idea     A Triton kernel is written for a block of elements, not for one. Program p takes elements
         p * 1024 ... p * 1024 + 1023; for N = 3072 there are three:
             program 0: 0-1023      program 1: 1024-2047      program 2: 2048-3071
         The mask switches off the lanes past the end where N is no multiple of 1024: they neither load nor store.
Launch   grid = cdiv(N, 1024) programs of 4 warps (Triton's default).
Traffic  1 read and 1 write of N floats: the least there is.
Limit    Small N: the launch itself. Large N: memory bandwidth.
Judge    python -m harness submit triton_solutions/subtract_one.py
"""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def subtract_one_kernel(input_ptr, output_ptr, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < N
    x = tl.load(input_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x - 1.0, mask=mask)


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    assert input.is_contiguous() and output.is_contiguous(), "input and output must be contiguous"
    assert input.device == output.device, "input and output must be on the same device"
    assert N <= input.numel() and N <= output.numel(), "N exceeds a buffer"
    if N == 0:
        return
    subtract_one_kernel[(triton.cdiv(N, BLOCK_SIZE),)](input, output, N, BLOCK_SIZE=BLOCK_SIZE)
