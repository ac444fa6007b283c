# expect: accepted
# kind: good
# Each program leaves its maximum and sum; the second kernel merges them all again in every program.
import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x_ptr, m_ptr, l_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=float("-inf"))
    m = tl.max(x, axis=0)
    tl.store(m_ptr + pid, m)
    tl.store(l_ptr + pid, tl.sum(tl.where(offsets < n, tl.exp(x - m), 0.0), axis=0))


@triton.jit
def merge_kernel(x_ptr, y_ptr, m_ptr, l_ptr, n, blocks, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    index = tl.arange(0, BLOCKS)
    ms = tl.load(m_ptr + index, mask=index < blocks, other=float("-inf"))
    ls = tl.load(l_ptr + index, mask=index < blocks, other=0.0)
    m = tl.max(ms, axis=0)
    l = tl.sum(tl.where(index < blocks, ls * tl.exp(ms - m), 0.0), axis=0)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + offsets, tl.exp(x - m) / l, mask=offsets < n)


def solve(input, output, N):
    BLOCK = 4096
    blocks = triton.cdiv(N, BLOCK)
    m = torch.empty(blocks, device=input.device, dtype=torch.float32)
    l = torch.empty_like(m)
    partial_kernel[(blocks,)](input, m, l, N, BLOCK=BLOCK)
    merge_kernel[(blocks,)](input, output, m, l, N, blocks, BLOCK=BLOCK, BLOCKS=triton.next_power_of_2(blocks))
