"""Gradient boosting on attribute values: trees find interactions that kernels of a distance miss.

Axes: O arms with labels, M combinations, K attributes.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from activetest.nouns.rows import Array

# Folds of arms, and labels below which trees have nothing to split.
FOLDS, FEWEST = 5, 60


def fit(codes: Array, counts: Array, sizes: tuple[int, ...]) -> Callable[[Array], Array]:
    """From codes (M, K) to the mean (M,), learned from counts (O, 2) of arms (O, K)."""
    from sklearn.ensemble import GradientBoostingClassifier

    kind = np.repeat([1, 0], len(codes))
    weight = counts.T.ravel()
    seen = weight > 0
    if len(np.unique(kind[seen])) < 2:
        level = (counts[:, 0].sum() + 0.5) / (counts.sum() + 1)
        return lambda codes: np.full(len(codes), level)
    rows = np.tile(_spread(codes, sizes), (2, 1))
    # Shallow trees with a small step, and leaves that hold a few labels: the defaults of most uses.
    model = GradientBoostingClassifier(
        n_estimators=50,
        learning_rate=0.1,
        max_depth=4,
        subsample=0.7,
        min_weight_fraction_leaf=min(0.01 + 3 / weight.sum(), 0.4),
        max_features="sqrt",
        random_state=0,
    )
    model.fit(rows[seen], kind[seen], sample_weight=weight[seen])

    def evaluate(codes: Array) -> Array:
        return np.asarray(expit(model.decision_function(_spread(codes, sizes))))

    return evaluate


def _spread(codes: Array, sizes: tuple[int, ...]) -> Array:
    """(M, P) float32: codes of two values as they are, others as one column per value."""
    columns = [
        codes[:, [k]] if size <= 2 or size > 64 else codes[:, [k]] == np.arange(size)
        for k, size in enumerate(sizes)
    ]
    return np.concatenate(columns, axis=1).astype(np.float32)


def assign_folds(numbers: Array) -> Array:
    """(M,) fold of each combination by its number (M,), the same in every fit."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((mixed >> np.uint64(33)) % np.uint64(FOLDS)).astype(int)


def fit_folds(
    codes: Array, counts: Array, sizes: tuple[int, ...], folds: Array
) -> list[Callable[[Array], Array]]:
    """A model for each fold (O,) of arms, from the labels of the other folds."""
    return [fit(codes[folds != k], counts[folds != k], sizes) for k in range(FOLDS)]
