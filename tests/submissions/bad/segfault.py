# kind: crash
# expect: runtime-error
# says: SIGSEGV
import ctypes


def solve(input, output, N):
    ctypes.memset(8, 0, 1)
