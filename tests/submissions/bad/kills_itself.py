# kind: crash
# expect: runtime-error
# says: SIGKILL
# flags: --case N=1025/uniform
import os
import signal


def solve(input, output, N):
    os.kill(os.getpid(), signal.SIGKILL)
