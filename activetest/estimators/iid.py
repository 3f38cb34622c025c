"""The plain mean of uniform draws: Active Testing (Kossen 2021), eq. (2). The baseline."""

from activetest.errors import NotEstimable
from activetest.estimators import lure
from activetest.nouns.estimate import Estimate, Sample

label_weights = lure.label_weights


def estimate(sample: Sample) -> Estimate:
    """The means (d,) of what was drawn: identical to LURE when every draw was uniform.

    Raises NotEstimable when a draw was not uniform: the plain mean is then biased.
    """
    if not sample.uniform:
        raise NotEstimable(
            "no plain mean: the draws were not uniform",
            hint="read the doubly-robust or the lure estimate, or start with "
            '`Study.create(pool, acquisition="uniform")`',
        )
    return lure.estimate(sample)
