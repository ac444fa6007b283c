# kind: crash
# expect: runtime-error
# says: RecursionError
def solve(input, output, N):
    solve(input, output, N)
