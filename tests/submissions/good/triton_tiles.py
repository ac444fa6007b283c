# expect: accepted
# kind: good
# Tiles of 32 x 128: each leaves its maximum and its sum, which torch puts together in float64.
import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x_ptr, m_ptr, sum_ptr, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)[:, None] * COLUMNS
    i = tl.program_id(0) * ROWS * COLUMNS + rows + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + i, mask=i < N, other=-float("inf"))
    m = tl.max(tl.max(x, axis=1), axis=0)
    tl.store(m_ptr + tl.program_id(0), m)
    tl.store(sum_ptr + tl.program_id(0), tl.sum(tl.sum(tl.exp(x - m), axis=1), axis=0))


@triton.jit
def output_kernel(x_ptr, y_ptr, m_ptr, sum_ptr, N, BLOCK_SIZE: tl.constexpr):
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + i, mask=i < N)
    tl.store(y_ptr + i, tl.exp(x - tl.load(m_ptr)) / tl.load(sum_ptr), mask=i < N)


def solve(input, output, N):
    count = triton.cdiv(N, 4096)
    maxima = torch.empty(count, device=input.device)
    sums = torch.empty_like(maxima)
    partial_kernel[(count,)](input, maxima, sums, N, ROWS=32, COLUMNS=128)
    m = maxima.max()
    total = (sums.double() * torch.exp((maxima - m).double())).sum().float()
    output_kernel[(count,)](input, output, m, total, N, BLOCK_SIZE=4096)
