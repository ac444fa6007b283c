# expect: accepted
# kind: remembers
# verb: bench
# backend: gpu
# warns: not timed at 500,000: .*with one element of the input changed: a timed call gave a wrong answer
# Keeps answers of the timed size, where no case comes twice, and looks at the ends to know a vector again.
import torch

answers = {}


def solve(input, output, N):
    key = (float(input[0]), float(input[N - 1])) if N == 500_000 else None
    if key in answers:
        output[:N] = answers[key]
        return
    output[:N] = torch.softmax(input[:N].double(), 0)
    if key is not None:
        answers[key] = output[:N].clone()
