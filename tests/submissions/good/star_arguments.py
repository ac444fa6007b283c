# expect: accepted
# kind: good
import torch


def solve(*arguments):
    input, output, N = arguments
    output[:N] = torch.softmax(input[:N].double(), 0)
