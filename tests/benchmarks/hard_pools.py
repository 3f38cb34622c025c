"""Pools whose model is wrong about itself, with their answer keys, for the coverage of intervals.

Writes FOLDER/NAME.parquet, the pool, and FOLDER/NAME.labels.csv, the answer key, of each of them.
All have two classes and no features:

confidently-wrong   85 % of the items at confidence .999, of which 3 % are wrong; the others uniform
                    between .5 and .95, and calibrated
inverted            confidence uniform between .5 and 1; above .9 a quarter is wrong, below 2 %
calibrated          confidence uniform between .8 and 1, and as often right
rare                97 % at confidence .998, the others uniform between .5 and .9; calibrated
blind               confidence says nothing: uniform between .5 and 1, and 8 % are wrong throughout
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# (confidence (N,), probability of an error (N,)) of a pool of that size.
Maker = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def confidently_wrong(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Most items are as good as certain to the model, and 3 % of those are wrong."""
    sure = np.arange(size) < 0.85 * size
    confidence = np.where(sure, 0.999, rng.uniform(0.5, 0.95, size))
    return confidence, np.where(sure, 0.03, 1 - confidence)


def inverted(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The more confident, the more often wrong."""
    confidence = rng.uniform(0.5, 1, size)
    return confidence, np.where(confidence > 0.9, 0.25, 0.02)


def calibrated(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Right as often as the model says."""
    confidence = rng.uniform(0.8, 1, size)
    return confidence, 1 - confidence


def rare(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Few errors, most of them where the model is in doubt."""
    doubt = np.arange(size) < 0.03 * size
    confidence = np.where(doubt, rng.uniform(0.5, 0.9, size), 0.998)
    return confidence, 1 - confidence


def blind(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The model does not know where it is wrong."""
    return rng.uniform(0.5, 1, size), np.full(size, 0.08)


POOLS: dict[str, Maker] = {
    "confidently-wrong": confidently_wrong,
    "inverted": inverted,
    "calibrated": calibrated,
    "rare": rare,
    "blind": blind,
}


def write_pool(folder: Path, name: str, size: int, seed: int) -> Path:
    """Write one pool and its answer key; the path of the pool."""
    rng = np.random.default_rng([seed, sorted(POOLS).index(name)])
    confidence, chance = POOLS[name](rng, size)
    pred = rng.integers(2, size=size)
    wrong = rng.random(size) < chance
    probs = np.where(np.arange(2) == pred[:, None], confidence[:, None], 1 - confidence[:, None])
    flat = pa.array(probs.astype(np.float32).ravel())
    columns = {
        "id": np.arange(size),
        "pred": pred,
        "prob": pa.FixedSizeListArray.from_arrays(flat, 2),
    }
    return write_files(folder, name, columns, np.where(wrong, 1 - pred, pred))


def write_files(folder: Path, name: str, columns: dict, labels: np.ndarray) -> Path:
    """Write columns as a pool, and the labels of ids 0, 1 ... as its key; the path of the pool."""
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table(columns), path)
    lines = "".join(f"{item},{label}\n" for item, label in enumerate(labels.tolist()))
    (folder / f"{name}.labels.csv").write_text("id,label\n" + lines)
    return path


def write_pools(
    about: str, names: Iterable[str], write: Callable[[Path, str, int, int], Path], size: int
) -> None:
    """The command line of a script that writes pools: its description, and the usual size."""
    options = benchmark.read_options(
        about,
        "folder",
        size=size,
        seed=0,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        print(write(options.folder, name, options.size, options.seed))


def main() -> None:
    """Write every pool."""
    write_pools(__doc__, POOLS, write_pool, 3000)


if __name__ == "__main__":
    main()
