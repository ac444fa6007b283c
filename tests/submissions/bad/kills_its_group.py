# kind: crash
# expect: runtime-error
# says: SIGTERM
import os
import signal


def solve(input, output, N):
    os.killpg(0, signal.SIGTERM)
