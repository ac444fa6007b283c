# expect: runtime-error
# kind: output
# says: SIGABRT during the call; last output: \]0;mine +\[2Jaccepted +\[32m
# flags: --case N=1025/uniform
# Its last words would name the terminal's window, wipe it, and say something else in green.
import os


def solve(input, output, N):
    os.write(1, b"\x1b]0;mine\x07\x1b[2Jaccepted \x1b[32m")
    os.abort()
