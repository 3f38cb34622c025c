"""activetest import, as a command."""

import sys
from dataclasses import replace
from typing import Annotated, Any

from typer import Argument

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError

EXAMPLES = (
    "activetest import draws.csv --pool pool.parquet",
    "activetest import sample.csv --pool pool.parquet --design uniform",
)


@options.with_choices("import")
def run(
    log: Annotated[
        str,
        Argument(
            metavar="LOG",
            help="CSV with id,label,probability[,round], or another file of labels; - reads "
            "standard input.",
        ),
    ],
    pool: options.take(
        "--pool POOL", "Pool that the items were drawn from; required.", rank=1
    ) = None,
    study: options.folder(rank=10) = None,
    engine: options.engine() = None,
    explain_all: options.HelpAll = False,
    verbose: options.verbose() = False,
    design: options.take(
        "--design",
        "How items were drawn: one after another, with their probabilities, or all alike.",
        values=("sequential", "uniform"),
        rank=2,
    ) = None,
    draws_floor: options.take(
        "--draws-floor F",
        "Lowest probability of any item in the log's draws, as a share of that in a random draw.",
        float,
    ) = 0.0,
    drawn_from: options.take(
        "--drawn-from CLASS,...", "Predicted class whose items alone could be drawn."
    ) = None,
    columns: options.take(
        "--columns FIELD=COL,...",
        "Column of a field of the log (id, label, annotator, status, round or probability).",
        rank=3,
    ) = None,
    map: options.label_map(rank=4) = None,
    missing: options.MissingWords = None,
    as_is: options.AsIs = False,
    **choices: Any,
) -> None:
    """Create a study from a log of draws made elsewhere.

    They can be estimated, and next continues them. The other options are those of init: what
    they say about draws holds for the rounds to come.
    """
    from activetest.study.study import Study

    if pool is None:
        raise ChoiceError(
            "which pool were the items drawn from? A log says nothing about the others",
            "name it: --pool pool.parquet",
        )
    if pool == "-" and log == "-":
        raise ChoiceError("standard input is the log or the pool", "give a file for one of them")
    with progress_line.shown(verbose=verbose):
        setup = Study.from_draws(
            sys.stdin.buffer if pool == "-" else pool,
            sys.stdin.buffer if log == "-" else log,
            study,
            design=design,
            draws_floor=draws_floor,
            drawn_from=options.split_names(drawn_from) or (),
            columns=options.split_pairs("--columns", columns),
            map=options.read_map(map),
            missing=options.split_names(missing) or (),
            as_is=as_is,
            **options.read_choices(choices),
        ).setup
    # Names that users gave stand in the other lines.
    notices = tuple(to_commands(each) for each in setup.notices)
    streams.write_lines(str(replace(setup, notices=notices)))
