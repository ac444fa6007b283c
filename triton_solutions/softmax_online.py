# problem: softmax
"""Softmax of one vector with one program that keeps a running maximum and sum: online softmax.

Idea     One walk over the blocks keeps (m, l), at first (-inf, 0). For a block with maximum m_b:
             m' = max(m, m_b),    l' = l * exp(m - m') + sum exp(x - m').
         Invariant after each block: l = sum of exp(x_j - m) over what has been read. Maximum and sum thus cost one
         pass instead of two; a second walk writes exp(x - m) / l. (Milakov and Gimelshein, 2018, arXiv:1805.02867.)
Launch   grid = (1,), blocks of 1024, 4 warps.
Traffic  2 reads and 1 write of N floats, nothing through global scalars, no atomics.
Limit    One program is one SM: the fewest bytes of the simple kernels, and the slowest for long vectors.
Special  As long as only -inf has been read, m' is -inf and x - m' would be -inf - (-inf) = NaN, although a finite
         value may follow. The walk therefore subtracts 0 while m' is -inf: every exponential is then 0, which is what
         the invariant asks for. Only at the end m = -inf means that all was -inf: then l = 0 and 0 / 0 is NaN, as
         torch.softmax has it. A NaN enters l through exp and stays.
Judge    python -m harness submit triton_solutions/softmax_online.py
"""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024
NUM_WARPS = 4


@triton.jit
def online_softmax_kernel(input_ptr, output_ptr, N, BLOCK_SIZE: tl.constexpr):
    first = tl.arange(0, BLOCK_SIZE).to(tl.int64)  # 64-bit: near N = 2^31 - 1 a 32-bit offset would wrap

    m = -float("inf")
    l = 0.0
    offsets = first
    for _ in range(tl.cdiv(N, BLOCK_SIZE)):
        x = tl.load(input_ptr + offsets, mask=offsets < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m = m_new
        offsets += BLOCK_SIZE

    shift = tl.where(m == -float("inf"), 0.0, m)
    offsets = first
    for _ in range(tl.cdiv(N, BLOCK_SIZE)):
        x = tl.load(input_ptr + offsets, mask=offsets < N, other=-float("inf")).to(tl.float32)
        tl.store(output_ptr + offsets, tl.exp(x - shift) / l, mask=offsets < N)
        offsets += BLOCK_SIZE


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    assert input.is_contiguous() and output.is_contiguous(), "input and output must be contiguous"
    assert input.device == output.device, "input and output must be on the same device"
    assert N <= input.numel() and N <= output.numel(), "N exceeds a buffer"
    if N == 0:
        return
    online_softmax_kernel[(1,)](input, output, N, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
