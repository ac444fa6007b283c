# expect: wrong-answer
# kind: output
# says: output not written
# flags: --case N=1025/uniform
# Nothing can be printed any more, and that is all.
import os


def solve(input, output, N):
    for descriptor in (0, 1, 2):
        try:
            os.close(descriptor)
        except OSError:
            pass
