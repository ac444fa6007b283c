# kind: crash
# expect: runtime-error
# says: RecursionError
# flags: --case N=1025/uniform
def solve(input, output, N):
    solve(input, output, N)
