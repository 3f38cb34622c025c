"""Active surrogate estimator (Kossen 2022), eq. (4): what the surrogate expects, item by item.

Labels that are known stay as they are, so that the estimate is the truth once all are. The equation
as it stands has the surrogate speak for every item, those with a label among them.
"""

from typing import Any

from activetest.errors import NotEstimable
from activetest.estimators._members import estimate_from_members, know_everything
from activetest.nouns.estimate import Estimate, Sample

MODEL_BASED = True
_LABELS, _NOTHING = "labels", "nothing"
OPTIONS: dict[str, Any] = {"plug-in": (_LABELS, _NOTHING)}


def estimate(sample: Sample, *, plug_in: str = _LABELS) -> Estimate:
    """Means (d,) of known labels as they are, and of the surrogate's expectation for the rest.

    With plug_in "nothing" they are those of its expectation for all items, over which the sums of
    the sample are then. As good as the surrogate, and no better: the spread is the posterior's, and
    means nothing when the surrogate is wrong. Raises NotEstimable where the sample has no beliefs
    of it, and ValueError for another plug_in.
    """
    if plug_in not in OPTIONS["plug-in"]:
        raise ValueError(f"plug_in is {plug_in!r}")
    if sample.unknown == 0 and plug_in == _LABELS:
        return know_everything(sample)
    if sample.surrogate is None or sample.posterior is None:
        raise NotEstimable("the surrogate's own view was not computed", hint="`study.report()`")
    known = sample.total if plug_in == _LABELS else 0.0
    fields: dict[str, Any] = {}
    if plug_in == _NOTHING:
        fields = {"limits": sample.no_limits, "ignores_labels": True}
    mean = (known + sample.surrogate) / sample.size
    return estimate_from_members(mean, (known + sample.posterior) / sample.size, sample, **fields)
