# expect: accepted
# kind: files
# Right, and leaves a file and a directory behind at every call: they are removed when it has ended.
import tempfile

import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N], 0)
    tempfile.mkstemp()
    tempfile.mkdtemp()
