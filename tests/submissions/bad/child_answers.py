# expect: runtime-error
# kind: descriptors
# backend: cpu
# says: exited with status 0|private pipe
# flags: --case N=1025/uniform
# The worker goes, a child of it stays and would answer in its place.
import os

import torch


def solve(input, output, N):
    if os.fork():
        os._exit(0)
    output[:N] = torch.softmax(input[:N].double(), 0)
