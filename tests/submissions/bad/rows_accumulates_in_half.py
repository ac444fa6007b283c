# expect: wrong-answer
# kind: arithmetic
# problem: softmax_rows_f16
# says: output\[row \d+, column \d+\] is .* of \d+ elements wrong
# The exponentials and their sum are of the input's type.
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(input_ptr, output_ptr, n_cols, input_row_stride, output_row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + row * input_row_stride + columns, mask=columns < n_cols, other=-float("inf"))
    e = tl.exp((x - tl.max(x, axis=0)).to(tl.float32)).to(tl.float16)
    y = e / tl.sum(e, axis=0)
    tl.store(output_ptr + row * output_row_stride + columns, y, mask=columns < n_cols)


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    block_size = triton.next_power_of_2(n_cols)
    softmax_kernel[(n_rows,)](input, output, n_cols, input_row_stride, output_row_stride, BLOCK_SIZE=block_size)
