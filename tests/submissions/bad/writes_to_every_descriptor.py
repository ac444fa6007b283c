# expect: runtime-error
# kind: descriptors
# says: private pipe
# flags: --case N=1025/uniform
import os


def solve(input, output, N):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'{"id": 1, "seconds": 0.0}\n' * 100)
        except OSError:
            pass
    output[:N] = 1.0 / N
