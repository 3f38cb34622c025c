"""The threshold that looks best on the labels: how often its interval holds, and that of all does.

A pool of our own making whose scores say nothing: half of the items of each score are of the class.
Of every threshold the best estimate is looked at, with the interval that holds at one threshold
alone, and with that of `report --threshold`, whose level is the simultaneous band's.
"""

import concurrent.futures
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIZE, SCORES = 300, 12
_BETTER = {"error": -1, "f1[yes]": 1}


def build_pools(folder: Path) -> tuple:
    """The caches of the pool and of each threshold's predictions, and the labels (SIZE,)."""
    from activetest.cache.cache import build_cache
    from activetest.pool.pool import Pool

    rng = np.random.default_rng(0)
    rows = np.arange(SIZE)
    truth = np.zeros(SIZE)
    for each in range(SCORES):
        same = np.flatnonzero(rows % SCORES == each)
        truth[rng.permutation(same)[: len(same) // 2]] = 1
    scores, file = (rows % SCORES + 0.5) / SCORES, str(folder / "pool.parquet")
    pq.write_table(pa.table({"id": [f"i{row}" for row in rows], "score": scores}), file)
    pool = Pool.open(file, classes=("no", "yes"))
    found = []
    for threshold in np.unique(scores)[1:]:
        schema = replace(pool.schema, threshold=float(threshold), thresholded="yes")
        found.append(build_cache(Pool(file, schema, pool.files), folder / f"at {threshold}"))
    return build_cache(pool, folder / "own"), found, truth


def measure_truth(cache, metric: str, truth: np.ndarray) -> float:
    """The metric of a pool's predictions."""
    pred = np.concatenate([cache.rows(*piece).outputs.pred for piece in cache.chunks()])
    if metric == "error":
        return float((pred != truth).mean())
    return float(2 * (pred * truth).sum() / (pred.sum() + truth.sum()))


def play(acquisition: str, name: str, labels: int, seed: int) -> tuple[bool, bool, float]:
    """Whether the best threshold's interval holds alone, and the band's; and the band's level."""
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.reporting.rows import HEADLINE, estimate_row
    from activetest.rounds.replay import replay_rounds
    from activetest.wings.curves.curves import find_band_level

    if not _made:
        _made.extend(build_pools(Path(tempfile.mkdtemp())))
    own, caches, truth = _made
    choices = Choices("error", ("error",), "agreement", acquisition)
    about = Log.empty(), own, choices, truth
    log = benchmark.buy_labels(*about, labels=labels, batch=labels // 2, seed=seed)
    facts = specification.describe_pool(own.roles, None, own)
    metric, rows = specification.find_metric(name, facts), []
    for cache in caches:
        seen = replay_rounds(log, cache)
        view = build_view(seen, cache, choices, [metric], seed=seed, own_view=False)
        rows.append((view, estimate_row(view, metric, HEADLINE, level=choices.level)))
    known = [-np.inf if row.estimate is None else _BETTER[name] * row.estimate for _, row in rows]
    best = int(np.argmax(known))
    view, alone = rows[best]
    level = find_band_level(log, own, choices, facts, 1, seed=seed)
    value = measure_truth(caches[best], name, truth)
    both = alone, estimate_row(view, metric, HEADLINE, level=level)
    return *((row.lower <= value <= row.upper) for row in both), level


_made: list = []


def main() -> None:
    """Play all studies and print a row for each metric and kind of draws."""
    options = benchmark.read_options(__doc__, runs=1000, labels=60, workers=2)
    columns = "best threshold by | draws | its interval alone | the band's | level of the band"
    table = benchmark.Table(options, columns)
    with concurrent.futures.ProcessPoolExecutor(options.workers) as workers:
        for name in _BETTER:
            for acquisition in ("uniform", "optimal"):
                job = partial(play, acquisition, name, options.labels)
                found = np.array(list(workers.map(job, range(options.runs), chunksize=5)))
                alone, band, level = found.mean(axis=0)
                table.add(name, acquisition, f"{alone:.3f}", f"{band:.3f}", f"{level:.4f}")


if __name__ == "__main__":
    main()
