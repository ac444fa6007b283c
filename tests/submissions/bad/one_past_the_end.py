# expect: out-of-bounds
# kind: writes-outside
# says: wrote .*output\[\d+\]
# flags: --case N=1025/uniform
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, output_ptr, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < N, other=0.0)
    tl.store(output_ptr + offsets, x, mask=offsets <= N)


def solve(input, output, N):
    y = torch.softmax(input[:N].double(), 0).float()
    copy_kernel[(triton.cdiv(N + 1, 1024),)](y, output, N, BLOCK_SIZE=1024)
