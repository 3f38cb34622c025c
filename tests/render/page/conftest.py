"""Reports with details, to make pages of: plain, large, and with hostile names."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from activetest.nouns.curve import Curve, CurveKind, CurvePoint
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import Report
from activetest.nouns.report_details import (
    AnnotatorAnswers,
    ConfusionCell,
    ConfusionTable,
    ContestedItem,
    HistoryPoint,
    Provenance,
    ReportDetails,
    SampledShare,
    WorstItem,
)

HEADER = "round,order,id,label,annotator,probability,weight,declined"


def _measure(value: float, half: float = 0.03, **changes) -> Quantity:
    return Quantity(value, max(value - half, 0.0), value + half, 0.95, "korn-graubard", **changes)


def _history() -> tuple[HistoryPoint, ...]:
    return tuple(
        HistoryPoint(
            at, 50 * at, 0.06 + 0.02 / at, 0.06 - 0.05 / at, 0.06 + 0.1 / at, 0.05 - 0.1 / at, 0.3
        )
        for at in range(1, 7)
    )


def _confusion(classes: tuple[str, ...]) -> ConfusionTable:
    cells = tuple(
        ConfusionCell(
            quantity=_measure(0.9 / len(classes) if said == true else 0.012, 0.01),
            predicted=said,
            truth=true,
            n_labeled=7,
        )
        for said in classes
        for true in classes
    )
    return ConfusionTable(classes, classes, cells)


def _curve() -> Curve:
    points = tuple(
        CurvePoint(
            {"low": at / 10, "high": (at + 1) / 10, "n_pool": 100, "predicted": at / 10 + 0.05},
            12,
            (_measure(min(at / 10 + 0.1, 1.0), 0.1, reliable=at != 5),),
        )
        for at in range(5, 10)
    )
    kind = CurveKind.RELIABILITY
    return Curve(kind, None, 0.95, False, "doubly-robust", 60, 60, 60, 500, points)


def _provenance() -> Provenance:
    return Provenance(
        pool="pools/digits.parquet",
        fingerprint="ab12",
        rows=1497,
        version="0.1.0",
        versions=("0.1.0",),
        seed=7,
        created="2026-01-31T12:00:00Z",
        first_round="2026-01-31T12:01:00Z",
        last_round="2026-02-01T12:00:00Z",
        first_answer=None,
        last_answer=None,
        rounds=4,
        draws=40,
        answers=38,
        settings=(("group", "ink"),),
        commands=("activetest init digits.parquet --seed 7", "activetest next --n 10  # 4 times"),
        chain="c0ffee",
    )


def _log(lines: int) -> str:
    rows = (f"{at // 50 + 1},{at},digit-{at:04d},7,,0.{at + 317:09d},1.0,\n" for at in range(lines))
    return f"{HEADER}\n" + "".join(rows)


def _details(**changes) -> ReportDetails:
    values = {
        "history": _history(),
        "history_of": "error",
        "history_by": "doubly-robust",
        "random_band": "What as many random labels would have left open.",
        "confusion": _confusion(("0", "1", "2")),
        "reliability": _curve(),
        "worst_items": (
            WorstItem("digit-0007", "first line\nsecond line", "3", "7", 0.99, 4.6),
            WorstItem("digit-0008", None, "3", "8", None, 4.1),
        ),
        "loss": "log-loss",
        "sampled": (
            SampledShare("confidence", "0.5 to 0.8", 0.1, 0.3, 150, 12),
            SampledShare("confidence", "0.8 to 1.0", 0.9, 0.7, 1347, 26),
        ),
        "raters": (
            AnnotatorAnswers("ann", 30, 1, 8, 0.75),
            AnnotatorAnswers("", 8, 0, 0, None),
        ),
        "alpha": 0.71,
        "contested": (ContestedItem("digit-0007", None, "7", (("ann", "1"), ("", "7"))),),
        "n_contested": 3,
        "provenance": _provenance(),
        "draws_csv": _log(38),
    }
    return ReportDetails(**values | changes)


@pytest.fixture
def details() -> Callable[..., ReportDetails]:
    """details(**changes) is what a report rests on."""
    return _details


@pytest.fixture
def log() -> Callable[[int], str]:
    """log(lines) is a log of draws as CSV."""
    return _log


@pytest.fixture
def detailed(whole, judged) -> Report:
    """A report that has most sections."""
    return replace(whole, gates=judged.gates, details=_details())
