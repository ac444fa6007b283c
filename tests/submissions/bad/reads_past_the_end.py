# expect: out-of-bounds
# kind: reads-outside
# says: read 4 bytes at input\[\d+\], 1 past the end
# backend: cpu
# flags: --case N=1025/uniform
# The load has no mask. What it reads too much is thrown away, so no output shows it and a GPU lets it pass.
import torch
import triton
import triton.language as tl


@triton.jit
def exp_kernel(input_ptr, e_ptr, m, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + offsets)
    tl.store(e_ptr + offsets, tl.exp(x - m), mask=offsets < N)


def solve(input, output, N):
    exp_kernel[(triton.cdiv(N, 1024),)](input, output, input[:N].max().item(), N, BLOCK_SIZE=1024)
    output[:N] /= output[:N].double().sum().float()
