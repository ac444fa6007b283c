# expect: runtime-error
# kind: crash
# says: RecursionError
# flags: --case N=1025/uniform
def solve(input, output, N):
    solve(input, output, N)
