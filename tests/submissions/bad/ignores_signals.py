# expect: time-limit-exceeded
# kind: endless
# flags: --timeout 1
# Refuses to be told to end.
import signal


def solve(input, output, N):
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        signal.pause()
