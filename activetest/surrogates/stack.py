"""Stacking: a convex combination of the surrogates there are (Wolpert 1992; Yao et al. 2018).

The parts are agreement (residual for values), the black box itself, other models' columns and, if
the pool has features, linear and forest (gp and forest for values). Weights maximise the
probability of left-out labels, shrunk to agreement. A member is a member of one of the parts, drawn
in proportion to the weights.

Stacking of predictive distributions: Yao, Vehtari, Simpson and Gelman 2018.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.beliefs import Beliefs, moments
from activetest.nouns.contraction import contract
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import class_beliefs
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates.agreement import Agreement
from activetest.surrogates.residual import Residual

USES_OTHER_MODELS = True
NEEDS_FEATURES = True

_FOLDS = 5
# With fewer labels than this only the first surrogate is used.
_FEWEST = 10
# Pseudo-labels in favour of the first surrogate.
_PRIOR = 3.0
# Smaller weights are set to zero, to save the time of a prediction.
_LEAST = 0.01
# Least variance of a value, in squares of the predictions' spread.
_LEAST_SPREAD = 1e-12


def fit(training: TrainingSet, *, rng: np.random.Generator) -> "Stack | GaussianEnsemble":
    """Every surrogate that the pool allows and that has a weight, fitted to all labels."""
    names = _list_available(training)
    weights = fit_weights(training, names, rng=rng)
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
        agreement_probs = class_probs(agreement, rows)
        probs = self.weights[0] * agreement_probs
        for weight, part in zip(self.weights[1:], others, strict=True):
            probs += weight * class_probs(part, rows)
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
            draws = class_draws(part, rows, own)
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
            contract("rc,rc->r", probs, outcome_values) - probs[index, rows.outputs.pred] * right
        )
        gap = agreement.expected(rows, (statistic,))[0] - contract(
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
            np.array([value_moments(part, rows) for part in self.parts.values()]), 1, 0
        )
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)

    def draws(self, rows: Rows, which: StackMembers) -> tuple[Array, Array]:
        """(K, R) mean and variance of the label under each member."""
        parts = [
            np.broadcast_arrays(*value_draws(part, rows, own))
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


def fit_weights(
    training: TrainingSet, names: tuple[str, ...], *, rng: np.random.Generator
) -> Array:
    """(P,) weights of the surrogates with these names, of which the first is the default.

    The cross-validated log-likelihood is never below that of the first alone.
    """
    first_only = np.eye(len(names))[0]
    usable = training[np.flatnonzero(training.usable)]
    if len(usable.labels) < _FEWEST or len(names) == 1:
        return first_only
    weights = maximise_posterior(cross_validate(usable, names, rng=rng))
    weights[1:][weights[1:] < _LEAST] = 0
    return weights / weights.sum()


def maximise_posterior(likelihood: Array) -> Array:
    """(P,) convex weights of the largest posterior density; likelihood (M, P) of every label.

    By expectation maximisation; the objective is concave. The first surrogate has the prior's
    pseudo-labels, and has weight one without labels.
    """
    count = likelihood.shape[1]
    weights = np.full(count, 1 / count)
    prior = _PRIOR * np.eye(count)[0]
    for _ in range(500):
        responsibilities = likelihood * weights
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        updated = (prior + responsibilities.sum(axis=0)) / (_PRIOR + len(likelihood))
        if np.abs(updated - weights).max() < 1e-5:
            break
        weights = updated
    return updated


def cross_validate(
    training: TrainingSet, names: tuple[str, ...], *, rng: np.random.Generator
) -> Array:
    """(M, P) likelihood of each label under each surrogate, fitted to the other folds.

    Each row is scaled by its largest entry, which leaves weights as they are.
    """
    size = len(training.labels)
    fold = rng.permutation(size) % min(_FOLDS, size)
    log_likelihoods = np.empty((size, len(names)))
    for number in range(fold.max() + 1):
        held_out = fold == number
        others = training[np.flatnonzero(~held_out)]
        for place, name in enumerate(names):
            module = import_module(f"activetest.surrogates.{name}")
            surrogate = module.fit(others, rng=rng)
            log_likelihoods[held_out, place] = log_likelihood(
                surrogate, training.rows[held_out], training.labels[held_out], training
            )
    return np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))


def log_likelihood(surrogate: Surrogate, rows: Rows, labels: Array, training: TrainingSet) -> Array:
    """(R,) logarithm of the probability, or of the density, of each label."""
    if training.classes:
        probs = class_probs(surrogate, rows)
        label_probs = np.take_along_axis(probs, labels.astype(int)[:, None], axis=1)[:, 0]
        # A surrogate that excludes a label gets a small likelihood, not zero.
        return np.log(np.maximum(label_probs, 1e-6))
    mean, variance = value_moments(surrogate, rows)
    # Nor one that is certain of a value: the model's own standard deviation may be 0.
    variance = np.maximum(variance, _LEAST_SPREAD * max(training.scale, 1e-12) ** 2)
    return -0.5 * ((labels - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def class_probs(surrogate: Surrogate, rows: Rows) -> Array:
    """(R, C) probability of every class, also for a surrogate whose outcomes are not classes."""
    probs = surrogate.beliefs(rows, (statistic("zero_one"),)).probs
    if isinstance(surrogate, Agreement):
        return spread_errors(rows, probs[:, 0], surrogate.error_class_probs(rows))
    return probs


def spread_errors(rows: Rows, right: Array, others: Array) -> Array:
    """(..., R, C) right (..., R) for the predicted class, the rest as others (C, R)."""
    probs = (1 - right)[..., None] * others.T
    probs[..., np.arange(len(rows.index)), rows.outputs.pred] = right
    return probs


def value_moments(surrogate: Surrogate, rows: Rows) -> tuple[Array, Array]:
    """(R,) mean and variance of the label."""
    mean, variance = moments(surrogate.beliefs(rows, (statistic("label:0"),)))
    return mean[0], variance[0]


def class_draws(surrogate: Surrogate, rows: Rows, members: Any) -> Array:
    """(K, R, C) class probabilities of members, of distinct ones where there are few."""
    draws = surrogate.beliefs(rows, (statistic("zero_one"),), members).draws
    if draws is None:
        raise ValueError("this surrogate has no draws of members")
    if isinstance(surrogate, Agreement):
        return spread_errors(rows, draws[..., 0], surrogate.error_class_probs(rows))
    return draws


def value_draws(surrogate: Surrogate, rows: Rows, members: Any) -> tuple[Array, Array]:
    """(K, R) means of members and (K, R) or (K, 1) variance of the label around them."""
    if isinstance(surrogate, GaussianEnsemble):
        return surrogate.members.draws(rows, members)
    if isinstance(surrogate, Residual):
        return surrogate.draws(rows, members)
    # The black box itself has a single member.
    mean, variance = value_moments(surrogate, rows)
    return np.tile(mean, (len(members), 1)), variance[None]
