# expect: wrong-answer
# kind: remembers
# says: output not written at index 0
# Trusts that what it wrote for these contents is still there.
import hashlib

import torch

seen = set()


def solve(input, output, N):
    key = hashlib.sha256(input[:N].cpu().numpy().tobytes()).digest()
    if key not in seen:
        output[:N] = torch.softmax(input[:N].double(), 0)
    seen.add(key)
