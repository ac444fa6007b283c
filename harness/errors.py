"""The one exception that ends a run with a sentence for the user instead of a traceback."""


class UsageError(Exception):
    """Something the user can mend. Its text is one sentence saying what is wrong and what to do; exit status 2."""
