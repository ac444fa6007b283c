# expect: runtime-error
# kind: crash
# says: line 16: Wordless: it raised another one when asked for its words
# flags: --case N=1025/uniform
# An exception that cannot be told: to ask for its name or its message raises another.
class Nameless(type):
    @property
    def __name__(cls):
        raise RuntimeError


class Wordless(Exception, metaclass=Nameless):
    __str__ = __repr__ = lambda self: 1 / 0

def solve(input, output, N):
    raise Wordless
