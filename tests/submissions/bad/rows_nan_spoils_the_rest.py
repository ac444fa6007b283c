# expect: wrong-answer
# kind: arithmetic
# problem: softmax_rows
# flags: --strict
# says: (nan|plus-infinity|all-minus-infinity): output\[row \d+, column \d+\] is nan, expected
# Row sums as differences of one running sum over the matrix: a NaN stays in it for all rows that follow.
import torch


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    x = input.as_strided((n_rows, n_cols), (input_row_stride, 1)).double()
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    ends = e.flatten().cumsum(0)[n_cols - 1 :: n_cols]
    sums = torch.diff(ends, prepend=torch.zeros(1, dtype=ends.dtype, device=ends.device))
    output.as_strided((n_rows, n_cols), (output_row_stride, 1)).copy_(e / sums[:, None])
