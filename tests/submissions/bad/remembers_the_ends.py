# expect: wrong-answer
# kind: remembers
# says: /(again|twin|uniform): output
# Takes vectors of one length with the same first and last element for the same vector.
import torch

answers = {}


def solve(input, output, N):
    key = (N, input[0].item(), input[N - 1].item())
    if key not in answers:
        answers[key] = torch.softmax(input[:N].double(), 0).float()
    output[:N] = answers[key]
