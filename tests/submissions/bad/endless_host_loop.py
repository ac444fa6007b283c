# expect: time-limit-exceeded
# kind: endless
# flags: --timeout 1
# Catches whatever would end it, too.
def solve(input, output, N):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
