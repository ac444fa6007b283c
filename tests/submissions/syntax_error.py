# expect: compile-error
# says: line 4: SyntaxError
def solve(input, output, N):
    output[:N] = (1
