"""What labelling one more item of a group is worth, for each of the three tasks (Ji 2021, Table 1).

Options, K of them, are what is chosen between: cells for estimation, arms for identification, and
the two arms of a comparison.
"""

from dataclasses import dataclass

import numpy as np

from activetest.bandits.arms import (
    ACCURACY,
    CONFUSION,
    ECE,
    ERROR,
    Arms,
    expected,
    outcomes,
    values,
)
from activetest.bandits.comparison import expected_lambda
from activetest.nouns.rows import Array

ESTIMATE, IDENTIFY, COMPARE = TASKS = ("estimate", "identify", "compare")


@dataclass(frozen=True)
class Bandit:
    """What is asked of the arms.

    task    one of TASKS
    worst   how many groups to identify
    pair    the two arms to compare
    rope    differences up to this are practically none
    """

    arms: Arms
    task: str
    worst: int = 1
    pair: tuple[int, int] | None = None
    rope: float = 0.05

    @property
    def plays(self) -> int:
        """Options that are played at a time: the m worst are looked for by playing m."""
        return self.worst if self.task == IDENTIFY else 1

    @property
    def room(self) -> Array:
        """(..., K) items of each option that can still be labelled."""
        return self.arms.rest if self.task == ESTIMATE else self._options(self._rest)

    @property
    def _rest(self) -> Array:
        """(..., A) items of each arm without a label."""
        return self.arms.total(self.arms.rest)

    def _options(self, arms: Array) -> Array:
        """(..., K) those of (..., A) numbers of the arms that are options."""
        return arms[..., list(self.pair)] if self.task == COMPARE else arms

    def cells(self, options: Array) -> Array:
        """(..., L) probability of each cell, when options (..., K) have theirs.

        Inside an option every item without a label is as likely as another.
        """
        if self.task == ESTIMATE:
            return options
        arms = np.zeros((*options.shape[:-1], len(self.arms.meaning)))
        chosen = list(self.pair) if self.task == COMPARE else slice(None)
        arms[..., chosen] = options
        return (arms / np.maximum(self._rest, 1))[..., self.arms.owner] * self.arms.rest

    def rewards(self, theta: Array, rng: np.random.Generator) -> Array:
        """(S, ..., K) expected reward of one more label where outcomes are as theta (S, ..., L, J).

        Estimation: by how much the variance of the groups' means falls, weighted by their shares of
        the pool; of calibration and confusion, the variance of the cells' means. Identification:
        how bad the arm is. Comparison of accuracies: the confidence after it; of anything else, by
        how much the variance falls. Where nothing is left to label it is -inf.
        """
        arms = self.arms
        if self.task == IDENTIFY:
            return self._possible(arms.worse * values(arms, outcomes(arms, theta, rng)))
        if self.task == COMPARE and arms.kind in (ACCURACY, ERROR):
            return self._possible(expected_lambda(arms, theta, self.pair, self.rope))
        reduction = self.reduction(theta)
        if self.task == ESTIMATE:
            of_group = 1.0 if arms.kind in (ECE, CONFUSION) else arms.weight
            return self._possible(reduction * of_group * arms.size / arms.size.sum())
        # The label is in one cell of the arm, as likely as the items without a label are there.
        reduction = arms.total(reduction * arms.weight**2 * arms.rest) / np.maximum(self._rest, 1)
        return self._possible(self._options(reduction))

    def greedy(self, rng: np.random.Generator) -> Array:
        """(..., K) rewards where outcomes are as the posterior expects them."""
        if self.task == IDENTIFY:
            return self._possible(self.arms.worse * values(self.arms, expected(self.arms)))
        return self.rewards(self.arms.mean[None], rng)[0]

    def _possible(self, rewards: Array) -> Array:
        """Rewards (..., K), -inf for options in which nothing is left to label."""
        return np.where(self.room > 0, rewards, -np.inf)

    def reduction(self, theta: Array) -> Array:
        """(S, ..., L) expected reduction of the variance of each cell's mean by one more label.

        Of a confusion matrix, of the sum of the variances of a column's entries. With strength s
        and n of N items unknown the variance is V n (s + n) / ((s + 1) N^2) now (see spread), V
        being the mean squared distance of an outcome from what is expected. A label makes s one
        more and n one less, and V becomes (V + D / (s + 1)) s / (s + 1), D its squared distance.
        """
        arms, apart = self.arms, distances(self.arms)
        strength, rest = arms.posterior.sum(axis=-1), arms.rest
        before = (arms.mean * apart).sum(axis=-1)
        sampled = np.einsum("...lj,...lj->...l", theta, apart)
        after = (before + sampled / (strength + 1)) * strength / (strength + 1)
        reduction = before * rest / (strength + 1) - after * np.maximum(rest - 1, 0) / (
            strength + 2
        )
        return reduction * (strength + rest) / np.maximum(arms.size, 1) ** 2


def distances(arms: Arms) -> Array:
    """(..., L, J) squared distance of each outcome from what the posterior expects.

    Of a confusion matrix, between vectors: the true class, as a unit vector, and the mean of theta.
    """
    mean = arms.mean
    if arms.kind == CONFUSION:
        return 1 - 2 * mean + (mean**2).sum(axis=-1, keepdims=True)
    return (arms.value - (mean * arms.value).sum(axis=-1)[..., None]) ** 2
