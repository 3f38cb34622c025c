"""A variance for heavy tails: what was not met yet enters through what the surrogate expects."""

from activetest.nouns.estimate import RARE, Estimate

# Imaginary draws that showed the surrogate's variance.
_PSEUDO_DRAWS = 20


def shrink_variance(estimate: Estimate) -> float:
    """The observed variance, drawn towards the surrogate's as 20 draws would."""
    draws = len(estimate.terms)
    observed, expected = estimate.variance[0, 0], estimate.model_variance
    variance = (draws * observed + _PSEUDO_DRAWS * expected) / (draws + _PSEUDO_DRAWS)
    # The few large values seen may all be among the smaller of them.
    return float(max(variance, expected) if estimate.minority_count < RARE else variance)
