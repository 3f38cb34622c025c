"""activetest inspect, as a command."""

import sys
from dataclasses import replace
from typing import Annotated, Any

from typer import Argument

from activetest.cli import options, streams
from activetest.cli.interrupts import ExitCode
from activetest.cli.spelling import to_commands
from activetest.errors import PoolError
from activetest.nouns.inspection import StudyReading

EXAMPLES = (
    "activetest inspect log.eval",
    "activetest inspect pool.csv --outputs fraud_score --format json",
    "activetest inspect - < results.json",
)


@options.with_choices("inspect")
def run(
    file: Annotated[
        str,
        Argument(
            metavar="FILE",
            help="A file of any format that a pool may have, a folder, or - for standard input.",
        ),
    ],
    format: options.output_format("inspection") = "text",
    **choices: Any,
) -> ExitCode:
    """Say what is in a file, which metrics it allows, and the init line to type.

    Nothing is created. Everything is read, as init would. Options say what columns are, where that
    is not found. Exit code 2: no study can be made of it.
    """
    from activetest.study.inspect import inspect as look

    renderer = options.load_format(format, "inspection")
    # A file of this name is ./-
    found = look(sys.stdin.buffer if file == "-" else file, **options.read_choices(choices))
    spelled = replace(
        found,
        question=to_commands(found.question),
        create=found.create and to_commands(f"`{found.create}`"),
        readings=tuple(
            StudyReading(to_commands(each.meaning), to_commands(f"`{each.create}`"))
            for each in found.readings
        ),
        summary=tuple(map(to_commands, found.summary)),
        lacking=tuple(replace(each, needs=to_commands(each.needs)) for each in found.lacking),
        labels=tuple(replace(each, advice=to_commands(each.advice)) for each in found.labels),
        problem=to_commands(found.problem),
        hint=to_commands(found.hint),
    )
    # A document is whole; of a page, what is wrong is said once, where errors are.
    shown = spelled if format == "json" else replace(spelled, problem="", hint="")
    streams.write(renderer.inspection(shown), styled=True)
    if not found.create:
        raise PoolError(found.problem, found.hint)
    return ExitCode(0)
