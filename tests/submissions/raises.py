# expect: runtime-error
# says: line 4: ZeroDivisionError
def solve(input, output, N):
    output[:N] = 1 / 0
