# kind: crash
# expect: runtime-error
# says: called exit\(0\)
import sys


def solve(input, output, N):
    sys.exit(0)
