"""Reports by passes of the surrogate: who gets them, what they say, and what they cost others."""

import json
from dataclasses import replace

import numpy as np
import pytest

from activetest.errors import ChoiceError, UnknownMethod
from activetest.estimation import beliefs, estimate
from activetest.estimation import view as views
from activetest.item_statistics import specification
from activetest.nouns.report import Weight
from activetest.render import json as as_json
from activetest.render import text
from activetest.study.ingest import ingest
from activetest.study.report import report

INFORMED = {
    "metric": ("accuracy", "recall[dog]"),
    "acquisition": "metric-information",
    "surrogate": "linear",
    "augment": "none",
}


def find_rows(found, estimator):
    return {row.title: row for row in found.estimates if row.estimator == estimator}


@pytest.fixture
def top(begin_study, label_draws):
    """A study that follows ALT-MAS: 8 random draws, then 12 of the largest scores."""
    study = begin_study(**INFORMED)
    label_draws(study, 8)
    study.update(replace(study.choices, selection="top"))
    label_draws(study, 12)
    return study


def test_a_study_that_follows_alt_mas_shows_its_estimate_beside_the_headline(top):
    found = report(top)
    assert [row.estimator for row in found.estimates[:2]] == ["doubly-robust", "alt-mas"]
    rows = find_rows(found, "alt-mas")
    assert set(rows) == {"accuracy", "recall[dog]"}
    for row in rows.values():
        assert row.lower <= row.estimate <= row.upper
        assert row.quantity.kind == "posterior"
        assert row.n_labeled == 20
        assert row.surrogate_std > 0
    read = json.loads(as_json.render(found))["estimates"]
    spreads = [each["surrogate_std"] for each in read if each["estimator"] == "alt-mas"]
    assert spreads == [row.surrogate_std for row in rows.values()]
    assert all(
        each["surrogate_std"] is None for each in read if each["estimator"] == "doubly-robust"
    )


def test_where_it_stands_beside_the_headline_a_caution_says_what_its_interval_is(top):
    for selection, weight in (("top", Weight.INVALID), ("draw", Weight.FACT)):
        top.update(replace(top.choices, selection=selection))
        found = report(top)
        (note,) = [note for note in found.notes if "no confidence intervals" in note.text]
        shown = " ".join(text.render(found, color=False).split())
        assert note.weight == weight
        assert ("no confidence intervals" in shown) == ("alt-mas " in shown) == (selection == "top")


def test_the_posterior_interval_of_such_a_study_is_that_of_the_passes(top):
    found = report(top, interval="posterior")
    assert {row.estimator for row in found.estimates if row.group is None} == {"alt-mas"}
    (note,) = [note for note in found.notes if "no confidence intervals" in note.text]
    # Nothing else is shown, so that it stands above everything.
    assert note.weight == Weight.INVALID
    assert "caution" in text.render(found, color=False)


def test_without_a_draw_its_estimate_is_the_one_that_messages_name(begin_study, label_draws):
    """No item was drawn here since all rounds took the largest scores."""
    study = begin_study(selection="top")
    label_draws(study, 10)
    for following, name in (({"acquisition": "optimal"}, "ase"), (INFORMED, "alt-mas")):
        study.update(replace(study.choices, **following | {"metric": "accuracy"}))
        found = report(study, metrics=("accuracy", "recall[dog]"))
        assert any(f"own view ({name})" in note.text for note in found.notes)
        assert find_rows(found, "doubly-robust")["accuracy"].estimate is None
        assert find_rows(found, name)["accuracy"].estimate is not None
        shown = text.render(found, color=False)
        assert name in shown


def test_passes_of_a_surrogate_that_has_learned_nothing_say_nothing(begin_study, label_draws):
    """Before it is fitted: the first of equal classes would be a number without a doubt."""
    study = begin_study(**INFORMED, refit="10")
    label_draws(study, 6)
    rows = find_rows(report(study), "alt-mas")
    assert all(row.estimate is None for row in rows.values())
    assert "has learned nothing yet" in rows["accuracy"].reason
    label_draws(study, 6)
    label_draws(study, 2)
    assert find_rows(report(study), "alt-mas")["accuracy"].estimate is not None
    forest = {"surrogate": "forest", "refit": "90"}
    study.update(replace(study.choices, **forest))
    label_draws(study, 76)
    assert find_rows(report(study), "alt-mas")["accuracy"].method == "exact"


def test_only_estimates_from_draws_are_called_unbiased(top, label_file):
    drawn = set(top.log(top.cache()).rows.tolist())
    spare = next(row for row in range(20, 60) if row not in drawn)
    ingest(top, label_file(f"item-{spare},dog"))
    for estimator in ("doubly-robust", "alt-mas"):
        (note,) = [
            note.text
            for note in report(top, estimators=(estimator,)).notes
            if note.text.startswith("Labels that you supplied")
        ]
        assert ("stay unbiased" in note) == (estimator == "doubly-robust")


def test_every_plug_in_can_be_named_and_stands_in_the_report(top):
    names = ("alt-mas", "alt-mas[plug-in=labels]", "alt-mas[ plug-in = nothing ]")
    found = report(top, estimators=names)
    first, same, nothing = (find_rows(found, name)["accuracy"] for name in names)
    assert (first.estimate, first.lower) == (same.estimate, same.lower)
    assert nothing.estimate != first.estimate
    assert found.estimates[0].headline
    shown = text.render(found, color=False, verbose=True, width=200)
    assert "alt-mas[ plug-in = nothing ]: the mean over passes of the surrogate" in " ".join(
        shown.split()
    )
    assert sum("no confidence intervals" in note.text for note in found.notes) == 1


def test_what_the_surrogate_learned_of_the_box_is_plugged_in(begin_study, label_draws):
    """By a real training: accuracy rises by the augmented items that passes find wrong."""
    pytest.importorskip("torch")
    study = begin_study(surrogate="linear", augment="agreement", metric="accuracy")
    label_draws(study, 40, lambda row, code: code if row % 5 else (code + 1) % 3)
    cache = study.cache()
    log = study.log(cache)
    facts = specification.describe_pool(cache.roles, None, cache)
    metric = specification.find_metric("accuracy", facts)
    view = views.build_view(log, cache, study.choices, [metric], seed=study.seed, own_view=True)
    surrogate, rows = view.evidence.surrogate, cache.rows(0, 90)
    augmented = np.setdiff1d(surrogate.augmented, log.rows)
    assert len(augmented)
    classes = surrogate.beliefs(rows, metric.statistics, np.arange(50)).known_draws.argmax(axis=2)
    wrong = (classes != rows.outputs.pred)[:, augmented].sum(axis=1)
    assert wrong.any()
    labels, both = (
        view.value(metric, f"alt-mas[plug-in={name}]").value
        for name in ("labels", "labels+augmented")
    )
    assert both - labels == pytest.approx(wrong.mean() / 90)


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("alt-mas[plug-in=all]", ChoiceError, "plug-in=labels|labels+augmented|nothing"),
        ("alt-mas[plugin=labels]", ChoiceError, "plug-in=labels"),
        ("alt-mas[plug-in=labels", ChoiceError, "write it like 'alt-mas[option=value"),
        ("lure[plug-in=labels]", ChoiceError, "write 'lure' alone"),
        ("altmas", UnknownMethod, "alt-mas"),
    ],
)
def test_an_estimator_with_other_options_is_refused_with_those_it_has(study, name, error, words):
    with pytest.raises(error) as found:
        report(study, estimators=(name,))
    assert words in f"{found.value.problem} {found.value.hint}"


def test_curves_have_no_passes_and_gaps_no_interval_from_them(top):
    found = report(top, metrics=("auroc[dog]", "ece"), estimators=("alt-mas",))
    curve, gap = (row for row in found.estimates if row.group is None)
    assert curve.estimate is None
    assert "area under a curve" in curve.reason
    assert 0 < gap.estimate < 1
    assert gap.lower is None
    assert "no valid posterior interval" in gap.reason


def test_passes_without_a_value_are_counted_in_a_note(top, monkeypatch):
    average = estimate.average_passes

    def lose_three(*arguments):
        return replace(average(*arguments), undefined=3)

    monkeypatch.setattr(estimate, "average_passes", lose_three)
    found = report(top, estimators=("alt-mas",), metrics=("recall[dog]",))
    (note,) = [note.text for note in found.notes if "does not exist" in note.text]
    assert note == (
        "recall[dog] does not exist in 3 of 53 passes of the surrogate, and alt-mas leaves them "
        "out."
    )


def test_nobody_else_pays_for_passes(study, label_draws, monkeypatch):
    label_draws(study, 10)

    def refuse(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr(beliefs, "sum_passes", refuse)
    assert report(study).estimates[1].estimator == "ase"
    monkeypatch.undo()
    monkeypatch.setattr(beliefs, "impute_unknown", refuse)
    assert find_rows(report(study, estimators=("alt-mas",)), "alt-mas")
