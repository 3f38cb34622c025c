"""Model selector: the item whose label is expected to say most about which model is best.

Okanovic et al. 2025, *All models are wrong, some are useful: Model Selection with Limited Labels*.
The best model is taken to be right with probability 1 - epsilon at any item, so that its posterior
is in proportion to ((1 - epsilon) / epsilon)^(items it was right on), from equal chances. The next
item has the smallest expected entropy of the posterior, where a label is as likely as the share of
models that predict it. Epsilon is the value with which the model that agrees most with the
majority of all models is found soonest, if the majority is taken for the truth. Here the mean share
of steps decides at which the named model is that one. Items with the same score are chosen between
at random.

It chooses, and does not draw: there are no probabilities that an interval could rest on.
"""

from itertools import pairwise

import numpy as np

from activetest.nouns.choices import Choices
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.wings.best.outputs import PoolOutputs, collect_outputs, measure_entropy

TASK = "classification"
SIMULATION_ONLY = True
SELECTS_MODELS = True

_EPSILONS = np.arange(0.35, 0.495, 0.01)
# Steps and orders of items by which epsilon is chosen.
_STEPS, _ORDERS = 100, 3


class ModelSelector:
    """The belief about K models, and the items that are left, by pattern."""

    def __init__(self, outputs: PoolOutputs, epsilon: float, rng: np.random.Generator) -> None:
        """Before any label; rng decides between items with the same score."""
        self._outputs, self._gain = outputs, np.log((1 - epsilon) / epsilon)
        self._logs = np.zeros(outputs.pred.shape[1])
        order = rng.permutation(len(outputs.pattern))
        cut = np.searchsorted(
            np.sort(outputs.pattern), np.arange(len(outputs.groups) + 1), side="left"
        )
        order = order[np.argsort(outputs.pattern[order], kind="stable")]
        self._left = [order[a:b].tolist() for a, b in pairwise(cut.tolist())]
        self._rng = rng
        self._sizes = outputs.groups.sum(axis=2) / len(self._logs)

    @property
    def best(self) -> Array:
        """(K,) how likely each model is the best."""
        weights = np.exp(self._logs - self._logs.max())
        return np.asarray(weights / weights.sum())

    def choose(self) -> int:
        """The next item, which is then no longer left."""
        after = self._logs + self._gain * self._outputs.groups
        after = np.exp(after - after.max(axis=2, keepdims=True))
        after /= after.sum(axis=2, keepdims=True)
        score = (self._sizes * measure_entropy(after)).sum(axis=1)
        score[[not each for each in self._left]] = np.inf
        ties = np.flatnonzero(score <= score.min() + 1e-12)
        sizes = np.array([len(self._left[each]) for each in ties], float)
        place = self._rng.choice(ties, p=sizes / sizes.sum())
        return int(self._left[place].pop())

    def learn(self, item: int, label: float) -> None:
        """Take a label into account."""
        self._logs += self._gain * (self._outputs.pred[item] == label)


def open_selector(pool: PoolView, choices: Choices, seed: int) -> ModelSelector:
    """The choice of a pool's items in one study."""
    del choices
    outputs = collect_outputs(pool)
    epsilon = pool.compute_once("epsilon of the model selector", lambda: find_epsilon(outputs))
    return ModelSelector(outputs, epsilon, np.random.default_rng([seed, *b"select"]))


def find_epsilon(outputs: PoolOutputs) -> float:
    """The value with which the model that agrees most with the majority is named most often."""
    votes = outputs.groups.sum(axis=2).argmax(axis=1)[outputs.pattern]
    majority = outputs.pred[np.arange(len(votes)), votes]
    target = (outputs.pred == majority[:, None]).mean(axis=0).argmax()
    found = [_try_out(outputs, each, majority, int(target)) for each in _EPSILONS]
    return float(np.median(_EPSILONS[np.array(found) >= max(found)]))


def _try_out(outputs: PoolOutputs, epsilon: float, labels: Array, target: int) -> float:
    """Share of steps at which the target is named, over several orders of items."""
    named = []
    for order in range(_ORDERS):
        selector = ModelSelector(outputs, epsilon, np.random.default_rng(order))
        for _ in range(min(_STEPS, len(labels))):
            item = selector.choose()
            selector.learn(item, labels[item])
            named.append(selector.best.argmax() == target)
    return float(np.mean(named))
