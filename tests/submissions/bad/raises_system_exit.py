# expect: runtime-error
# kind: crash
# says: called exit\(accepted\)
# flags: --case N=1025/uniform
def solve(input, output, N):
    raise SystemExit("accepted")
