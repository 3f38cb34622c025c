"""Stacking: a convex combination of the surrogates there are (Wolpert 1992; Yao et al. 2018).

Of agreement (residual for values), the black box itself, other models' columns and, where the pool
has features, linear and forest (gp and forest for values). Weights are those under which labels
that a surrogate did not see are most probable, shrunk to agreement. A member is a member of one of
them: each has as many as its weight asks for.
"""

from dataclasses import dataclass
from importlib import import_module

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates import _stacking
from activetest.surrogates._classes import over_classes
from activetest.surrogates._gaussian import GaussianEnsemble

USES_OTHER_MODELS = True

NEEDS_FEATURES = True


def fit(training: TrainingSet, *, rng: np.random.Generator) -> "Stack | GaussianEnsemble":
    """Every surrogate that fits the pool and has a weight, fitted to all labels."""
    names = _available(training)
    weights = _stacking.weights(training, names, rng=rng)
    used = {
        name: import_module(f"activetest.surrogates.{name}").fit(training, rng=rng)
        for name, weight in zip(names, weights, strict=True)
        if weight
    }
    return _stacked(used, weights[weights > 0], bool(training.classes))


@dataclass(frozen=True)
class Picks:
    """Members: as many of each part as count (P,) says, one part after the other."""

    count: Array
    of: tuple

    def __len__(self) -> int:
        return int(self.count.sum())


@dataclass(frozen=True)
class Stack:
    """Parts by name, agreement first, and their weights (P,)."""

    parts: dict
    weights: Array

    @property
    def note(self) -> str:
        """What it is made of."""
        return _shared(self.parts, self.weights)

    def params(self) -> dict:
        """Names and weights, and the parts' own parameters under NAME.KEY."""
        return _joined(self.parts, self.weights)

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Picks | None = None
    ) -> Beliefs:
        """Outcomes are the classes, or those of agreement where it is alone.

        What agreement has learned about the cost of errors beyond their classes scales the outcome_values
        of the classes that are not predicted.
        """
        agreement, *others = self.parts.values()
        if not others:
            own = None if members is None else members.of[0]
            return agreement.beliefs(rows, statistics, own)
        first = _stacking.class_probs(agreement, rows)
        probs = self.weights[0] * first
        for weight, part in zip(self.weights[1:], others, strict=True):
            probs += weight * _stacking.class_probs(part, rows)
        draws = None if members is None else self._draws(rows, members)
        made = over_classes(rows, probs, statistics, draws)
        for t, each in enumerate(statistics):
            if each.name in agreement.learned:
                self._recost(rows, each, first, probs, made.outcome_values[t])
        return made

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) weighted mean of what the parts expect."""
        parts = (part.expected(rows, statistics) for part in self.parts.values())
        return sum(weight * mean for weight, mean in zip(self.weights, parts, strict=True))

    def draw_members(self, count: int, rng: np.random.Generator) -> Picks:
        """Members of the parts, in proportion to their weights but for one at most."""
        return _picked(self.parts, self.weights, count, rng)

    def totals(
        self, rows: Rows, members: Picks, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        sums = [
            part.totals(rows, own, statistics)
            for part, own, count in zip(self.parts.values(), members.of, members.count, strict=True)
            if count
        ]
        mean, variance = (np.concatenate(each) for each in zip(*sums, strict=True))
        return mean, variance

    def _draws(self, rows: Rows, members: Picks) -> Array:
        """(K, R, C) class probabilities of every member."""
        made = []
        for part, own, count in zip(self.parts.values(), members.of, members.count, strict=True):
            if count:
                draws = _stacking.class_draws(part, rows, own)
                # A part of few members says the same several times.
                made.append(draws[np.arange(count) * len(draws) // count])
        return np.concatenate(made)

    def _recost(
        self, rows: Rows, asked: Statistic, first: Array, probs: Array, outcome_values: Array
    ):
        """Scale the (R, C) outcome_values where the prediction is wrong, to what agreement has learned."""
        agreement = next(iter(self.parts.values()))
        line = np.arange(len(rows.index))
        right = outcome_values[line, rows.outputs.pred]
        wrong = (
            np.einsum("rc,rc->r", probs, outcome_values) - probs[line, rows.outputs.pred] * right
        )
        gap = agreement.expected(rows, (asked,))[0] - np.einsum("rc,rc->r", first, outcome_values)
        factor = 1 + np.divide(
            self.weights[0] * gap, wrong, out=np.zeros(len(line)), where=wrong > 1e-12
        )
        outcome_values *= np.maximum(factor, 0)[:, None]
        outcome_values[line, rows.outputs.pred] = right


@dataclass(frozen=True)
class Mixture:
    """Parts that predict values, by name, and their weights (P,); members without a size."""

    parts: dict
    weights: Array
    size: None = None

    @property
    def note(self) -> str:
        """What it is made of."""
        return _shared(self.parts, self.weights)

    def params(self) -> dict:
        """Names and weights, and the parts' own parameters under NAME.KEY."""
        return _joined(self.parts, self.weights)

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the mixture."""
        means, variances = np.moveaxis(
            np.array([_stacking.value_moments(part, rows) for part in self.parts.values()]), 1, 0
        )
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)

    def draw_members(self, count: int, rng: np.random.Generator) -> Picks:
        """Members of the parts, in proportion to their weights but for one at most."""
        return _picked(self.parts, self.weights, count, rng)

    def draws(self, rows: Rows, which: Picks) -> tuple[Array, Array]:
        """(K, R) mean and variance of the label under each member."""
        made = [
            np.broadcast_arrays(*_stacking.value_draws(part, rows, own))
            for part, own, count in zip(self.parts.values(), which.of, which.count, strict=True)
            if count
        ]
        means, variances = (np.concatenate(each) for each in zip(*made, strict=True))
        return means, variances


def restore(params: dict) -> Stack | GaussianEnsemble:
    """The surrogate that params() described."""
    parts = {}
    for name in params["names"]:
        own = {
            key.removeprefix(f"{name}."): value
            for key, value in params.items()
            if key.startswith(f"{name}.")
        }
        parts[name] = import_module(f"activetest.surrogates.{name}").restore(own)
    return _stacked(parts, np.array(params["weights"], float), "agreement" in parts)


def _stacked(parts: dict, weights: Array, classes: bool) -> Stack | GaussianEnsemble:
    return Stack(parts, weights) if classes else GaussianEnsemble(Mixture(parts, weights))


def _available(training: TrainingSet) -> tuple[str, ...]:
    """What can be fitted here, agreement or residual first."""
    outputs = training.rows.outputs
    own = outputs.probs is not None or outputs.std is not None
    names = ["agreement" if training.classes else "residual"]
    names += ["model"] * own + ["external"] * (training.rows.external is not None)
    if training.rows.features is not None:
        names += ["linear" if training.classes else "gp", "forest"]
    return tuple(names)


def _shared(parts: dict, weights: Array) -> str:
    """Names and weights in words, the largest first."""
    order = np.argsort(-weights, kind="stable")
    names = list(parts)
    return ", ".join(f"{names[place]} {100 * weights[place]:.0f} %" for place in order)


def _joined(parts: dict, weights: Array) -> dict:
    made = {"names": list(parts), "weights": weights.tolist()}
    for name, part in parts.items():
        made |= {f"{name}.{key}": value for key, value in part.params().items()}
    return made


def _picked(parts: dict, weights: Array, count: int, rng: np.random.Generator) -> Picks:
    """Systematic sampling: numbers as near to the weights as whole ones can be."""
    ends = np.floor(np.append(0, np.cumsum(weights / weights.sum())) * count + rng.random())
    ends[0], ends[-1] = 0, count
    counts = np.diff(ends).astype(int)
    own = (part.draw_members(int(n), rng) for part, n in zip(parts.values(), counts, strict=True))
    return Picks(counts, tuple(own))
