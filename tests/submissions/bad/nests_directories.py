# expect: accepted
# kind: files
# flags: --case N=1025/uniform
# Right, and leaves directories so deep that their path has no name and that what removes them by recursion fails.
import os
import tempfile

import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
    os.chdir(tempfile.mkdtemp())
    for _ in range(1500):
        os.mkdir("nested")
        os.chdir("nested")
    os.chdir("/")
