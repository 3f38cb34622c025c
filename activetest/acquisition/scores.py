"""Scores of rows by what is believed of each alone: by moments of losses, entropy, disagreement.

None of them asks for the objectives. Each is summed over the linearised statistics.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from activetest.nouns.beliefs import Beliefs, Objectives, moments
from activetest.nouns.rows import Array

# Rounding that is left of no disagreement, in nats.
_ROUNDING = 1e-14


class Score(NamedTuple):
    """An acquisition as the catalogue gives it; a decorator of functions.

    of  of(beliefs) -> (R,)
    """

    of: Callable[[Beliefs], Array]

    def score(self, beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
        """(R,) the score of each row, whatever the objectives."""
        del objectives
        return self.of(beliefs)


@Score
def uniform(beliefs: Beliefs) -> Array:
    """(R,) one for every row: the baseline that every other acquisition is judged against."""
    return np.ones(len(beliefs.probs))


@Score
def expected_loss(beliefs: Beliefs) -> Array:
    """(R,) size of the loss that the surrogate expects: where the model is likely to be wrong.

    Active Testing (Kossen 2021), eq. (6)-(8), (12), (14).
    """
    mean, _ = moments(beliefs)
    values: Array = np.abs(mean).sum(axis=0)
    return values


oracle = expected_loss
"""In proportion to the true loss, which only an answer key knows: what is expected is the loss.

Active Testing (Kossen 2021), sections 3.1 and 5.5 and Fig. 8 (a): for the estimator lure these are
the best draws there are. Of a mean of losses, and without a floor, the estimate is the truth from
the first draw on. Simulations alone have it: a study does not know the labels that it will buy.
"""


@Score
def optimal(beliefs: Beliefs) -> Array:
    """(R,) root of the sum of the statistics' variances: where the prediction may be off.

    Optimal for the doubly robust estimate. The conditional variance of a step is smallest for q
    proportional to sqrt(E[(h - g)^2 | x]), where h is the statistic and g its prediction (Sawade
    2010 for importance sampling; Zrnic and Candes 2024 for predictions as control variates). With
    0/1 loss this is sqrt(p (1 - p)), p the surrogate's probability of an error.
    """
    _, variance = moments(beliefs)
    values: Array = np.sqrt(np.maximum(variance.sum(axis=0), 0.0))
    return values


@Score
def active_risk(beliefs: Beliefs) -> Array:
    """(R,) root of the expected square of the linearised statistics: losses minus the risk.

    The optimal proposal of importance sampling with replacement (Sawade 2010; Active Testing,
    Kossen 2021, appendix D): for a self-normalised estimate of the risk R draws are best made in
    proportion to sqrt(E[(loss - R)^2]). Only `simulate` has it: a study draws without replacement.
    """
    mean, variance = moments(beliefs)
    values: Array = np.sqrt(np.maximum((mean**2 + variance).sum(axis=0), 0.0))
    return values


@Score
def entropy(beliefs: Beliefs) -> Array:
    """(R,) entropy in nats of the outcomes the surrogate knows: classes, or right and wrong.

    Active Testing (Kossen 2021), section 5.2, has it as the naive baseline, with the model itself
    as surrogate. It knows nothing of the loss.
    """
    from scipy.special import entr

    # Only rounding can make a probability negative.
    values: Array = entr(np.maximum(beliefs.probs, 0)).sum(axis=1)
    return values


@Score
def bald(beliefs: Beliefs) -> Array:
    """(R,) mutual information in nats of the outcome and the member: where members disagree.

    Whatever the loss (Houlsby 2011), as in the Active Surrogate Estimators paper (Kossen 2022), eq.
    (5): the entropy of the mean over members of pi_e, minus the mean over members of the entropy of
    pi_e. The members are beliefs.draws (K, R, C).
    """
    values: Array = disagreement(beliefs.known_draws).sum(axis=1)
    return values


@Score
def xwed(beliefs: Beliefs) -> Array:
    """(R,) weighted disagreement, an outcome weighted by the size of its linearised statistics.

    Active Surrogate Estimators (Kossen 2022), eq. (6) and appendix D.2: BALD with every outcome y
    weighted by its loss L(y), -sum_y L pi log pi + mean over members of sum_y L pi_e log pi_e. With
    unit losses it is BALD.
    """
    weights = np.abs(beliefs.outcome_values).sum(axis=0)
    values: Array = (weights * disagreement(beliefs.known_draws)).sum(axis=1)
    return values


def disagreement(draws: Array) -> Array:
    """(R, C) each outcome's part: mean of p log p over members (K, R, C), minus that of the mean.

    At least zero, for p log p is convex, and exactly zero where all members agree. Where p is 0,
    p log p is 0.
    """
    from scipy.special import xlogy

    draws = draws.astype(float, copy=False)
    mean = draws.mean(axis=0)
    values: Array = xlogy(draws, draws).mean(axis=0) - xlogy(mean, mean)
    return np.where(values > _ROUNDING, values, 0.0)
