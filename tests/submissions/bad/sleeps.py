# expect: time-limit-exceeded
# kind: endless
# says: no answer within 1 s
# flags: --timeout 1
import time


def solve(input, output, N):
    time.sleep(3600)
