"""Which of several models is best: labels until the answer is right, by strategy.

FOLDER holds NAME.parquet, NAME.labels.csv and NAME.surrogates.parquet: the pool's own model and its
rivals, which are looked at together, or the rivals alone, which are closer. Models within the
tolerance of the best one count as right. Uniform draws are random labels, by which the model with
the most right answers is named. With --keep, finished studies are not repeated.
"""

import tempfile
import time
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from models import read_outputs

from activetest.simulation.simulate import simulate

# {contest: pool, whether its own model takes part, tolerance, labels, labels per round}
_CONTESTS = {
    "cifar10": ("cifar10", True, 0.0, 160, 10),
    "mnist_missing7": ("mnist_missing7", True, 0.0, 200, 10),
    "cifar10 rivals": ("cifar10", False, 0.005, 500, 20),
    "mnist_missing7 rivals": ("mnist_missing7", False, 0.002, 300, 20),
}
_STRATEGIES = ("top-two", "non-unanimous", "model-selector", "coda")
# Share of studies that are to be right, and random samples of uniform draws.
_RIGHT, _SAMPLES = 0.95, 2000


def write_models(file: Path, folder: Path, *, own: bool) -> tuple[list[Path], np.ndarray, Path]:
    """Files with the outputs of all models, (N, K) whether each is right, and the answer key."""
    ids, outputs, codes, classes = read_outputs(file)
    outputs = outputs if own else outputs[1:]
    paths = []
    for number, probs in enumerate(outputs):
        paths.append(folder / f"{number}.parquet")
        columns = {f"prob_{each}": probs[:, code] for code, each in enumerate(classes)}
        pq.write_table(pa.table({"id": ids, **columns}), paths[-1])
    right = np.stack([probs.argmax(axis=1) == codes for probs in outputs], axis=1)
    return paths, right, file.with_suffix(".labels.csv")


def count_uniform_labels(right: np.ndarray, tolerance: float) -> int:
    """Random labels with which the model with most right answers is right in 95 % of samples."""
    rng, value = np.random.default_rng(0), right.mean(axis=0)
    good = value >= value.max() - tolerance - 1e-12
    most = len(right)
    counts = np.unique(np.geomspace(10, most, 120).astype(int))
    hits = np.zeros(len(counts))
    for _ in range(_SAMPLES):
        sums = np.cumsum(right[rng.permutation(most)], axis=0)[counts - 1]
        # Of models with as many right answers, any may be named.
        named = sums == sums.max(axis=1, keepdims=True)
        hits += (named & good).sum(axis=1) / named.sum(axis=1)
    return find_labels(counts, hits / _SAMPLES)


def find_labels(labels: np.ndarray, share: np.ndarray) -> int:
    """Labels from which on the share of right answers is large enough; 0 where it never is."""
    enough = np.logical_and.accumulate((share >= _RIGHT)[::-1])[::-1]
    return int(labels[enough.argmax()]) if enough.any() else 0


def main() -> None:
    """Play all studies and print a row for each contest and strategy."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        contests="",
        strategies=",".join(_STRATEGIES),
        runs=200,
        fewer=20,
        workers=2,
        keep="",
    )
    table = benchmark.Table(
        options,
        "contest | strategy | runs | labels until right in 95 % | of uniform"
        " | decided, at labels | right then | regret at 100",
    )
    chosen = options.contests.split(",") if options.contests else list(_CONTESTS)
    for contest in chosen:
        pool, own, tolerance, budget, batch = _CONTESTS[contest]
        with tempfile.TemporaryDirectory() as place:
            file = options.folder / f"{pool}.parquet"
            paths, right, key = write_models(file, Path(place), own=own)
            uniform = count_uniform_labels(right, tolerance)
            table.add(contest, "uniform", _SAMPLES, uniform, 1, "- | - | -")
            for strategy in options.strategies.split(","):
                began = time.perf_counter()
                ours = strategy in _STRATEGIES[:2]
                save = f"{options.keep}/{contest}-{strategy}.jsonl".replace(" ", "-")
                (answer,) = simulate(
                    str(paths[0]),
                    str(key),
                    models={f"v{n}": str(path) for n, path in enumerate(paths[1:], 2)},
                    question="best",
                    acquisition=strategy,
                    tolerance=tolerance,
                    budgets=budget,
                    runs=options.runs if ours else options.fewer,
                    batch=batch,
                    metrics="error",
                    estimators="naive",
                    workers=options.workers,
                    save=save if options.keep else None,
                ).answers
                table.add(contest, strategy, answer.runs, *describe(answer, uniform))
                print(f"{(time.perf_counter() - began) / 60:.1f} minutes", flush=True)


def describe(answer, uniform: int) -> list[str]:
    """Cells of a row."""
    labels = np.array([each.budget for each in answer.looks])
    needed = find_labels(labels, np.array([each.right for each in answer.looks]))
    wait, wrong = answer.until_decided, answer.first_wrong
    after = next(each for each in answer.looks if each.budget >= 100)
    return [
        str(needed) if needed else f"more than {labels[-1]}",
        f"{needed / uniform:.2f}" if needed and uniform else "-",
        f"{100 * wait.share:.0f} %, {wait.labels:.0f}",
        "-" if wrong is None else f"{1 - wrong:.3f}",
        f"{after.regret:.4f}",
    ]


if __name__ == "__main__":
    main()
