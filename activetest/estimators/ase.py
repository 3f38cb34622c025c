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
    the surrogate is wrong. Raises NotEstimable when it was not asked.
    """
    empty = np.empty((0, len(sample.total)))
    common = {"terms": empty, "weights": empty[:, 0], "guess": empty}
    common |= {"limits": sample.limits, "inside": empty[:, 0]}
    if sample.unknown == 0:
        mean = sample.total / sample.size
        return Estimate(
            mean, np.zeros((len(mean), len(mean))), exact=True, draws=mean[None], **common
        )
    if sample.surrogate is None:
        raise NotEstimable("the surrogate's own view was not computed", hint="activetest report")
    draws = (sample.total + sample.posterior) / sample.size
    variance = np.atleast_2d(np.cov(draws, rowvar=False))
    mean = (sample.total + sample.surrogate) / sample.size
    return Estimate(mean, variance, draws=draws, **common)
