# kind: compile
# expect: compile-error
# says: solve cannot be called with
def solve(input, output):
    pass
