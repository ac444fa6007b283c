# expect: accepted
# kind: clocks
# Right. The clocks that it stops are its own.
import time

import torch

time.perf_counter_ns = time.perf_counter = time.monotonic = time.time = lambda: 0


class Event:
    def __init__(self, *a, **k):
        pass

    def record(self, *a):
        pass

    def elapsed_time(self, other):
        return 0.0


torch.cuda.Event = Event


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
