# expect: out-of-memory
# backend: cpu
kept = []


def solve(input, output, N):
    while True:
        kept.append(b"x" * (1 << 26))
