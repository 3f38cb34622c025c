"""The details of a report: what it rests on, against hand-made cases and what was said then."""

import csv
import io
import json
import re
import shlex
from contextlib import chdir
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics as outside

import activetest as at
from activetest.cli.app import main
from activetest.cli.spelling import translate_report
from activetest.errors import ChoiceError
from activetest.nouns.log import Log
from activetest.nouns.report_details import ReportDetails
from activetest.study.details import _shorten_parts, describe_provenance
from tests.makers import write_pool

NAMES = ("cat", "dog", "owl")
# {id: label} of the pools of write_pool: classes in turn.
KEY = {f"item-{row}": NAMES[row % 3] for row in range(60)}


def begin(folder: Path, **settings: Any) -> at.Study:
    """A study of 60 items of three classes in the folder."""
    write_pool(folder / "pool.parquet", 60)
    return at.Study.create("pool.parquet", "study", seed=1, **settings)


def write_columns(columns: dict, name: str = "pool.parquet") -> None:
    """A pool of these columns, in the working directory."""
    pq.write_table(pa.table(columns), name)


def answer(study: at.Study, *counts: int, key: dict = KEY) -> at.Study:
    """The study after rounds of so many items, all answered."""
    for count in counts:
        study.ingest({id: key[id] for id in study.next(count).ids})
    return study


def read_details(study: at.Study, **settings: Any) -> ReportDetails:
    """The details of a report."""
    found = study.report(details=True, **settings).details
    assert found is not None
    return found


# --- history


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({}, {}),
        ({"metric": "log-loss", "groups": "place"}, {}),
        ({"interval": "anytime"}, {}),
        ({"metric": "auroc[cat]"}, {}),
        pytest.param({"refit": "doubling"}, {}, marks=pytest.mark.slow),
        pytest.param({}, {"population": True}, marks=pytest.mark.slow),
        pytest.param({"surrogate": "linear"}, {}, marks=pytest.mark.slow),
    ],
)
def test_the_history_is_what_reports_said_then(folder, settings, reported):
    study = begin(folder, **settings)
    study.ingest({"item-7": "dog"})
    said = []
    for count in (9, 8, 10, 7):
        answer(study, count)
        row = study.report(**reported).headline
        known = study.status().counts
        said.append((row.estimate, row.lower, row.upper, known.labeled + known.supplied))
        # Of items that were not drawn: known to the next round, and not to this one.
        item = next(id for id in KEY if id not in {each.id for each in study.export()})
        study.ingest({item: KEY[item]})
    study.undo()
    found = read_details(study, **reported)
    assert [each.round for each in found.history] == [1, 2, 3, 4]
    shown = [(each.estimate, each.lower, each.upper, each.n_labeled) for each in found.history]
    for before, now in zip(said, shown, strict=True):
        assert now == pytest.approx(before, abs=1e-9, nan_ok=True)
    assert found.history_of == study.choices.metric
    assert found.history_by == "doubly-robust"


def test_rounds_without_an_answer_are_no_points_and_missing_answers_are_no_hindrance(folder):
    study = answer(begin(folder), 10, 10)
    waiting = study.next(10).ids
    assert [each.round for each in read_details(study).history] == [1, 2]
    study.ingest({waiting[3]: "cat"})
    last = read_details(study).history[-1]
    assert (last.round, last.n_labeled) == (3, 21)
    assert last.estimate == study.report().headline.estimate


def test_at_most_twenty_rounds_are_shown_evenly_and_the_last_one_always(folder):
    study = answer(begin(folder, acquisition="uniform"), *[1] * 22)
    shown = [each.round for each in read_details(study).history]
    assert len(shown) == 20
    assert (shown[0], shown[-1]) == (1, 22)
    assert set(np.diff(shown)) == {1, 2}


def test_of_a_model_based_headline_the_history_is_that_of_the_draws(folder):
    study = answer(begin(folder), 12, 12)
    by_draws = read_details(study)
    for reported in ({"interval": "posterior"}, {"estimators": "ase"}):
        found = read_details(study, **reported)
        assert found.history == by_draws.history
        assert found.history_by == "doubly-robust"


def test_items_chosen_by_scores_have_no_history(folder):
    found = read_details(answer(begin(folder, selection="top"), 10, 10))
    assert found.history == ()
    assert found.random_band is None
    assert found.worst_items


def test_the_random_band_of_uniform_draws_is_about_their_interval(folder):
    study = answer(begin(folder, acquisition="uniform"), 20, 20)
    found = read_details(study)
    last = found.history[-1]
    assert last.random_lower < last.estimate < last.random_upper
    assert last.random_upper - last.random_lower == pytest.approx(last.upper - last.lower, rel=0.25)
    first = found.history[0]
    assert first.random_upper - first.random_lower > last.random_upper - last.random_lower
    assert "uniformly at random" in found.random_band
    # Around the present estimate, not around what was estimated then.
    assert first.random_lower < last.estimate < first.random_upper


# --- confusion and reliability


def test_where_every_label_is_known_the_table_is_the_confusion_matrix(folder):
    study = answer(begin(folder), 60)
    table = read_details(study).confusion
    rows = pq.read_table("pool.parquet")
    probs = np.column_stack([rows[f"prob_{name}"].to_numpy() for name in NAMES])
    pred = [NAMES[code] for code in probs.argmax(axis=1)]
    matrix = outside.confusion_matrix([*KEY.values()], pred, labels=NAMES).T / 60
    shares = np.array([each.estimate or 0.0 for each in table.cells]).reshape(3, 3)
    assert shares == pytest.approx(matrix)
    counts = np.array([each.n_labeled for each in table.cells]).reshape(3, 3)
    assert counts.tolist() == (matrix * 60).round().astype(int).tolist()
    assert all(each.lower == each.upper == each.estimate for each in table.cells if each.n_labeled)
    assert (table.classes, table.truths, table.others) == (NAMES, NAMES, None)


def test_the_shares_are_those_of_the_metric_confusion(folder):
    study = answer(begin(folder), 20, 25)
    table = read_details(study).confusion
    rows = study.report(metrics="confusion", estimators="doubly-robust", groups=[]).estimates
    known = {each.class_name: each for each in rows}
    shown = [each for each in table.cells if each.estimate is not None]
    assert len(shown) >= 6
    for cell in shown:
        row = known[f"{cell.truth} as {cell.predicted}"]
        assert cell.estimate == pytest.approx(row.estimate, abs=1e-9)
        assert cell.lower <= cell.estimate <= cell.upper
    assert all(each.estimate is None for each in table.cells if not each.n_labeled)


def test_with_many_classes_the_rest_stands_together(folder):
    rng = np.random.default_rng(0)
    names = [f"c{code:02}" for code in range(15)]
    # The three last classes are predicted most rarely.
    codes = np.concatenate([np.repeat(np.arange(12), 6), np.repeat([12, 13, 14], 2)])
    probs = np.full((len(codes), 15), 0.01)
    probs[np.arange(len(codes)), codes] = 0.86
    ids = [f"i{row}" for row in range(len(codes))]
    write_columns({"id": ids} | {f"prob_{name}": probs[:, at] for at, name in enumerate(names)})
    truth = np.where(rng.random(len(codes)) < 0.3, rng.integers(15, size=len(codes)), codes)
    study = at.Study.create("pool.parquet", "study", seed=1)
    key = {id: names[code] for id, code in zip(ids, truth, strict=True)}
    table = read_details(answer(study, len(ids), key=key)).confusion
    assert table.left_out == ("c12", "c13", "c14")
    assert table.classes == table.truths == (*names[:12], "other classes")
    assert table.others == "other classes"
    both = [np.minimum(each, 12) for each in (codes, truth)]
    matrix = outside.confusion_matrix(*both) / len(codes)
    shares = np.array([each.estimate or 0.0 for each in table.cells]).reshape(13, 13)
    assert shares == pytest.approx(matrix)


def test_labels_that_no_prediction_can_be_have_a_column(folder):
    write_columns({"id": [f"i{row}" for row in range(40)], "pred": ["cat", "dog"] * 20})
    study = at.Study.create("pool.parquet", "study", seed=1)
    key = {f"i{row}": ("elk" if row % 4 == 0 else "cat") for row in range(40)}
    found = read_details(answer(study, 40, key=key))
    assert found.confusion.truths == ("cat", "dog", "another class")
    assert found.confusion.classes == ("cat", "dog")
    shares = {(each.predicted, each.truth): each.estimate for each in found.confusion.cells}
    assert shares["cat", "another class"] == pytest.approx(0.25)
    # Hard labels have no confidence, and the ledger's name of the label is shown.
    assert found.reliability is None
    assert {each.label for each in found.worst_items} == {"elk", "cat"}
    assert {each.confidence for each in found.worst_items} == {None}


def test_the_reliability_is_that_of_the_curve(folder):
    study = answer(begin(folder), 30)
    assert read_details(study).reliability.points == study.curve("reliability").points


# --- worst items


def write_known(labels: list[str], sure: list[float], **more: list) -> at.Study:
    """A study of items predicted as fraud with these probabilities, whose labels are supplied."""
    ids = [f"i{row}" for row in range(len(labels))]
    columns = {"id": ids, "prob_fine": [1 - each for each in sure], "prob_fraud": sure}
    write_columns(columns | more)
    study = at.Study.create("pool.parquet", "study", seed=1, positive="fraud")
    study.ingest(dict(zip(ids, labels, strict=True)))
    return study


def test_confident_mistakes_come_first_and_ties_stay_in_order(folder):
    labels = ["fraud", "fine", "fine", "fraud", "fine", "fine"]
    study = write_known(labels, [0.9, 0.7, 0.95, 0.2, 0.7, 0.1])
    found = read_details(study)
    shown = [(each.id, each.predicted, each.label) for each in found.worst_items]
    assert shown == [
        ("i2", "fraud", "fine"),
        ("i3", "fine", "fraud"),
        ("i1", "fraud", "fine"),
        ("i4", "fraud", "fine"),
    ]
    assert [each.loss for each in found.worst_items] == pytest.approx([0.95, 0.8, 0.7, 0.7])
    assert [each.confidence for each in found.worst_items] == pytest.approx([0.95, 0.8, 0.7, 0.7])
    assert found.loss == "confidence in the wrong class"
    assert all(each.text is None for each in found.worst_items)


@pytest.mark.parametrize(
    ("metric", "ids"),
    [
        ("recall", ["i3"]),
        ("precision", ["i2", "i1", "i4"]),
        ("false-positive-rate", ["i2", "i1", "i4"]),
        ("f1", ["i2", "i3", "i1", "i4"]),
        ("rate", ["i2", "i3", "i1", "i4"]),
    ],
)
def test_mistakes_are_those_that_the_metric_is_about(folder, metric, ids):
    labels = ["fraud", "fine", "fine", "fraud", "fine", "fine"]
    study = write_known(labels, [0.9, 0.7, 0.95, 0.2, 0.7, 0.1])
    assert [each.id for each in read_details(study, metrics=metric).worst_items] == ids


def test_a_metric_that_is_the_mean_of_a_loss_has_that_loss(folder):
    sure, labels = [0.9, 0.7, 0.95, 0.2], ["fraud", "fine", "fine", "fraud"]
    study = write_known(labels, sure)
    found = read_details(study, metrics="log-loss")
    each = [
        outside.log_loss([label], [[1 - at_, at_]], labels=["fine", "fraud"])
        for label, at_ in zip(labels, sure, strict=True)
    ]
    assert found.loss == "log loss"
    assert [item.id for item in found.worst_items] == ["i2", "i3", "i1", "i0"]
    assert [item.loss for item in found.worst_items] == pytest.approx(sorted(each)[::-1], rel=1e-5)


@pytest.mark.parametrize(
    ("metric", "losses", "word"),
    [("rmse", [9.0, 4.0, 1.0], "squared error"), ("mae", [3.0, 2.0, 1.0], "absolute error")],
)
def test_of_values_the_largest_errors_come_first(folder, metric, losses, word):
    write_columns({"id": list("abcd"), "pred": [1.5, 2.0, 3.0, 4.0]})
    study = at.Study.create("pool.parquet", "study", seed=1, metric=metric, task="regression")
    study.ingest({"a": 1.5, "b": 3.0, "c": 0.0, "d": 6.0})
    found = read_details(study)
    assert [each.id for each in found.worst_items] == ["c", "d", "b"]
    assert [each.loss for each in found.worst_items] == pytest.approx(losses)
    assert found.loss == word
    assert (found.worst_items[0].predicted, found.worst_items[0].label) == ("3", "0.0")
    assert found.confusion is None


def test_ten_items_are_shown_with_their_text_which_is_short_and_readable(folder):
    texts = ["x" * 299 + "\u0065\u0301" * 5, "red\x1b[31m\u202e", "short", *["more"] * 10]
    places = ["north"] * 13
    study = write_known(["fine"] * 13, [0.99, 0.98, 0.97, *[0.9] * 10], body=texts, area=places)
    study.change(groups="area")
    items = read_details(study).worst_items
    assert [each.id for each in items] == [f"i{row}" for row in range(10)]
    # The letter and its accent stay together; a group is no text.
    assert items[0].text == "x" * 299 + "\u2026"
    assert items[1].text == "red\\x1b[31m\\u202e"
    assert items[2].text == "short"


def test_several_columns_of_text_are_named(folder):
    study = write_known(["fine"], [0.9], question=["why"], answer=["so"])
    assert read_details(study).worst_items[0].text == "question: why\nanswer: so"


# --- what was sampled


def test_labelled_draws_are_compared_with_the_pool_and_supplied_items_do_not_count(folder):
    study = begin(folder, groups="place")
    study.ingest({"item-7": "dog", "item-8": "owl"})
    answer(study, 15)
    study.next(5)
    found = read_details(study).sampled
    rows = pq.read_table("pool.parquet")
    probs = np.column_stack([rows[f"prob_{name}"].to_numpy() for name in NAMES])
    ids, drawn = rows["id"].to_pylist(), {each.id for each in study.export() if each.round == 1}
    cuts = {
        "confidence": [
            f"{int(p * 10) / 10:.1f}-{int(p * 10) / 10 + 0.1:.1f}" for p in probs.max(1)
        ],
        "predicted class": [NAMES[code] for code in probs.argmax(axis=1)],
        "place": rows["place"].to_pylist(),
    }
    assert [*dict.fromkeys(each.what for each in found)] == [*cuts]
    for what, values in cuts.items():
        shares = {each.name: each for each in found if each.what == what}
        assert set(shares) == set(values)
        for name, share in shares.items():
            inside = [id for id, value in zip(ids, values, strict=True) if value == name]
            assert (share.n_pool, share.n_labeled) == (len(inside), len(drawn & {*inside}))
            assert share.share_of_pool == pytest.approx(len(inside) / 60)
            assert share.share_of_labels == pytest.approx(len(drawn & {*inside}) / 15)


def test_of_many_values_the_largest_are_shown_and_the_others_together(folder):
    places = [f"p{row % 20}" for row in range(59)] + ["p3"]
    write_columns({"id": [f"i{n}" for n in range(60)], "pred": [0.5, 1.5] * 30, "place": places})
    study = at.Study.create("pool.parquet", "study", seed=1, groups="place", task="regression")
    found = [each for each in read_details(study).sampled if each.what == "place"]
    assert len(found) == 13
    assert found[-1].name == "8 others"
    assert sum(each.n_pool for each in found) == 60
    assert any(each.name == "p3" and each.n_pool == 4 for each in found)
    assert {each.share_of_labels for each in found} == {0.0}


# --- annotators


def test_annotators_and_contested_items(folder):
    study = begin(folder)
    rows = [
        *(("item-1", "ann", "cat"), ("item-1", "bob", "dog"), ("item-1", "eve", "owl")),
        *(("item-2", "ann", "cat"), ("item-2", "bob", "cat"), ("item-2", "eve", "dog")),
        *(("item-3", "ann", "cat"), ("item-3", "bob", "cat"), ("item-4", "eve", "dog")),
    ]
    lines = [",".join(row) for row in rows]
    text = "\n".join(["id,annotator,label,status", *(f"{each}," for each in lines)])
    Path("labels.csv").write_text(f"{text}\nitem-5,bob,,declined\n", encoding="utf-8")
    study.ingest("labels.csv")
    found = read_details(study)
    shown = {each.name: each for each in found.raters}
    assert [*shown] == ["ann", "bob", "eve"]
    assert (shown["ann"].labeled, shown["ann"].declined, shown["ann"].compared) == (3, 0, 5)
    assert shown["ann"].agreeing == pytest.approx(2 / 5)
    assert (shown["bob"].labeled, shown["bob"].declined) == (3, 1)
    assert shown["eve"].agreeing == 0
    assert [each.id for each in found.contested] == ["item-1", "item-2"]
    assert found.n_contested == 2
    assert found.contested[1].label == "cat"
    assert found.contested[1].answers == (("ann", "cat"), ("bob", "cat"), ("eve", "dog"))
    assert found.alpha is not None


def test_answers_without_names_are_of_nobody(folder):
    found = read_details(answer(begin(folder), 5))
    assert (found.raters, found.contested, found.alpha) == ((), (), None)


# --- provenance


def test_the_provenance_names_versions_times_and_the_chain(folder):
    study = answer(begin(folder), 10, 10)
    study.ingest({"item-1": "cat"})
    found = read_details(study).provenance
    assert (found.version, found.versions) == (at.__version__, (at.__version__,))
    assert (found.pool, found.rows, found.seed) == ("pool.parquet", 60, 1)
    assert (found.rounds, found.draws) == (2, 20)
    assert found.answers == len({each.id for each in study.export()})
    assert found.chain == study.verify().head
    assert found.fingerprint == study.setup.fingerprint
    times = (found.created, found.first_round, found.last_round, found.first_answer)
    times += (found.last_answer,)
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", each) for each in times)
    assert list(times[:3]) == sorted(times[:3])
    assert found.settings == ()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"metric": ["recall[cat]", "f1[dog]"], "floor": 0.5, "groups": ["place", "predicted"]},
        {"interval": "anytime", "level": 0.9, "budget": 100, "annotators": "dawid-skene"},
        pytest.param(
            {"question": "identify", "groups": "predicted", "worst": 2}, marks=pytest.mark.slow
        ),
        {"question": "compare", "groups": "place", "compare": ["barn", "tree"], "rope": 0.1},
        pytest.param(
            {"question": "estimate", "groups": "predicted", "metric": "confusion"},
            marks=pytest.mark.slow,
        ),
        {"question": "surface", "attributes": ["place", "predicted"], "surface": "beta"},
        {"selection": "top", "acquisition": "entropy", "surrogate": "model"},
    ],
)
def test_the_commands_lead_to_the_same_choices(folder, capsys, settings):
    study = begin(folder, **settings)
    report = study.report(details=True)
    (line,) = report.details.provenance.commands
    with chdir(folder):
        again = eval(line.replace("Study", "at.Study", 1)[:-1] + ", folder='again')", {"at": at})
    assert again.choices == study.choices
    (command,) = translate_report(report).details.provenance.commands
    words = shlex.split(command)
    assert words[:3] == ["activetest", "init", "pool.parquet"]
    assert main([*words[1:], "--study", "other"]) == 0
    assert at.Study.open("other").choices == study.choices
    names = {name for name, _ in report.details.provenance.settings}
    assert names == set(settings)


def test_what_mistakes_cost_is_a_setting(folder):
    pets = ("cat", "dog", "owl")
    costs = {a: {b: float(a != b) * (1 + len(a + b) % 3) for b in pets} for a in pets}
    study = begin(folder, metric="cost", costs=costs)
    provenance = study.report(details=True).details.provenance
    assert dict(provenance.settings).keys() == {"metric", "costs"}
    with chdir(folder):
        line = provenance.commands[0].replace("Study", "at.Study", 1)
        again = eval(line[:-1] + ", folder='again')", {"at": at, "costs": costs})
    assert again.choices == study.choices and again.choices.costs


def test_rounds_and_files_are_counted_in_the_commands(folder):
    study = answer(begin(folder), 10, 10, 7)
    expected = [
        "Study.create('pool.parquet', seed=1)",
        "study.next(10)  # 2 times",
        "study.next(7)",
        "study.ingest(labels)  # 3 times",
    ]
    report = study.report(details=True)
    assert [*report.details.provenance.commands] == expected
    assert [*translate_report(report).details.provenance.commands] == [
        "activetest init pool.parquet --seed 1",
        "activetest next --n 10  # 2 times",
        "activetest next --n 7",
        "activetest ingest LABELS  # 3 times",
    ]


def test_secrets_of_addresses_are_masked(folder):
    begin(folder)
    stored = at.Study.open("study")._current()
    stored.pool["uri"] = "s3://key:topsecret@bucket/pool.parquet"
    stored.pool["train"] = "s3://key:topsecret@bucket/train.parquet"
    found = describe_provenance(stored, Log.empty())
    assert "topsecret" not in json.dumps(asdict(found))
    assert "s3://***@bucket/pool.parquet" in found.commands[0]


def test_a_log_that_was_imported_says_so(folder):
    study = answer(begin(folder), 10, 10)
    again = at.Study.from_draws("pool.parquet", study.export(), "again", seed=1)
    answer(again, 5)
    found = read_details(again)
    assert found.provenance.versions == ("an imported log", at.__version__)
    assert found.provenance.commands == (
        "Study.from_draws('pool.parquet', draws, seed=1)",
        "study.next(5)",
        "study.ingest(labels)",
    )
    assert [each.round for each in found.history] == [1, 2, 3]


# --- the whole


def test_the_log_of_draws_is_what_export_writes(folder):
    study = answer(begin(folder), 8)
    found = read_details(study)
    assert found.draws_csv == study.export().to_csv()
    assert len(list(csv.DictReader(io.StringIO(found.draws_csv)))) == 8


def test_details_are_there_only_where_they_are_requested_and_change_no_number(folder):
    study = answer(begin(folder, groups="place"), 20)
    plain, full = study.report(), study.report(details=True)
    assert plain.details is None
    assert json.loads(plain.to_json())["details"] is None
    document = json.loads(full.to_json())
    assert list(document["details"]) == [each.name for each in fields(ReportDetails)][:-1]
    assert document["details"]["history"][-1]["estimate"] == document["estimates"][0]["estimate"]
    assert replace(full, details=None) == plain
    with pytest.raises(ChoiceError, match="details"):
        study.report(details="yes")


def test_a_study_without_labels_has_what_exists(folder):
    found = read_details(begin(folder))
    assert (found.history, found.confusion, found.reliability) == ((), None, None)
    assert (found.worst_items, found.loss, found.n_contested) == ((), None, 0)
    assert found.provenance.first_round is None
    assert found.provenance.chain
    assert found.sampled


@pytest.mark.parametrize(
    "settings",
    [
        {"question": "identify", "groups": "place"},
        {"question": "compare", "groups": "place", "compare": ["barn", "tree"]},
        {"question": "surface", "attributes": ["place", "predicted"], "surface": "beta"},
        pytest.param({"weight": "x2", "metric": "ece"}, marks=pytest.mark.slow),
        pytest.param({"surrogate": "linear"}, marks=pytest.mark.slow),
    ],
)
def test_every_kind_of_study_has_details(folder, settings):
    if "weight" in settings:
        write_pool(folder / "plain.parquet", 60)
        table = pq.read_table("plain.parquet")
        place = table.column_names.index("x2")
        table = table.set_column(place, "x2", pa.array(np.linspace(0.5, 2, 60)))
        pq.write_table(table, "pool.parquet")
        study = at.Study.create("pool.parquet", "study", seed=1, **settings)
    else:
        study = begin(folder, **settings)
    found = read_details(answer(study, 15, 15))
    assert [each.round for each in found.history] == [1, 2]
    assert found.confusion.cells
    assert found.reliability.points
    assert found.worst_items


def test_long_texts_of_an_item_share_what_short_ones_leave():
    shortened = _shorten_parts(
        ["question: " + "q" * 20, "one: " + "a" * 400, "two: " + "b" * 400], 300
    )
    first, second, third = shortened.split("\n")
    assert len(shortened) == 300 and first == "question: " + "q" * 20
    assert second.startswith("one: aaa") and third.startswith("two: bbb")
    assert len(second) == len(third) == 134 and third.endswith("\u2026")
    assert _shorten_parts(["a", "b"], 300) == "a\nb"
