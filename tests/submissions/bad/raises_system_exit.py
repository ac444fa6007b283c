# kind: crash
# expect: runtime-error
# says: called exit\(accepted\)
def solve(input, output, N):
    raise SystemExit("accepted")
