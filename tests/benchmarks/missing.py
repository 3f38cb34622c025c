"""How intervals fare where answers are missing, at random or on purpose.

A pool of two classes whose model is too sure of itself: confidence is uniform between .8 and 1, and
items of confidence c are wrong with probability 1.6 (1 - c). Of 300 draws, in batches of
50, 1, 5 or 20 answers are then missing: of items taken at random, or of those that the model gets
wrong, as far as there are so many. Everything that is drawn is the same for all rows.

complete   no answer is missing
filled     missing answers count at a guess, and the interval at the worst that they can be
rounds     only whole rounds before the first missing answer count, as before this was possible
chosen     what reports show: the one of the two that is expected to be narrower

coverage is that of the 95 % interval; low and high are the shares of studies in which the truth
lies below and above it. Where there are fewer than two labels to use, there is no interval: `none`
is their share; they count as an interval of the metric's whole range. --save keeps the intervals of
every study in FILE, and a later call with the same FILE plays only the studies that it lacks.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.cache import cache
from activetest.errors import NotEstimable
from activetest.estimation import missing
from activetest.estimation.estimate import build_interval, estimate_metric
from activetest.estimation.samples import build_sample
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.log import PENDING, Log
from activetest.pool.pool import Pool

METRICS = ("error", "recall[1]")
COUNTS = (1, 5, 20)
HEADER = "metric | missing | how | interval | coverage | low | high | width | none"


def main() -> None:
    """Play the studies and print a row per metric, number of missing answers and interval."""
    options = benchmark.read_options(
        __doc__,
        runs=2000,
        size=2000,
        labels=300,
        batch=50,
        save=Path,
    )
    with tempfile.TemporaryDirectory() as folder:
        options.save = options.save or Path(folder) / "intervals.jsonl"
        pool, truth = build(Path(folder), options.size)
        facts = specification.describe_pool(pool.roles, None, pool)
        metrics = [specification.find_metric(name, facts) for name in METRICS]
        outputs = pool.rows(0, pool.size).outputs
        true = [evaluate(metric, outputs, truth) for metric in metrics]
        found: dict[tuple, list] = {}
        kept = benchmark.read_lines(options.save)
        for seed in range(options.runs):
            if seed == len(kept):
                kept.append(list(play(pool, truth, metrics, seed, options)))
                benchmark.append_lines(options.save, [kept[-1]])
            for key, interval in kept[seed]:
                found.setdefault(tuple(key), []).append(interval)
    print(f"{options.runs:,} studies; true values: {', '.join(f'{each:.4f}' for each in true)}\n")
    table = benchmark.Table(options, HEADER)
    for (place, count, how, kind), intervals in found.items():
        ends = np.array(intervals)
        none = np.isnan(ends[:, 0])
        ends[none] = metrics[place].lower, metrics[place].upper
        low, high = (true[place] < ends[:, 0]).mean(), (true[place] > ends[:, 1]).mean()
        cells = [metrics[place].title, str(count), how, kind, f"{1 - low - high:.3f}"]
        cells += [f"{low:.3f}", f"{high:.3f}", f"{np.ptp(ends, axis=1).mean():.4f}"]
        table.add(*cells, f"{none.mean():.3f}")


def build(folder: Path, size: int):
    """The pool and its (N,) labels."""
    rng = np.random.default_rng(14)
    confidence, pred = rng.uniform(0.8, 1, size), rng.integers(2, size=size)
    wrong = rng.random(size) < 1.6 * (1 - confidence)
    probs = np.where(np.arange(2) == pred[:, None], confidence[:, None], 1 - confidence[:, None])
    columns = {f"prob_{code}": probs[:, code] for code in range(2)}
    pq.write_table(pa.table({"id": np.arange(size), **columns}), folder / "pool.parquet")
    pool = cache.build_cache(Pool.open(str(folder / "pool.parquet")), folder / "cache")
    return pool, np.where(wrong, 1 - pred, pred).astype(float)


def play(pool, truth, metrics, seed: int, options):
    """Yields (place of the metric, missing answers, how, kind), (lower, upper); NaN for none."""
    choices = Choices("error", METRICS, "agreement")
    log = Log.empty()
    size = {"labels": options.labels, "batch": options.batch}
    log = benchmark.buy_labels(log, pool, choices, truth, **size, seed=seed)
    rng = np.random.default_rng([14, seed])
    wrong = truth[log.rows] != pool.take(log.rows).outputs.pred
    orders = {
        "at random": rng.permutation(len(log.rows)),
        "on purpose": np.argsort(rng.random(len(log.rows)) + ~wrong),
    }
    for place, ends in enumerate(look(log, pool, choices, metrics, seed)):
        yield (place, 0, "", "complete"), ends["rounds"]
    for how, order in orders.items():
        for count in COUNTS:
            for place, ends in enumerate(
                look(take_away(log, order[:count]), pool, choices, metrics, seed)
            ):
                for kind, end in ends.items():
                    yield (place, count, how, kind), end


def take_away(log: Log, places) -> Log:
    """The log without the answers of the draws at these places."""
    log = replace(log, status=log.status.copy(), labels=log.labels.copy())
    log.status[places], log.labels[places] = PENDING, np.nan
    return log


def look(log: Log, pool, choices, metrics, seed: int) -> list[dict[str, tuple[float, float]]]:
    """{kind: (lower, upper)} of every metric."""
    view = build_view(log, pool, choices, metrics, seed=seed, own_view=False)
    found, group = [], view.evidence.groups[0]
    for metric in metrics:
        ends = {}
        if (log.status == PENDING).any():
            every = missing.fill_rounds(view.evidence, metric, group, len(log.history) + 1)
            value = missing.estimate_with_missing(every, "doubly-robust")
            interval = build_interval(value, choices.level)
            ends["filled"] = interval.lower, interval.upper
        try:
            value = estimate_metric(build_sample(view.evidence, metric), metric, "doubly-robust")
            interval = build_interval(value, choices.level)
            ends["rounds"] = interval.lower, interval.upper
        except NotEstimable:
            ends["rounds"] = np.nan, np.nan
        if "filled" in ends:
            chosen = "rounds" if view.fill_missing(metric) is None else "filled"
            ends["chosen"] = ends[chosen]
        found.append(ends)
    return found


if __name__ == "__main__":
    main()
