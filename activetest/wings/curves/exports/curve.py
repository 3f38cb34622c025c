"""Curves of a study: opened by Study.curve, and the reliability that pages of reports show."""

from activetest.estimation.view import View
from activetest.item_statistics.metric import Facts
from activetest.nouns.curve import Curve, CurveKind
from activetest.wings.curves.curves import estimate_curve, find_band_level
from activetest.wings.curves.study_curve import open_curve

__all__ = ["estimate_for_page", "find_band_level", "open_curve"]


def estimate_for_page(view: View, facts: Facts) -> Curve | None:
    """The reliability of the confidence; None without probabilities or labels."""
    if not facts.probabilities or not any(view.log.answers if view.log.answers is not None else ()):
        return None
    return estimate_curve(
        view.log,
        view.cache,
        view.choices,
        facts,
        CurveKind.RELIABILITY,
        class_name=None,
        points=None,
        bins=None,
        simultaneous=False,
        seed=view.seed,
    )
