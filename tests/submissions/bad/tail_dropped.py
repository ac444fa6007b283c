# expect: wrong-answer
# kind: tail
# says: output not written at index
# flags: --case N=1025/uniform
import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(e_ptr, output_ptr, total, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(output_ptr + offsets, tl.load(e_ptr + offsets) / total)


def solve(input, output, N):
    e = torch.exp(input[:N] - input[:N].max())
    blocks = N // 256  # rounds down: the last N % 256 elements stay unwritten
    if blocks:
        divide_kernel[(blocks,)](e, output, e.sum().item(), BLOCK_SIZE=256)
