# kind: crash
# expect: runtime-error
# says: line 5: ZeroDivisionError
def solve(input, output, N):
    output[:N] = 1 / 0
