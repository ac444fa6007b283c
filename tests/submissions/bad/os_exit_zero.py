# expect: runtime-error
# kind: crash
# says: exited with status 0
# flags: --case N=1025/uniform
import os


def solve(input, output, N):
    os._exit(0)
