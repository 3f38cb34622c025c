"""Active surrogate estimator (Kossen 2022), eq. (4): what the surrogate expects, item by item.

The labels that are known stay as they are.
"""

from activetest.errors import NotEstimable
from activetest.estimators._members import estimate_from_members, know_everything
from activetest.nouns.estimate import Estimate, Sample

MODEL_BASED = True


def estimate(sample: Sample) -> Estimate:
    """Means (d,) of known labels as they are, and of the surrogate's expectation for the rest.

    As good as the surrogate, and no better: the spread is the posterior's, and means nothing when
    the surrogate is wrong. Raises NotEstimable where the sample has no beliefs of it.
    """
    if sample.unknown == 0:
        return know_everything(sample)
    if sample.surrogate is None or sample.posterior is None:
        raise NotEstimable("the surrogate's own view was not computed", hint="`study.report()`")
    mean = (sample.total + sample.surrogate) / sample.size
    return estimate_from_members(mean, (sample.total + sample.posterior) / sample.size, sample)
