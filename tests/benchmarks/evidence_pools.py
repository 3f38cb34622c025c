"""Pools with more evidence than the model's confidence, for the surrogate that listens to all.

Writes FOLDER/NAME.parquet, the pool, FOLDER/NAME.labels.csv, the answer key, and where the pool has
them FOLDER/NAME.train.parquet, the rows that the model was trained on, and
FOLDER/NAME.surrogates.parquet, what other models predict:

phonemes     5 features, 2 classes in several clusters each; a small network; 4,000 items
strokes      64 features, 10 classes; a logistic regression that is too modest; 1,500 items
unseen       32 features, 10 classes, one of which the model was never shown; 4,000 items
words        500 sparse features, 2 classes; a logistic regression biased to one; 1,600 items
rare         6 features, 2 % positives, some of them among the others; boosted trees; 6,000 items
calibrated   12 features, 2 classes; boosted trees of 4,000 rows that know when they do not know;
             8,000 items
votes        hard labels of one network and of 29 others, nothing else; 10 classes; 3,000 items
labels       hard labels, nothing else; 6 classes; 3,000 items
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hard_pools import write_files
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier


@dataclass(frozen=True)
class Made:
    """One pool.

    labels          (N,) class codes
    pred            (N,) class codes
    probs           (N, C), or None
    features        (N, D), or None
    train           features (M, D) and labels (M,), or None
    others          (E, N) class codes that other models predict, or None
    """

    labels: np.ndarray
    pred: np.ndarray
    probs: np.ndarray | None = None
    features: np.ndarray | None = None
    train: tuple[np.ndarray, np.ndarray] | None = None
    others: np.ndarray | None = None


def learn(model, features: np.ndarray, labels: np.ndarray, train: int, classes: int) -> Made:
    """Predictions of the model for all rows but the first `train`, which it learns."""
    model.fit(features[:train], labels[:train])
    probs = np.full((len(labels) - train, classes), 1e-6)
    probs[:, model.classes_] += model.predict_proba(features[train:])
    probs /= probs.sum(axis=1, keepdims=True)
    known = features[:train], labels[:train]
    return Made(labels[train:], probs.argmax(axis=1), probs, features[train:], known)


def draw_clusters(
    rng: np.random.Generator, labels: np.ndarray, centres: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """(N, D) features: each row near one of its class's centres (C, K, D), spread (C, K)."""
    which = rng.integers(centres.shape[1], size=len(labels))
    noise = rng.standard_normal((len(labels), centres.shape[2]))
    return centres[labels, which] + spread[labels, which][:, None] * noise


def phonemes(rng: np.random.Generator) -> Made:
    """Two classes that wind about each other, and a network that is too small for them."""
    size, train = 4_000, 800
    labels = (rng.random(size + train) < 0.3).astype(int)
    centres = 1.5 * rng.standard_normal((2, 8, 5))
    features = draw_clusters(rng, labels, centres, rng.uniform(0.4, 0.9, (2, 8)))
    model = MLPClassifier((6,), max_iter=250, random_state=0)
    return learn(model, features, labels, train, 2)


def strokes(rng: np.random.Generator) -> Made:
    """Ten classes in two styles each; what is nearly the same in most features is confused."""
    size, train = 1_500, 300
    labels = rng.integers(10, size=size + train)
    styles = rng.standard_normal((10, 2, 20))
    latent = draw_clusters(rng, labels, styles, rng.uniform(0.5, 0.9, (10, 2)))
    features = latent @ rng.standard_normal((20, 64)) / 4
    features += 0.3 * rng.standard_normal(features.shape)
    model = LogisticRegression(C=0.02, max_iter=500)
    return learn(model, features, labels, train, 10)


def unseen(rng: np.random.Generator) -> Made:
    """The model has to give the class that it never saw to one of the others."""
    size, train = 4_000, 1_500
    labels = rng.integers(10, size=size + train)
    centres = 0.9 * rng.standard_normal((10, 2, 16))
    latent = draw_clusters(rng, labels, centres, rng.uniform(0.5, 0.9, (10, 2)))
    features = latent @ rng.standard_normal((16, 32)) / 4
    shown = np.flatnonzero(labels[:train] != 7)
    model = MLPClassifier((40,), alpha=0.01, max_iter=150, random_state=0)
    order = np.append(shown, np.arange(train, size + train))
    return learn(model, features[order], labels[order], len(shown), 10)


def words(rng: np.random.Generator) -> Made:
    """Counts of 500 words, of which 60 say a little; more of one class in the training rows."""
    size, train = 1_600, 400
    labels = rng.integers(2, size=size + train)
    labels[:train] = rng.random(train) < 0.65
    meaning = np.where(np.arange(500) < 60, rng.normal(0, 0.45, 500), 0)
    rates = rng.gamma(0.5, 0.4, 500) * np.exp((2 * labels - 1)[:, None] * meaning)
    features = np.log1p(rng.poisson(rates))
    return learn(LogisticRegression(C=0.05), features, labels, train, 2)


def rare(rng: np.random.Generator) -> Made:
    """Most of the rare class lies apart, and the rest among the others."""
    size, train = 6_000, 1_200
    labels = (rng.random(size + train) < 0.025).astype(int)
    features = rng.standard_normal((size + train, 6)) * (1 + labels[:, None])
    found = (labels == 1) & (rng.random(size + train) < 0.7)
    features[found] += [2.5, 2.0, -1.5, 0, 0, 1.0]
    model = HistGradientBoostingClassifier(max_iter=30, learning_rate=0.08, random_state=0)
    return learn(model, features, labels, train, 2)


def calibrated(rng: np.random.Generator) -> Made:
    """Classes that overlap, and a model that knows by how much."""
    size, train = 8_000, 4_000
    features = rng.standard_normal((size + train, 12))
    slope = rng.normal(0, 0.7, 12)
    logit = features @ slope + 0.8 * features[:, 0] * features[:, 1] - 1.2
    labels = (rng.random(size + train) < 1 / (1 + np.exp(-1.4 * logit))).astype(int)
    model = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.07, random_state=0)
    return learn(model, features, labels, train, 2)


def draw_votes(
    rng: np.random.Generator, labels: np.ndarray, models: int, classes: int
) -> np.ndarray:
    """(models, N) class codes: an item's difficulty is shared, and so is what it is taken for."""
    skill = rng.normal(2.3, 0.4, models)
    ease = rng.normal(0, 1.3, len(labels))
    right = rng.random((models, len(labels))) < 1 / (1 + np.exp(-skill[:, None] - ease))
    partner = rng.permutation(classes)
    instead = np.where(
        rng.random((models, len(labels))) < 0.5,
        partner[labels],
        rng.integers(classes, size=(models, len(labels))),
    )
    return np.where(right, labels, instead)


def votes(rng: np.random.Generator) -> Made:
    """Thirty networks of about the same skill, the first of which is the model."""
    labels = rng.integers(10, size=3_000)
    found = draw_votes(rng, labels, 30, 10)
    return Made(labels, found[0], others=found[1:])


def labels(rng: np.random.Generator) -> Made:
    """One network of which nothing but the label is known; some classes are harder."""
    truth = rng.choice(6, size=3_000, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    hard = np.array([0.06, 0.1, 0.15, 0.1, 0.25, 0.3])
    wrong = rng.random(3_000) < hard[truth]
    return Made(truth, np.where(wrong, rng.integers(6, size=3_000), truth))


POOLS: dict[str, Callable[[np.random.Generator], Made]] = {
    "phonemes": phonemes,
    "strokes": strokes,
    "unseen": unseen,
    "words": words,
    "rare": rare,
    "calibrated": calibrated,
    "votes": votes,
    "labels": labels,
}


def make_pool(name: str, seed: int) -> Made:
    """The pool with this name and seed."""
    return POOLS[name](np.random.default_rng([seed, sorted(POOLS).index(name)]))


def write_pool(folder: Path, name: str, seed: int) -> Path:
    """Write one pool, its answer key, and what else is known; the path of the pool."""
    made = make_pool(name, seed)
    columns = {"id": np.arange(len(made.labels)), "pred": made.pred}
    if made.probs is not None:
        columns["prob"] = _lists(made.probs)
    columns |= _features(made.features)
    if made.train is not None:
        features, codes = made.train
        table = pa.table({**_features(features), "label": codes})
        pq.write_table(table, folder / f"{name}.train.parquet")
    if made.others is not None:
        classes = int(made.labels.max()) + 1
        said = {
            f"surrogate_prob_{place}": _lists(np.eye(classes)[codes])
            for place, codes in enumerate(made.others)
        }
        table = pa.table({"id": columns["id"], **said})
        pq.write_table(table, folder / f"{name}.surrogates.parquet")
    return write_files(folder, name, columns, made.labels)


def _features(features: np.ndarray | None) -> dict[str, np.ndarray]:
    if features is None:
        return {}
    return {f"f{place}": column for place, column in enumerate(features.T.astype(np.float32))}


def _lists(probs: np.ndarray) -> pa.Array:
    flat = pa.array(probs.astype(np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, probs.shape[1])


def main() -> None:
    """Write the pools."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools=",".join(POOLS),
        seed=0,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.pools.split(","):
        print(write_pool(options.folder, name, options.seed))


if __name__ == "__main__":
    main()
