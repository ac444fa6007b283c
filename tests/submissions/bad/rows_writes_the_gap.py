# expect: out-of-bounds
# kind: writes-outside
# problem: softmax_rows, softmax_rows_bf16
# says: wrote output\[\d+\], 1 past the end of row \d+ \(\d+ columns\) and \d+ before row \d+
# Writes zeros up to the next row, as if the stride were the number of columns.
import torch


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    x = input.as_strided((n_rows, n_cols), (input_row_stride, 1))
    y = torch.softmax(x, dim=1)
    for row in range(n_rows):
        whole = output[row * output_row_stride :][:output_row_stride]
        whole.zero_()
        whole[:n_cols] = y[row]
