"""Reports to render, and answers to questions about groups."""

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from activetest.nouns import group_report, quantity
from activetest.nouns.report import Counts, EstimateRow, Gate, Note, Report, Weight

NUMBERS = {field.name for field in fields(quantity.Quantity)}


def _split(values: dict) -> dict:
    """The values with those of a quantity as one; labels bought are those used unless given."""
    values = dict(values)
    random, early = values.pop("n_eff", None), values.pop("too_early", False)
    kind = quantity.SavingKind.NONE if random is None else quantity.SavingKind.ABOUT
    kind = quantity.SavingKind.TOO_EARLY if early else kind
    bought = values.pop("n_answers", values["n_labeled"])
    values["saving"] = quantity.Saving(bought, random, kind, values.pop("n_items", None))
    numbers = {name: values[name] for name in NUMBERS & set(values)}
    others = {name: value for name, value in values.items() if name not in NUMBERS}
    return {"quantity": quantity.Quantity(**numbers), **others}


def _row(**changes) -> EstimateRow:
    values = {
        "metric": "error",
        "estimator": "doubly-robust",
        "estimate": 0.0531,
        "lower": 0.0312,
        "upper": 0.0822,
        "level": 0.95,
        "method": "korn-graubard",
        "n_labeled": 38,
        "n_pool": 1497,
        "n_eff": 117.8,
        "max_weight_share": 0.05,
    }
    return EstimateRow(**_split(values | changes))


def _gate(**changes) -> Gate:
    values = {
        "requirement": "error<=0.1",
        "metric": "error",
        "op": "<=",
        "threshold": 0.1,
        "verdict": "pass",
        "level": 0.9,
        "method": "betting",
        "n_labeled": 38,
        "estimate": 0.0531,
        "lower": 0.0312,
        "upper": 0.0822,
        "e_pass": 27.5,
        "e_fail": 0.3,
    }
    return Gate(**_split(values | changes))


def _report(*rows: EstimateRow, notes=(), gates=()) -> Report:
    counts = Counts(
        n_pool=1497,
        draws=40,
        drawn=40,
        labeled=38,
        pending=2,
        declined=0,
        supplied=0,
        answers=38,
        rounds=4,
        budget=200,
    )
    return Report(
        pool="digits.parquet",
        fingerprint="ab12",
        seed=7,
        metric="error",
        surrogate="agreement",
        acquisition="optimal",
        floor=0.35,
        counts=counts,
        estimates=rows,
        notes=notes,
        gates=gates,
    )


@pytest.fixture
def row() -> Callable[..., EstimateRow]:
    """row(**changes) is the headline of `whole`, with changes to it or its quantity."""
    return _row


@pytest.fixture
def gate() -> Callable[..., Gate]:
    """gate(**changes) is a gate that passed, with changes."""
    return _gate


@pytest.fixture
def nothing() -> dict:
    """The fields that a row without an estimate lacks."""
    return dict.fromkeys(("estimate", "lower", "upper", "n_eff"))


@pytest.fixture
def report() -> Callable[..., Report]:
    """report(*rows, notes=(), gates=()) is a report of these rows."""
    return _report


@pytest.fixture
def whole(nothing) -> Report:
    """A report of an early study with two groups."""
    return _report(
        _row(headline=True),
        _row(estimator="ase", method="credible", n_eff=None),
        _row(metric="log-loss", estimate=0.3169, lower=0.1178, upper=float("inf")),
        _row(group={"ink": "little"}, n_labeled=12, n_pool=499),
        _row(
            **nothing | {"group": {"ink": "much"}, "n_labeled": 3, "n_pool": 499},
            reason="fewer than 10 labels",
        ),
        notes=(Note("The two views disagree.", Weight.UNSTABLE),),
    )


@pytest.fixture
def judged(gate) -> Report:
    """A report with a gate of each verdict."""
    recall = {"requirement": "recall[cat]>=0.8", "metric": "recall", "class_name": "cat"}
    recall |= {"op": ">=", "threshold": 0.8, "verdict": "fail"}
    return _report(
        _row(headline=True),
        gates=(
            gate(),
            gate(**recall, estimate=0.61, lower=0.55, upper=0.68),
            gate(
                requirement="error@ink=much<=0.1",
                group={"ink": "much"},
                verdict="undecided",
                lower=0.0171,
                upper=0.1339,
                more_labels=128,
                reason="Groups need more labels than the pool.",
            ),
        ),
    )


@pytest.fixture
def confusion() -> Callable[..., list[EstimateRow]]:
    """confusion(classes, **changes) is a row for each pair of classes; 0.1 on the diagonal."""

    def rows(classes, **changes):
        return [
            _row(
                metric="confusion",
                class_name=f"{truth} as {prediction}",
                **{"estimate": 0.1 if truth == prediction else 0.002 * (place + 1)} | changes,
            )
            for truth in classes
            for place, prediction in enumerate(classes)
        ]

    return rows


@pytest.fixture
def result() -> dict:
    """How one simulated strategy fared."""
    return {
        "surrogate": "agreement",
        "acquisition": "optimal",
        "selection": "draw",
        "power": 1.0,
        "refit": "every",
        "estimator": "doubly-robust",
        "metric": "error",
        "budget": 100,
        "n_labeled": 100.0,
        "runs": 200,
        "rmse": 0.0123,
        "bias": -0.0001,
        "median": 0.000068,
        "quartiles": [0.000015, 0.0002],
        "mse_ratio": 2.91,
        "mse_ratio_se": 0.12,
        "labels_saved": 2.6,
        "coverage": 0.953,
        "width": 0.0731,
        "uniform_mse": 0.00044,
        "uniform_median": 0.0002,
        "surrogate_mse_ratio": None,
    }


def _ranked(rank, value, **changes) -> group_report.Ranked:
    values = {
        "group": {"ink": value},
        "n_pool": 500,
        "n_labeled": 40,
        "estimate": 0.5 + rank / 10,
        "lower": 0.4 + rank / 10,
        "upper": 0.6 + rank / 10,
        "level": 0.95,
        "rank": rank,
        "p_worst": 0.97 if rank == 1 else 0.03,
        "p_best": 0.001 if rank == 1 else 0.999,
        "p_among_worst": 0.97 if rank == 1 else 0.03,
        "rank_lower": rank,
        "rank_upper": rank + 1,
        "method": "posterior",
    }
    return group_report.Ranked(**_split(values | changes))


def _matrix(classes, truths=()) -> group_report.Confusion:
    truths = truths or classes
    return group_report.Confusion(
        classes=classes,
        truths=truths,
        columns=tuple(group_report.Column(name, 100, 10, "posterior") for name in classes),
        cells=tuple(
            group_report.Cell(
                quantity=quantity.Quantity(
                    0.9 if truth == predicted else 0.05, 0.01, 0.95, 0.95, "posterior"
                ),
                truth=truth,
                predicted=predicted,
            )
            for predicted in classes
            for truth in truths
        ),
        complete=True,
    )


def _one_bin(low, **changes) -> group_report.Bin:
    values = {"n_pool": 300, "n_labeled": 12, "confidence": low + 0.05, "method": "posterior"}
    values |= {"estimate": low + 0.1, "lower": low, "upper": min(low + 0.3, 1.0), "level": 0.95}
    return group_report.Bin(low=low, high=low + 0.1, **_split(values | changes))


@pytest.fixture
def ranked() -> Callable[..., group_report.Ranked]:
    """ranked(rank, value, **changes) is a group with this value of `ink`."""
    return _ranked


@pytest.fixture
def matrix() -> Callable[..., group_report.Confusion]:
    """matrix(classes, truths=()) is a confusion matrix; 0.9 where they agree."""
    return _matrix


@pytest.fixture
def one_bin() -> Callable[..., group_report.Bin]:
    """one_bin(low, **changes) is a bin of the confidence."""
    return _one_bin


@pytest.fixture
def answer() -> group_report.Assessment:
    """The worst of two groups is identified."""
    return group_report.Assessment(
        question="identify",
        metric="accuracy",
        target="",
        column="ink",
        worst=1,
        rope=0.05,
        prior="informative",
        prior_strength=2.0,
        level=0.95,
        groups=(_ranked(1, "much"), _ranked(2, "little")),
        comparison=None,
        confusion=_matrix(("cat", "dog")),
        reliability=group_report.Reliability(
            (_one_bin(0.0, n_pool=0), *(_one_bin(low) for low in (0.5, 0.6, 0.7))),
            quantity.Quantity(0.031, 0.01, 0.06, 0.95, "posterior"),
        ),
        decided=True,
        probability=0.97,
        more_labels=None,
        rmse=0.04,
    )


@pytest.fixture
def compared(answer) -> group_report.Assessment:
    """Two groups are compared, and it is not decided."""
    comparison = group_report.Comparison(
        quantity=quantity.Quantity(-0.08, -0.2, 0.04, 0.95, "posterior"),
        first={"ink": "much"},
        second={"ink": "little"},
        p_below=0.71,
        p_within=0.271,
        p_above=0.019,
        probability=0.71,
        region="below",
        words="ink=much is worse than ink=little by more than 0.05",
        rope=0.05,
    )
    return replace(
        answer,
        question="compare",
        comparison=comparison,
        decided=False,
        probability=0.71,
        more_labels=128,
    )


@pytest.fixture
def answered(report, row):
    """answered(answer, *rows) is a report with that answer."""

    def build(answer, *rows):
        return replace(report(row(headline=True), *rows), assessment=answer)

    return build
