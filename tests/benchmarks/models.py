"""Two models on one set of labels: their difference, and the numbers of the one that came later.

FOLDER holds NAME.parquet, NAME.labels.csv and NAME.surrogates.parquet, from which the model with
the fewest errors is the rival of the pool's own. Draws are made for the error of the own model, as
by default, or for the difference, with its usual floor or none. A difference is compared with that
of so many uniform draws on which both models are looked at, and the rival's error with that of so
many uniform draws.
"""

import concurrent.futures
import csv
import re
import tempfile
import time
from functools import partial
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.cache.cache import build_cache
from activetest.errors import NotEstimable
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.compared import bind_metric, subtract_models
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.pool.pool import Pool
from activetest.reporting.rows import HEADLINE
from activetest.rounds.compared_pool import ComparedPool

_APART = "error(rival)-error(own)"
# How draws are made: for the own model's error, or for the difference with a floor.
_WAYS = {
    "difference, floor 0.1": Choices("error", ("error",), floor=0.1, draw_for=(_APART,)),
    "difference, floor 0": Choices("error", ("error",), floor=0.0, draw_for=(_APART,)),
    "own error": Choices("error", ("error",)),
}
_LEVEL = 0.95


def read_probs(table: pa.Table, name: str) -> np.ndarray:
    """(N, C) probabilities in a column of lists, or in columns that begin so."""
    if name in table.column_names:
        return np.array(table[name].to_pylist(), np.float32)
    names = [each for each in table.column_names if each.startswith(f"{name}_")]
    return np.column_stack([table[each].to_numpy() for each in names]).astype(np.float32)


def read_outputs(file: Path) -> tuple[list[str], list[np.ndarray], np.ndarray, list[str]]:
    """Ids, probabilities (N, C) of the own model and its rivals, labels (N,), names of classes."""
    table = pq.read_table(file)
    others = pq.read_table(file.with_suffix(".surrogates.parquet"))
    with open(file.with_suffix(".labels.csv"), newline="", encoding="utf-8") as lines:
        key = {row["id"]: row["label"] for row in csv.DictReader(lines)}
    ids = list(map(str, table["id"].to_pylist()))
    place = {str(id): row for row, id in enumerate(others["id"].to_pylist())}
    order = [place[id] for id in ids]
    own = read_probs(table, "prob")
    named = (re.match(r"surrogate_prob_\d+", each) for each in others.column_names)
    names = sorted({each[0] for each in named if each})
    rivals = [read_probs(others, each)[order] for each in names]
    classes = sorted(set(key.values()), key=lambda name: (len(name), name))
    return ids, [own, *rivals], np.array([classes.index(key[id]) for id in ids]), classes


def build_models(file: Path, folder: Path) -> tuple[object, object, np.ndarray]:
    """Caches of the pool's own model and of its best rival, and the labels (N,) as codes."""
    ids, (own, *rivals), codes, classes = read_outputs(file)
    rival = min(rivals, key=lambda probs: (probs.argmax(axis=1) != codes).mean())
    caches = []
    for name, probs in (("own", own), ("rival", rival)):
        path = folder / f"{name}.parquet"
        columns = {f"prob_{each}": probs[:, code] for code, each in enumerate(classes)}
        pq.write_table(pa.table({"id": ids, **columns}), path)
        caches.append(build_cache(Pool.open(str(path)), folder / name))
    return caches[0], caches[1], codes.astype(float)


def run_study(place: str, way: str, labels: int, batch: int, seed: int) -> list[float]:
    """Estimate and interval of the difference, and of the rival's error, in one study."""
    own, rival, truth = _open(place)
    pool = ComparedPool("own", own, {"rival": rival}, Log.empty())
    choices = _WAYS[way]
    log = benchmark.buy_labels(
        *(Log.empty(), pool if "difference" in way else own, choices, truth),
        labels=labels,
        batch=batch,
        seed=seed,
    )
    metric = specification.find_metric("error", specification.describe_pool(own.roles, None, own))
    metrics = [subtract_models(metric, "rival", "own"), bind_metric(metric, "rival")]
    compared = ComparedPool("own", own, {"rival": rival}, log)
    view = build_view(log, compared, choices, metrics, seed=seed, own_view=False)
    found = []
    for each in metrics:
        try:
            value = view.value(each, HEADLINE)
        except NotEstimable:
            # Without a floor, draws say nothing about one model alone.
            found += [np.nan] * 3
            continue
        found += [value.value, *view.interval(value, _LEVEL).find_ends()]
    return found


_opened: dict[str, tuple] = {}


def _open(place: str) -> tuple:
    """The caches and labels of a pool, once a process."""
    from activetest.cache.cache import open_cache

    if place not in _opened:
        folder = Path(place)
        caches = [open_cache(folder / name) for name in ("own", "rival")]
        _opened[place] = *caches, np.load(folder / "truth.npy")
    return _opened[place]


def main() -> None:
    """Play all studies and print a row for each pool and way."""
    options = benchmark.read_options(
        __doc__, "folder", pools="", runs=1000, labels=200, batch=50, workers=2
    )
    table = benchmark.Table(
        options,
        "pool | draws for | differ | difference: uniform labels, coverage, width"
        " | rival: uniform labels, coverage",
    )
    files = benchmark.find_pools(options.folder, options.pools)
    for file in (each for each in files if each.with_suffix(".surrogates.parquet").exists()):
        with tempfile.TemporaryDirectory() as place:
            own, rival, truth = build_models(file, Path(place))
            np.save(Path(place) / "truth.npy", truth)
            wrong = [each.rows(0, each.size).outputs.pred != truth for each in (own, rival)]
            apart = wrong[1].astype(float) - wrong[0]
            pred = [each.rows(0, each.size).outputs.pred for each in (own, rival)]
            differ = (pred[0] != pred[1]).mean()
            # Without a floor, nothing is left to draw from models that do the same throughout.
            for way in (each for each in _WAYS if differ or _WAYS[each].floor):
                began = time.perf_counter()
                play = partial(run_study, place, way, options.labels, options.batch)
                with concurrent.futures.ProcessPoolExecutor(options.workers) as workers:
                    found = np.array(list(workers.map(play, range(options.runs), chunksize=5)))
                cells = [
                    describe(found[:, 3 * at : 3 * at + 3], values, width=not at)
                    for at, values in enumerate((apart, wrong[1].astype(float)))
                ]
                table.add(file.stem, way, f"{differ:.3f}", *cells)
                print(f"{(time.perf_counter() - began) / 60:.1f} minutes")


def describe(found: np.ndarray, values: np.ndarray, *, width: bool) -> str:
    """Uniform labels that would be as good as found (runs, 3), with two standard errors."""
    if np.isnan(found).any():
        return "-"
    truth, size = values.mean(), len(values)
    squares = (found[:, 0] - truth) ** 2
    error = squares.std(ddof=1) / np.sqrt(len(squares)) / squares.mean()
    # Of n uniform draws without replacement the variance is s^2 (1 - n / N) / n.
    variance = values.var(ddof=1)
    labels = variance / (squares.mean() + variance / size)
    covered = ((found[:, 1] <= truth) & (truth <= found[:, 2])).mean()
    cells = [f"{labels:.0f} +- {2 * error * labels:.0f}", f"{covered:.3f}"]
    return ", ".join(cells + [f"{(found[:, 2] - found[:, 1]).mean():.3f}"] * width)


if __name__ == "__main__":
    main()
