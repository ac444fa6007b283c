# expect: runtime-error
# kind: descriptors
# says: exited with status 0
# Forks, lets its parent exit, and goes on in a session of its own.
import os
import threading


def solve(input, output, N):
    if os.fork():
        os._exit(0)
    os.setsid()
    threading.Event().wait()
