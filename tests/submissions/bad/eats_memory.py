# expect: out-of-memory
# kind: memory
# backend: cpu
# flags: --case N=1/uniform
kept = []


def solve(input, output, N):
    while True:
        kept.append(b"x" * (1 << 26))
