"""Attributes that are not known for certain: what classifiers say of them, and a joint model.

Axes, besides those in rows: N items, K attributes, U of which are uncertain, V values of one of
them, C combinations of the uncertain ones, B combinations of the others that occur (contexts).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import prod

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array
from activetest.nouns.surface import Attributes

# Combinations over which the normaliser is a sum.
MOST_COMBINATIONS = 100_000
# Values that a classifier calls impossible may occur all the same.
_LOWEST = 1e-6
# Numbers of a chunk of items.
_NUMBERS = 2**22


@dataclass(frozen=True)
class UncertainAttributes:
    """Knowledge about the attributes of N items.

    attributes  all K of them
    probs       {position of an uncertain attribute: (N, V) float32 probability of each value, as
                its classifier states them}
    known       (N, K) int32 code of each value that is known for certain, -1 elsewhere; attributes
                without probabilities are always known
    """

    attributes: Attributes
    probs: Mapping[int, Array]
    known: Array

    def __post_init__(self) -> None:
        """Raises ChoiceError where there are more combinations than can be summed over."""
        count = prod(self.attributes.sizes[position] for position in self.uncertain)
        if count > MOST_COMBINATIONS:
            names = ", ".join(self.attributes.names[position] for position in self.uncertain)
            raise ChoiceError(
                f"the uncertain attributes {names} have {count:,} combinations, and probabilities "
                f"of more than {MOST_COMBINATIONS:,} cannot be normalised exactly",
                hint="name fewer attributes with `attributes`, or merge some of their values",
            )

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def uncertain(self) -> tuple[int, ...]:
        """(U,) positions of the attributes that have probabilities."""
        return tuple(sorted(self.probs))

    @cached_property
    def combinations(self) -> Array:
        """(C, U) codes of every combination of the uncertain attributes."""
        sizes = tuple(self.attributes.sizes[position] for position in self.uncertain)
        numbers = np.arange(prod(sizes))
        return np.stack(np.unravel_index(numbers, sizes), axis=1).astype(np.int32)

    @cached_property
    def onehot(self) -> Array:
        """(C, V + ...) which values each combination has, those of all attributes side by side."""
        sizes = [self.attributes.sizes[position] for position in self.uncertain]
        columns = zip(self.combinations.T, sizes, strict=True)
        parts = [codes[:, None] == np.arange(size) for codes, size in columns]
        return np.concatenate(parts, axis=1).astype(float)

    @cached_property
    def _contexts(self) -> tuple[Array, Array]:
        """(B, K - U) codes of the other attributes that occur together, and (N,) which an item has.

        Combinations are numbered with the codes of all attributes, the uncertain ones at 0.
        """
        codes = self.known.copy()
        codes[:, list(self.uncertain)] = 0
        numbers, of_item = np.unique(self.attributes.number(codes), return_inverse=True)
        return self.attributes.decode(numbers), of_item.astype(np.int32)

    @property
    def context(self) -> Array:
        """(N,) which combination of the certain attributes an item has."""
        return self._contexts[1]

    @cached_property
    def candidates(self) -> Array:
        """(B, C, K) codes of every combination that some item could have."""
        contexts, combinations = self._contexts[0], self.combinations
        codes = np.repeat(contexts[:, None], len(combinations), axis=1)
        codes[:, :, list(self.uncertain)] = combinations
        return codes

    @cached_property
    def gold(self) -> Array:
        """(N,) bool: items of which at least one uncertain attribute is known."""
        return np.asarray((self.known[:, list(self.uncertain)] >= 0).any(axis=1))

    @cached_property
    def predicted(self) -> Array:
        """(N,) most probable combination of the uncertain attributes, by their classifiers."""
        sizes = tuple(self.attributes.sizes[position] for position in self.uncertain)
        codes = [self.probs[position].argmax(axis=1) for position in self.uncertain]
        return np.asarray(np.ravel_multi_index(tuple(codes), sizes))

    def compute_digest(self) -> str:
        """Hexadecimal: equal where all of this is equal."""
        digest = blake2b(digest_size=16)
        named = [self.attributes.names, self.attributes.values, sorted(self.probs)]
        digest.update(json.dumps([named, self.known.shape]).encode())
        for values in (self.known, *(self.probs[position] for position in self.uncertain)):
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()

    def read_logs(self, rows: Array) -> list[Array]:
        """(R, V) logarithms of the probabilities of each uncertain attribute, at least 1e-6."""
        return [
            np.log(np.maximum(self.probs[position][rows].astype(float), _LOWEST))
            for position in self.uncertain
        ]

    def agree(self, rows: Array) -> Array:
        """(R, C) bool: combinations that agree with all that is known of each item."""
        result = np.ones((len(rows), len(self.combinations)), bool)
        inside = np.flatnonzero(self.gold[rows])
        for column, position in enumerate(self.uncertain):
            known = self.known[rows[inside], position][:, None]
            result[inside] &= (known < 0) | (known == self.combinations[:, column])
        return result

    def chunks(self) -> list[Array]:
        """The items in chunks whose tables of combinations fit into memory."""
        size = max(_NUMBERS // len(self.combinations), 1)
        return [
            np.arange(start, min(start + size, len(self))) for start in range(0, len(self), size)
        ]


@dataclass(frozen=True)
class JointModel:
    """P(a | x) of all attributes together (Piratla 2021, eq. 13).

    log P(a | x) = sum_k t_k log M_k(a_k | x) + N(a) - log Z(x), with Z the exact sum over the
    combinations of the uncertain attributes, the others being as they are.

    temperatures  (U,) t of each uncertain attribute
    potential     (B, C) N of every candidate; None where it is 0
    """

    temperatures: Array
    potential: Array | None = None

    @staticmethod
    def of_arrays(arrays: Mapping[str, Array]) -> "JointModel":
        """The model that to_arrays has written."""
        return JointModel(arrays["temperatures"], arrays.get("potential"))

    def to_arrays(self) -> dict[str, Array]:
        """{name: values} of all that it is."""
        found = {"temperatures": self.temperatures}
        return found if self.potential is None else found | {"potential": self.potential}

    def score(self, data: UncertainAttributes, rows: Array) -> Array:
        """(R, C) log P(a | x) + log Z(x) of these items."""
        total = sum_scores(data, data.read_logs(rows), self.temperatures)
        return total if self.potential is None else total + self.potential[data.context[rows]]

    def predict(self, data: UncertainAttributes, rows: Array) -> Array:
        """(R, C) probability of each combination, given what is known of each item."""
        score = self.score(data, rows)
        if data.gold[rows].any():
            score[~data.agree(rows)] = -np.inf
        return normalise(score)

    def mean_log_likelihood(self, data: UncertainAttributes, rows: Array) -> float:
        """Mean logarithm of the probability of what is known of these items, eq. (14)."""
        score = self.score(data, rows)
        inside = np.where(data.agree(rows), score, -np.inf)
        return float((sum_exponentials(inside) - sum_exponentials(score)).mean())


def sum_scores(data: UncertainAttributes, logs: list[Array], temperatures: Array) -> Array:
    """(R, C) sum of t_k log M_k over the uncertain attributes, for logs as from read_logs."""
    scaled = [t * each for each, t in zip(logs, temperatures, strict=True)]
    return np.asarray(np.concatenate(scaled, axis=1) @ data.onehot.T)


def sum_exponentials(score: Array) -> Array:
    """(R,) logarithm of the sum of exp(score) over the last axis."""
    top = score.max(axis=1)
    return np.asarray(top + np.log(np.exp(score - top[:, None]).sum(axis=1)))


def normalise(score: Array) -> Array:
    """(R, C) exp(score), so that every row sums to one."""
    part = score - score.max(axis=1, keepdims=True)
    np.exp(part, out=part)
    part /= part.sum(axis=1, keepdims=True)
    return np.asarray(part)
