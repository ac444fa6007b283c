# expect: compile-error
# kind: compile
# says: solve cannot be called with
def solve(input, output):
    pass
