# expect: time-limit-exceeded
# kind: endless
# flags: --timeout 1
# A lock taken twice.
import threading

lock = threading.Lock()


def solve(input, output, N):
    lock.acquire()
    lock.acquire()
