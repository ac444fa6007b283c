# expect: wrong-answer
# kind: tail
# says: output not written at index 1024
# flags: --case N=1025/uniform
# One program over one block: above N = 1024 the rest is never read nor written.
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(input_ptr, output_ptr, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + offsets, mask=offsets < N, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(output_ptr + offsets, e / tl.sum(e, axis=0), mask=offsets < N)


def solve(input, output, N):
    softmax_kernel[(1,)](input, output, N, BLOCK_SIZE=1024)
