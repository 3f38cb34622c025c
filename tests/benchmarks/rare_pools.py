"""Pools with a rare class, with their answer keys, for metrics such as F1 and recall.

Writes FOLDER/NAME.parquet, the pool, and FOLDER/NAME.labels.csv, the answer key, of each of them.
All have two classes and no features:

known    2.5 % are positive; the model's probabilities are right but for noise
sure     the same items; the model's log odds are twice as large as they should be, with more noise
eager    the same items; the model takes one and a half units of log odds too many for positive
hidden   96 % have a probability of .001, and six times as many are positive; the others are
         calibrated between .05 and .95
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from hard_pools import write_files, write_pools
from scipy.optimize import brentq
from scipy.special import expit

# (probability of the positive class (N,), what the model says it is (N,)) of a pool of that size.
Maker = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def distort(slope: float, shift: float, noise: float) -> Maker:
    """A model whose log odds are slope (log odds + shift + noise)."""

    def make(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        spread = rng.normal(0, 3, size)
        odds = spread + brentq(lambda level: expit(level + spread).mean() - 0.025, -30, 10)
        return expit(odds), expit(slope * (odds + shift + noise * rng.normal(size=size)))

    return make


def hide(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Among the items that the model rules out are as many positives as among the others."""
    stated = np.where(np.arange(size) < 0.96 * size, 0.001, rng.uniform(0.05, 0.95, size))
    return np.where(stated == 0.001, 0.006, stated), stated


POOLS: dict[str, Maker] = {
    "known": distort(1.0, 0.0, 0.5),
    "sure": distort(2.0, 0.0, 1.0),
    "eager": distort(1.0, 1.5, 0.5),
    "hidden": hide,
}


def write_pool(folder: Path, name: str, size: int, seed: int) -> Path:
    """Write one pool and its answer key; the path of the pool."""
    rng = np.random.default_rng([seed, 0 if name != "hidden" else 1])
    chance, stated = POOLS[name](rng, size)
    labels = (rng.random(size) < chance).astype(int)
    probs = np.column_stack([1 - stated, stated]).astype(np.float32)
    columns = {
        "id": np.arange(size),
        "pred": (stated > 0.5).astype(int),
        "prob": pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), 2),
    }
    return write_files(folder, name, columns, labels)


def main() -> None:
    """Write every pool."""
    write_pools(__doc__, POOLS, write_pool, 8000)


if __name__ == "__main__":
    main()
