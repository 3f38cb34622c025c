"""Gain of a round's own labels for its predictions, paired on the same draws.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. Every study is played once, and read
twice: with predictions from each round's own labels, and from those of earlier rounds alone.

ratio      mean squared error by earlier rounds alone over that by own labels, with its standard
           error; above 1 own labels help. Of groups: of the sum over groups
saved      variance of uniform draws over the mean squared error, by own labels and by earlier
           rounds
coverage   of the 95 % interval of the whole pool, by own labels and by earlier rounds; width is
           the mean of the first over that of the second
bias       mean error by own labels, in standard errors of that mean
powered    with uniform draws: mean squared error of prediction-powered inference (Angelopoulos and
           others 2023, with the weight of least variance), which takes the model's output for its
           guess, on the same labels, over that by own labels; above 1 own labels are ahead
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import benchmark
import numpy as np
from adversarial_pools import open_files

COLUMNS = ("ratio", "saved", "coverage", "width", "bias", "powered")


def main() -> None:
    """Print a row per pool, batch and budget."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools={"required": True},
        batch="200",
        budget="200",
        metric="error",
        group="",
        outputs="",
        surrogate="",
        acquisition="optimal",
        runs=300,
    )
    table = benchmark.Table(options, "pool | metric | batch | labels | runs", *COLUMNS)
    for name in options.pools.split(","):
        for batch in map(int, options.batch.split(",")):
            for row in list_rows(options, name, batch):
                table.add(*row)


def list_rows(options: argparse.Namespace, name: str, batch: int) -> Iterator[list]:
    """Play the studies of one pool in such batches: a row for every number of labels."""
    from activetest.system.parallel import one_blas_thread

    found: dict[int, list] = {}
    with tempfile.TemporaryDirectory() as folder, one_blas_thread():
        pool = build(options, name, Path(folder))
        surrogate = options.surrogate or "auto"
        for seed in range(options.runs):
            for budget, numbers in play(pool, surrogate, options, batch, seed):
                found.setdefault(budget, []).append(numbers)
    for budget, numbers in sorted(found.items()):
        row = summarise(np.array(numbers), options)
        yield [name, options.metric, batch, budget, len(numbers), *row]


def build(options: argparse.Namespace, name: str, folder: Path):
    """The pool with its cache, features and answer key."""
    roles = {"groups": (options.group,)} if options.group else {}
    if options.outputs:
        roles |= {"outputs": options.outputs, "task": "regression"}
    return open_files(options.folder, name, folder / "cache", roles)


def play(pool, surrogate: str, options, batch: int, seed: int) -> list:
    """(budget, ((2, 4 + 2 G) numbers)): estimate, interval, truth, and those of groups."""
    from activetest.errors import NotEstimable
    from activetest.estimation.view import build_view
    from activetest.item_statistics.specification import find_metric
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.rounds import crossing
    from activetest.rounds.fit import observe_statistics

    built, truth = pool.cache, pool.truth
    metric = find_metric(options.metric, pool.facts)
    choices = Choices(
        metric=options.metric,
        metrics=(options.metric,),
        surrogate=surrogate,
        acquisition=options.acquisition,
        groups=(options.group,) if options.group else (),
    )
    rows = built.rows(0, built.size)
    values = observe_statistics(rows, truth, metric.statistics)
    guesses = observe_statistics(rows, rows.outputs.pred.astype(float), metric.statistics)
    log, found = Log.empty(), []
    for budget in map(int, options.budget.split(",")):
        log = benchmark.buy_labels(
            log, built, choices, truth, labels=budget, batch=batch, seed=seed
        )
        numbers, fewest = [], crossing.FEWEST_DRAWS
        for least in (fewest, 10**9):
            crossing.FEWEST_DRAWS = least
            view = build_view(log, built, choices, [metric], seed=seed, own_view=False)
            crossing.FEWEST_DRAWS = fewest
            line = []
            for group in view.evidence.groups:
                inside = group.membership(rows.codes).astype(bool)
                real = float(metric.smooth(values[inside].mean(axis=0)))
                try:
                    value = view.value(metric, "doubly-robust", group, alike=True)
                    interval = view.interval(value, 0.95, group=group)
                    # Values without limits: limits would bias the mean squared error.
                    mean = value.value if value.several else float(value.means.mean[0])
                    line += [mean, interval.lower, interval.upper, real]
                except NotEstimable:
                    line += [np.nan] * 3 + [real]
            numbers.append(line)
        uniform = values[:, 0].var() * (1 / budget - 1 / built.size)
        powered = infer_powered(values[:, 0], guesses[:, 0], log.rows)
        found.append((budget, np.append(np.array(numbers).ravel(), [uniform, powered])))
    return found


def infer_powered(values: np.ndarray, guesses: np.ndarray, rows: np.ndarray) -> float:
    """The mean of values (N,), known at rows alone, by guesses (N,) of them."""
    seen = guesses[rows]
    spread = seen.var(ddof=1)
    slope = np.cov(seen, values[rows])[0, 1] / spread if spread > 0 else 0.0
    return float(values[rows].mean() + slope * (guesses.mean() - seen.mean()))


def summarise(numbers: np.ndarray, options: argparse.Namespace) -> list[str]:
    """Cells of a row from (R, 2 4 G + 2) numbers."""
    uniform = numbers[0, -2]
    table = numbers[:, :-2].reshape(len(numbers), 2, -1, 4)
    error = table[..., 0] - table[..., 3]
    lines = []
    squares = error**2
    parts = [squares[:, :, 0]] + [squares[:, :, 1:].sum(axis=2)] * (squares.shape[2] > 1)
    for each in parts:
        lines.append(compare(each[:, 1], each[:, 0]))
    powered = (numbers[:, -1] - table[:, 0, 0, 3]) ** 2
    own, earlier = squares[:, :, 0].mean(axis=0)
    whole = table[:, :, 0]
    held = ((whole[..., 1] <= whole[..., 3]) & (whole[..., 3] <= whole[..., 2])).mean(axis=0)
    width = (whole[..., 2] - whole[..., 1]).mean(axis=0)
    bias = error[:, 0, 0].mean() / (error[:, 0, 0].std(ddof=1) / np.sqrt(len(error)))
    return [
        " groups ".join(lines),
        f"{uniform / own:.2f} {uniform / earlier:.2f}",
        f"{held[0]:.3f} {held[1]:.3f}",
        f"{width[0] / width[1]:.3f}",
        f"{bias:+.1f}",
        compare(powered, squares[:, 0, 0]) if options.acquisition == "uniform" else "-",
    ]


def compare(others: np.ndarray, own: np.ndarray) -> str:
    """Ratio of the means of squares (R,) of the same studies, with its standard error."""
    kept = np.isfinite(others) & np.isfinite(own)
    means = others[kept].mean(), own[kept].mean()
    ratio = means[0] / means[1]
    spread = np.std(others[kept] / means[0] - own[kept] / means[1], ddof=1) / np.sqrt(kept.sum())
    return f"{ratio:.3f} ± {ratio * spread:.3f}"


if __name__ == "__main__":
    main()
