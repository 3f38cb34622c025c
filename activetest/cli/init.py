"""activetest init, as a command."""

import sys
from dataclasses import replace
from typing import Annotated, Any

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands

EXAMPLES = (
    "activetest init pool.parquet --metric 'recall[fraud]' --group region",
    "activetest init --metric f1          # changes the study at hand",
)


@options.with_choices("init")
def run(
    pool: Annotated[
        str | None,
        options.pool_address("File, folder of Parquet files, address, or - for standard input."),
    ] = None,
    study: options.Folder = None,
    explain_all: options.HelpAll = False,
    verbose: options.verbose() = False,
    engine: options.engine() = None,
    dry_run: options.take("--dry-run", "Check everything, and change nothing.", rank=10) = False,
    fresh: options.take("--fresh", "Use nothing of an init that was interrupted.") = False,
    **choices: Any,
) -> None:
    """Look at a pool, and create its study or change the study's choices.

    Says what was understood of the pool. Without POOL the choices of the study at hand change.
    """
    from activetest.study.study import Study

    settings = options.read_choices(choices)
    with progress_line.shown(verbose=verbose):
        if pool is None:
            setup = Study.open(study).change(dry_run=dry_run, **settings)
        else:
            # A file of this name is ./-
            source = sys.stdin.buffer if pool == "-" else pool
            if dry_run:
                setup = Study.check(source, study, **settings)
            else:
                setup = Study.create(source, study, fresh=fresh, **settings).setup
    # Names that users gave stand in the other lines.
    notices = tuple(map(to_commands, setup.notices))
    streams.write_lines(str(replace(setup, notices=notices)))
