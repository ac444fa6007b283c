# expect: wrong-answer
# kind: tail
# says: not written at index
# flags: --case N=1025/uniform
# Reshapes to four columns: right only where N is a multiple of 4.
import torch


def solve(input, output, N):
    x = input[: N // 4 * 4].double().view(-1, 4)
    if len(x):
        output[: N // 4 * 4].view(-1, 4).copy_(torch.softmax(x.flatten(), 0).view(-1, 4))
