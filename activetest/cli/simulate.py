"""activetest simulate, as a command."""

import re
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from activetest.cli import options, streams
from activetest.nouns.choices import Interval, Section

EXAMPLES = (
    "activetest simulate pool.parquet --labels key.csv --budget 50,100",
    "activetest simulate pool.parquet --labels key.csv --power 1,4 --plot a.svg",
)
# Pictures are told apart by their endings: other commas belong to a name.
_BETWEEN_PICTURES = re.compile(r"(?<=\.svg|\.png),", re.IGNORECASE)


@options.with_choices(simulated=True)
def simulate(
    pool: Annotated[str, options.pool_address()],
    labels: options.one_value(
        "CSV with all labels.", "--labels", metavar="KEY", type=str, section=Section.DATA
    ),
    metric: options.name_list(
        "What to estimate.",
        "--metric",
        "METRIC,...",
        completes="metrics",
        section=Section.AIM,
    ) = None,
    aim: options.one_value(
        "Metric that draws aim at; else the first.",
        "--aim",
        metavar="METRIC",
        section=Section.AIM,
        completes="metrics",
    ) = None,
    estimator: options.name_list(
        "What to estimate with.",
        "--estimator",
        completes="estimators",
        section=Section.AIM,
    ) = None,
    interval: options.one_value(
        "fixed: for one look; anytime: for any number; posterior: what the surrogate believes.",
        "--interval",
        tuple(Interval),
        section=Section.AIM,
        show_default=Interval.FIXED.value,
    ) = None,
    budget: Annotated[
        list[str] | None,
        Option(
            "--budget",
            metavar="N,...",
            help="Draws to make before estimating.",
            rich_help_panel=Section.AIM.value.capitalize(),
            show_default="50,100,200",
        ),
    ] = None,
    runs: options.one_value(
        "Studies per strategy.", "--runs", metavar="N", type=int, section=Section.SAMPLING
    ) = 200,
    batch: options.one_value(
        "Labels per round.", "--batch", metavar="N", type=int, section=Section.SAMPLING
    ) = 10,
    seed: options.one_value(
        "Seed of every random number.",
        "--seed",
        metavar="N",
        type=int,
        section=Section.SAMPLING,
        min=0,
    ) = 0,
    workers: options.one_value(
        "Processes; else one per processor.",
        "--workers",
        metavar="N",
        type=int | None,
        section=Section.ADVANCED,
        min=1,
    ) = None,
    save: options.one_value(
        "Keep finished runs there, and go on from those it holds.",
        "--save",
        metavar="FILE",
        type=Path | None,
        section=Section.ADVANCED,
    ) = None,
    plot: options.name_list(
        "Draw curves: .svg or .png.",
        "--plot",
        "FILE,...",
        section=Section.ADVANCED,
    ) = None,
    format: options.output_format(section=Section.ADVANCED) = "text",
    **choices: Any,
) -> None:
    """Replay strategies on a pool whose labels are all known.

    Error, labels saved, and coverage of each combination of surrogates, acquisitions, selections
    and powers.
    """
    from dataclasses import asdict

    from activetest.render.plots import figure
    from activetest.simulation.simulate import simulate

    renderer = options.load_format(format, "simulation")
    pictures = [Path(part) for text in plot or () for part in _BETWEEN_PICTURES.split(text)]
    for path in pictures:
        figure.check(path)
    own = {
        "budgets": options.read_numbers("--budget", budget, int) if budget else None,
        "estimators": options.split_names(estimator),
        "metrics": options.split_metrics(metric),
        "aim": aim,
        "interval": interval,
        "save": save,
        "workers": workers,
    }
    results = simulate(
        pool,
        labels,
        runs=runs,
        batch=batch,
        seed=seed,
        progress=streams.progress(),
        **options.drop_missing(own),
        **options.read_choices(choices, simulated=True),
    )
    rows = [asdict(result) for result in results]
    # Numbers first: a disk that is full by now must not take them along.
    streams.write(renderer.simulation(rows))
    for path in pictures:
        figure.draw(rows, path)


COMMAND = simulate
