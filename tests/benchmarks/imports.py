"""Coverage of studies whose draws another program made, as a Markdown table.

The pool is simulated; a sampler in NumPy draws from it in rounds of 25, and its log is imported.
"by doubt" draws one after another in proportion to 1.1 minus the confidence of the model, to which
rounds add what the labels before have shown of each class; "uniform" is a simple random sample,
whose log is sorted by label. The floor of the draws is not named. Bias is in standard errors of the
mean over all runs; missed is how often the truth lies below the interval, and above it. SAMPLES
keeps every run: those that it has are not made again, and all count. 2,000 runs of both take about
twenty minutes.
"""

import tempfile
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.cache.cache import Cache, build_cache
from activetest.errors import NotEstimable
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.rows import Array
from activetest.pool.pool import Pool
from activetest.sampling.draw_log import read_draw_log
from activetest.study.imported import Meaning, plan_log

METRICS, ESTIMATORS = ("error", "recall[1]", "f1[1]"), ("lure", "doubly-robust")
_BATCH = 25


def make_pool(size: int) -> tuple[Array, Array]:
    """(N,) scores, and the labels; the model is a little too sure."""
    rng = np.random.default_rng(11)
    true = rng.beta(0.5, 1.5, size)
    return np.clip(true + rng.normal(0, 0.1, size), 0.01, 0.99), (rng.random(size) < true) * 1


def draw_by_doubt(score: Array, labels: Array, budget: int, rng: np.random.Generator) -> list[dict]:
    """A log of draws without replacement, whose weights follow earlier rounds."""
    pred, rows = score >= 0.5, []
    left = np.ones(len(score), bool)
    wrong, seen = np.ones(2), np.full(2, 4.0)
    for number in range(1, budget // _BATCH + 1):
        frozen = (1.1 - np.maximum(score, 1 - score)) * np.sqrt(wrong / seen)[pred * 1]
        for _ in range(_BATCH):
            weight = np.where(left, frozen, 0.0)
            item = int(rng.choice(len(weight), p=weight / weight.sum()))
            rows.append((item, weight[item] / weight.sum(), number))
            left[item] = False
        batch = [item for item, _, each in rows if each == number]
        wrong += np.bincount(pred[batch] * 1, labels[batch] != pred[batch], minlength=2)
        seen += np.bincount(pred[batch] * 1, minlength=2)
    return [
        {"id": f"item-{item}", "probability": prob, "label": int(labels[item]), "round": number}
        for item, prob, number in rows
    ]


def draw_uniformly(
    score: Array, labels: Array, budget: int, rng: np.random.Generator
) -> list[dict]:
    """A log of a simple random sample, sorted by label."""
    items = rng.choice(len(score), budget, replace=False)
    rows = [{"id": f"item-{item}", "label": int(labels[item])} for item in items]
    return sorted(rows, key=lambda row: row["label"])


SAMPLERS = {"by doubt": draw_by_doubt, "uniform": draw_uniformly}


def run(
    cache: Cache, score: Array, labels: Array, sampler: str, budget: int, seed: int
) -> list[list[float]]:
    """(estimate, lower, upper) of every metric by every estimator; NaN where there is none."""
    log = SAMPLERS[sampler](score, labels, budget, np.random.default_rng([seed, budget]))
    design = "uniform" if sampler == "uniform" else None
    choices = Choices("error", ("error", "recall[1]", "f1[1]"), "agreement")
    rows = read_draw_log(log)[1]
    planned = plan_log(rows, "log", Meaning(design), cache, choices, seed)
    facts = specification.describe_pool(cache.roles, None, cache)
    metrics = [specification.find_metric(name, facts) for name in METRICS]
    view = build_view(planned.log, cache, choices, metrics, seed=seed, own_view=False)
    found = []
    for metric in metrics:
        for estimator in ESTIMATORS:
            try:
                value = view.value(metric, estimator)
                interval = view.interval(value, 0.95)
            except NotEstimable:
                found.append([np.nan] * 3)
            else:
                found.append([value.value, interval.lower, interval.upper])
    return found


def find_truth(score: Array, labels: Array) -> list[float]:
    """The metrics of the whole pool."""
    pred, hits = score >= 0.5, ((score >= 0.5) & (labels == 1)).sum()
    recall, precision = hits / labels.sum(), hits / pred.sum()
    return [float(np.mean(pred != labels)), recall, 2 * recall * precision / (recall + precision)]


def main() -> None:
    """Run what is not in SAMPLES yet, then print the table."""
    options = benchmark.read_options(
        __doc__,
        "samples",
        runs=2000,
        size=2000,
        budget={"type": int, "action": "append"},
    )
    options.samples.mkdir(parents=True, exist_ok=True)
    score, labels = make_pool(options.size)
    truth = np.repeat(find_truth(score, labels), len(ESTIMATORS))
    names = [(metric, estimator) for metric in METRICS for estimator in ESTIMATORS]
    table = benchmark.Table(
        options,
        "draws | studies | labels | metric | estimator | bias | coverage (missed) | mean width",
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pool.parquet"
        ids = [f"item-{row}" for row in range(options.size)]
        pq.write_table(pa.table({"id": ids, "score": score}), file)
        cache = build_cache(Pool.open(str(file)), Path(folder) / "cache")
        for sampler in SAMPLERS:
            for budget in options.budget or (50, 200):
                path = options.samples / f"{sampler}-{options.size}-{budget}.jsonl"
                for seed in range(len(benchmark.read_lines(path)), options.runs):
                    found = run(cache, score, labels, sampler, budget, seed)
                    benchmark.append_lines(path, [found])
                runs = np.array(benchmark.read_lines(path))
                for place, (metric, estimator) in enumerate(names):
                    row = f"{metric} | {estimator} | {describe(runs[:, place], truth[place])}"
                    table.add(sampler, len(runs), budget, row)


def describe(found: Array, truth: float) -> str:
    """Bias, coverage and width of (R, 3) estimates with their intervals."""
    value, lower, upper = found[np.isfinite(found).all(axis=1)].T
    bias = (value.mean() - truth) / (value.std() / np.sqrt(len(value)))
    below, above = np.mean(truth < lower), np.mean(truth > upper)
    covered = f"{1 - below - above:.3f} ({below:.3f}, {above:.3f})"
    return f"{bias:+.1f} | {covered} | {np.mean(upper - lower):.3f}"


if __name__ == "__main__":
    main()
