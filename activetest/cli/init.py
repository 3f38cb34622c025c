"""activetest init, as a command."""

import sys
from dataclasses import replace
from typing import Annotated, Any

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError

EXAMPLES = (
    "activetest init pool.parquet --metric 'recall[fraud]' --group region",
    "activetest init pool.parquet --model v1=v1.parquet --model v2=v2.parquet",
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
    model: options.take(
        "--model NAME=FILE",
        "A model that a new study begins with, as of activetest add: a file, a column of the pool, "
        "or 'v2=prob_v2_*'; for several, give it again. Of a pool without outputs, the first one "
        "is the first model of the study.",
        options.Names,
    ) = None,
    common: options.take(
        "--common", "With --model: keep only the items that all models have."
    ) = False,
    require: options.take(
        "--require REQ,...",
        "Gate of the study's reports, such as 'error<=0.1'; an empty one takes them back.",
        options.Names,
    ) = None,
    dry_run: options.take("--dry-run", "Check everything, and change nothing.", rank=10) = False,
    fresh: options.take("--fresh", "Use nothing of an init that was interrupted.") = False,
    **choices: Any,
) -> None:
    """Look at a pool, and create its study or change the study's choices.

    Says what was understood of the pool. Without POOL the choices of the study at hand change.
    """
    from activetest.cli.report import split_gates
    from activetest.study.study import Study

    settings = options.read_choices(choices)
    models = dict(options.read_models(model or ()))
    gates = None if require is None else split_gates(filter(None, require))
    with progress_line.shown(verbose=verbose):
        if pool is None:
            if models or common:
                raise ChoiceError(
                    "--model is for a new study, and no pool is given",
                    "activetest add NAME=FILE adds one to the study at hand",
                )
            setup = Study.open(study).change(dry_run=dry_run, require=gates, **settings)
        else:
            # A file of this name is ./-
            source = sys.stdin.buffer if pool == "-" else pool
            if dry_run:
                setup = Study.check(
                    source, study, models=models, common=common, require=gates, **settings
                )
            else:
                created = Study.create(
                    *(source, study),
                    models=models,
                    common=common,
                    fresh=fresh,
                    require=gates,
                    **settings,
                )
                setup = created.setup
    # Names that users gave stand in the other lines.
    notices = tuple(map(to_commands, setup.notices))
    streams.write_lines(str(replace(setup, notices=notices)))
