"""Active surrogate estimator (Kossen 2022), eq. (4).

The labels that are known are plugged in (ALT-MAS, eq. 2).
"""

import numpy as np

from activetest.errors import NotEstimable
from activetest.nouns.estimate import Estimate, Sample

MODEL_BASED = True


def estimate(sample: Sample) -> Estimate:
    """Means (d,) of known labels as they are, and of the surrogate's expectation for the rest.

    As good as the surrogate, and no better: the spread is the posterior's, and means nothing when
    the surrogate is wrong. Raises NotEstimable where the sample has no beliefs of it.
    """
    empty = np.empty((0, len(sample.total)))
    without_draws = empty, empty[:, 0], empty, sample.limits, empty[:, 0]
    if sample.unknown == 0:
        mean = sample.total / sample.size
        none = np.zeros((len(mean), len(mean)))
        return Estimate(mean, none, *without_draws, exact=True, draws=mean[None])
    if sample.surrogate is None or sample.posterior is None:
        raise NotEstimable("the surrogate's own view was not computed", hint="`study.report()`")
    draws = (sample.total + sample.posterior) / sample.size
    variance = np.atleast_2d(np.cov(draws, rowvar=False))
    mean = (sample.total + sample.surrogate) / sample.size
    return Estimate(mean, variance, *without_draws, draws=draws)
