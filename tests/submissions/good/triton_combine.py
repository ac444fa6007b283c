# expect: accepted
# kind: good
# Maximum and sum in one tl.reduce over pairs; a scan from behind, and a combine function that branches on its numbers.
import torch
import triton
import triton.language as tl


@triton.jit
def merge(m1, l1, m2, l2):
    m = tl.maximum(m1, m2)
    return m, l1 * tl.where(m1 == m, 1.0, tl.exp(m1 - m)) + l2 * tl.where(m2 == m, 1.0, tl.exp(m2 - m))


@triton.jit
def larger(a, b):
    if a > b:
        result = a
    else:
        result = b
    return result


@triton.jit
def largest(a, b):
    return tl.maximum(a, b)


@triton.jit
def partial_kernel(x_ptr, m_ptr, l_ptr, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    i += tl.program_id(0) * ROWS * COLUMNS
    x = tl.load(x_ptr + i, mask=i < N, other=-float("inf"))
    m, l = tl.reduce((x, tl.where(i < N, 1.0, 0.0)), 1, merge, keep_dims=True)
    whole, total = tl.reduce((m, l), None, merge)
    rest = tl.associative_scan(m, 0, largest, reverse=True)
    tl.device_assert(tl.max(tl.where(tl.arange(0, ROWS)[:, None] == 0, rest, -float("inf"))) == whole)
    tl.store(m_ptr + tl.program_id(0), whole)
    tl.store(l_ptr + tl.program_id(0), total)


@triton.jit
def output_kernel(x_ptr, y_ptr, m_ptr, l_ptr, N, blocks, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    b = tl.arange(0, BLOCKS)
    ms = tl.load(m_ptr + b, mask=b < blocks, other=-float("inf"))
    m, l = tl.reduce((ms, tl.load(l_ptr + b, mask=b < blocks, other=0.0)), 0, merge)
    pair = tl.load(m_ptr + tl.arange(0, 2), mask=tl.arange(0, 2) < blocks, other=-float("inf"))
    m = tl.maximum(m, tl.reduce(pair, 0, larger))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N)
    tl.store(y_ptr + i, tl.exp(x - m) / l, mask=i < N)


def solve(input, output, N):
    blocks = triton.cdiv(N, 16384)
    parts = input.new_empty((2, blocks))
    partial_kernel[(blocks,)](input, parts[0], parts[1], N, ROWS=4, COLUMNS=4096)
    BLOCKS = max(2, triton.next_power_of_2(blocks))
    output_kernel[(blocks,)](input, output, parts[0], parts[1], N, blocks, BLOCK=16384, BLOCKS=BLOCKS)
