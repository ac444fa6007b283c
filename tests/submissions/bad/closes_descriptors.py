# expect: runtime-error
# kind: descriptors
# says: private pipe
# flags: --case N=1025/uniform
import os


def solve(input, output, N):
    os.closerange(3, 1024)
    output[:N] = 1.0 / N
