"""Pools of scores with their answer keys, for the coverage of the intervals of losses.

    python tests/benchmarks/score_pools.py FOLDER [--seed 0]

Writes FOLDER/NAME.parquet, the pool, and FOLDER/NAME.labels.csv, the answer key, of each of them.
The first three are a judge's scores against people's:

judge-ten       1 to 10, whole numbers, most of the judge's between 7 and 9; 600 items
judge-hundred   0 to 100; the judge gives multiples of 5, to 40 % of the items 85, and people give
                0 to 5 % of them; 1,000 items
judge-zeros     0 to 1; people give most items 0 or a little more, the judge .1 to .5; 1,000 items
proportional    errors in proportion to the prediction, 30 % of it and skewed; 1,500 items
lognormal       heavy tails: predictions and errors are lognormal, errors 45 %; 1,500 items
student         heavy tails: Student's t with 4 degrees of freedom; 2,000 items
rare-huge       1 % of the errors are 25 times as large as the others, and nothing tells which;
                2,000 items
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hard_pools import write_files

Columns = dict[str, np.ndarray]


def judge_ten(rng: np.random.Generator) -> Columns:
    """Whole numbers from 1 to 10, skewed and tied."""
    size = 600
    quality, length = rng.beta(5, 2, size), rng.gamma(2, 700, size)
    pred = np.round(2 + 8 * (0.5 * quality + 0.5 * rng.beta(8, 2, size)))
    label = np.round(10 * quality**1.1 + 1.2 * rng.standard_normal(size))
    return {"pred": np.clip(pred, 1, 10), "label": np.clip(label, 1, 10), "length": length}


def judge_hundred(rng: np.random.Generator) -> Columns:
    """0 to 100: one score that the judge likes most, and items that people give nothing."""
    size = 1_000
    quality, length = rng.beta(4, 1.5, size), rng.gamma(2, 700, size)
    pred = np.clip(5 * np.round((60 + 30 * quality + 8 * rng.standard_normal(size)) / 5), 0, 100)
    pred[rng.random(size) < 0.4] = 85
    label = np.round(np.clip(100 * quality + 10 * rng.standard_normal(size), 0, 100))
    label[rng.random(size) < 0.05] = 0
    return {"pred": pred, "label": label, "length": length}


def judge_zeros(rng: np.random.Generator) -> Columns:
    """0 to 1: most items are worthless, and the judge is kinder than people."""
    size = 1_000
    good = rng.random(size) < 0.15
    label = np.where(good, rng.beta(3, 1.5, size), rng.beta(0.3, 5, size))
    kind = rng.choice([0.1, 0.1, 0.1, 0.2, 0.2, 0.3, 0.5], size)
    pred = np.where(good, rng.beta(5, 3, size), kind)
    length = rng.gamma(4, 300, size)
    return {"pred": np.round(20 * pred) / 20, "label": np.round(50 * label) / 50, "length": length}


def multiply_errors(rng: np.random.Generator, spread: float, error: float) -> Columns:
    """Predictions exp(1 + spread z), and labels that are lognormal around them."""
    first, second = rng.standard_normal((2, 1_500))
    pred = np.exp(1 + spread * first)
    label = pred * np.exp(error * rng.standard_normal(1_500) - 0.05)
    return {"pred": pred, "label": label, "first": first, "second": second}


def student(rng: np.random.Generator) -> Columns:
    """The squares of the errors have no variance."""
    first, second = rng.standard_normal((2, 2_000))
    pred = 10 + 2 * first
    label = pred + 0.2 + np.exp(0.2 * first) * rng.standard_t(4, 2_000)
    return {"pred": pred, "label": label, "first": first, "second": second}


def rare_huge(rng: np.random.Generator) -> Columns:
    """Few items make most of the squared loss, and look like all others."""
    first, error = rng.standard_normal((2, 2_000))
    huge = rng.random(2_000) < 0.01
    error[huge] += 25 * np.sign(rng.random(huge.sum()) - 0.2)
    return {"pred": 10 + 2 * first, "label": 10.1 + 2 * first + error, "first": first}


POOLS: dict[str, Callable[[np.random.Generator], Columns]] = {
    "judge-ten": judge_ten,
    "judge-hundred": judge_hundred,
    "judge-zeros": judge_zeros,
    "proportional": lambda rng: multiply_errors(rng, 0.3, 0.3),
    "lognormal": lambda rng: multiply_errors(rng, 0.5, 0.45),
    "student": student,
    "rare-huge": rare_huge,
}


def write_pool(folder: Path, name: str, seed: int) -> Path:
    """Write one pool and its answer key; the path of the pool."""
    columns = POOLS[name](np.random.default_rng([seed, list(POOLS).index(name)]))
    labels = columns.pop("label")
    return write_files(folder, name, {"id": np.arange(len(labels)), **columns}, labels)


def main() -> None:
    """Write every pool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in POOLS:
        print(write_pool(options.folder, name, options.seed))


if __name__ == "__main__":
    main()
