# kind: crash
# expect: runtime-error
# says: line 8: ValueError: \? +\[31mred
# A lone surrogate, which no output can take, and a terminal's escape sequence.


def solve(input, output, N):
    raise ValueError("\ud800 \x1b[31mred")
