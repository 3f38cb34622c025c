"""CODA: the item whose label is expected to say most about which model is best, by confusions.

Kay et al. 2025, *Consensus-Driven Active Model Selection*. Each model has a confusion matrix whose
rows have Dirichlet distributions (Dawid and Skene 1979). They begin with 1 for right answers and
1 / (C - 1) for each mistake, and a tenth of the confusions with the mean of all models; a label
adds 0.01. Of a class, the accuracy of a model has a beta distribution, and how likely each model is
the best there is an integral over it; how likely it is the best of all is the mean over classes by
their estimated shares. The next item has the largest expected reduction of the entropy of that, as
if its label counted 1. Items on which all models do the same are left out. Items with the same
score are chosen between at random.

It chooses, and does not draw: there are no probabilities that an interval could rest on.
"""

import numpy as np
from scipy.special import betaln

from activetest.nouns.choices import Choices
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.wings.best.outputs import (
    PoolOutputs,
    collect_outputs,
    collect_probs,
    measure_entropy,
)

TASK = "classification"
SIMULATION_ONLY = True
SELECTS_MODELS = True

# Weight of the confusions with the consensus, and of a label.
_CONSENSUS, _LABEL = 0.1, 0.01
# Points at which integrals over accuracies are evaluated.
_POINTS = np.linspace(1e-6, 1 - 1e-6, 256)
_LEAST = 1e-30


class Coda:
    """Dirichlet distributions of K confusion matrices, and which items are left."""

    def __init__(self, outputs: PoolOutputs, probs: Array, rng: np.random.Generator) -> None:
        """Before any label; probs (K, N, C), and rng decides between items with the same score."""
        models, items, classes = probs.shape
        self._outputs, self._probs, self._rng = outputs, probs, rng
        pseudo = np.eye(classes)[probs.mean(axis=0).argmax(axis=1)]
        confusion = np.stack([pseudo.T @ each for each in probs])
        confusion /= np.maximum(confusion.sum(axis=2, keepdims=True), 1e-6)
        base = np.full((classes, classes), 1 / max(classes - 1, 1))
        np.fill_diagonal(base, 1.0)
        self._rows = base + _CONSENSUS * confusion
        self._differ: Array = (outputs.pred != outputs.pred[:, :1]).any(axis=1)
        self._left = np.ones(items, bool)
        # (N, C) which models predict a class, as a number.
        bits = 1 << np.arange(models)
        self._sets = np.zeros((items, classes), np.int64)
        for model in range(models):
            self._sets[np.arange(items), outputs.pred[:, model]] += bits[model]

    @property
    def best(self) -> Array:
        """(K,) how likely each model is the best."""
        _, shares = self._find_classes()
        return np.asarray(shares @ _find_best(*self._find_betas()))

    def _find_betas(self) -> tuple[Array, Array]:
        """(C, K) parameters of the accuracies of classes."""
        right = np.diagonal(self._rows, axis1=1, axis2=2).T
        return right, self._rows.sum(axis=2).T - right

    def _find_classes(self) -> tuple[Array, Array]:
        """(N, C) how likely each class is of an item, and (C,) of any."""
        chances = sum(each @ rows.T for each, rows in zip(self._probs, self._rows, strict=True))
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), 1e-12)
        shares = chances.sum(axis=0)
        return chances, shares / shares.sum()

    def choose(self) -> int:
        """The next item, which is then no longer left."""
        chances, shares = self._find_classes()
        right, wrong = self._find_betas()
        before = _find_best(right, wrong)
        mixed = shares @ before
        left = np.flatnonzero(self._left & self._differ)
        left = left if len(left) else np.flatnonzero(self._left)
        score = np.full(len(left), measure_entropy(mixed))
        for code in range(len(shares)):
            sets, place = np.unique(self._sets[left, code], return_inverse=True)
            says = (sets[:, None] >> np.arange(len(mixed))) & 1
            after = _find_best(right[code] + says, wrong[code] + 1 - says)
            entropy = measure_entropy(mixed + shares[code] * (after - before[code]))
            score -= chances[left, code] * entropy[place]
        ties = np.flatnonzero(score >= score.max() - 1e-8 * abs(score.max()))
        item = int(left[self._rng.choice(ties)])
        self._left[item] = False
        return item

    def learn(self, item: int, label: float) -> None:
        """Take a label into account; one of no known class says nothing."""
        if label >= 0:
            models = np.arange(len(self._rows))
            self._rows[models, int(label), self._outputs.pred[item]] += _LABEL


def open_selector(pool: PoolView, choices: Choices, seed: int) -> Coda:
    """The choice of a pool's items in one study."""
    del choices
    rng = np.random.default_rng([seed, *b"select"])
    return Coda(collect_outputs(pool), collect_probs(pool), rng)


def _find_best(right: Array, wrong: Array) -> Array:
    """(R, K) how likely each of K beta distributions has the largest value, in R rows."""
    logs = (right[..., None] - 1) * np.log(_POINTS) + (wrong[..., None] - 1) * np.log1p(-_POINTS)
    density = np.exp(logs - betaln(right, wrong)[..., None])
    steps = (density[..., 1:] + density[..., :-1]) / 2 * np.diff(_POINTS)
    below = np.cumsum(np.concatenate([np.zeros((*right.shape, 1)), steps], axis=-1), axis=-1)
    below = np.log(np.maximum(below, _LEAST))
    others = np.exp(below.sum(axis=1, keepdims=True) - below)
    density = density * others
    found = (density[..., 1:] + density[..., :-1]) / 2 @ np.diff(_POINTS)
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), _LEAST))
