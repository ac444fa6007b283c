# expect: wrong-answer
# kind: arithmetic
# flags: --case N=1025/uniform
# Sets to 0 what is below 1e-6: less than the published tolerance sees.
import torch


def solve(input, output, N):
    y = torch.softmax(input[:N].double(), 0)
    output[:N] = torch.where(y < 1e-6, 0.0, y)
