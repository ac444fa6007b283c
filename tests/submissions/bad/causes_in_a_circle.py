# expect: runtime-error
# kind: crash
# says: InterpreterError: round
# flags: --case N=1025/uniform
class InterpreterError(Exception):
    pass


def solve(input, output, N):
    error, other = InterpreterError("round"), InterpreterError("round")
    error.__cause__, other.__cause__ = other, error
    raise error
