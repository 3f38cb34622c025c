"""Everything that can be wrong with what a user gave us.

ActivetestError             a problem and a hint; the command line prints both and exits with 2
├── PoolError               the pool cannot be read, or does not say what it must
│   └── PoolChanged         the pool is not the one the study was made for
├── LabelError              a label file cannot be taken as it is
│   └── LabelConflict       a label contradicts one that is already known
├── StudyError              there is no study here, it is newer than this program, or it is damaged
│   └── StorageError        the study cannot be written: no permission, no space
├── ChoiceError             a setting or an argument makes no sense
│   └── UnknownMethod       no method has this name
└── NotEstimable            what was asked for does not exist with the labels there are

`ValueError` is for programmers, `ActivetestError` for users.
"""


class ActivetestError(Exception):
    """A problem, naming file, column, row or id, and a hint that says what to do about it."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        """The problem, on one line and without anything that a terminal would obey."""
        return self.problem if self.problem.isprintable() else repr(self.problem)[1:-1]


class PoolError(ActivetestError):
    """The pool cannot be read, or does not say what it must."""


class PoolChanged(PoolError):
    """The pool is not the one the study was made for."""


class LabelError(ActivetestError):
    """A label file cannot be taken as it is."""


class LabelConflict(LabelError):
    """A label contradicts one that is already known."""


class StudyError(ActivetestError):
    """There is no study here, it is newer than this program, or it is damaged."""


class StorageError(StudyError):
    """The study cannot be written: no permission, no space."""


class ChoiceError(ActivetestError):
    """A setting or an argument makes no sense."""


class UnknownMethod(ChoiceError):
    """No method has this name."""


class NotEstimable(ActivetestError):
    """What was asked for does not exist with the labels there are."""
