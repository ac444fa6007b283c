# expect: out-of-bounds
# kind: writes-outside
# problem: softmax_rows
# says: wrote output\[\d+\], \d+ past the end of row \d+
# Takes it that rows of the output follow one another.
import torch


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    x = input.as_strided((n_rows, n_cols), (input_row_stride, 1))
    torch.softmax(x, dim=1, out=output[: n_rows * n_cols].view(n_rows, n_cols))
