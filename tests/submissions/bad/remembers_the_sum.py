# expect: wrong-answer
# kind: remembers
# says: N=1025/uniform
# Takes vectors with the same elements in another order for the same vector.
import torch

answers = {}


def solve(input, output, N):
    key = (N, input[:N].double().sum().item(), input[:N].max().item())
    key = tuple(round(number, 6) for number in key)
    if key not in answers:
        answers[key] = torch.softmax(input[:N].double(), 0).float()
    output[:N] = answers[key]
