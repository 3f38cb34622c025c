"""How often the intervals of alt-mas hold the truth, beside this tool's usual ones.

An interval of alt-mas goes from quantile to quantile of the metric over the passes of a surrogate.
Without FOLDER every run has a pool of its own: 1,500 items of four overlapping classes, and a model
that knows their centres only roughly; with --wide eight classes of two clusters each, which 64
features keep apart. With FOLDER, which holds POOL.parquet and POOL.labels.csv,
all runs are of that pool and differ by their first draws, their training and, where items are
drawn, their draws. Surrogates learn from labels alone, but for mc-dropout, which is trained as
ALT-MAS trains it. Printed are, for each number of labels, how often the 95 % interval holds the
truth, the mean error and the mean width, over the runs that had an interval. With --save runs are
kept, and only missing ones are made.
"""

import argparse
import tempfile
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from staging import Stage, played, staged

from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.simulation.design import Plan
from activetest.simulation.simulate import run as play_study

_ITEMS = 1500
_BATCH = 20
_INFORMED = {"acquisition": "metric-information"}
_TOP = {**_INFORMED, "selection": "top"}
_ALONE = {"augment": "none"}
WAYS = {
    "default": {"surrogate": "agreement"},
    "linear top": {"surrogate": "linear", **_ALONE, **_TOP},
    "linear draw": {"surrogate": "linear", **_ALONE, **_INFORMED},
    "forest top": {"surrogate": "forest", **_ALONE, **_TOP},
    "forest draw": {"surrogate": "forest", **_ALONE, **_INFORMED},
    "mc-dropout top": {"surrogate": "mc-dropout", "augment": "agreement", **_TOP},
    **{
        f"mc-dropout {rate} top": {
            "surrogate": f"mc-dropout[dropout={rate}]",
            "augment": "agreement",
            **_TOP,
        }
        for rate in (0.1, 0.3, 0.5)
    },
    "mc-dropout draw": {"surrogate": "mc-dropout", "augment": "agreement", **_INFORMED},
}
ESTIMATORS = ("doubly-robust", "alt-mas", "alt-mas[plug-in=nothing]")
# Top scores have probabilities in the first round alone.
SHOWN = {"default": ESTIMATORS[:1], "draw": ESTIMATORS[:2], "top": ESTIMATORS[1:]}


def main() -> None:
    """Print one table."""
    options = read_arguments()
    labels = " | ".join(f"{count} labels" for count in options.at)
    table = benchmark.Table(options, "way | estimator | metric | runs", labels)
    for way in options.ways:
        name = f"alt-mas-coverage-{options.pool or 'made'}-{way.replace(' ', '-')}.jsonl"
        what = {"way": way, "at": options.at, "seed": options.seed, "pool": options.pool}
        found = played(
            play,
            (way, options.at, options.seed, options.folder, options.pool),
            options.runs,
            what=what,
            file=options.save and options.save / name,
            workers=options.workers,
        )
        for cells in summarise(found, SHOWN[way.rpartition(" ")[2]]):
            table.add(way, *cells)


def read_arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas."""
    options = benchmark.read_options(
        __doc__,
        ("folder", {"type": Path, "nargs": "?"}),
        pool="digits",
        wide={"action": "store_true", "help": "pools of 64 features"},
        ways={"default": ",".join(WAYS), "help": "separated by commas"},
        at="50,100,200",
        runs=200,
        seed=0,
        save=Path,
        workers=int,
    )
    options.at = tuple(map(int, options.at.split(",")))
    options.ways = options.ways.split(",")
    if not options.folder:
        options.pool = "wide" if options.wide else ""
    return options


def play(scene: tuple, number: int) -> list:
    """(estimator, metric, budget, estimate, lower, upper, truth) of everything that a run found.

    scene is the way, the numbers of labels, the seed, the folder or None, and the name of the pool.
    """
    way, at, seed, folder, pool = scene
    with tempfile.TemporaryDirectory(prefix="activetest-benchmark-") as made:
        if folder is None:
            folder, name = Path(made), "pool"
            (write_wide_pool if pool else write_pool)(folder, seed=[seed, number])
        else:
            name = pool
        metrics = name_metrics(pool)
        wishes = {"metric": metrics[0], "also": metrics[1:], "metrics": metrics} | WAYS[way]
        with staged(folder / f"{name}.parquet", **wishes) as stage:
            return estimate_all(stage, metrics, at, (seed, number))


def name_metrics(pool: str) -> tuple[str, ...]:
    """The metrics: of a class, precision and recall."""
    of_class = "2" if pool not in ("", "wide") else "b"
    return "accuracy", f"precision[{of_class}]", f"recall[{of_class}]"


def estimate_all(
    stage: Stage, metrics: tuple[str, ...], at: tuple[int, ...], seeds: tuple[int, int]
) -> list:
    """Results of every estimator for every metric at every number of labels."""
    facts = specification.describe_pool(stage.made.roles, None, stage.made)
    outputs = stage.made.rows(0, stage.made.size).outputs
    truths = {}
    for name in metrics:
        metric = specification.find_metric(name, facts)
        truths[metric.title] = evaluate(metric, outputs, stage.truth)
    plan = Plan((stage.choices,), ESTIMATORS, metrics, at, "fixed", _BATCH, seeds[0])
    numbers = play_study(stage.made, stage.truth, plan, stage.choices, plan.seed_of(seeds[1]))
    return [[*key, *map(float, each[:3]), truths[key[1]]] for key, each in numbers.items()]


def write_pool(folder: Path, *, seed: list[int]) -> None:
    """A pool of overlapping classes, and a model that knows their centres only roughly."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 6))
    labels = rng.choice(4, _ITEMS, p=[0.4, 0.15, 0.3, 0.15])
    features = centres[labels] + rng.normal(size=(_ITEMS, 6))
    known = centres + 0.6 * rng.normal(size=centres.shape)
    save_pool(folder, features, labels, -0.5 * find_distances(features, known))


def write_wide_pool(folder: Path, *, seed: list[int]) -> None:
    """A pool of eight classes of two clusters each, and a model that knows these roughly.

    The items differ in 20 directions, which 64 features show with some noise.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(16, 20))
    clusters = rng.integers(16, size=_ITEMS)
    items = centres[clusters] + 0.6 * rng.normal(size=(_ITEMS, 20))
    features = items @ rng.normal(size=(20, 64)) + rng.normal(size=(_ITEMS, 64))
    known = centres + 0.8 * rng.normal(size=centres.shape)
    logits = -0.5 * find_distances(items, known)
    # Clusters 0 and 8 are of the first class, 1 and 9 of the second.
    save_pool(folder, features, clusters % 8, np.logaddexp(logits[:, :8], logits[:, 8:]))


def find_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(R, K) squared distances of points (R, D) from centres (K, D)."""
    return ((points[:, None] - centres) ** 2).sum(axis=2)


def save_pool(folder: Path, features: np.ndarray, labels: np.ndarray, logits: np.ndarray) -> None:
    """The pool of these features (R, D) and a model's logits (R, C), and the key of its labels."""
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    names = "abcdefgh"[: probs.shape[1]]
    columns = {"id": [f"item-{row}" for row in range(_ITEMS)]}
    columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(names)}
    columns |= {f"x{place}": column for place, column in enumerate(features.T)}
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    key = pa.table({"id": columns["id"], "label": [names[code] for code in labels]})
    pyarrow.csv.write_csv(key, folder / "pool.labels.csv")


def summarise(found: list, estimators: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A row for every estimator and metric: coverage, mean error and mean width by budget."""
    groups: dict = {}
    for run in found:
        for estimator, metric, budget, *numbers in run:
            of_metric = groups.setdefault((estimator, metric), {})
            of_metric.setdefault(budget, []).append(numbers)
    rows = []
    for (estimator, metric), by_budget in groups.items():
        if estimator in estimators:
            cells = [describe_runs(np.array(by_budget[budget])) for budget in sorted(by_budget)]
            runs = str(max(map(len, by_budget.values())))
            rows.append((estimator, metric, runs, *cells))
    return sorted(rows)


def describe_runs(numbers: np.ndarray) -> str:
    """Coverage, mean error and mean width of (runs, 4) estimates, ends and truths."""
    estimate, lower, upper, truth = numbers.T
    held = (lower <= truth + 1e-12) & (truth <= upper + 1e-12)
    return f"{held.mean():.2f}, {(estimate - truth).mean():+.3f}, {(upper - lower).mean():.3f}"


if __name__ == "__main__":
    main()
