"""activetest verify, as a command."""

from activetest.cli import options, streams
from activetest.cli.interrupts import ExitCode
from activetest.cli.spelling import to_commands

EXAMPLES = ("activetest verify", "activetest verify --contains 4f1c9a0b")


def run(
    contains: options.take(
        "--contains HASH",
        "Check that the ledger still is the one that had this hash, with more in it.",
    ) = None,
    engine: options.engine() = None,
    study: options.Folder = None,
) -> int:
    """Check that everything stored is as it was written.

    Exit codes: 0, nothing is damaged; 2, something is.
    """
    from activetest.study.study import Study

    found = Study.open(study, damaged=True).verify(contains=contains)
    streams.write_lines(to_commands(str(found)))
    return ExitCode(0 if found.passed else 2)
