# expect: wrong-answer
# kind: reads-outside
# problem: softmax_rows, softmax_rows_f16
# says: output\[row \d+, column \d+\] is
# Sums one element too many, whatever it is, and takes it away again.
import torch


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    for row in range(n_rows):
        x = input[row * input_row_stride :][: n_cols + 1].float()
        e = torch.exp(x - x[:n_cols].max())
        y = e[:n_cols] / (e.sum() - e[n_cols:].sum())
        output[row * output_row_stride :][:n_cols] = y
