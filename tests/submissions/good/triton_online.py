# expect: accepted
# kind: good
# A running maximum and sum for each lane of the block, joined at the end.
import torch
import triton
import triton.language as tl


@triton.jit
def online_kernel(input_ptr, output_ptr, N, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    m = tl.full((BLOCK_SIZE,), -3.4028234663852886e38, tl.float32)
    l = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in range(0, N, BLOCK_SIZE):
        offsets = start + lanes
        mask = offsets < N
        x = tl.load(input_ptr + offsets, mask=mask, other=-3.4028234663852886e38)
        new = tl.maximum(m, x)
        l = l * tl.exp(m - new) + tl.where(mask, tl.exp(x - new), 0.0)
        m = new
    whole = tl.max(m, axis=0)
    total = tl.sum(l * tl.exp(m - whole), axis=0)
    for start in range(0, N, BLOCK_SIZE):
        offsets = start + lanes
        x = tl.load(input_ptr + offsets, mask=offsets < N, other=0.0)
        tl.store(output_ptr + offsets, tl.exp(x - whole) / total, mask=offsets < N)


def solve(input, output, N):
    online_kernel[(1,)](input, output, N, BLOCK_SIZE=8192, num_warps=8)
