# expect: accepted
# kind: clocks
# backend: gpu
# verb: bench
# flag: suspicious
# Right. The worker's clock is made to say that each call took a nanosecond.
import sys

import torch

from harness import cupti

cupti.union = lambda intervals: 1
sys.modules["harness.cupti"].union = cupti.union


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
