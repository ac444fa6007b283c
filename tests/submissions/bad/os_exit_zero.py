# kind: crash
# expect: runtime-error
# says: exited with status 0
import os


def solve(input, output, N):
    os._exit(0)
