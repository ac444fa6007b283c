# kind: crash
# expect: runtime-error
# says: called exit\(0\)
# flags: --case N=1025/uniform
import sys


def solve(input, output, N):
    sys.exit(0)
