# expect: wrong-answer
# kind: undefined
# torch.empty where torch.zeros was meant.
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(e_ptr, total_ptr, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    e = tl.load(e_ptr + offsets, mask=offsets < N, other=0.0)
    tl.atomic_add(total_ptr, tl.sum(e, axis=0))


def solve(input, output, N):
    e = torch.exp(input[:N] - input[:N].max())
    total = torch.empty(1, dtype=torch.float32, device=input.device)
    sum_kernel[(triton.cdiv(N, 1024),)](e, total, N, BLOCK_SIZE=1024)
    output[:N] = e / total
