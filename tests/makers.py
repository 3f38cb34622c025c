"""Makers of small pools and their labels, for every room."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.item_statistics.metric import Facts
from activetest.nouns.rows import Outputs

NAMES = ("cat", "dog", "owl", "fox", "bee", "ant", "elk", "cow", "hen", "pig")
COSTS = {2: ((0.0, 5.0), (1.0, -0.5))}


def labelled_classes(
    classes: int, *, rows: int = 400, seed: int = 0, ties: bool = False, absent=()
):
    """Facts, outputs and labels; with ties probabilities are eighths. Absent codes never occur."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(classes, 0.6), rows)
    if ties:
        probs = np.array([rng.multinomial(8, row) / 8 for row in probs])
    labels = (probs.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    labels = np.where(rng.random(rows) < 0.2, rng.integers(classes, size=rows), labels)
    pred = probs.argmax(axis=1)
    for code in absent:
        labels[labels == code] = code - 1
        pred[pred == code] = code - 1
    facts = Facts(
        "classification",
        NAMES[:classes],
        1 if classes == 2 else None,
        probabilities=True,
        costs=COSTS.get(classes),
        scores=lambda code: probs[np.arange(rows), pred if code is None else code],
    )
    return facts, Outputs(pred, probs), labels.astype(float)


def labelled_values(*, rows: int = 400, seed: int = 0):
    """Facts, outputs and labels of a regression pool with standard deviations."""
    rng = np.random.default_rng(seed)
    pred, std = rng.normal(10, 3, rows), rng.uniform(0.5, 2, rows)
    facts = Facts("regression", deviation=True, center=9.5)
    return facts, Outputs(pred, std=std), pred + std * rng.normal(0.2, 1.1, rows)


def write_pool(path: Path, rows: int, *, seed: int = 0) -> Path:
    """Three classes, two features, a group; ids item-0, item-1, ..."""
    rng = np.random.default_rng(seed)
    columns = {"id": [f"item-{row}" for row in range(rows)]}
    probs = rng.dirichlet([1, 1, 1], rows)
    columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(("cat", "dog", "owl"))}
    columns |= {f"x{number}": rng.normal(size=rows) for number in (1, 2)}
    columns["place"] = rng.choice(["barn", "tree"], rows)
    pq.write_table(pa.table(columns), path)
    return path
