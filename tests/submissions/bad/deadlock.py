# kind: endless
# expect: time-limit-exceeded
# flags: --timeout 1
# A lock taken twice.
import threading

lock = threading.Lock()


def solve(input, output, N):
    lock.acquire()
    lock.acquire()
