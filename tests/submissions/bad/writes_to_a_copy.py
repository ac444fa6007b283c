# expect: wrong-answer
# kind: nothing-written
# says: output not written at index 0
# flags: --case N=1025/uniform
# output[:N].clone() is another tensor.
import torch


def solve(input, output, N):
    torch.softmax(input[:N], 0, out=output[:N].clone())
