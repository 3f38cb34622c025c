"""The reward of labelling one more item of a group, for each of three questions (Ji 2021, Table 1).

A bandit chooses between K options: cells for estimation, arms for identification, the two arms of
a comparison.
"""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.contraction import contract
from activetest.nouns.rows import Array
from activetest.wings.groups.arms import (
    ACCURACY,
    CONFUSION,
    ECE,
    ERROR,
    Arms,
    compute_values,
    expect_outcome_shares,
    sample_outcome_shares,
)
from activetest.wings.groups.comparison import expect_lambda

ESTIMATE, IDENTIFY, COMPARE = QUESTIONS = ("estimate", "identify", "compare")


@dataclass(frozen=True)
class Bandit:
    """The question about the arms.

    question    one of QUESTIONS
    worst       how many groups to identify
    pair        the two arms to compare
    rope        differences up to this count as equal
    """

    arms: Arms
    question: str
    worst: int = 1
    pair: tuple[int, int] | None = None
    rope: float = 0.05

    @property
    def arm_pair(self) -> tuple[int, int]:
        """The two arms of a comparison. Raises ValueError if the bandit has none."""
        if self.pair is None:
            raise ValueError("a comparison needs a pair of arms")
        return self.pair

    @property
    def plays_per_sample(self) -> int:
        """Options played for each posterior sample: m to identify the m worst arms."""
        return self.worst if self.question == IDENTIFY else 1

    @property
    def unlabelled(self) -> Array:
        """(..., K) items of each option without a label."""
        return (
            self.arms.unlabelled
            if self.question == ESTIMATE
            else self._select_options(self._unlabelled_per_arm)
        )

    @property
    def _unlabelled_per_arm(self) -> Array:
        """(..., A) items of each arm without a label."""
        return self.arms.sum_cells(self.arms.unlabelled)

    def _select_options(self, numbers: Array) -> Array:
        """(..., K) the entries of the options among the numbers (..., A) of all arms."""
        return numbers[..., list(self.arm_pair)] if self.question == COMPARE else numbers

    def spread_over_cells(self, option_probs: Array) -> Array:
        """(..., L) probability of each cell, given those of the options (..., K).

        Inside an option every item without a label is equally likely.
        """
        if self.question == ESTIMATE:
            return option_probs
        arm_probs = np.zeros((*option_probs.shape[:-1], len(self.arms.groups)))
        if self.question == COMPARE:
            arm_probs[..., list(self.arm_pair)] = option_probs
        else:
            arm_probs[:] = option_probs
        item_probs = arm_probs / np.maximum(self._unlabelled_per_arm, 1)
        return item_probs[..., self.arms.arm_of_cell] * self.arms.unlabelled

    def rewards(self, theta: Array, rng: np.random.Generator) -> Array:
        """(S, ..., K) expected reward of one more label, given outcome probabilities theta.

        theta (S, ..., L, J). Estimation: the reduction of the variance of the groups' means,
        weighted by their shares of the pool; for calibration and confusion, of the cells' means.
        Identification: how bad the arm is. Comparison of accuracies: the expected lambda after the
        label; of other values, the reduction of the variance. -inf for options without unlabelled
        items.
        """
        arms = self.arms
        if self.question == IDENTIFY:
            values = compute_values(arms, sample_outcome_shares(arms, theta, rng))
            return self._mask_exhausted(arms.worse_sign * values)
        if self.question == COMPARE and arms.kind in (ACCURACY, ERROR):
            return self._mask_exhausted(expect_lambda(arms, theta, self.arm_pair, self.rope))
        reduction = self.variance_reductions(theta)
        if self.question == ESTIMATE:
            weight = 1.0 if arms.kind in (ECE, CONFUSION) else arms.weight
            return self._mask_exhausted(reduction * weight * arms.size / arms.size.sum())
        # The label falls into a cell of the arm with the cell's share of the unlabelled items.
        reduction = arms.sum_cells(reduction * arms.weight**2 * arms.unlabelled)
        reduction = reduction / np.maximum(self._unlabelled_per_arm, 1)
        return self._mask_exhausted(self._select_options(reduction))

    def expected_rewards(self, rng: np.random.Generator) -> Array:
        """(..., K) rewards under the posterior mean of the outcome probabilities."""
        if self.question == IDENTIFY:
            values = compute_values(self.arms, expect_outcome_shares(self.arms))
            return self._mask_exhausted(self.arms.worse_sign * values)
        return self.rewards(self.arms.mean[None], rng)[0]

    def _mask_exhausted(self, rewards: Array) -> Array:
        """Rewards (..., K), -inf for options without unlabelled items."""
        return np.where(self.unlabelled > 0, rewards, -np.inf)

    def variance_reductions(self, theta: Array) -> Array:
        """(S, ..., L) expected reduction of the variance of each cell's mean by one more label.

        For a confusion matrix, of the sum of the variances of a column's entries. With strength s
        and n of N items unlabelled the variance is V n (s + n) / ((s + 1) N^2), see
        variance_of_mean, where V is the mean squared distance of an outcome from its expectation. A
        label increases s by one, decreases n by one, and changes V to
        (V + D / (s + 1)) s / (s + 1), where D is the label's squared distance.
        """
        arms, distances = self.arms, squared_distances(self.arms)
        strength, unlabelled = arms.posterior.sum(axis=-1), arms.unlabelled
        now = (arms.mean * distances).sum(axis=-1)
        sampled = contract("...lj,...lj->...l", theta, distances)
        after = (now + sampled / (strength + 1)) * strength / (strength + 1)
        reduction = now * unlabelled / (strength + 1) - after * np.maximum(unlabelled - 1, 0) / (
            strength + 2
        )
        return reduction * (strength + unlabelled) / np.maximum(arms.size, 1) ** 2


def squared_distances(arms: Arms) -> Array:
    """(..., L, J) squared distance of each outcome's value from its posterior mean.

    For a confusion matrix, between the true class as a unit vector and the mean of theta.
    """
    mean = arms.mean
    if arms.kind == CONFUSION:
        return 1 - 2 * mean + (mean**2).sum(axis=-1, keepdims=True)
    return (arms.value - (mean * arms.value).sum(axis=-1)[..., None]) ** 2
