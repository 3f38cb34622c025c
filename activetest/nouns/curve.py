"""Curves as data: ROC, precision-recall and reliability, with an interval at every point."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from activetest.nouns.quantity import Quantity, write_level


class CurveKind(StrEnum):
    """Kind of a curve."""

    ROC = "roc"
    PRECISION_RECALL = "precision-recall"
    RELIABILITY = "reliability"


# Measures that are estimated at each point, in the order of a curve's axes.
MEASURES = {
    CurveKind.ROC: ("false_positive_rate", "recall"),
    CurveKind.PRECISION_RECALL: ("recall", "precision"),
    CurveKind.RELIABILITY: ("observed",),
}
# Fields of each point that are known before any label.
PLACES = {
    CurveKind.ROC: ("threshold", "n_pool"),
    CurveKind.PRECISION_RECALL: ("threshold", "n_pool"),
    CurveKind.RELIABILITY: ("low", "high", "n_pool", "predicted"),
}


@dataclass(frozen=True)
class CurvePoint:
    """One point of a curve.

    place       what is known of it, by the names in PLACES; None for the threshold above all scores
    n_labeled   labels of items that are called, or in the bin, that estimates use
    measures    by the names in MEASURES
    reasons     why measures have no number or no interval
    """

    place: dict[str, float | int | None]
    n_labeled: int
    measures: tuple[Quantity, ...]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """A curve, and what to know before believing it.

    kind           what it shows
    class_name     class that it is about; None for the confidence in the predicted class
    level          of the intervals
    simultaneous   whether all intervals of the curve hold together at the level, or each alone
    estimator      what its points are estimated with
    n_draws        labelled draws that its points are made of
    n_labeled      labelled items, whoever chose them
    n_answers      answers that were bought
    n_pool         items of the pool
    points         thresholds in ascending order, or bins
    moved          points at which an estimate or an end was moved to make the curve monotone
    """

    kind: CurveKind
    class_name: str | None
    level: float
    simultaneous: bool
    estimator: str
    n_draws: int
    n_labeled: int
    n_answers: int
    n_pool: int
    points: tuple[CurvePoint, ...]
    moved: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what each point has, in order."""
        measured = (
            name
            for measure in MEASURES[self.kind]
            for name in (measure, f"{measure}_lower", f"{measure}_upper")
        )
        return (*PLACES[self.kind], "n_labeled", *measured, "reliable", "reason")

    def list_points(self) -> list[dict[str, Any]]:
        """A value of each column for every point; None for what does not exist."""
        return [self._read_point(point) for point in self.points]

    def _read_point(self, point: CurvePoint) -> dict[str, Any]:
        found: dict[str, Any] = {**point.place, "n_labeled": point.n_labeled}
        for name, quantity in zip(MEASURES[self.kind], point.measures, strict=True):
            found[name] = quantity.estimate
            found[f"{name}_lower"] = quantity.lower
            found[f"{name}_upper"] = quantity.upper
        found["reliable"] = all(
            quantity.reliable and quantity.lower is not None for quantity in point.measures
        )
        found["reason"] = "; ".join(dict.fromkeys(point.reasons)) or None
        return found

    @property
    def title(self) -> str:
        """Its name, with the class."""
        return self.kind if self.class_name is None else f"{self.kind}[{self.class_name}]"

    @property
    def band(self) -> str:
        """Coverage of the intervals: "pointwise" or "simultaneous"."""
        return "simultaneous" if self.simultaneous else "pointwise"

    def describe(self) -> str:
        """One line: how many points, labels and items, and what the intervals cover."""
        what = "bins" if self.kind == CurveKind.RELIABILITY else "thresholds"
        holds = "all intervals hold together" if self.simultaneous else "each interval holds alone"
        return (
            f"{self.title}: {len(self.points):,} {what}, {self.n_labeled:,} labels, "
            f"{self.n_pool:,} items; {holds} at {write_level(self.level)}"
        )

    def list_notes(self) -> list[str]:
        """Notes to read before believing the curve."""
        holds = "All intervals hold together" if self.simultaneous else "Each interval holds alone"
        level = write_level(self.level)
        notes = [f"{holds} with a confidence of {level}, for this pool, at one look."]
        if self.moved:
            notes.append(
                "Recall and false positive rate cannot rise with the threshold: the estimate or an "
                f"end was moved at {self.moved:,} of {len(self.points):,} points."
            )
        declined = [each.declined for point in self.points for each in point.measures]
        if any(each is not None for each in declined):
            ignored = any(each is not None and each.ignored for each in declined)
            about = "are ignored" if ignored else "count in intervals, at the worst they could be"
            notes.append(f"Declined items {about}: points are of the items that can be answered.")
        few = sum(not each.reliable for point in self.points for each in point.measures)
        if few:
            notes.append(
                f"{few:,} intervals rest on too few labels of one kind to be believed, and their "
                "points are marked as not reliable."
            )
        return notes
