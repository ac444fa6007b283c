# expect: input-modified
# kind: input-changed
# problem: softmax_rows
# says: input\[\d+\], 1 past the end of row 0 \(\d+ columns\) and \d+ before row 1 was (nan|3\.4\S+), is 0$
# Clears what lies between the rows of the input, and then need not mask its loads.
import torch


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    for row in range(n_rows - 1):
        input[row * input_row_stride + n_cols : (row + 1) * input_row_stride] = 0
    x = input.as_strided((n_rows, n_cols), (input_row_stride, 1))
    torch.softmax(x, dim=1, out=output.as_strided((n_rows, n_cols), (output_row_stride, 1)))
