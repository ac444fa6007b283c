# expect: accepted
# problem: subtract_one
# kind: good
# A byte order mark before the first line, which names the problem.
def solve(input, output, N):
    output[:N] = input[:N] - 1
