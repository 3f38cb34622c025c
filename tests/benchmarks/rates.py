"""Rates of labels: labels saved and coverage, against the plain mean and PPI++.

FOLDER holds the pools named in POOLS with their answer keys. Saved is the mean squared error of the
plain mean of uniform draws (in closed form) over that of this program, +- its Monte-Carlo standard
error; over ppi is that of PPI++ on uniform draws (`pip install ppi-python`, power tuned) over that
of this program. Draws are made 20 at a time. Finished runs are kept in the folder --keep, and are
not repeated when the same version runs again. 2,000 runs of all take about 20 minutes on one core.
"""

import argparse
import csv
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmark
import numpy as np

_SCORE = {"task": "regression", "outputs": "score"}


@dataclass(frozen=True)
class Scene:
    """A pool, a metric of its labels, and what PPI++ takes for the label of every item.

    file      the pool, below FOLDER; labels is its answer key
    score     column of numbers that stand for labels; None: whether pred is the metric's class
    settings  how the columns are read
    """

    file: str
    labels: str
    metric: str
    score: str | None = None
    pred: str = "pred"
    settings: dict[str, Any] = field(default_factory=dict)


def _arena(policy: str) -> Scene:
    file = f"llm/arena_judge/arena_{policy}"
    return Scene(f"{file}.parquet", f"{file}.labels.csv", "mean", "score", settings=_SCORE)


def _pandalm(judge: str, label: str) -> Scene:
    return Scene(
        "llm/pandalm/pandalm.parquet",
        "llm/pandalm/pandalm.majority.labels.csv",
        f"rate[{label}]",
        pred=judge,
        settings={"outputs": judge},
    )


_TWEETS = "llm/tweet_sentiment/tweet_sentiment"
POOLS = {
    "arena_base": _arena("base"),
    "arena_clone": _arena("clone"),
    "arena_parallel": _arena("parallel_universe_prompt"),
    "arena_unhelpful": _arena("unhelpful"),
    "tweet_sentiment": Scene(f"{_TWEETS}.parquet", f"{_TWEETS}.labels.csv", "rate[positive]"),
    "pandalm_gpt35_1": _pandalm("pred_gpt35", "1"),
    "pandalm_gpt35_2": _pandalm("pred_gpt35", "2"),
    "pandalm_7b_1": _pandalm("pred_pandalm7b", "1"),
    "mammography": Scene("mammography.parquet", "mammography.labels.csv", "rate", "prob"),
}


@dataclass(frozen=True)
class Peer:
    """Results of PPI++ at a budget: mean squared error, its standard error, coverage."""

    error: float
    error_se: float
    coverage: float


def main() -> None:
    """Print one row per pool and budget."""
    options = arguments()
    options.keep.mkdir(parents=True, exist_ok=True)
    heads = ("pool", "metric", "labels", "saved", "coverage", "width", "over ppi", "ppi: coverage")
    table = benchmark.Table(options, *heads)
    for name in options.pools or POOLS:
        for row in list_rows(name, POOLS[name], options):
            table.add(*row)


def arguments() -> argparse.Namespace:
    """The command line; budgets repeat the option."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        runs=2000,
        pools="",
        budget={"type": int, "action": "append"},
        keep=Path("rates-runs"),
        seed=0,
    )
    options.budget = tuple(options.budget or (50, 100, 200))
    options.pools = [name for name in options.pools.split(",") if name]
    return options


def list_rows(name: str, scene: Scene, options: argparse.Namespace) -> list[list[str]]:
    """One row of cells per budget."""
    import activetest as at

    found = at.simulate(
        options.folder / scene.file,
        options.folder / scene.labels,
        budgets=options.budget,
        runs=options.runs,
        batch=20,
        seed=options.seed,
        estimators="doubly-robust",
        metrics=scene.metric,
        acquisition="optimal",
        save=options.keep / f"{name}.runs",
        workers=1,
        **scene.settings,
    )
    peers = play_peer(name, scene, options)
    rows = []
    for one in found:
        saved = f"{one.mse_ratio:.2f} +- {one.mse_ratio_se:.2f}"
        cells = [name, scene.metric, str(one.budget), saved]
        cells += [f"{one.coverage:.3f}", f"{one.width:.4f}"]
        if peer := peers.get(one.budget):
            ratio = peer.error / one.rmse**2
            doubt = np.hypot(one.mse_ratio_se / one.mse_ratio, peer.error_se / peer.error)
            cells += [f"{ratio:.2f} +- {ratio * doubt:.2f}", f"{peer.coverage:.3f}"]
        rows.append([*cells, *["-"] * (8 - len(cells))])
    return rows


def play_peer(name: str, scene: Scene, options: argparse.Namespace) -> dict[int, Peer]:
    """{budget: what PPI++ found}, once; empty, and said so, where it is not installed."""
    kept = options.keep / f"{name}.ppi.json"
    asked = [options.runs, options.seed, list(options.budget)]
    if kept.is_file() and (saved := json.loads(kept.read_text()))["asked"] == asked:
        return {int(budget): Peer(**found) for budget, found in saved["found"].items()}
    # Numba, which it imports, would take coverage.py of this folder for the package of that name.
    sys.path = [each for each in sys.path if each != str(Path(__file__).resolve().parent)]
    try:
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    except ImportError as error:
        print(f"ppi is left out: {error}", file=sys.stderr)
        return {}
    labels, guesses = read_numbers(scene, options.folder)
    truth = labels.mean()
    found = {}
    for budget in options.budget:
        numbers = []
        for run in range(options.runs):
            order = np.random.default_rng([options.seed, run]).permutation(len(labels))
            drawn, rest = order[:budget], order[budget:]
            known = labels[drawn], guesses[drawn], guesses[rest]
            ends = np.ravel(ppi_mean_ci(*known, alpha=0.05))
            numbers.append([np.ravel(ppi_mean_pointestimate(*known))[0], *ends])
        values, lower, upper = np.array(numbers).T
        squares = (values - truth) ** 2
        doubt = float(squares.std(ddof=1) / len(squares) ** 0.5)
        inside = float(((lower <= truth) & (truth <= upper)).mean())
        found[budget] = Peer(float(squares.mean()), doubt, inside)
    content = {"asked": asked, "found": {budget: vars(each) for budget, each in found.items()}}
    kept.write_text(json.dumps(content))
    return found


def read_numbers(scene: Scene, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """(N,) labels as numbers, 1.0 for the metric's class, and the guesses of the model."""
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / scene.file).to_pylist()
    with (folder / scene.labels).open(newline="") as file:
        key = {row["id"]: row["label"] for row in csv.DictReader(file)}
    labels = [key[str(row["id"])] for row in rows]
    meant = scene.metric.partition("[")[2].removesuffix("]")
    if scene.metric == "mean":
        values = [float(label) for label in labels]
    else:
        # Of two classes without a name in brackets, the second.
        meant = meant or max(labels)
        values = [float(label == meant) for label in labels]
    guesses = [row[scene.score] if scene.score else row[scene.pred] == meant for row in rows]
    # Of probabilities of two classes, those of the second.
    guesses = [np.ravel(guess)[-1] for guess in guesses]
    return np.array(values), np.array(guesses, float)


if __name__ == "__main__":
    main()
