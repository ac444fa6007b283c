# expect: runtime-error
# kind: crash
# says: SIGSEGV
# flags: --case N=1025/uniform
import ctypes


def solve(input, output, N):
    ctypes.memset(8, 0, 1)
