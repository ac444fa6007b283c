# expect: accepted
# kind: patches
# flags: --case N=1025/uniform
# Right, and then it tries to cut off the memory that the judge looks at: the memory is sealed, so nothing happens.
import os

import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
    for name in os.listdir("/proc/self/map_files"):
        path = f"/proc/self/map_files/{name}"
        try:
            if "memfd:" in os.readlink(path):
                os.truncate(path, 0)
        except OSError:
            pass
