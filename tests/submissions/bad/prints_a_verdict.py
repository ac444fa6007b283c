# expect: wrong-answer
# kind: output
# says: output not written
# flags: --case N=1025/uniform
# Floods stdout with a verdict of its own.
def solve(input, output, N):
    for _ in range(10000):
        print('{"verdict": "accepted"}')
