"""activetest simulate, as a command."""

import re
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from activetest.cli import interrupts, options, progress_line, streams
from activetest.nouns.choices import Interval, Section

EXAMPLES = (
    "activetest simulate pool.parquet --labels key.csv --budget 50,100",
    "activetest simulate pool.parquet --labels key.csv --power 1,4 --plot a.svg",
)
# Files that are only read, and what messages call them.
_FILES = {
    "train": "the file of training rows",
    "other_models": "the file of other models",
    "costs": "the file of costs",
}
# Pictures are told apart by their endings: other commas belong to a name.
_BETWEEN_PICTURES = re.compile(r"(?<=\.svg|\.png),", re.IGNORECASE)


@options.with_choices(simulated=True)
def simulate(
    pool: Annotated[str, options.pool_address()],
    labels: options.one_value(
        "Answer key: a CSV with the label of every item.",
        "--labels",
        metavar="KEY",
        type=str,
        section=Section.DATA,
    ),
    columns: options.name_list(
        "Column of the answer key with a field (id or label).",
        "--columns",
        "FIELD=COL,...",
        section=Section.DATA,
    ) = None,
    metric: options.name_list(
        "Metric to estimate.",
        "--metric",
        "METRIC,...",
        completes="metrics",
        section=Section.AIM,
    ) = None,
    aim: options.one_value(
        "Metric that draws suit, instead of the first.",
        "--aim",
        metavar="METRIC",
        section=Section.AIM,
        completes="metrics",
    ) = None,
    estimator: options.name_list(
        "Estimator to compare.",
        "--estimator",
        completes="estimators",
        section=Section.AIM,
    ) = None,
    interval: options.one_value(
        "fixed holds at one look, anytime at any number, posterior if the surrogate is right.",
        "--interval",
        tuple(each for each in Interval if each != Interval.SEQUENTIAL),
        section=Section.AIM,
        show_default=Interval.FIXED.value,
    ) = None,
    budget: Annotated[
        list[str] | None,
        Option(
            "--budget",
            metavar="N,...",
            help="Number of draws after which to estimate.",
            rich_help_panel=Section.AIM.value.capitalize(),
            show_default="50,100,200",
        ),
    ] = None,
    runs: options.one_value(
        "Simulated studies per strategy.", "--runs", metavar="N", type=int, section=Section.SAMPLING
    ) = 200,
    batch: options.one_value(
        "Labels per round.", "--batch", metavar="N", type=int, section=Section.SAMPLING
    ) = 10,
    seed: options.one_value(
        "Seed of all random numbers.",
        "--seed",
        metavar="N",
        type=int,
        section=Section.SAMPLING,
        min=0,
    ) = 0,
    workers: options.one_value(
        "Number of processes, instead of one per processor.",
        "--workers",
        metavar="N",
        type=int | None,
        section=Section.ADVANCED,
        min=1,
    ) = None,
    save: options.one_value(
        "Keep finished runs in this file, and continue from those it holds.",
        "--save",
        metavar="FILE",
        type=Path | None,
        section=Section.ADVANCED,
    ) = None,
    plot: options.name_list(
        "Draw curves to this file: .svg or .png.",
        "--plot",
        "FILE,...",
        section=Section.ADVANCED,
    ) = None,
    output: options.output_files(".html, .json, .md or .txt", section=Section.ADVANCED) = None,
    force: Annotated[
        bool,
        Option(
            "--force",
            help="Let -o and --plot replace files that simulate has not written.",
            rich_help_panel=Section.ADVANCED.value.capitalize(),
        ),
    ] = False,
    explain_all: options.HelpAll = False,
    verbose: options.verbose(section=Section.ADVANCED) = False,
    format: options.output_format("simulation", section=Section.ADVANCED) = "text",
    **choices: Any,
) -> None:
    """Replay strategies on a pool whose labels are all known.

    Shows the error, the labels saved and the coverage of every combination of surrogates,
    acquisitions, selections and powers.
    """
    from dataclasses import asdict

    from activetest.render.files import documents
    from activetest.render.plots import figure
    from activetest.simulation.simulate import simulate

    renderer = options.load_format(format, "simulation")
    pictures = [Path(part) for text in plot or () for part in _BETWEEN_PICTURES.split(text)]
    inputs = {"the pool": pool, "the answer key": labels, "the file of finished runs": save}
    inputs |= {what: choices.get(name) for name, what in _FILES.items()}
    for path in pictures:
        figure.check(path, inputs=inputs, force=force)
    files = documents.find_files(list(filter(None, output or ())), documents.SIMULATION)
    documents.check_files(files, force=force, inputs=inputs)
    own = {
        "budgets": options.read_numbers("--budget", budget, int) if budget else None,
        "estimators": options.split_names(estimator),
        "metrics": options.split_metrics(metric),
        "aim": aim,
        "interval": interval,
        "save": save,
        "columns": options.split_pairs("--columns", columns),
        "workers": workers,
    }
    finished = 0

    def progress(done: int, total: int) -> None:
        nonlocal finished
        finished = done

    given = options.read_choices(choices, simulated=True) | options.drop_missing(own)
    try:
        with progress_line.shown(verbose=verbose):
            results = simulate(
                pool, labels, runs=runs, batch=batch, seed=seed, progress=progress, **given
            )
    except KeyboardInterrupt:
        if save and finished:
            runs_are = "run is" if finished == 1 else "runs are"
            interrupts.explain(
                f"stopped: {finished:,} {runs_are} kept in {save}; the same command goes on"
            )
        raise
    rows, answers = ([asdict(each) for each in found] for found in (results, results.answers))
    # Numbers first: a disk that is full by now must not take them along.
    streams.write(renderer.simulation(rows, answers), styled=True)
    for path in pictures:
        figure.draw(rows, path, answers=answers, inputs=inputs, force=force)
    documents.save_simulation(rows, answers, files, force=force, inputs=inputs)
    for file in files:
        streams.say(f"written: {file.path}")


COMMAND = simulate
