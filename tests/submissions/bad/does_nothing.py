# kind: nothing-written
# expect: wrong-answer
# says: output not written at index 0
def solve(input, output, N):
    pass
