"""What ends a run, or a case, with a sentence for the user instead of a traceback."""


class UsageError(Exception):
    """Something the user can mend. Its text is one sentence saying what is wrong and what to do; exit status 2."""


class NoReference(Exception):
    """A case has no expected answer within the time there is: it is not run. The text says why."""
