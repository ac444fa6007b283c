# expect: wrong-answer
# kind: output
# says: output not written
# flags: --case N=1025/uniform
# 200 MB of output.
import sys

done = False


def solve(input, output, N):
    global done
    for _ in range(0 if done else 200):
        sys.stdout.write("x" * 1_000_000)
    done = True
