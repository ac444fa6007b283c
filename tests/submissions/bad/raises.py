# expect: runtime-error
# kind: crash
# says: line 6: ZeroDivisionError
# flags: --case N=1025/uniform
def solve(input, output, N):
    output[:N] = 1 / 0
