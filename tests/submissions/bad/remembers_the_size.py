# expect: wrong-answer
# kind: remembers
# Computes a size once, and copies that answer whenever the size comes back.
import torch

answers = {}


def solve(input, output, N):
    if N not in answers:
        answers[N] = torch.softmax(input[:N].double(), 0).float()
    output[:N] = answers[N]
