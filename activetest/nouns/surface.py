"""Surfaces: a statistic at every combination of attributes, and what they are fitted to.

An arm is a combination of attribute values (Piratla 2021, section 2). Axes, besides those in rows:
A arms that occur in the pool, K attributes, M combinations that are asked about, n labels, S draws
from what is believed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from activetest.nouns.rows import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Attributes:
    """The attributes whose combinations are the arms.

    names    of the K attributes
    values   of each attribute, in the order of their codes
    """

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(map(len, self.values))

    def count_combinations(self) -> int:
        """How many combinations there are, whether they occur or not."""
        return prod(self.sizes)

    def number(self, codes: Array) -> Array:
        """(M,) int64 number of each combination (M, K), in lexicographic order."""
        return np.asarray(np.ravel_multi_index(tuple(np.asarray(codes).T), self.sizes), np.int64)

    def decode(self, numbers: Array) -> Array:
        """(M, K) int32 codes of the combinations with these numbers."""
        return np.stack(np.unravel_index(numbers, self.sizes), axis=1).astype(np.int32)

    def name(self, codes: Sequence[int]) -> dict[str, str]:
        """{attribute: value} of one combination."""
        return {
            name: values[code]
            for name, values, code in zip(self.names, self.values, codes, strict=True)
        }


def name_columns(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Of each attribute the heading of its column: attribute_NAME where another one has its name.

    names    of the attributes, all different
    others   headings of the other columns
    """
    found = []
    for name in names:
        heading = name
        while heading in others or (heading != name and heading in names) or heading in found:
            heading = f"attribute_{heading}"
        found.append(heading)
    return found


@dataclass(frozen=True)
class Arms:
    """The combinations that occur in a pool, in lexicographic order.

    attributes   what they combine
    codes        (A, K) int32 value of each attribute
    membership   (N, A) sparse: P(arm | item). With attributes that are known a row has one entry, 1
    """

    attributes: Attributes
    codes: Array
    membership: "csr_matrix"

    @staticmethod
    def of_items(attributes: Attributes, codes: Array) -> "Arms":
        """The arms of items (N, K) whose attributes are known."""
        from scipy.sparse import csr_matrix

        numbers, arm = np.unique(attributes.number(codes), return_inverse=True)
        items = len(codes)
        membership = csr_matrix(
            (np.ones(items, np.float32), arm.astype(np.int32), np.arange(items + 1)),
            shape=(items, len(numbers)),
        )
        return Arms(attributes, attributes.decode(numbers), membership)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def support(self) -> Array:
        """(A,) items of each arm; no whole numbers where attributes are uncertain."""
        return np.asarray(self.membership.T @ np.ones(self.membership.shape[0]))

    @cached_property
    def of_item(self) -> Array:
        """(N,) most likely arm of each item; its arm where attributes are known."""
        if (np.diff(self.membership.indptr) == 1).all():
            return np.asarray(self.membership.indices)
        return np.asarray(self.membership.argmax(axis=1)).ravel()

    @cached_property
    def numbers(self) -> Array:
        """(A,) int64 number of each arm among all combinations."""
        return self.attributes.number(self.codes)

    def find(self, codes: Array) -> Array:
        """(M,) position of each combination (M, K) among the arms; -1 where it does not occur."""
        numbers = self.attributes.number(codes)
        place = np.minimum(np.searchsorted(self.numbers, numbers), len(self) - 1)
        return np.where(self.numbers[place] == numbers, place, -1)


@dataclass(frozen=True)
class SurfaceData:
    """Data that a surface is fitted to.

    arms         of the pool
    items        (n,) pool position of each label
    values       (n,) the statistic there, from 0 to 1: for accuracy, whether the model is right
    weights      (n,) how many labels it counts as among the unlabelled items of its arm: 1 where
                 items were drawn uniformly inside arms, less where other draws are weighted
    confidence   (N,) float32 probability of each item's predicted class; None without probabilities
    predicted    (N,) int32 code of each item's predicted class
    classes      how many classes there are
    declined     (N,) bool: items that nobody can label, none of which has one; None without any
    supplied     how many of the labels were supplied without a draw: they count as drawn
    doubt        how many of the labels are expected to be wrong, as far as annotators show it; the
                 surface takes them as they are
    """

    arms: Arms
    items: Array
    values: Array
    weights: Array
    confidence: Array | None
    predicted: Array
    classes: int
    declined: Array | None = None
    supplied: int = 0
    doubt: float = 0.0

    @cached_property
    def membership(self) -> "csr_matrix":
        """(n, A) sparse: P(arm | item) of every label."""
        return self.arms.membership[self.items]

    @cached_property
    def counts(self) -> Array:
        """(A, 2) sums of weighted values, and of what they lack to 1, of each arm's labels."""
        total = np.stack([self.weights * self.values, self.weights * (1 - self.values)], axis=1)
        return np.asarray(self.membership.T @ total)

    @property
    def mean(self) -> float:
        """The weighted mean of all labels' values; 0.5 without labels."""
        total = self.weights.sum()
        return float(self.weights @ self.values / total) if total > 0 else 0.5

    def compute_digest(self) -> str:
        """Hexadecimal: equal where all of this is equal."""
        digest = blake2b(digest_size=16)
        attributes, membership = self.arms.attributes, self.arms.membership
        digest.update(json.dumps([attributes.names, attributes.values, self.classes]).encode())
        shares = (membership.indptr, membership.indices, membership.data)
        pool = (self.arms.codes, *shares, self.confidence, self.predicted, self.declined)
        for values in (self.items, self.values, self.weights, *pool):
            if values is not None:
                digest.update(np.ascontiguousarray(values).data)
            digest.update(b";")
        return digest.hexdigest()

    def select(self, chosen: Array) -> "SurfaceData":
        """The same pool with these labels (a mask or positions) alone."""
        return replace(
            self,
            items=self.items[chosen],
            values=self.values[chosen],
            weights=self.weights[chosen],
        )


@dataclass(frozen=True)
class Surface:
    """Beliefs about the statistic's mean rho at every arm.

    rho of an arm is Beta(phi psi, (1 - phi) psi), where phi and psi themselves are uncertain
    (Piratla 2021, eq. 4): draws from what is believed of them stand here.

    method    name
    mean      (A,) E[rho] = E[phi], eq. (10)
    phi       (S, A) draws of the mean of each arm's Beta
    psi       (S, A) or (1, A) draws of its scale, in labels
    predict   from combinations (M, K), whether they occur or not, to their phi (S, M) and psi
              (S or 1, M); those of an arm that occurs are what its attributes alone say
    parts     what it is made of: {name: share}; empty where that is one thing
    state     arrays that a later fit can begin with
    """

    method: str
    mean: Array
    phi: Array
    psi: Array
    predict: Callable[[Array], tuple[Array, Array]]
    parts: Mapping[str, float] = field(default_factory=dict)
    state: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def variance(self) -> Array:
        """(A,) variance of rho: E[phi (1 - phi) / (psi + 1)] + Var[phi], eq. (12)."""
        phi = self.phi.astype(float)
        return np.asarray((phi * (1 - phi) / (self.psi + 1)).mean(axis=0) + phi.var(axis=0))
