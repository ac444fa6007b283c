# expect: runtime-error
# kind: crash
# says: called exit\(0\)
# flags: --case N=1025/uniform
import sys


def solve(input, output, N):
    sys.exit(0)
