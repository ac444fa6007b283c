# kind: output
# expect: wrong-answer
# says: output not written
# Floods stdout with a verdict of its own.
def solve(input, output, N):
    for _ in range(10000):
        print('{"verdict": "accepted"}')
