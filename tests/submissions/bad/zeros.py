# expect: wrong-answer
# kind: arithmetic
# says: output\[\d+\] is 0, expected
# flags: --case N=1025/uniform
def solve(input, output, N):
    output[:N].zero_()
