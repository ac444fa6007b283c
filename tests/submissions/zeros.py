# expect: wrong-answer
# says: output\[0\] is 0, expected 1
def solve(input, output, N):
    output[:N].zero_()
