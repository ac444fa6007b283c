# expect: accepted
# kind: good
import functools

import torch


def softmax(dtype, input, output, N):
    output[:N] = torch.softmax(input[:N].to(dtype), 0)


solve = functools.partial(softmax, torch.float64)
