# kind: crash
# expect: runtime-error
# says: SIGKILL
import os
import signal


def solve(input, output, N):
    os.kill(os.getpid(), signal.SIGKILL)
