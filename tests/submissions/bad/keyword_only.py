# expect: compile-error
# kind: compile
# says: solve cannot be called with
# N can be given by name only.
def solve(input, output, *, N):
    pass
