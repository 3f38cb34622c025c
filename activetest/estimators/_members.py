"""Shared by all model-based estimates: values of the surrogate's members in place of terms."""

from typing import Any

import numpy as np

from activetest.nouns.estimate import Estimate, Sample
from activetest.nouns.rows import Array


def estimate_from_members(mean: Array, values: Array, sample: Sample, **fields: Any) -> Estimate:
    """The estimate (d,) with the values (K, d) of members around it, and no draw of an item.

    Its variance is theirs, 0 of a single one. fields are those of Estimate.
    """
    size = len(mean)
    none = np.empty((0, size))
    spread = np.cov(values, rowvar=False) if len(values) > 1 else np.zeros((size, size))
    variance = np.reshape(spread, (size, size))
    about: dict[str, Any] = {"limits": sample.limits, "draws": values} | fields
    return Estimate(mean, variance, none, none[:, 0], none, inside=none[:, 0], **about)


def know_everything(sample: Sample) -> Estimate:
    """The means (d,) where nothing is unknown: the truth."""
    mean = sample.total / sample.size
    return estimate_from_members(mean, mean[None], sample, exact=True)
