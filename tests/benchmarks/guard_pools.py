"""Pools whose features or texts could mislead the surrogate that listens to them.

Writes FOLDER/NAME.parquet and FOLDER/NAME.labels.csv, the answer key. All but few-errors are wrong
on about one item in seven; the pools of the first row say nothing of the model's answers:

noise       20 features of noise              shuffled    an embedding, of other items
said        texts of words at random          beside      5 features that foretell the model's
                                                          answers, and nothing of its errors
few-errors  as beside, wrong on one in 100    box         the model is a function of 5 features;
                                                          its errors are near its border
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from hard_pools import write_files, write_pools

Columns = dict[str, np.ndarray]
_WORDS = np.array(["river", "town", "bread", "winter", "light", "engine", "green", "road", "music"])


def _answer(rng: np.random.Generator, features: np.ndarray) -> np.ndarray:
    """(N,) answers 0 and 1 of a model that is a smooth function of features (N, 5)."""
    height = np.tanh(features @ rng.normal(size=(5, 8))) @ rng.normal(size=8)
    return height - np.median(height)


def _err(pred: np.ndarray, wrong: np.ndarray) -> Columns:
    return {"pred": pred.astype(int), "label": np.where(wrong, 1 - pred, pred).astype(int)}


def _name(features: np.ndarray) -> Columns:
    return {f"f{place}": column for place, column in enumerate(features.astype(np.float32).T)}


def make_noise(rng: np.random.Generator, size: int) -> Columns:
    """Features of noise."""
    pred = rng.random(size) < 0.4
    return _err(pred, rng.random(size) < 0.15) | _name(rng.normal(size=(size, 20)))


def make_shuffled(rng: np.random.Generator, size: int) -> Columns:
    """An embedding that belongs to other items."""
    features = rng.normal(size=(size, 5))
    pred = _answer(rng, features) > 0
    embedding = np.hstack([features, np.tanh(features @ rng.normal(size=(5, 27)))])
    return _err(pred, rng.random(size) < 0.15) | _name(rng.permutation(embedding))


def make_said(rng: np.random.Generator, size: int) -> Columns:
    """Texts of words at random."""
    pred = rng.random(size) < 0.4
    lines = [" ".join(rng.choice(_WORDS, 12)) for _ in range(size)]
    return _err(pred, rng.random(size) < 0.15) | {"text": np.array(lines)}


def make_beside(rng: np.random.Generator, size: int, rate: float = 0.15) -> Columns:
    """Features that foretell what the model says, and nothing of where it is wrong."""
    features = rng.normal(size=(size, 5))
    return _err(_answer(rng, features) > 0, rng.random(size) < rate) | _name(features)


def make_few_errors(rng: np.random.Generator, size: int) -> Columns:
    """The same, rarely wrong."""
    return make_beside(rng, size, 0.01)


def make_box(rng: np.random.Generator, size: int) -> Columns:
    """The model is exactly a function of its features, and wrong near its border."""
    features = rng.normal(size=(size, 5))
    height = _answer(rng, features)
    near = np.exp(-((height / np.quantile(np.abs(height), 0.3)) ** 2))
    return _err(height > 0, rng.random(size) < 0.45 * near) | _name(features)


POOLS: dict[str, Callable[[np.random.Generator, int], Columns]] = {
    "noise": make_noise,
    "shuffled": make_shuffled,
    "said": make_said,
    "beside": make_beside,
    "few-errors": make_few_errors,
    "box": make_box,
}


def write_pool(folder: Path, name: str, size: int, seed: int) -> Path:
    """Write one of the pools and its key; the path of the pool."""
    columns = POOLS[name](np.random.default_rng([seed, *name.encode()]), size)
    labels = columns.pop("label")
    return write_files(folder, name, {"id": np.arange(size)} | columns, labels)


def main() -> None:
    """Write every pool."""
    write_pools(__doc__, POOLS, write_pool, 3000)


if __name__ == "__main__":
    main()
