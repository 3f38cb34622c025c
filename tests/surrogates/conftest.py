"""Small pools with features and all their labels, for surrogates that learn from them."""

from dataclasses import replace

import numpy as np
import pytest

from activetest.item_statistics.defaults import CLASSIFICATION, REGRESSION, STATISTICS
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.item_statistics.statistic import statistic
from activetest.nouns.rows import Outputs, Rows, TrainingRows
from activetest.nouns.training import TrainingSet


class Pool:
    """Rows, the labels of all of them, and what a study would know of some."""

    def __init__(self, rows: Rows, labels: np.ndarray, classes: int, train: TrainingRows):
        self.rows, self.labels, self.classes, self.train = rows, labels, classes, train

    def training(self, count: int, *, train: bool = False, statistics: tuple = ()) -> TrainingSet:
        """The first count labels, and training rows where asked for."""
        rows, labels = self.rows[:count], self.labels[:count].astype(float)
        rows = rows if train else replace(rows, trained=None)
        table = np.empty((count, len(statistics)))
        for t, name in enumerate(statistics):
            table[:, t] = statistic(name).value(rows.outputs, labels[:, None])[:, 0]
        scale = 1.0 if self.classes else float(self.rows.outputs.pred.std())
        size = len(self.labels)
        background = self.rows[np.arange(0, size, max(size // 200, 1))]
        more = {"train": self.train if train else None, "background": background}
        return TrainingSet(rows, labels, table, statistics, self.classes, scale, **more)


def _rows(features, outputs, external, trained, names) -> Rows:
    size = len(features)
    constants = (None, None, None) if names is None else right_and_wrong(outputs, names)
    return Rows(
        np.arange(size),
        outputs,
        features[:, :2],
        np.empty((size, 0), np.int64),
        *constants,
        features,
        external.astype(np.float32),
        trained=trained.astype(np.float32)[:, None],
    )


@pytest.fixture
def class_pool():
    """class_pool(size=600, seed=1): three classes in two features; the box is a blurred truth.

    Two other models: the first knows the truth, the second knows nothing.
    """

    def make(size: int = 600, seed: int = 1) -> Pool:
        rng = np.random.default_rng(seed)
        corners = np.array([[1.5, 0.0], [-1.0, 1.3], [-1.0, -1.3]])

        def drawn(count):
            labels = rng.integers(3, size=count)
            return labels, (corners[labels] + rng.normal(size=(count, 2))).astype(np.float32)

        def class_probs(features, temperature):
            logits = -((features[:, None] - corners) ** 2).sum(axis=2) / (2 * temperature)
            probs = np.exp(logits - logits.max(axis=1, keepdims=True))
            return probs / probs.sum(axis=1, keepdims=True)

        labels, features = drawn(size)
        probs = class_probs(features[:, ::-1] * 0.5 + features * 0.5, 1.0).astype(np.float32)
        outputs = Outputs(probs.argmax(axis=1), probs)
        truth = class_probs(features, 1.0)
        external = np.stack([truth, np.full((size, 3), 1 / 3)], axis=1)
        own = truth[np.arange(size), outputs.pred]
        trained = np.clip(np.log(own) - np.log1p(-own), -8, 8)
        train_labels, train_features = drawn(300)
        rows = _rows(features, outputs, external, trained, STATISTICS[CLASSIFICATION])
        return Pool(rows, labels, 3, TrainingRows(train_labels, train_features))

    return make


@pytest.fixture
def value_pool():
    """value_pool(size=300, seed=1): label = sin(2 x) + x2 + noise 0.2, the box forgets the sine.

    Two other models: the truth without noise, and the truth moved by a constant of 0.1.
    """

    def make(size: int = 300, seed: int = 1) -> Pool:
        rng = np.random.default_rng(seed)

        def drawn(count):
            features = rng.normal(size=(count, 2)).astype(np.float32)
            truth = np.sin(2 * features[:, 0].astype(float)) + features[:, 1]
            return features, truth, truth + rng.normal(scale=0.2, size=count)

        features, truth, labels = drawn(size)
        outputs = Outputs(features[:, 1].astype(float), std=np.full(size, 0.75))
        others = np.stack([truth, truth + 0.1], axis=1)
        rows = _rows(features, outputs, others, truth - outputs.pred, None)
        more, _, values = drawn(200)
        return Pool(rows, labels, 0, TrainingRows(values, more))

    return make


@pytest.fixture
def values_asked() -> tuple:
    """The statistics of a regression pool."""
    return tuple(map(statistic, STATISTICS[REGRESSION]))
