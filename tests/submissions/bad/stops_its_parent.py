# expect: time-limit-exceeded
# kind: endless
# flags: --timeout 1
# Stops the process that started it, which is to see its end, and waits.
import os
import signal
import threading


def solve(input, output, N):
    os.kill(os.getppid(), signal.SIGSTOP)
    threading.Event().wait()
