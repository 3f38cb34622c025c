"""activetest simulate, as a command."""

import re
from pathlib import Path
from typing import Annotated, Any

from activetest.cli import interrupts, options, progress_line, streams
from activetest.nouns.choices import Interval
from activetest.nouns.declarations import Section

EXAMPLES = (
    "activetest simulate pool.parquet --labels key.csv --budget 50,100",
    "activetest simulate pool.parquet --labels key.csv --power 1,4 --plot a.svg",
)
_BUDGETS = (50, 100, 200)
# Files that are only read, and what messages call them.
_FILES = {
    "train": "the file of training rows",
    "other_models": "the file of other models",
    "costs": "the file of costs",
}
# Pictures are told apart by their endings: other commas belong to a name.
_BETWEEN_PICTURES = re.compile(r"(?<=\.svg|\.png),", re.IGNORECASE)


@options.with_choices("simulate")
def run(
    pool: Annotated[str, options.pool_address()],
    labels: options.take(
        "--labels KEY",
        "Answer key: a CSV with the label of every item.",
        str,
        topic=Section.DATA,
        rank=1,
    ),
    columns: options.take(
        "--columns FIELD=COL,...",
        "Column of the answer key with a field (id or label).",
        topic=Section.DATA,
    ) = None,
    metric: options.take(
        "--metric METRIC,...",
        "Metric to estimate.",
        completes="metrics",
        topic=Section.AIM,
        rank=2,
    ) = None,
    aim: options.take(
        "--aim METRIC",
        "Metric that sampling targets, instead of the first.",
        completes="metrics",
        topic=Section.AIM,
    ) = None,
    estimator: options.take(
        "--estimator NAME,...",
        "Estimator to compare.",
        completes="estimators",
        topic=Section.AIM,
    ) = None,
    model: options.take(
        "--model NAME=FILE",
        "A further model, for the question best; for several, give it again.",
        options.Names,
        topic=Section.AIM,
    ) = None,
    interval: options.take(
        "--interval",
        "fixed holds at one look, anytime at any number, posterior if the surrogate is right.",
        values=tuple(each for each in Interval if each != Interval.SEQUENTIAL),
        topic=Section.AIM,
        show_default=Interval.FIXED.value,
    ) = None,
    budget: options.take(
        "--budget N,...",
        "Number of draws after which to estimate.",
        topic=Section.AIM,
        rank=3,
        show_default=",".join(map(str, _BUDGETS)),
    ) = None,
    runs: options.take(
        "--runs N", "Simulated studies per strategy.", int, topic=Section.SAMPLING, rank=4
    ) = 200,
    batch: options.take("--batch N", "Labels per round.", int, topic=Section.SAMPLING) = 10,
    seed: options.take(
        "--seed N", "Seed of all random numbers.", int, topic=Section.SAMPLING, min=0
    ) = 0,
    workers: options.take(
        "--workers N",
        "Number of processes, instead of one per processor.",
        int | None,
        topic=Section.ADVANCED,
        min=1,
    ) = None,
    save: options.take(
        "--save FILE",
        "Keep finished runs in this file, and continue from those it holds.",
        Path | None,
        topic=Section.ADVANCED,
        rank=10,
    ) = None,
    plot: options.take(
        "--plot FILE,...",
        "Draw curves to this file: .svg or .png.",
        topic=Section.ADVANCED,
        rank=9,
    ) = None,
    output: options.output_files(".html, .json, .md or .txt", topic=Section.ADVANCED) = None,
    force: options.take(
        "--force",
        "Let -o and --plot replace files that simulate has not written.",
        topic=Section.ADVANCED,
    ) = False,
    engine: options.engine(topic=Section.ADVANCED) = None,
    explain_all: options.HelpAll = False,
    verbose: options.verbose(topic=Section.ADVANCED) = False,
    format: options.output_format("simulation", topic=Section.ADVANCED) = "text",
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
    finished = 0

    def progress(done: int, total: int) -> None:
        nonlocal finished
        finished = done

    try:
        with progress_line.shown(verbose=verbose):
            results = simulate(
                pool,
                labels,
                budgets=options.read_numbers("--budget", budget, int) if budget else _BUDGETS,
                runs=runs,
                batch=batch,
                seed=seed,
                estimators=options.split_names(estimator) or (),
                metrics=options.split_metrics(metric) or (),
                aim=aim,
                models=dict(options.read_models(model or ())),
                interval=interval or Interval.FIXED,
                save=save,
                columns=options.split_pairs("--columns", columns),
                workers=workers,
                progress=progress,
                **options.read_choices(choices, simulated=True),
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
