# expect: wrong-answer
# kind: remembers
# says: N=65537/uniform
# Takes vectors that agree at 64 places for the same vector.
import torch

answers = {}


def solve(input, output, N):
    places = torch.linspace(0, N - 1, 64, dtype=torch.float64).long().to(input.device)
    key = (N, *input[places].tolist())
    if key not in answers:
        answers[key] = torch.softmax(input[:N].double(), 0).float()
    output[:N] = answers[key]
