# expect: runtime-error
# kind: crash
# says: SIGKILL
# flags: --case N=1025/uniform
import os
import signal


def solve(input, output, N):
    os.kill(os.getpid(), signal.SIGKILL)
