# expect: runtime-error
# kind: processes
# says: more than \d+ processes
# flags: --case N=1025/uniform
# Starts processes without end; each would stay.
import os

import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N], 0)
    while True:
        os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
