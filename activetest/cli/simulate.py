"""activetest simulate, as a command."""

from pathlib import Path
from typing import Annotated

from typer import Option

from activetest.cli import options, streams


def simulate(
    pool: options.PoolAddress,
    labels: Annotated[str, Option("--labels", metavar="KEY", help="CSV with all labels.")],
    budget: Annotated[list[int], Option(help="Labels to buy. Again for more.")] = [50, 100, 200],  # noqa: B006
    runs: Annotated[int, Option(help="Studies per strategy.")] = 200,
    batch: Annotated[int, Option(help="Labels per round.")] = 10,
    seed: Annotated[int, Option(min=0, help="Of every random number.")] = 0,
    surrogate: options.names("What predicts the labels.", "--surrogate") = None,
    acquisition: options.names("What draws prefer.", "--acquisition") = None,
    selection: options.names("How scores become items.", "--selection", "draw|top") = None,
    power: Annotated[list[float] | None, Option(help="Of the scores. Again for more.")] = None,
    refit: options.Refit = None,
    estimator: options.names("What to estimate with.", "--estimator") = None,
    metric: options.names("What to estimate.", "--metric") = None,
    aim: Annotated[
        str | None, Option("--aim", metavar="METRIC", help="What draws aim at; else the first.")
    ] = None,
    interval: options.Kind = None,
    floor: options.Floor = None,
    level: options.Level = None,
    costs: options.Costs = None,
    train: options.Train = None,
    surrogates: options.Surrogates = None,
    id: options.Id = None,
    outputs: options.Outputs = None,
    features: options.Features = None,
    group: options.names("Column of groups, for a task.", "--group") = None,
    task: options.Tasks = None,
    worst: options.Worst = None,
    compare: options.Compare = None,
    prior: options.Prior = None,
    prior_strength: options.PriorStrength = None,
    rope: options.Rope = None,
    classes: options.Classes = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    workers: Annotated[int | None, Option(min=1, help="Processes; else all processors.")] = None,
    save: Annotated[
        Path | None, Option(metavar="FILE", help="Keep finished runs there, and go on from it.")
    ] = None,
    plot: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Draw curves: .svg or .png. Again for more.")
    ] = None,
    format: options.formats(*options.FORMATS) = "text",
):
    """Replay strategies on a pool whose labels are all known.

    Error, labels saved, and coverage of each.
    """
    from dataclasses import asdict

    from activetest import catalog
    from activetest.pool import convert
    from activetest.pool import costs as matrices
    from activetest.pool.pool import Pool
    from activetest.render.plots import figure
    from activetest.sampling.question import told
    from activetest.simulation.design import asking
    from activetest.simulation.simulate import simulate

    renderer = catalog.load("render", options.one_of(options.FORMATS, format))
    for path in plot or ():
        figure.check(path)
    of_pool, question = told(options.split(task))
    asked = {"worst": worst, "compare": compare, "prior": prior, "strength": prior_strength}
    asked = asking(question, options.given(asked | {"rope": rope}), grouped=bool(group))
    columns = {"id": id, "task": of_pool, "positive": positive, "threshold": threshold}
    columns |= {"outputs": options.split(outputs), "features": options.split(features)}
    columns |= {"classes": options.split(classes)}
    columns |= {"groups": options.split(group) or (("predicted",) if asked else None)}
    wishes = {"surrogates": options.split(surrogate), "acquisitions": options.split(acquisition)}
    wishes |= {"selections": options.split(selection), "powers": tuple(power) if power else None}
    wishes |= {"refit": refit, "train": train, "others": surrogates}
    wishes |= {"estimators": options.split(estimator), "metrics": options.specifications(metric)}
    wishes |= {"budgets": tuple(budget), "runs": runs, "batch": batch, "seed": seed}
    wishes |= {"floor": floor, "level": level, "aim": aim, "interval": interval}
    wishes |= {"workers": workers, "save": save, "asked": asked}
    with convert.as_parquet(pool, id=id) as path:
        looked = Pool.open(path, **options.given(columns))
        wishes["costs"] = matrices.read(costs, looked.schema.classes) if costs else None
        results = simulate(looked, labels, progress=streams.progress(), **options.given(wishes))
    results = [asdict(result) for result in results]
    # Numbers first: a disk that is full by now must not take them along.
    streams.write(renderer.simulation(results))
    for path in plot or ():
        figure.draw(results, path)
