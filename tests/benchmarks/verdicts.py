"""Verdicts without probabilities: labels saved by what `agreement` assumes before any label.

Pools of our own making, one per seed: 2 to 5 classes, 500 to 3,000 items, a judge that is right in
60 to 95 % of the items, more often for some classes than for others, and whose errors prefer some
classes. Of kind `verdicts` the chances of labels follow from the verdict, of kind `labels` those of
verdicts from the label; `rare` is like `labels`, and 3 % of the labels are of the class that `rate`
asks for. --right is what agreement takes the probability of a right verdict to be. With --even it
does not look at how often each class is predicted. The first row is always 0.5 and even, as in
earlier versions; gains are over it, +- their standard error over pools. Saved is the geometric mean
over pools, by the exact conditional variance: see surrogates.py. A row takes about 5 seconds of one
core.
"""

import argparse
import csv
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from staging import Stage, played, staged
from surrogates import play

BUDGETS = (50, 100, 200)
AGREEMENTS = (0.6, 0.7, 0.8, 0.9, 0.95)
_SEEDS = {"verdicts": 17, "labels": 18, "rare": 19}
_BATCH = 20


def main() -> None:
    """Print a table: a row per kind of pool, metric and assumption."""
    options = arguments()
    levels = [f"right in {share:.0%}" for share in AGREEMENTS]
    heads = ("kind", "metric", "prior", *(f"M = {each}" for each in BUDGETS), *levels)
    table = benchmark.Table(options, *heads)
    assumed = [(0.5, True), *((right, options.even) for right in options.right)]
    for kind, metric in product(options.kinds.split(","), options.metric.split(",")):
        first = None
        for right, even in dict.fromkeys(assumed):
            each = [save(seed, kind, metric, right, even, options) for seed in range(options.pools)]
            found = np.log(each)
            first = found if first is None else first
            names = f"{kind} | {metric} | {right:g}{', even' if even else ''}"
            table.add(names, *cells(found, first))


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas."""
    return benchmark.read_options(
        __doc__,
        kinds="verdicts,labels,rare",
        metric="rate,error",
        right={"type": _read_numbers, "default": (0.75,)},
        even=False,
        pools=20,
        runs=4,
        save=Path,
    )


def _read_numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


def cells(found: np.ndarray, first: np.ndarray) -> list[str]:
    """Saved and gain per budget, then the gain at the first budget for each level of agreement."""
    gain = found - first
    doubt = gain.std(axis=0, ddof=1) / len(gain) ** 0.5
    saved = np.exp(found.mean(axis=0))
    table = zip(saved, gain.mean(axis=0), doubt, strict=True)
    texts = [f"{a:.2f}, {b:+.1%} ± {c:.1%}" for a, b, c in table]
    by_level = [gain[place :: len(AGREEMENTS), 0].mean() for place in range(len(AGREEMENTS))]
    return texts + [f"{each:+.1%}" for each in by_level]


def save(
    seed: int, kind: str, metric: str, right: float, even: bool, options: argparse.Namespace
) -> np.ndarray:
    """(budgets,) labels saved on one pool."""
    with tempfile.TemporaryDirectory(prefix="activetest-verdicts-") as folder:
        file = write_pool(Path(folder), seed, kind)
        chosen = "rate[a]" if metric == "rate" else metric
        choices = {"metric": chosen, "surrogate": "agreement", "acquisition": "optimal"}
        with staged(file, **choices) as stage:
            if stage is None:
                raise SystemExit("agreement does not fit this pool")
            what = {"kind": kind, "metric": metric, "right": right, "even": even, "seed": seed}
            name = "-".join(map(str, what.values()))
            found = played(
                _play,
                (stage, right, even),
                options.runs,
                what=what,
                file=options.save and options.save / f"{name}.jsonl",
                workers=1,
            )
            size, variance = len(stage.stats), stage.stats.var(ddof=1)
    uniform = [variance / budget * (1 - budget / size) for budget in BUDGETS]
    return uniform / np.mean(found, axis=0)


def _play(scene: tuple[Stage, float, bool], run: int) -> list[float]:
    from activetest.surrogates import agreement

    stage, right, even = scene
    fit = agreement.fit
    agreement._USUALLY_RIGHT = right
    agreement.fit = lambda training, rng: fit(
        replace(training, shares=None) if even else training, rng=rng
    )
    try:
        return play(stage, BUDGETS, _BATCH, run)[:, 3].tolist()
    finally:
        agreement.fit = fit


def write_pool(folder: Path, seed: int, kind: str) -> Path:
    """A pool of verdicts with its answer key, by its seed."""
    rng = np.random.default_rng([_SEEDS[kind], seed])
    classes, size = int(rng.integers(2, 6)), int(rng.choice([500, 1000, 3000]))
    level = AGREEMENTS[seed % len(AGREEMENTS)]
    shares = rng.dirichlet(np.full(classes, 4.0 if kind == "verdicts" else 2.0))
    if kind == "rare":
        shares = np.append(0.03, 0.97 * shares[1:] / shares[1:].sum())
    known = rng.choice(classes, size, p=shares)
    right = 1 / (1 + np.exp(-np.log(level / (1 - level)) - 0.5 * rng.normal(size=classes)))
    rows = []
    for code in range(classes):
        others = rng.dirichlet(np.full(classes - 1, 2.0)) if classes > 2 else np.ones(1)
        rows.append(np.insert(others * (1 - right[code]), code, right[code]))
    found = [int(rng.choice(classes, p=rows[code])) for code in known]
    pred, truth = (known, found) if kind == "verdicts" else (found, known)
    file = folder / "verdicts.parquet"
    ids = [str(number) for number in range(size)]
    pq.write_table(pa.table({"id": ids, "pred": ["abcde"[code] for code in pred]}), file)
    with (folder / "verdicts.labels.csv").open("w", newline="") as key:
        writer = csv.writer(key)
        writer.writerow(["id", "label"])
        writer.writerows([one, "abcde"[code]] for one, code in zip(ids, truth, strict=True))
    return file


if __name__ == "__main__":
    main()
