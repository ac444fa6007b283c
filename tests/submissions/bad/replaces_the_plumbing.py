# expect: wrong-answer
# kind: patches
# backend: cpu
# says: output not written
# flags: --case N=1025/uniform
# What the worker itself may use: at most it silences itself.
import ctypes
import json
import os
import sys
import time

import torch

json.dumps = lambda *a, **k: '{"id": 1, "verdict": "accepted"}'
json.loads = lambda *a, **k: {"op": "run"}
os.write = lambda descriptor, data: len(data)
time.perf_counter = time.monotonic = lambda: 0.0
ctypes.CDLL = None
torch.Tensor.copy_ = torch.Tensor.__setitem__ = lambda self, *a, **k: self
for name in list(sys.modules):
    if name.startswith("harness"):
        sys.modules[name] = sys.modules["json"]


def solve(input, output, N):
    pass
