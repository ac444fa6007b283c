# expect: compile-error
# kind: compile
# says: line 4: ModuleNotFoundError: No module named 'no_such_module'
import no_such_module


def solve(input, output, N):
    pass
