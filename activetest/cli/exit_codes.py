"""Exit codes: 0, and those of a command that has something to say by its own."""

# A mistake in this program: 1 would read as a gate that failed.
BUG = 70


class ExitCode(int):
    """What a command returns to end with another code than 0.

    1 and 3 are verdicts on gates. Whatever else ends a command, a library that it calls or an
    exception, never becomes one of them.
    """
