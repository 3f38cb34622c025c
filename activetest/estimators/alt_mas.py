"""The metric of every stochastic pass, and its mean over passes: ALT-MAS 2021, eqs. (2) and (3).

In a pass of the surrogate every item without a label has the class that is the most probable one
in that pass. The metric is computed of the whole pool so labelled, once for each pass.

The paper says twice what is kept besides. By eq. (2) and Remark 3.3 it is the labels that are
known: with every item labelled, the estimate is the truth. By its footnote 1 it is also what the
box says of the items whose labels the surrogate took from it for its training. The third variant is
the one that Remark 3.3 warns of: predictions of every item, which need not come near the truth.
"""

from typing import Any

from activetest.errors import NotEstimable
from activetest.estimators._members import estimate_from_members, know_everything
from activetest.nouns.estimate import Estimate, Sample

MODEL_BASED = True
NEEDS_PASSES = True
_LABELS, _AUGMENTED, _NOTHING = "labels", "labels+augmented", "nothing"
OPTIONS: dict[str, Any] = {"plug-in": (_LABELS, _AUGMENTED, _NOTHING)}


def estimate(sample: Sample, *, plug_in: str = _LABELS) -> Estimate:
    """Means (d,) in each of the K passes; a metric is the mean of its values over them.

    plug_in is what takes the place of the surrogate's most probable class where there is such a
    thing: known labels, these and the labels of augmented items, or nothing. As good as the
    surrogate, and no better: the spread over passes leaves out that an item's label is uncertain in
    every pass. Raises NotEstimable where the sample has no passes, and ValueError for another
    plug_in.
    """
    if plug_in not in OPTIONS["plug-in"]:
        raise ValueError(f"plug_in is {plug_in!r}")
    if sample.unknown == 0 and plug_in != _NOTHING:
        return know_everything(sample)
    passes = sample.passes
    if passes is None:
        raise NotEstimable("the surrogate's passes were not computed", hint="`study.report()`")
    if plug_in == _NOTHING:
        sums = passes.known + passes.unknown
        fields: dict[str, Any] = {"limits": sample.no_limits, "ignores_labels": True}
    else:
        sums = sample.total + (passes.unknown if plug_in == _LABELS else passes.augmented)
        fields = {}
    values = sums / sample.size
    return estimate_from_members(values.mean(axis=0), values, sample, averaged=True, **fields)
