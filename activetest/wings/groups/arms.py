"""Groups as arms of a bandit, and the posterior of their values in the finite pool (Ji 2021).

Axes: A arms, L cells, J outcomes, S samples. Counts may have leading axes, one entry for each of
many studies that are computed at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from activetest.nouns.contraction import contract
from activetest.nouns.rounding import DECIMALS
from activetest.nouns.rows import Array

ACCURACY, ERROR, ECE, COST, CONFUSION = KINDS = ("accuracy", "error", "ece", "cost", "confusion")
# Smallest parameter of a Dirichlet: an outcome this unlikely does not occur.
_LEAST = 1e-9
# Rounding by which sums of whole numbers may differ from whole ones.
_ROUNDING = 1e-6
# Numbers in one chunk of samples: 8 MB.
_CHUNK = 2**20


@dataclass(frozen=True)
class Arms:
    """The groups of one column, cut into cells inside which labels were drawn uniformly.

    kind                  what is estimated for every group, one of KINDS
    groups                (A,) {column: value} of each group
    arm_of_cell           (L,) arm of each cell, in ascending order; every arm has a cell
    size                  (L,) items that were not declined
    value                 (L, J) contribution of an outcome to the cell's mean
    mean_confidence       (L,) mean confidence of the cell's items, 0 for an empty cell; used by
                          calibration only
    known_counts          (..., L, J) known labels, whoever chose the items
    exchangeable_counts   (..., L, J) labels that are exchangeable with the unlabelled rest: those
                          that were drawn uniformly
    prior                 (..., L, J) parameters of the Dirichlet before any label
    observed_counts       (L, J) all labels, if some of them are not in known_counts: values that
                          contradict them get no probability. None if all are known

    Outcomes are right and wrong for accuracy, error and calibration, and the true classes for costs
    and confusion. For accuracy and error every arm is a single cell.
    """

    kind: str
    groups: tuple[dict[str, str], ...]
    arm_of_cell: Array
    size: Array
    value: Array
    mean_confidence: Array
    known_counts: Array
    exchangeable_counts: Array
    prior: Array
    observed_counts: Array | None = None

    @property
    def posterior(self) -> Array:
        """(..., L, J) parameters of the Dirichlet over the outcomes of a cell's next item.

        Rounded: how many random numbers a sampler takes hangs on its parameters.
        """
        return np.maximum(np.round(self.prior + self.exchangeable_counts, DECIMALS), _LEAST)

    @property
    def mean(self) -> Array:
        """(..., L, J) mean of the posterior."""
        posterior = self.posterior
        return posterior / posterior.sum(axis=-1, keepdims=True)

    @property
    def unlabelled(self) -> Array:
        """(..., L) items without a label."""
        return self.size - self.known_counts.sum(axis=-1)

    @property
    def worse_sign(self) -> int:
        """1 if larger values are worse, -1 if smaller values are."""
        return -1 if self.kind == ACCURACY else 1

    @property
    def weight(self) -> Array:
        """(L,) share of its arm's items that each cell holds; NaN in an arm without items."""
        arm_size = self.sum_cells(self.size)[self.arm_of_cell]
        return np.divide(
            self.size, arm_size, out=np.full(arm_size.shape, np.nan), where=arm_size > 0
        )

    def sum_cells(self, numbers: Array) -> Array:
        """(..., A) sums over the cells (..., L) of every arm."""
        first = np.searchsorted(self.arm_of_cell, np.arange(len(self.groups)))
        return np.add.reduceat(numbers, first, axis=-1)

    def select(self, arms: Array) -> "Arms":
        """These arms alone, in ascending order; observed_counts is dropped."""
        cells = np.isin(self.arm_of_cell, arms)
        return replace(
            self,
            groups=tuple(self.groups[arm] for arm in arms),
            arm_of_cell=np.searchsorted(arms, self.arm_of_cell[cells]),
            **{name: getattr(self, name)[cells] for name in ("size", "value", "mean_confidence")},
            **{
                name: getattr(self, name)[..., cells, :]
                for name in ("known_counts", "exchangeable_counts", "prior")
            },
            observed_counts=None,
        )


def sample_dirichlet(parameters: Array, count: int, rng: np.random.Generator) -> Array:
    """(S, ..., J) samples of Dirichlets with these parameters (..., J), all above 0.

    By stick-breaking with Beta variables (Connor and Mosimann 1969), which is exact for very small
    parameters too; gamma variables to be normalised would all be 0 there.
    """
    remaining = np.cumsum(parameters[..., :0:-1], axis=-1)[..., ::-1]
    fraction = rng.beta(parameters[..., :-1], remaining, (count, *remaining.shape))
    ones = np.ones((*fraction.shape[:-1], 1))
    left = np.concatenate([ones, np.cumprod(1 - fraction, axis=-1)], axis=-1)
    return left * np.concatenate([fraction, ones], axis=-1)


def sample_posterior(arms: Arms, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Chunks theta (S, ..., L, J) of `count` samples of the posterior."""
    chunk = max(_CHUNK // arms.posterior.size, 1)
    for start in range(0, count, chunk):
        yield sample_dirichlet(arms.posterior, min(chunk, count - start), rng)


def sample_outcome_shares(arms: Arms, theta: Array, rng: np.random.Generator) -> Array:
    """(S, ..., L, J) shares of the outcomes among all items of a cell, given theta.

    Known labels are kept and the labels of the other items are drawn. With theta from the posterior
    these are draws from the posterior of the finite pool: known labels and a Dirichlet-multinomial.
    """
    whole = np.floor(arms.unlabelled + _ROUNDING)
    drawn = rng.multinomial(whole.astype(np.int64), theta)
    fraction = np.maximum(arms.unlabelled - whole, 0)
    if (fraction > _ROUNDING).any():
        # Parts of an item: that part of another item's outcome.
        drawn = drawn + fraction[..., None] * rng.multinomial(1, theta)
    return limit_to_possible(arms, (arms.known_counts + drawn) / np.maximum(arms.size, 1)[:, None])


def limit_to_possible(arms: Arms, shares: Array) -> Array:
    """(..., L, J) shares of outcomes, moved to values that the observed labels leave possible.

    Every outcome has at least the share of its labels. The rest is divided among the outcomes whose
    shares exceed that, in proportion to the excess.
    """
    if arms.observed_counts is None:
        return shares
    minimum = arms.observed_counts / np.maximum(arms.size, 1)[:, None]
    excess = np.maximum(shares - minimum, 0)
    total = excess.sum(axis=-1, keepdims=True)
    unassigned = 1 - minimum.sum(axis=-1, keepdims=True)
    return minimum + unassigned * excess / np.where(total > 0, total, 1)


def compute_values(arms: Arms, shares: Array) -> Array:
    """(..., A) value of every arm, given the shares (..., L, J) of the outcomes in its cells.

    Accuracy, error and cost are means over items; calibration is the mean over the cells of the
    distance between accuracy and confidence (Ji 2021, eq. 1). NaN for an arm without items. Raises
    ValueError for a confusion matrix, which is not one number.
    """
    if arms.kind == CONFUSION:
        raise ValueError("a confusion matrix has no single value")
    mean = contract("...lj,lj->...l", shares, arms.value)
    if arms.kind == ECE:
        mean = np.abs(mean - arms.mean_confidence)
    return arms.sum_cells(mean * arms.weight)


def sample_values(arms: Arms, count: int, rng: np.random.Generator) -> Array:
    """(S, ..., A) draws of the arms' values from the posterior of the finite pool."""
    posterior = sample_posterior(arms, count, rng)
    shares = (sample_outcome_shares(arms, theta, rng) for theta in posterior)
    return np.concatenate([compute_values(arms, each) for each in shares])


def expect_outcome_shares(arms: Arms) -> Array:
    """(..., L, J) posterior expectation of the shares of the outcomes in each cell."""
    count = arms.known_counts + arms.unlabelled[..., None] * arms.mean
    return limit_to_possible(arms, count / np.maximum(arms.size, 1)[:, None])


def cell_variances(arms: Arms, value: Array | None = None) -> Array:
    """(..., L) posterior variance of the mean value (L, J) of all items of a cell."""
    value = arms.value if value is None else value
    return variance_of_mean(arms.posterior, arms.unlabelled, arms.size, value)


def variance_of_mean(parameters: Array, unlabelled: Array, size: Array, value: Array) -> Array:
    """(..., L) variance of a cell's mean of value (L, J) when `unlabelled` of `size` items are.

    parameters (..., L, J) of the Dirichlet, all above 0. The n unlabelled items are
    Dirichlet-multinomial: with s the sum of the parameters, the variance of their mean is
    (s + n) / (n (s + 1)) times that of one item.
    """
    strength = parameters.sum(axis=-1)
    mean = parameters / strength[..., None]
    deviation = value - (mean * value).sum(axis=-1)[..., None]
    item_variance = (mean * deviation**2).sum(axis=-1)
    return (
        item_variance
        * unlabelled
        * (strength + unlabelled)
        / (strength + 1)
        / np.maximum(size, 1) ** 2
    )
