"""Models that each predict answers of their own, which the pool's first model may never give."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study

SIZE = 40
# Every fourth truth is one that the first model never predicts.
TRUTH = [str(100 + at) if at % 4 == 0 else str(at % 7) for at in range(SIZE)]
IDS = [f"q{at}" for at in range(SIZE)]
FIRST = [str((at + (at % 3 == 0)) % 7) for at in range(SIZE)]


def answer(right: float, seed: int, *, decimals: bool = False) -> list[str]:
    """Answers that are right on this share of the items, and else ones that nobody else gives."""
    rng = np.random.default_rng(seed)
    known = rng.random(SIZE) < right
    found = [TRUTH[at] if known[at] else f"odd-{seed}-{at}" for at in range(SIZE)]
    return [f"{each}.0" if decimals and each.isdigit() else each for each in found]


SECOND, THIRD = answer(0.7, 1), answer(0.5, 2, decimals=True)


def find_errors() -> dict[str, float]:
    """The true error of each model."""
    third = [each.removesuffix(".0") for each in THIRD]
    preds = {"model": FIRST, "v2": SECOND, "v3": third}
    return {name: np.mean(np.array(found) != TRUTH) for name, found in preds.items()}


@pytest.fixture
def study(folder) -> Study:
    for name, preds in (("pool", FIRST), ("v2", SECOND), ("v3", THIRD)):
        pd.DataFrame({"id": IDS, "pred": preds}).to_parquet(f"{name}.parquet")
    return Study.create("pool.parquet", task="classification", seed=1)


def label(study: Study, count: int) -> None:
    study.ingest({id: TRUTH[IDS.index(id)] for id in study.next(count).ids}, as_is=True)


def find_rows(report) -> dict:
    return {row.title: row for row in report.estimates if row.estimator == "doubly-robust"}


@pytest.mark.parametrize("before", [0, 20, SIZE])
def test_labels_count_for_models_that_answer_otherwise(study, before):
    """Whether they were given before the model came or after it, and however they are spelled."""
    if before:
        label(study, before)
    for name in ("v2", "v3"):
        study.add(name, f"{name}.parquet", trained_on_labels=False if before else None)
    while study.status().counts.labeled < SIZE:
        label(study, 10)
    errors, rows = find_errors(), find_rows(study.report(reference="v2"))
    assert len({*errors.values()}) == 3
    for name in ("v2", "v3"):
        assert rows[f"error({name})"].estimate == approx(errors[name])
        alone = find_rows(study.report(model=name))["error"]
        assert alone.estimate == approx(errors[name])
    for name in ("model", "v3"):
        apart = rows[f"error({name})-error(v2)"]
        assert apart.estimate == approx(errors[name] - errors["v2"])
    assert rows["error"].estimate == approx(errors["model"])
    study.verify()


def test_the_first_models_numbers_are_those_without_others(study):
    label(study, 20)
    before = find_rows(study.report())["error"]
    for name in ("v2", "v3"):
        study.add(name, f"{name}.parquet", trained_on_labels=False)
    after = find_rows(study.report())["error"]
    assert (after.estimate, after.lower, after.upper) == (
        before.estimate,
        before.lower,
        before.upper,
    )


def test_draws_for_a_difference_know_answers_of_either_model(study):
    study.add("v2", "v2.parquet")
    study.change(draw_for="difference", floor=0)
    label(study, 15)
    label(study, 10)
    errors = find_errors()
    row = find_rows(study.report(reference="model"))["error(v2)-error(model)"]
    assert row.lower <= errors["v2"] - errors["model"] <= row.upper
    anytime = find_rows(study.report(reference="model", interval="anytime"))
    row = anytime["error(v2)-error(model)"]
    assert row.lower <= errors["v2"] - errors["model"] <= row.upper


def test_outputs_that_were_lost_are_put_back(study):
    study.add("v3", "v3.parquet")
    stored = StoredStudy.open(study.folder)
    further = stored.further_classes
    assert "100.0" in further and any(each.startswith("odd-2-") for each in further)
    (study.folder / "models" / "v3.parquet").unlink()
    assert StoredStudy.open(study.folder).further_classes == ()
    assert study.add("v3", "v3.parquet").known
    assert StoredStudy.open(study.folder).further_classes == further


@pytest.mark.parametrize("metric", ["recall[1]", "f1[1]", "kappa"])
def test_metrics_that_ask_for_classes_are_not_compared(study, metric):
    study.add("v2", "v2.parquet")
    label(study, 20)
    with pytest.raises(ChoiceError, match="classes of its own"):
        study.report(metrics=f"{metric}(v2)")
    titles = find_rows(study.report(metrics=["error", metric], reference="model"))
    assert [title for title in titles if "(v2)" in title] == [
        "error(v2)",
        "error(v2)-error(model)",
    ]


@pytest.mark.parametrize("form", ["html", "json", "md", "xml"])
def test_every_form_of_a_report_has_labels_that_other_models_alone_gave(study, form):
    for name in ("v2", "v3"):
        study.add(name, f"{name}.parquet")
    label(study, SIZE)
    gates = ["--require", "error<=0.9"] if form == "xml" else []
    for which in ([], ["--reference", "model"], [] if gates else ["--model", "v3"]):
        assert main(["report", *which, *gates, "-o", f"report.{form}"]) == 0


def test_answers_of_other_models_are_another_class_for_the_first_one(study):
    label(study, SIZE)
    before = study.report(details=True).details.confusion
    for name in ("v2", "v3"):
        study.add(name, f"{name}.parquet", trained_on_labels=False)
    after = study.report(details=True).details.confusion
    assert (after.classes, after.truths) == (before.classes, before.truths)
    counts = ([cell.n_labeled for cell in each.cells] for each in (before, after))
    assert next(counts) == next(counts)
