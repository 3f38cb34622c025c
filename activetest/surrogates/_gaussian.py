"""Beliefs of a surrogate whose prediction of a value is Gaussian: outcomes are quadrature nodes."""

import numpy as np

from activetest.evidence import Array, Beliefs, Rows
from activetest.metrics._statistics import Statistic

# Gauss-Hermite for the standard normal: exact for polynomials up to degree 29, and within 6 % of
# the mean of |x - a|, worst at a = 0.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def over_nodes(
    rows: Rows, mean: Array, variance: Array, statistics: tuple[Statistic, ...]
) -> Beliefs:
    """Outcomes are 15 nodes of N(mean, variance), both (R,); probs (R, 15) are their weights."""
    labels = mean[:, None] + np.sqrt(variance)[:, None] * _NODES
    probs = np.broadcast_to(_WEIGHTS, labels.shape)
    return Beliefs(probs, np.stack([each.value(rows.outputs, labels) for each in statistics]))
