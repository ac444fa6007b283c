# expect: out-of-bounds
# kind: writes-outside
# says: output\[\d+\], 1000001 past the end
# flags: --case N=1025/uniform
# A kernel that stores a million elements past the end.
import torch
import triton
import triton.language as tl


@triton.jit
def one_kernel(output_ptr, at):
    tl.store(output_ptr + at, 1.0)


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
    one_kernel[(1,)](output, N + 1_000_000)
