# expect: wrong-answer
# kind: tail
# problem: softmax_rows
# says: output not written at row 0, column \d+
# The block is a power of two too small where there is one column more than a power of two.
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(input_ptr, output_ptr, n_cols, input_row_stride, output_row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + row * input_row_stride + columns, mask=columns < n_cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(output_ptr + row * output_row_stride + columns, e / tl.sum(e, axis=0), mask=columns < n_cols)


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    block_size = triton.next_power_of_2(max(1, n_cols - 1))
    softmax_kernel[(n_rows,)](input, output, n_cols, input_row_stride, output_row_stride, BLOCK_SIZE=block_size)
