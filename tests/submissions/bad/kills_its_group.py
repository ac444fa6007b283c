# expect: runtime-error
# kind: crash
# says: SIGTERM
# flags: --case N=1025/uniform
import os
import signal


def solve(input, output, N):
    os.killpg(0, signal.SIGTERM)
