# expect: time-limit-exceeded
# says: no answer within 2 s
# flags: --timeout 2
import time


def solve(input, output, N):
    time.sleep(3600)
