# kind: arithmetic
# expect: wrong-answer
# says: output\[\d+\] is 0, expected
def solve(input, output, N):
    output[:N].zero_()
