# expect: accepted
# kind: good
# An autotuned kernel for the last pass.
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": size}, num_warps=warps) for size, warps in ((1024, 4), (4096, 8))],
    key=["N"],
)
@triton.jit
def write_kernel(input_ptr, output_ptr, m_ptr, l_ptr, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < N
    x = tl.load(input_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, tl.exp(x - tl.load(m_ptr)) / tl.load(l_ptr), mask=mask)


def solve(input, output, N):
    m = input[:N].max()
    l = torch.exp(input[:N] - m).sum()
    write_kernel[lambda meta: (triton.cdiv(N, meta["BLOCK_SIZE"]),)](input, output, m, l, N)
