"""Several models in one study: what is reported, gated and drawn of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pytest import approx

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.nouns.report_details import MOST_ITEMS
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool

ROWS = 90


@pytest.fixture
def key(folder) -> dict[str, str]:
    """Labels of a pool of 90 items, pool.parquet, and a rival's outputs, v2.parquet.

    The rival does the same on two thirds of the items, and is wrong on many of the others.
    """
    write_pool(folder / "pool.parquet", ROWS, seed=5)
    table = pq.read_table("pool.parquet").to_pandas()
    names = [name for name in table.columns if name.startswith("prob_")]
    classes = np.array([name.removeprefix("prob_") for name in names])
    labels = classes[table[names].to_numpy().argmax(axis=1)]
    rng = np.random.default_rng(0)
    wrong = rng.random(ROWS) < 0.15
    labels[wrong] = classes[rng.integers(len(classes), size=wrong.sum())]
    rival, others = table.copy(), np.arange(ROWS) % 3 == 0
    rival.loc[others, names] = np.roll(table.loc[others, names].to_numpy(), 1, axis=1)
    rival.to_parquet("v2.parquet")
    return dict(zip(table["id"], labels.tolist(), strict=True))


@pytest.fixture
def errors(key) -> dict[str, float]:
    """The true error rate of each model."""
    found = {}
    for model, file in (("model", "pool.parquet"), ("v2", "v2.parquet")):
        table = pq.read_table(file).to_pandas()
        names = [name for name in table.columns if name.startswith("prob_")]
        pred = table[names].to_numpy().argmax(axis=1)
        found[model] = float(
            np.mean(
                [f"prob_{key[id]}" != names[c] for id, c in zip(table["id"], pred, strict=True)]
            )
        )
    return found


@pytest.fixture
def begin(key):
    """begin(labels, **choices): a study with so many labels, and then the model v2."""

    def begin(labels: int, **choices) -> Study:
        study = Study.create("pool.parquet", seed=1, groups=["place"], **choices)
        if labels:
            study.ingest({id: key[id] for id in study.next(labels).ids})
        study.add("v2", "v2.parquet", trained_on_labels=False if labels else None)
        return study

    return begin


def find_rows(report):
    """{title: row} of the whole pool."""
    whole = [row for row in report.estimates if row.group is None]
    return {row.title: row for row in whole if row.estimator == "doubly-robust"}


def test_a_report_has_every_models_numbers_and_their_differences(begin, errors):
    rows = find_rows(begin(40).report(reference="model"))
    assert [title for title in rows if "(" in title] == ["error(v2)", "error(v2)-error(model)"]
    for title, truth in (
        ("error", errors["model"]),
        ("error(v2)", errors["v2"]),
        ("error(v2)-error(model)", errors["v2"] - errors["model"]),
    ):
        assert rows[title].lower <= truth <= rows[title].upper
    apart = rows["error(v2)-error(model)"]
    # The models differ on a third of the items.
    assert abs(apart.estimate) <= 1 / 3 + 1e-9
    assert apart.method == "paired-shares" and apart.reliable
    wins, losses = apart.compared.better, apart.compared.worse
    assert losses - wins == approx(apart.estimate) and losses + wins <= 1 / 3 + 1e-9


def test_a_class_stands_before_the_model(begin):
    rows = find_rows(begin(60).report(metrics="recall[owl](v2)"))
    assert rows["recall[owl](v2)"].estimate is not None


def test_all_labels_together_tell_wins_from_losses(begin, key):
    """Of accuracies as of errors, whoever is the reference."""
    study = begin(ROWS)
    rights = []
    for file in ("v2.parquet", "pool.parquet"):
        table = pq.read_table(file).to_pandas()
        names = [name for name in table.columns if name.startswith("prob_")]
        preds = table[names].to_numpy().argmax(axis=1)
        labels = [f"prob_{key[id]}" for id in table["id"]]
        rights.append(np.array([names[code] for code in preds]) == labels)
    wins, losses = np.mean(rights[0] & ~rights[1]), np.mean(~rights[0] & rights[1])
    assert 0 < wins < losses
    for reference, shares in (("model", (wins, losses)), ("v2", (losses, wins))):
        other = "v2" if reference == "model" else "model"
        for metric in ("error", "accuracy"):
            row = find_rows(study.report(metrics=metric, reference=reference))[
                f"{metric}({other})-{metric}({reference})"
            ]
            assert (row.compared.better, row.compared.worse) == approx(shares)
    rows = find_rows(study.report(metrics="brier", reference="model"))
    assert rows["brier(v2)-brier(model)"].compared.better is None


def test_models_are_equal_within_a_rope_that_holds_the_interval_at_twice_the_error(begin):
    study = begin(30)
    # Wrong on another third of the items.
    table = pq.read_table("pool.parquet").to_pandas()
    names = [each for each in table.columns if each.startswith("prob_")]
    moved = np.arange(len(table)) % 3 == 1
    table.loc[moved, names] = np.roll(table.loc[moved, names].to_numpy(), 1, axis=1)
    study.add("v3", table, trained_on_labels=False)
    title = "error(v3)-error(v2)"
    row = find_rows(study.report(reference="v2"))[title]
    assert row.compared.rope is None and not row.compared.equal
    wide = max(-row.lower, row.upper)
    for rope, equal in ((wide, True), (wide / 10, False)):
        found = find_rows(study.report(reference="v2", rope=rope))[title]
        assert (found.lower, found.upper) == (row.lower, row.upper)
        assert (found.compared.rope, found.compared.equal) == (rope, equal)
    # The interval at twice the error is narrower: there are ropes between both.
    study.change(level=0.9)
    other = find_rows(study.report(reference="v2"))[title]
    narrow = max(-other.lower, other.upper)
    assert narrow < wide
    study.change(level=0.95)
    found = find_rows(study.report(reference="v2", rope=(narrow + wide) / 2))[title]
    assert found.compared.equal
    text = str(study.report(reference="v2", rope=wide))
    assert f"equal within {wide:g}" in text


def test_intervals_of_several_differences_hold_together(begin):
    study = begin(40)
    for name in ("v3", "v4"):
        table = pq.read_table("v2.parquet").to_pandas()
        names = [each for each in table.columns if each.startswith("prob_")]
        moved = np.arange(len(table)) % 4 == (name == "v3")
        table.loc[moved, names] = np.roll(table.loc[moved, names].to_numpy(), 1, axis=1)
        study.add(name, table, trained_on_labels=False)
    report = study.report(reference="model")
    rows = find_rows(report)
    levels = {rows[f"error({name})-error(model)"].level for name in ("v2", "v3", "v4")}
    (joint,) = levels
    assert 0.95 < joint <= 1 - 0.05 / 3
    assert rows["error(v2)"].level == 0.95
    assert "Intervals of differences hold together" in " ".join(str(report).split())
    anytime = find_rows(study.report(reference="model", interval="anytime"))
    assert anytime["error(v2)-error(model)"].level == approx(1 - 0.05 / 3)


def test_the_numbers_of_the_first_model_are_those_without_another(begin):
    study = begin(40)
    before = find_rows(study.report())["error"]
    assert find_rows(study.report(reference="model"))["error"] == before


def test_once_all_is_labelled_every_number_is_exact(begin, errors, key):
    study = begin(40)
    study.ingest(key)
    rows = find_rows(study.report(reference="v2"))
    apart = errors["model"] - errors["v2"]
    assert rows["error(model)-error(v2)"].estimate == approx(apart)
    assert rows["error(model)-error(v2)"].method == "exact"
    assert rows["error(v2)"].estimate == approx(errors["v2"])
    assert find_rows(study.report(model="v2"))["error"].estimate == approx(errors["v2"])


def test_a_report_on_the_second_model_compares_it_with_the_first(begin, errors, key):
    study = begin(40)
    study.ingest(key)
    rows = find_rows(study.report(model="v2", reference="model"))
    apart = errors["v2"] - errors["model"]
    assert apart != 0
    assert rows["error(v2)-error(model)"].estimate == approx(apart)
    assert rows["error(model)"].estimate == approx(errors["model"])
    assert rows["error"].estimate == approx(errors["v2"])


def test_a_gate_on_a_difference_is_decided_at_every_look(begin, errors):
    study = begin(60)
    apart = errors["v2"] - errors["model"]
    gates = study.report(
        require=[
            f"error(v2)-error(model)<={apart + 0.3}",
            f"error(v2)-error(model)<={apart - 0.3}",
            f"accuracy(model)-accuracy(v2)@place=barn>={apart - 0.9}",
        ]
    ).gates
    assert [gate.verdict for gate in gates] == ["pass", "fail", "pass"]
    assert gates[0].models == ("v2", "model") and gates[0].method == "betting"
    assert gates[0].lower <= apart <= gates[0].upper


def test_draws_can_aim_at_a_difference(begin, errors, key):
    study = begin(0)
    study.change(metric="error(v2)-error(model)", floor=0.1)
    table = [pq.read_table(file).to_pandas() for file in ("pool.parquet", "v2.parquet")]
    names = [name for name in table[0].columns if name.startswith("prob_")]
    pred = [each[names].to_numpy().argmax(axis=1) for each in table]
    differ = dict(zip(table[0]["id"], pred[0] != pred[1], strict=True))
    ids = study.next(30).ids
    assert np.mean([differ[id] for id in ids]) > 0.7 > 2 * np.mean([*differ.values()])
    study.ingest({id: key[id] for id in ids})
    report = study.report(require="error(v2)-error(model)<=0.9")
    row = report.estimates[0]
    assert row.headline and row.title == "error(v2)-error(model)"
    assert row.lower <= errors["v2"] - errors["model"] <= row.upper
    assert report.gates[0].verdict == "pass"
    # Draws for both are replayed where the first model alone is asked about.
    plain = find_rows(study.report(metrics="error", interval="anytime"))["error"]
    assert plain.lower <= errors["model"] <= plain.upper
    assert study.next(5, new=True).ids


def test_labels_that_took_part_in_a_model_are_known_items_of_it(key):
    study = Study.create("pool.parquet", seed=1)
    study.ingest({id: key[id] for id in study.next(40).ids})
    study.add("v2", "v2.parquet", trained_on_labels=True)
    row = find_rows(study.report(model="v2"))["error"]
    assert row.estimate is None
    study.ingest({id: key[id] for id in study.next(20, new=True).ids})
    row = find_rows(study.report(model="v2"))["error"]
    assert row.n_draws == 20 and row.estimate is not None
    for asked in ({"reference": "model"}, {"require": "error(v2)<=0.9"}):
        with pytest.raises(ChoiceError, match="took part in making v2"):
            study.report(**asked)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"reference": "v3"}, "no model 'v3'"),
        ({"model": "v3"}, "no model 'v3'"),
        ({"metrics": "error(v3)"}, "no model 'v3'"),
        ({"require": "error(v3)-error(v2)<=0"}, "no model 'v3'"),
        ({"require": "error(v2)-accuracy(model)<=0"}, "another metric"),
    ],
)
def test_a_model_that_is_not_there_is_named_with_those_that_are(begin, asked, problem):
    study = begin(0)
    with pytest.raises(ChoiceError, match=problem) as found:
        study.report(**asked)
    assert found.value.hint
    with pytest.raises(ChoiceError, match="no model 'v3'"):
        study.change(metric="error(v3)-error(model)")


def test_a_study_of_one_model_has_none_to_compare_with(key):
    study = Study.create("pool.parquet", seed=1)
    with pytest.raises(ChoiceError, match="only model of this study"):
        study.report(reference="model")
    with pytest.raises(ChoiceError, match="no model 'v2'"):
        study.report(metrics="error(v2)")


def test_every_format_shows_models(begin, capsys):
    begin(60)
    gate = ("--require", "error(v2)-error(model)<=0.9")
    assert main(["report", "--reference", "model", *gate, "-o", "found.html"]) == 0
    shown = capsys.readouterr().out
    assert "error by model" in shown and "minus model" in shown
    rows = find_rows(Study.open().report(reference="model"))
    table = shown.partition("error by model")[2].splitlines()
    cells = [f"{rows[each].estimate:.2g}" for each in ("error(v2)", "error(v2)-error(model)")]
    assert table[2].split()[0] == "model"
    assert all(cell in table[3] for cell in ("v2", *cells))
    page = Path("found.html").read_text(encoding="utf-8")
    assert "error by model" in page and "difference to model" in page
    assert main(["report", "--reference", "model", *gate, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (apart,) = [each for each in document["estimates"] if (each["against"] or {}).get("model")]
    assert (apart["model"], apart["against"]["model"]) == ("v2", "model")
    assert document["gates"][0]["model"] == "v2"
    assert {each["model"] for each in document["estimates"]} == {None, "v2"}


def test_models_that_do_the_same_everywhere_do_not_differ(key):
    study = Study.create("pool.parquet", seed=1)
    study.ingest({id: key[id] for id in study.next(40).ids})
    study.add("twin", "pool.parquet", trained_on_labels=False)
    row = find_rows(study.report(reference="model"))["error(twin)-error(model)"]
    assert (row.estimate, row.lower, row.upper, row.method) == (0, 0, 0, "exact")
    gates = study.report(require=["error(twin)-error(model)<=0.01"]).gates
    assert gates[0].verdict == "pass"
    study.change(metric="error(twin)-error(model)")
    assert len(study.next(5, new=True).ids) == 5


def test_a_report_on_another_model_alone_has_no_gates_at_every_look(begin):
    study = begin(60)
    for asked in ({"require": "error<=0.9"}, {"interval": "anytime"}):
        with pytest.raises(ChoiceError, match="holds for one look") as found:
            study.report(model="v2", **asked)
        assert "error(v2)<=0.1" in found.value.hint
    fixed = study.report(model="v2", require="error<=0.99", interval="fixed")
    assert "60 of 90 items in pool.parquet, model v2" in str(fixed)
    assert fixed.gates[0].verdict == "pass"
    assert study.report(require="error(v2)<=0.99").gates[0].models == ("v2",)


@pytest.mark.parametrize("interval", ["fixed", "anytime"])
def test_losses_that_are_capped_are_capped_for_every_model(begin, key, interval):
    study = begin(60)
    names = ["log-loss", "log-loss(v2)", "log-loss(v2)-log-loss(model)"]
    rows = find_rows(study.report(metrics=names, bound=0.5, interval=interval))
    truth = dict.fromkeys(("model", "v2"), 0.0)
    for model, file in (("model", "pool.parquet"), ("v2", "v2.parquet")):
        table = pq.read_table(file).to_pandas()
        probs = [row[f"prob_{key[row['id']]}"] for _, row in table.iterrows()]
        truth[model] = float(np.mean(np.minimum(-np.log(probs), 0.5)))
    for name, value in zip(names, (*truth.values(), truth["v2"] - truth["model"]), strict=True):
        assert rows[name].lower - 1e-6 <= value <= rows[name].upper + 1e-6
    study.ingest(key)
    rows = find_rows(study.report(metrics=names, bound=0.5))
    assert rows[names[2]].estimate == approx(truth["v2"] - truth["model"], abs=1e-5)


def test_the_question_of_a_study_is_about_its_first_model(key):
    study = Study.create("pool.parquet", seed=1, question="identify", groups=["place"])
    study.ingest({id: key[id] for id in study.next(40).ids})
    study.add("v2", "v2.parquet", trained_on_labels=False)
    assert study.report().assessment is not None
    report = study.report(model="v2", interval="fixed")
    assert report.assessment is None and report.estimates[0].estimate is not None
    with pytest.raises(ChoiceError, match="surface of this study is of its first model"):
        study.report(model="v2", surface=True)


def test_the_surrogates_own_view_is_of_one_model(begin):
    study = begin(60)
    rows = [row for row in study.report(reference="model").estimates if row.group is None]
    assert {row.estimator for row in rows if row.models} == {"doubly-robust"}
    plain = [row for row in study.report().estimates if row.group is None]
    assert [row for row in rows if not row.models] == plain
    asked = study.report(metrics="error(v2)-error(model)", estimators=["ase", "lure"]).estimates
    assert [row.reason for row in asked[:2]] == ["the surrogate's own view is of one model", None]


def test_a_rate_of_the_labels_is_the_same_for_every_model_and_stands_once(begin):
    rows = find_rows(begin(60).report(metrics=["rate[cat]", "error"], reference="model"))
    assert [*rows] == ["rate[cat]", "error", "error(v2)", "error(v2)-error(model)"]


def label(study, key, count) -> list[str]:
    """Draw items and label them; their ids."""
    ids = study.next(count).ids
    study.ingest({id: key[id] for id in ids})
    return ids


def list_differing(first="pool.parquet", second="v2.parquet") -> set[str]:
    """The ids of items that two models predict differently."""
    tables = [pq.read_table(file).to_pandas() for file in (first, second)]
    names = [name for name in tables[0].columns if name.startswith("prob_")]
    preds = [table[names].to_numpy().argmax(axis=1) for table in tables]
    return {id for id, *pair in zip(tables[0]["id"], *preds, strict=True) if pair[0] != pair[1]}


def test_draws_for_differences_have_a_floor_of_their_own_and_go_back(begin):
    study = begin(0)
    for given, floor, aims in (
        ("difference", 0.1, ("difference",)),
        ("error(v2)-error(model)", 0.1, ("error(v2)-error(model)",)),
        (["difference", "error"], 0.35, ("difference", "error")),
        ("difference", 0.1, ("difference",)),
        ("none", 0.35, ("error",)),
    ):
        study.change(draw_for=given)
        assert (study.choices.floor, study.choices.aims) == (floor, aims)
    study.change(draw_for="difference", floor=0.2)
    assert study.choices.floor == 0.2


def test_difference_is_of_all_models_also_those_that_come_later(begin, key):
    study = begin(0)
    study.change(draw_for="difference")
    label(study, key, 10)
    pq.write_table(pq.read_table("v2.parquet"), "v3.parquet")
    told = str(study.add("v3", "v3.parquet", trained_on_labels=False))
    assert "items are drawn for its difference to the first model, too" in told
    label(study, key, 10)
    stored = StoredStudy.open(study.folder)
    first, second = (each.objectives for each in stored.log(stored.cache()).history)
    assert [each.statistics for each in first] == [("zero_one(v2)-zero_one(model)",)]
    assert [each.statistics for each in second] == [
        ("zero_one(v2)-zero_one(model)",),
        ("zero_one(v3)-zero_one(model)",),
    ]


def test_without_a_floor_only_items_that_tell_models_apart_are_drawn(begin, key, errors):
    study = begin(0)
    told = str(study.change(draw_for="difference", floor=0))
    assert "floor 0: items on which the models do the same are not drawn" in told
    differing = list_differing()
    assert f"draws from {len(differing)} items" in str(study.status())
    drawn = label(study, key, len(differing) - 1)
    assert {*drawn} < differing
    assert "draws from 1 item to" in str(study.status())
    drawn += label(study, key, 5)
    assert {*drawn} == differing
    rows = find_rows(study.report(reference="model"))
    apart = errors["v2"] - errors["model"]
    found = rows["error(v2)-error(model)"]
    assert (found.estimate, found.lower, found.upper) == approx((apart,) * 3)
    assert rows["error"].estimate is None
    assert "items were drawn on which model and v2 differ" in rows["error"].reason
    assert "nothing is left to draw" in str(study.status())
    study.change(floor=0.1)
    assert len(label(study, key, 8)) == 8
    assert find_rows(study.report())["error"].estimate is not None


def test_gates_on_a_difference_rest_on_draws_without_a_floor(begin, key, errors):
    study = begin(0)
    study.change(draw_for="difference", floor=0)
    label(study, key, 12)
    label(study, key, 12)
    for threshold, verdict in ((0.5, "pass"), (-0.2, "fail")):
        (found,) = study.report(require=f"error(v2)-error(model)<={threshold}").gates
        assert (found.verdict, found.method) == (verdict, "betting")
    study.verify()


def test_a_model_that_came_later_knows_items_of_such_draws(begin, key):
    study = begin(0)
    study.change(draw_for="difference", floor=0)
    label(study, key, 12)
    study.change(floor=0.3)
    label(study, key, 12)
    report = study.report(model="v2")
    row = find_rows(report)["error"]
    assert row.n_draws == 12
    assert report.counts.labeled == 24


def test_a_study_of_one_model_has_no_differences_to_draw_for(begin):
    with pytest.raises(ChoiceError, match="model has none beside it"):
        Study.create("pool.parquet", "other", draw_for="difference")
    study = begin(0)
    with pytest.raises(ChoiceError, match="no model 'v9'"):
        study.change(draw_for="error(v9)-error(model)")
    with pytest.raises(ChoiceError, match="which is another metric"):
        study.change(draw_for="error(v2)-brier(model)")


def test_draws_for_several_differences_without_a_common_model_need_a_floor(begin, key):
    study = begin(0)
    for name in ("v3", "v4"):
        pq.write_table(pq.read_table("v2.parquet" if name == "v3" else "pool.parquet"), name)
        study.add(name, name)
    study.change(draw_for=["error(v2)-error(model)", "error(v3)-error(v4)"], floor=0)
    with pytest.raises(ChoiceError, match="could never be drawn"):
        study.next(5)


def test_the_command_line_names_what_items_are_drawn_for(begin, capsys):
    begin(0)
    assert main(["init", "--draw-for", "difference"]) == 0
    assert "draws: optimal for the differences of error between models" in capsys.readouterr().out
    assert main(["status"]) == 0
    assert f"{ROWS} items" in capsys.readouterr().out


def test_the_worst_items_of_a_difference_are_those_where_the_first_model_alone_is_wrong(begin, key):
    study = begin(60)
    assert study.report(details=True).details.loss == "confidence in the wrong class, of model"
    alone = study.report(model="v2", details=True).details
    assert alone.loss == "confidence in the wrong class, of v2"
    named = study.report(metrics="error(v2)", details=True).details
    assert [each.id for each in named.worst_items] == [each.id for each in alone.worst_items]
    details = study.report(metrics="error(v2)-error(model)", details=True).details
    assert details.loss == "confidence in the wrong class, of v2 beyond that of model"
    predicted = []
    for file in ("pool.parquet", "v2.parquet"):
        table = pq.read_table(file).to_pandas().set_index("id").filter(like="prob_")
        predicted.append(table.idxmax(axis=1).str.removeprefix("prob_"))
    assert details.worst_items
    for each in details.worst_items:
        assert each.predicted == predicted[1][each.id] != key[each.id]
        assert predicted[0][each.id] != each.predicted


def test_models_are_compared_item_by_item_after_the_pool_was_sorted_anew(begin):
    study = begin(30)
    before = study.report(reference="model")
    table = pq.read_table("pool.parquet")
    pq.write_table(table.take(np.random.default_rng(1).permutation(ROWS)), "pool.parquet")
    after = Study.open().report(reference="model")
    for title, row in find_rows(before).items():
        other = find_rows(after)[title]
        found, expected = ((each.estimate, each.lower, each.upper) for each in (other, row))
        assert found == pytest.approx(expected, abs=1e-6)


def test_a_page_shows_labelled_items_on_which_models_differ(begin, key):
    study = begin(60)
    report = study.report(reference="v2", details=True)
    preds = {}
    for model, file in (("model", "pool.parquet"), ("v2", "v2.parquet")):
        table = pq.read_table(file).to_pandas()
        names = [name for name in table.columns if name.startswith("prob_")]
        found = table[names].to_numpy().argmax(axis=1)
        preds[model] = {
            id: names[code].removeprefix("prob_")
            for id, code in zip(table["id"], found, strict=True)
        }
    disputed = report.details.disputed
    assert len(disputed) == MOST_ITEMS
    for each in disputed:
        assert each.label == key[each.id]
        assert each.answers == tuple(
            (model, preds[model][each.id], preds[model][each.id] == each.label)
            for model in ("v2", "model")
        )
        assert {right for _, _, right in each.answers} == {True, False}
    assert "Items on which models differ" in report.to_html()
    written = json.loads(report.to_json())["details"]["disputed"][0]
    assert written["answers"][0]["model"] == "v2" and written["id"] == disputed[0].id


def test_without_a_reference_nothing_is_said_of_items_on_which_models_differ(begin):
    report = begin(60).report(details=True)
    assert report.details.disputed == ()
    assert "disputed" not in json.loads(report.to_json())["details"]


def test_of_values_the_nearer_model_is_right(folder):
    rng = np.random.default_rng(3)
    truth, ids = rng.normal(size=30), [f"i{row}" for row in range(30)]
    near, far = truth + 0.1, truth + np.where(np.arange(30) < 20, 0.5, 0.1)
    for name, pred in (("pool", far), ("v2", near), ("v3", far)):
        pd.DataFrame({"id": ids, "pred": pred}).to_parquet(f"{name}.parquet")
    study = Study.create(
        "pool.parquet", seed=1, task="regression", models={"v2": "v2.parquet", "v3": "v3.parquet"}
    )
    study.ingest(dict(zip(ids, truth.tolist(), strict=True)))
    disputed = study.report(reference="model", details=True).details.disputed
    assert {each.id for each in disputed} <= {*ids[:20]} and len(disputed) == MOST_ITEMS
    assert all([right for _, _, right in each.answers] == [False, True, False] for each in disputed)
