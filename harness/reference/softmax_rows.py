"""The reference row of softmax_rows in each type: torch.softmax, judged and timed like any submission."""

import torch


def solve(
    input: torch.Tensor, output: torch.Tensor, n_rows: int, n_cols: int, input_row_stride: int, output_row_stride: int
) -> None:
    x = input.as_strided((n_rows, n_cols), (input_row_stride, 1))
    y = output.as_strided((n_rows, n_cols), (output_row_stride, 1))
    torch.softmax(x, dim=1, out=y)
