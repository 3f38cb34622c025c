"""activetest plan, as a command."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from activetest.cli import options, progress_line, streams
from activetest.cli.report import split_gates
from activetest.cli.spelling import to_commands

EXAMPLES = (
    "activetest plan pool.parquet --half-width 0.03",
    "activetest plan pool.parquet --require 'recall[fraud]>=0.8' --power 0.9",
    "activetest plan --budget 400",
)


def run(
    pool: Annotated[
        str | None,
        options.pool_address("File, folder of Parquet files, address, or - for standard input."),
    ] = None,
    metric: options.take(
        "--metric METRIC", "Metric to plan for, such as 'recall[fraud]'.", completes="metrics"
    ) = None,
    half_width: options.take(
        "--half-width W", "Say how many labels make its interval plus or minus W.", float | None
    ) = None,
    require: options.take(
        "--require REQ,...", "Gate to plan, such as 'error<=0.1'.", options.Names
    ) = None,
    power: options.take(
        "--power P", "Probability with which gates are to be decided.", float | None
    ) = None,
    budget: options.take("--budget N", "Labels that can be bought in all.", int | None) = None,
    doubt: options.take(
        "--doubt F",
        "By which factor the odds of an error may differ from the model's confidence.",
        float,
    ) = 2.0,
    format: options.take("--format FORMAT", "Output format.", values=("text", "json")) = "text",
    verbose: options.verbose() = False,
    study: options.Folder = None,
) -> None:
    """Say what labels will buy: intervals, and when gates are decided.

    Of POOL before there is a study, of which none is left behind; else of the study at hand. Before
    its first labels the plan rests on the model's own confidence.
    """
    from activetest.study.study import Study

    goals = {
        "metric": metric,
        "half_width": half_width,
        "require": None if require is None else split_gates(filter(None, require)),
        "power": power,
        "budget": budget,
        "doubt": doubt,
    }
    with progress_line.shown(verbose=verbose):
        if pool is None:
            found = Study.open(study).plan(**goals)
        else:
            with tempfile.TemporaryDirectory(prefix="activetest-plan-") as folder:
                # A file of this name is ./-
                source = sys.stdin.buffer if pool == "-" else pool
                found = Study.create(source, Path(folder) / "study", seed=0).plan(**goals)
    if format == "json":
        streams.write(json.dumps(found.to_dict(), indent=2) + "\n")
    else:
        streams.write_lines(to_commands(str(found)))
