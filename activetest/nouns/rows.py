"""Rows of a pool as the methods see them, and what the black box predicts for them.

Axes, everywhere: N pool, R rows of a chunk, C outcomes, K members (draws of a surrogate), T
statistics of items, G groups (the first is always the whole pool), D draws of a log (columns of a
design where there is one), B labels that were supplied, M draws used by an estimate, d statistics
of one metric.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from activetest.nouns.once import Remembers

Array = npt.NDArray[Any]
# Index of rows of an array: positions, a mask or a slice.
Index = npt.NDArray[Any] | Sequence[int] | slice

# An array that may not be there, or what reads it.
Source = Array | Callable[[], Array | None] | None


class OnDemand:
    """A field of a dataclass, None by default, that is read when somebody first asks for it.

    It is given as a value or as a function that returns the value.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> Array | None:
        if instance is None:
            # The default: dataclasses ask the class for it.
            return None
        found: Source = vars(instance)[self.name]
        if callable(found):
            found = vars(instance)[self.name] = found()
        return found

    def __set__(self, instance: object, value: Source) -> None:
        vars(instance)[self.name] = value


@dataclass(frozen=True)
class Outputs(Remembers):
    """Predictions of the black box for R items.

    pred    (R,) class code (integer) or predicted value (float)
    probs   (R, C) class probabilities; None for hard labels and for regression
    std     (R,) predictive standard deviation; None unless a regression pool has one
    others  {name: outputs of the same items} of further models, where models are compared
    """

    pred: Array
    probs: OnDemand = OnDemand()
    std: OnDemand = OnDemand()
    others: Mapping[str, "Outputs"] = field(default_factory=dict)

    @cached_property
    def confidence(self) -> Array:
        """(R,) probability of the predicted class."""
        return np.take_along_axis(self.known_probs, self.pred[:, None], axis=1)[:, 0]

    @property
    def in_double(self) -> "Outputs":
        """The same in double precision: kept in single for a whole pool, a few items deserve it."""
        if self.probs is None and not self.others:
            return self
        probs = None if self.probs is None else self.probs.astype(float)
        others = {name: each.in_double for name, each in self.others.items()}
        return replace(self, probs=probs, others=others)

    @property
    def known_probs(self) -> Array:
        """(R, C) probs, where the caller knows that there are any. Raises ValueError otherwise."""
        if self.probs is None:
            raise ValueError("these outputs have no class probabilities")
        return self.probs

    @property
    def known_std(self) -> Array:
        """(R,) std, where the caller knows that there is one. Raises ValueError otherwise."""
        if self.std is None:
            raise ValueError("these outputs have no standard deviations")
        return self.std

    def __getitem__(self, index: Index) -> "Outputs":
        """The outputs of these rows."""
        return Outputs(
            self.pred[index],
            lambda: _take(self.probs, index),
            lambda: _take(self.std, index),
            {name: each[index] for name, each in self.others.items()},
        )


@dataclass(frozen=True)
class Rows:
    """A chunk of the pool as the methods see it.

    index    (R,) position of each row in the pool
    outputs  what the black box predicts
    design   (R, D) float32 columns for linear surrogates: the model's own confidence
             (classification) or prediction (regression) first, then standardised principal
             components of the features
    codes    (R, columns) integer code of each group column's value
    right    (T, R) value of each of the cache's statistics when the black box is right
    wrong    (T, R) its mean over the other classes, as likely as the black box thinks them
    spread   (T, R) its variance over them

    weight   (R,) weight of each item in every mean, 1 on average over the pool; None where all
             items count alike
    price    (R,) price of each item's label; None where all cost alike
    features (R, D) float32 all features, standardised over the pool; missing values are 0
    evidence (R, K) float32 what learners of the model's answers say: see cache.answers
    trained  (R, 1) float32 what training rows say: see cache.trained; (R, 0) where they say nothing
    facts    (R, F) float32 facts of texts and of answers: see cache.texts; None without evidence
    external (R, E, C) what E other models predict: class probabilities, where a model says only
             which class 1 and 0; (R, E) values for regression
    votes    (R, V) whether each further model of the study predicts the same; for regression how
             much more it predicts

    derive   derive(outputs, t) -> (R,) right, wrong and spread of statistic t of these outputs,
             where that is as fast as to read them; None: they are read
    others   {name: the same items} as further models see them, where models are compared

    right, wrong and spread are None for regression, where outcomes are not right or wrong;
    features, evidence, trained, external and votes are None unless a surrogate needs them.
    """

    index: Array
    outputs: Outputs
    design: Array
    codes: Array
    right: OnDemand = OnDemand()
    wrong: OnDemand = OnDemand()
    spread: OnDemand = OnDemand()
    features: OnDemand = OnDemand()
    external: OnDemand = OnDemand()
    weight: OnDemand = OnDemand()
    price: OnDemand = OnDemand()
    evidence: OnDemand = OnDemand()
    facts: OnDemand = OnDemand()
    trained: OnDemand = OnDemand()
    votes: OnDemand = OnDemand()
    derive: Callable[[Outputs, int], tuple[Array, Array, Array]] | None = None
    others: Mapping[str, "Rows"] = field(default_factory=dict)

    def find_outcome(self, place: int) -> tuple[Array, Array, Array]:
        """(R,) right, wrong and spread of the cache's statistic at this place.

        Raises ValueError for rows of values.
        """
        derive = self.derive
        if derive is not None:
            return self.outputs.compute_once(
                ("outcome", place), lambda: derive(self.outputs, place)
            )
        if self.right is None or self.wrong is None or self.spread is None:
            raise ValueError("rows of values are neither right nor wrong")
        return self.right[place], self.wrong[place], self.spread[place]

    @property
    def mass(self) -> Array:
        """(R,) weight of each item, 1.0 where all items count alike."""
        return np.ones(len(self.index)) if self.weight is None else self.weight

    @property
    def unweighted(self) -> "Rows":
        """The same rows without their weights, also as further models see them."""
        if self.weight is None:
            return self
        others = {name: each.unweighted for name, each in self.others.items()}
        return self.change(weight=None, others=others)

    def change(self, **values: Any) -> "Rows":
        """The same rows with other values of some fields; what is read on demand stays unread."""
        return Rows(**{each.name: vars(self)[each.name] for each in fields(self)} | values)

    def __getitem__(self, index: Index) -> "Rows":
        """These rows."""
        return Rows(
            self.index[index],
            self.outputs[index],
            self.design[index],
            self.codes[index],
            lambda: _take_columns(self.right, index),
            lambda: _take_columns(self.wrong, index),
            lambda: _take_columns(self.spread, index),
            lambda: _take(self.features, index),
            lambda: _take(self.external, index),
            lambda: _take(self.weight, index),
            lambda: _take(self.price, index),
            lambda: _take(self.evidence, index),
            lambda: _take(self.facts, index),
            lambda: _take(self.trained, index),
            lambda: _take(self.votes, index),
            self.derive,
            {name: each[index] for name, each in self.others.items()},
        )


def sum_before(values: Array, axis: int = 0) -> Array:
    """Sums over earlier entries on an axis, such as over earlier draws."""
    sums: Array = np.cumsum(values, axis=axis) - values
    return sums


def spread_votes(codes: Array, classes: int) -> Array:
    """(..., C) float32, 1 for the class with this code (...); zeros for -1, a class of no pool."""
    votes: Array = (codes[..., None] == np.arange(classes)).astype(np.float32)
    return votes


def _take(part: Array | None, index: Index) -> Array | None:
    return None if part is None else part[index]


def _take_columns(part: Array | None, index: Index) -> Array | None:
    return None if part is None else part[:, index]


@dataclass(frozen=True)
class TrainingRows:
    """Rows that are not the pool's and whose labels are known.

    labels    (M,) class codes or values
    features  (M, D) float32, standardised like those of the pool; D may be 0
    """

    labels: Array
    features: OnDemand = OnDemand()

    @property
    def known_features(self) -> Array:
        """(M, D) features, which rows of a pool with features have. Raises ValueError otherwise."""
        if self.features is None:
            raise ValueError("these rows have no features")
        return self.features
