# expect: wrong-answer
# kind: arithmetic
# problem: subtract_one
# says: /edges\S*: output\[\d+\] is -0, expected 0
# Right but for the sign of the zero that 1 gives.


def solve(input, output, N):
    output[:N] = -(1 - input[:N])
