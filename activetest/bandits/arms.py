"""Groups as arms: what is known of each, and its posterior in the finite pool (Ji 2021).

Axes: A arms, L cells, J outcomes, S samples. Counts may have axes in front, one study each: then
everything is asked of many studies at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from activetest.nouns.rows import Array

ACCURACY, ERROR, ECE, COST, CONFUSION = KINDS = ("accuracy", "error", "ece", "cost", "confusion")
# No parameter of a Dirichlet is less: an outcome this unlikely does not occur.
_LEAST = 1e-9
# Numbers that samples may hold at a time: 8 MB.
_PIECE = 2**20


@dataclass(frozen=True)
class Arms:
    """The groups of one column, cut into cells; labels were drawn uniformly inside each.

    kind      what is asked of every group, one of KINDS
    meaning   (A,) {column: value} of each group
    owner     (L,) arm of each cell, in ascending order; every arm has a cell
    size      (L,) items, without those that were declined
    value     (L, J) what an outcome counts in the cell's mean
    score     (L,) mean confidence of the cell's items, 0 without any; only calibration asks for it
    known     (..., L, J) labels that are known, whoever chose the items
    evidence  (..., L, J) labels that speak for the rest, those that were drawn uniformly
    prior     (..., L, J) parameters of the Dirichlet before any label
    told      (L, J) labels there are, where some do not count as known: what they rule out is never
              believed. None where all count

    Outcomes are right and wrong for accuracy, error and calibration; for costs and confusion the
    true classes. For accuracy and error every arm is one cell.
    """

    kind: str
    meaning: tuple[dict, ...]
    owner: Array
    size: Array
    value: Array
    score: Array
    known: Array
    evidence: Array
    prior: Array
    told: Array | None = None

    @property
    def posterior(self) -> Array:
        """(..., L, J) parameters of the Dirichlet over the outcomes of a cell's next item."""
        return np.maximum(self.prior + self.evidence, _LEAST)

    @property
    def mean(self) -> Array:
        """(..., L, J) its mean."""
        posterior = self.posterior
        return posterior / posterior.sum(axis=-1, keepdims=True)

    @property
    def rest(self) -> Array:
        """(..., L) items without a label."""
        return self.size - self.known.sum(axis=-1)

    @property
    def worse(self) -> int:
        """1 where a larger value is worse, -1 where a smaller one is."""
        return -1 if self.kind == ACCURACY else 1

    @property
    def weight(self) -> Array:
        """(L,) share of its arm's items that each cell holds; NaN in an arm without items."""
        whole = self.total(self.size)[self.owner]
        return np.divide(self.size, whole, out=np.full(whole.shape, np.nan), where=whole > 0)

    def total(self, cells: Array) -> Array:
        """(..., A) sums over the cells (..., L) of every arm."""
        first = np.searchsorted(self.owner, np.arange(len(self.meaning)))
        return np.add.reduceat(cells, first, axis=-1)

    def some(self, numbers: Array) -> "Arms":
        """These arms alone, in order; what their labels rule out besides is forgotten."""
        cells = np.isin(self.owner, numbers)
        return replace(
            self,
            meaning=tuple(self.meaning[number] for number in numbers),
            owner=np.searchsorted(numbers, self.owner[cells]),
            **{name: getattr(self, name)[cells] for name in ("size", "value", "score")},
            **{name: getattr(self, name)[..., cells, :] for name in ("known", "evidence", "prior")},
            told=None,
        )


def dirichlet(parameters: Array, count: int, rng: np.random.Generator) -> Array:
    """(S, ..., J) samples of Dirichlets with these parameters (..., J), all above 0.

    A stick is broken at a Beta, what is left of it at another, and so on (Connor and Mosimann
    1969): right for parameters as small as they like, where gammas to normalise would all be 0.
    """
    others = np.cumsum(parameters[..., :0:-1], axis=-1)[..., ::-1]
    part = rng.beta(parameters[..., :-1], others, (count, *others.shape))
    whole = np.ones((*part.shape[:-1], 1))
    left = np.concatenate([whole, np.cumprod(1 - part, axis=-1)], axis=-1)
    return left * np.concatenate([part, whole], axis=-1)


def beliefs(arms: Arms, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Samples of the posterior, theta (S, ..., L, J), piece by piece: count of them in all."""
    piece = max(_PIECE // arms.posterior.size, 1)
    for start in range(0, count, piece):
        yield dirichlet(arms.posterior, min(piece, count - start), rng)


def outcomes(arms: Arms, theta: Array, rng: np.random.Generator) -> Array:
    """(S, ..., L, J) shares of the outcomes among all items of a cell, where theta is as given.

    What is known stays, and the labels of the rest are drawn: with theta from the posterior these
    are draws of the posterior of the finite pool, known labels and a Dirichlet-multinomial.
    """
    drawn = rng.multinomial(np.rint(arms.rest).astype(np.int64), theta)
    return possible(arms, (arms.known + drawn) / np.maximum(arms.size, 1)[:, None])


def possible(arms: Arms, shares: Array) -> Array:
    """(..., L, J) shares of outcomes, moved to what the labels there are leave possible.

    Each outcome has its labels, and what is left goes to those whose shares are larger than that,
    by as much as they are.
    """
    if arms.told is None:
        return shares
    least = arms.told / np.maximum(arms.size, 1)[:, None]
    excess = np.maximum(shares - least, 0)
    total = excess.sum(axis=-1, keepdims=True)
    left = 1 - least.sum(axis=-1, keepdims=True)
    return least + left * excess / np.where(total > 0, total, 1)


def values(arms: Arms, shares: Array) -> Array:
    """(..., A) the value of every arm where outcomes have these shares (..., L, J) in its cells.

    Accuracy, error and cost are means over items; calibration is the mean over the cells of the
    distance between accuracy and confidence (Ji 2021, eq. 1). NaN for an arm without items. Raises
    ValueError for a confusion matrix, which is not one number.
    """
    if arms.kind == CONFUSION:
        raise ValueError("a confusion matrix has no single value")
    mean = np.einsum("...lj,lj->...l", shares, arms.value)
    if arms.kind == ECE:
        mean = np.abs(mean - arms.score)
    return arms.total(mean * arms.weight)


def samples(arms: Arms, count: int, rng: np.random.Generator) -> Array:
    """(S, ..., A) draws of the arms' values from the posterior of the finite pool."""
    pieces = beliefs(arms, count, rng)
    return np.concatenate([values(arms, outcomes(arms, theta, rng)) for theta in pieces])


def expected(arms: Arms) -> Array:
    """(..., L, J) shares of the outcomes that the posterior expects of each cell."""
    count = arms.known + arms.rest[..., None] * arms.mean
    return possible(arms, count / np.maximum(arms.size, 1)[:, None])


def variances(arms: Arms, value: Array | None = None) -> Array:
    """(..., L) posterior variance of the mean value (L, J) of all items of a cell."""
    return spread(arms.posterior, arms.rest, arms.size, arms.value if value is None else value)


def spread(parameters: Array, rest: Array, size: Array, value: Array) -> Array:
    """(..., L) variance of a cell's mean of value (L, J) when `rest` of `size` items are unknown.

    parameters (..., L, J) of the Dirichlet, all above 0. The remainder is Dirichlet-multinomial:
    the variance of its mean is (strength + rest) / (rest (strength + 1)) times that of one item.
    """
    strength = parameters.sum(axis=-1)
    mean = parameters / strength[..., None]
    apart = value - (mean * value).sum(axis=-1)[..., None]
    one = (mean * apart**2).sum(axis=-1)
    return one * rest * (strength + rest) / (strength + 1) / np.maximum(size, 1) ** 2
