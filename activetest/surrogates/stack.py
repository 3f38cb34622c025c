"""Stacking: a convex combination of the surrogates there are (Wolpert 1992; Yao et al. 2018).

The parts are agreement (residual for values), the black box itself, other models' columns and, if
the pool has features, linear and forest (gp and forest for values). Weights maximise the
probability of left-out labels, shrunk to agreement. A member is a member of one of the parts, drawn
in proportion to the weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.nouns.training import TrainingSet
from activetest.surrogates import _stacking
from activetest.surrogates._classes import class_beliefs
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates.agreement import Agreement

USES_OTHER_MODELS = True

NEEDS_FEATURES = True


def fit(training: TrainingSet, *, rng: np.random.Generator) -> "Stack | GaussianEnsemble":
    """Every surrogate that the pool allows and that has a weight, fitted to all labels."""
    names = _list_available(training)
    weights = _stacking.fit_weights(training, names, rng=rng)
    parts = {
        name: import_module(f"activetest.surrogates.{name}").fit(training, rng=rng)
        for name, weight in zip(names, weights, strict=True)
        if weight
    }
    return _make_stack(parts, weights[weights > 0], bool(training.classes))


@dataclass(frozen=True)
class StackMembers:
    """Members of all parts, one part after the other: counts (P,) of them each."""

    counts: Array
    members: tuple

    def __len__(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True)
class Parts:
    """Parts by name, agreement or residual first, and their weights (P,)."""

    parts: dict[str, Surrogate]
    weights: Array

    @property
    def note(self) -> str:
        """Names and weights of the parts, the largest first."""
        order = np.argsort(-self.weights, kind="stable")
        names = list(self.parts)
        return ", ".join(f"{names[place]} {100 * self.weights[place]:.0f} %" for place in order)

    def params(self) -> dict[str, Any]:
        """Names and weights, and the parts' own parameters under NAME.KEY."""
        params = {"names": list(self.parts), "weights": self.weights.tolist()}
        for name, part in self.parts.items():
            params |= {f"{name}.{key}": value for key, value in part.params().items()}
        return params

    def draw_members(self, count: int, rng: np.random.Generator) -> StackMembers:
        """Members of the parts, in proportion to their weights but for one at most.

        By systematic sampling.
        """
        shares = np.cumsum(self.weights / self.weights.sum())
        ends = np.floor(np.append(0, shares) * count + rng.random())
        ends[0], ends[-1] = 0, count
        counts = np.diff(ends).astype(int)
        members = (
            part.draw_members(int(part_count), rng)
            for part, part_count in zip(self.parts.values(), counts, strict=True)
        )
        return StackMembers(counts, tuple(members))

    def list_drawn(self, members: StackMembers) -> Iterator[tuple[Surrogate, Any, int]]:
        """Each part that has members, with these, and how many they are."""
        for part, own, count in zip(
            self.parts.values(), members.members, members.counts, strict=True
        ):
            if count:
                yield part, own, int(count)


class Stack(Parts):
    """Parts that give classes probabilities; their members mix."""

    @property
    def _agreement(self) -> Agreement:
        """The first part. Raises TypeError if it is another surrogate."""
        first = next(iter(self.parts.values()))
        if not isinstance(first, Agreement):
            raise TypeError("the first part of a stack of classes is agreement")
        return first

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: StackMembers | None = None
    ) -> Beliefs:
        """Outcomes are the classes, or those of agreement where it is alone.

        The cost factors of agreement scale the outcome values of the classes that are not
        predicted.
        """
        agreement, others = self._agreement, list(self.parts.values())[1:]
        if not others:
            part_members = None if members is None else members.members[0]
            return agreement.beliefs(rows, statistics, part_members)
        agreement_probs = _stacking.class_probs(agreement, rows)
        probs = self.weights[0] * agreement_probs
        for weight, part in zip(self.weights[1:], others, strict=True):
            probs += weight * _stacking.class_probs(part, rows)
        draws = None if members is None else self._draws(rows, members)
        beliefs = class_beliefs(rows, probs, statistics, draws)
        for t, each in enumerate(statistics):
            if each.name in agreement.learned:
                self._recost(rows, each, agreement_probs, probs, beliefs.outcome_values[t])
        return beliefs

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) weighted mean of what the parts expect."""
        parts = (part.expected(rows, statistics) for part in self.parts.values())
        return sum(weight * mean for weight, mean in zip(self.weights, parts, strict=True))

    def totals(
        self, rows: Rows, members: StackMembers, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        sums = [part.totals(rows, own, statistics) for part, own, _ in self.list_drawn(members)]
        mean, variance = (np.concatenate(each) for each in zip(*sums, strict=True))
        return mean, variance

    def _draws(self, rows: Rows, members: StackMembers) -> Array:
        """(K, R, C) class probabilities of every member."""
        draws_of_parts = []
        for part, own, count in self.list_drawn(members):
            draws = _stacking.class_draws(part, rows, own)
            # A part with few members repeats them.
            draws_of_parts.append(draws[np.arange(count) * len(draws) // count])
        return np.concatenate(draws_of_parts)

    def _recost(
        self,
        rows: Rows,
        statistic: Statistic,
        agreement_probs: Array,
        probs: Array,
        outcome_values: Array,
    ) -> None:
        """Scale the (R, C) outcome values of wrong predictions by agreement's cost factors."""
        agreement = self._agreement
        index = np.arange(len(rows.index))
        right = outcome_values[index, rows.outputs.pred]
        wrong = (
            np.einsum("rc,rc->r", probs, outcome_values) - probs[index, rows.outputs.pred] * right
        )
        gap = agreement.expected(rows, (statistic,))[0] - np.einsum(
            "rc,rc->r", agreement_probs, outcome_values
        )
        factor = 1 + np.divide(
            self.weights[0] * gap, wrong, out=np.zeros(len(index)), where=wrong > 1e-12
        )
        outcome_values *= np.maximum(factor, 0)[:, None]
        outcome_values[index, rows.outputs.pred] = right


class Mixture(Parts):
    """Parts that predict values; members without a size."""

    size: ClassVar[None] = None

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the mixture."""
        means, variances = np.moveaxis(
            np.array([_stacking.value_moments(part, rows) for part in self.parts.values()]), 1, 0
        )
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)

    def draws(self, rows: Rows, which: StackMembers) -> tuple[Array, Array]:
        """(K, R) mean and variance of the label under each member."""
        parts = [
            np.broadcast_arrays(*_stacking.value_draws(part, rows, own))
            for part, own, _ in self.list_drawn(which)
        ]
        means, variances = (np.concatenate(each) for each in zip(*parts, strict=True))
        return means, variances


def restore(params: dict[str, Any]) -> Stack | GaussianEnsemble:
    """The surrogate that params() described."""
    parts = {}
    for name in params["names"]:
        part_params = {
            key.removeprefix(f"{name}."): value
            for key, value in params.items()
            if key.startswith(f"{name}.")
        }
        parts[name] = import_module(f"activetest.surrogates.{name}").restore(part_params)
    return _make_stack(parts, np.array(params["weights"], float), "agreement" in parts)


def _make_stack(
    parts: dict[str, Surrogate], weights: Array, classes: bool
) -> Stack | GaussianEnsemble:
    return Stack(parts, weights) if classes else GaussianEnsemble(Mixture(parts, weights))


def _list_available(training: TrainingSet) -> tuple[str, ...]:
    """The surrogates that the pool allows, agreement or residual first."""
    outputs = training.rows.outputs
    has_probs = outputs.probs is not None or outputs.std is not None
    names = ["agreement" if training.classes else "residual"]
    names += ["model"] * has_probs + ["external"] * (training.rows.external is not None)
    if training.rows.features is not None:
        names += ["linear" if training.classes else "gp", "forest"]
    return tuple(names)
