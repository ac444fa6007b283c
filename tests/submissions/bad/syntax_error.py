# expect: compile-error
# kind: compile
# says: line 5: SyntaxError
def solve(input, output, N):
    output[:N] = (1
