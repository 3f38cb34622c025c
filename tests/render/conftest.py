"""Reports to render, and answers to tasks."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from activetest.nouns import group_report as told
from activetest.nouns.report import Counts, EstimateRow, Gate, Report


def _line(**changes) -> EstimateRow:
    fields = {
        "metric": "error",
        "estimator": "doubly-robust",
        "estimate": 0.0531,
        "lower": 0.0312,
        "upper": 0.0822,
        "level": 0.95,
        "method": "korn-graubard",
        "n_labeled": 38,
        "n_pool": 1497,
        "n_eff": 118.4,
        "labels_saved": 3.1,
        "max_weight_share": 0.05,
    }
    return EstimateRow(**(fields | changes))


def _gate(**changes) -> Gate:
    fields = {
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
    return Gate(**(fields | changes))


def _report(*lines: EstimateRow, notes=(), gates=()) -> Report:
    counts = Counts(
        n_pool=1497, drawn=40, labelled=38, pending=2, declined=0, supplied=3, rounds=4, budget=200
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
        estimates=lines,
        notes=notes,
        gates=gates,
    )


@pytest.fixture
def line() -> Callable[..., EstimateRow]:
    """line(**changes) is the headline of `whole`, with changes."""
    return _line


@pytest.fixture
def gate() -> Callable[..., Gate]:
    """gate(**changes) is a gate that passed, with changes."""
    return _gate


@pytest.fixture
def nothing() -> dict:
    """What a line without an estimate lacks."""
    return dict.fromkeys(("estimate", "lower", "upper", "n_eff", "labels_saved"))


@pytest.fixture
def report() -> Callable[..., Report]:
    """report(*lines, notes=(), gates=()) is a report of these lines."""
    return _report


@pytest.fixture
def whole(nothing) -> Report:
    """A report of an early study with two groups."""
    return _report(
        _line(headline=True),
        _line(estimator="ase", method="credible", n_eff=None, labels_saved=None),
        _line(metric="log-loss", estimate=0.3169, lower=0.1178, upper=float("inf")),
        _line(group={"ink": "little"}, n_labeled=12, n_pool=499),
        _line(
            **nothing | {"group": {"ink": "much"}, "n_labeled": 3, "n_pool": 499},
            reason="fewer than 10 labels",
        ),
        notes=("The two views disagree.",),
    )


@pytest.fixture
def judged(gate) -> Report:
    """A report with a gate of each verdict."""
    recall = {"requirement": "recall[cat]>=0.8", "metric": "recall", "class_name": "cat"}
    recall |= {"op": ">=", "threshold": 0.8, "verdict": "fail"}
    return _report(
        _line(headline=True),
        gates=(
            gate(),
            gate(**recall, estimate=0.61, lower=0.55, upper=0.68),
            gate(
                requirement="error@ink=much<=0.1",
                group={"ink": "much"},
                verdict="undecided",
                lower=0.0171,
                upper=0.1339,
                more=128,
                reason="Groups need more labels than the pool.",
            ),
        ),
    )


@pytest.fixture
def confusion() -> Callable[..., list[EstimateRow]]:
    """confusion(classes, **changes) is a line for each pair of classes; 0.1 on the diagonal."""

    def lines(classes, **changes):
        return [
            _line(
                metric="confusion",
                class_name=f"{truth} as {prediction}",
                **{"estimate": 0.1 if truth == prediction else 0.002 * (place + 1)} | changes,
            )
            for truth in classes
            for place, prediction in enumerate(classes)
        ]

    return lines


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
        "labels": 100.0,
        "runs": 200,
        "rmse": 0.0123,
        "bias": -0.0001,
        "median": 0.000068,
        "quartiles": [0.000015, 0.0002],
        "labels_saved": 2.91,
        "labels_saved_se": 0.12,
        "label_ratio": 2.6,
        "coverage": 0.953,
        "width": 0.0731,
        "uniform_mse": 0.00044,
        "uniform_median": 0.0002,
    }


def _ranked(rank, value, **changes) -> told.Ranked:
    fields = {
        "group": {"ink": value},
        "n_pool": 500,
        "n_labeled": 40,
        "estimate": 0.5 + rank / 10,
        "lower": 0.4 + rank / 10,
        "upper": 0.6 + rank / 10,
        "rank": rank,
        "p_worst": 0.97 if rank == 1 else 0.03,
        "p_best": 0.001 if rank == 1 else 0.999,
        "p_among_worst": 0.97 if rank == 1 else 0.03,
        "rank_lower": rank,
        "rank_upper": rank + 1,
        "method": "posterior",
    }
    return told.Ranked(**fields | changes)


def _matrix(classes, truths=()) -> told.Confusion:
    truths = truths or classes
    return told.Confusion(
        classes=classes,
        truths=truths,
        columns=tuple(told.Column(name, 100, 10, "posterior") for name in classes),
        cells=tuple(
            told.Cell(truth, said, 0.9 if truth == said else 0.05, 0.01, 0.95)
            for said in classes
            for truth in truths
        ),
        complete=True,
    )


def _one_bin(low, **changes) -> told.Bin:
    fields = {"n_pool": 300, "n_labeled": 12, "confidence": low + 0.05, "method": "posterior"}
    fields |= {"accuracy": low + 0.1, "lower": low, "upper": min(low + 0.3, 1.0)}
    return told.Bin(low=low, high=low + 0.1, **fields | changes)


@pytest.fixture
def ranked() -> Callable[..., told.Ranked]:
    """ranked(rank, value, **changes) is a group with this value of `ink`."""
    return _ranked


@pytest.fixture
def matrix() -> Callable[..., told.Confusion]:
    """matrix(classes, truths=()) is a confusion matrix; 0.9 where they agree."""
    return _matrix


@pytest.fixture
def one_bin() -> Callable[..., told.Bin]:
    """one_bin(low, **changes) is a bin of the confidence."""
    return _one_bin


@pytest.fixture
def answer() -> told.Assessment:
    """The worst of two groups is identified."""
    return told.Assessment(
        task="identify",
        metric="accuracy",
        target="",
        column="ink",
        worst=1,
        rope=0.05,
        prior="informative",
        strength=2.0,
        level=0.95,
        groups=(_ranked(1, "much"), _ranked(2, "little")),
        comparison=None,
        confusion=_matrix(("cat", "dog")),
        reliability=told.Reliability(
            (_one_bin(0.0, n_pool=0), *(_one_bin(low) for low in (0.5, 0.6, 0.7))),
            0.031,
            0.01,
            0.06,
            "posterior",
        ),
        decided=True,
        probability=0.97,
        more=None,
        rmse=0.04,
    )


@pytest.fixture
def compared(answer) -> told.Assessment:
    """Two groups are compared, and it is not decided."""
    made = told.Comparison(
        one={"ink": "much"},
        two={"ink": "little"},
        difference=-0.08,
        lower=-0.2,
        upper=0.04,
        p_below=0.71,
        p_within=0.271,
        p_above=0.019,
        probability=0.71,
        region="below",
        words="ink=much is worse than ink=little by more than 0.05",
        rope=0.05,
    )
    return replace(
        answer, task="compare", comparison=made, decided=False, probability=0.71, more=128
    )


@pytest.fixture
def said(report, line):
    """said(answer) is a report with that answer."""

    def made(answer, *lines):
        return replace(report(line(headline=True), *lines), assessment=answer)

    return made
