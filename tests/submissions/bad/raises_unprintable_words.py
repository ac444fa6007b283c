# expect: runtime-error
# kind: crash
# says: line 9: ValueError: \? +\[31mred
# flags: --case N=1025/uniform
# A lone surrogate, which no output can take, and a terminal's escape sequence.


def solve(input, output, N):
    raise ValueError("\ud800 \x1b[31mred")
