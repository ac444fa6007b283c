# kind: compile
# expect: compile-error
# says: line 5: SyntaxError
def solve(input, output, N):
    output[:N] = (1
