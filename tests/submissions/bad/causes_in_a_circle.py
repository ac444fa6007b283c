# kind: crash
# expect: runtime-error
# says: InterpreterError: round
class InterpreterError(Exception):
    pass


def solve(input, output, N):
    error, other = InterpreterError("round"), InterpreterError("round")
    error.__cause__, other.__cause__ = other, error
    raise error
