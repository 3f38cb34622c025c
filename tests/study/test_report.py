"""Contents of a report, and what it refuses to say."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest import catalog
from activetest.errors import ChoiceError, PoolError, UnknownMethod
from activetest.nouns.report import Weight
from activetest.render import junit
from activetest.render.notebook import html
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from tests.makers import init

CLASSES = ("cat", "dog", "owl")


@pytest.fixture
def buy(study, label_file):
    """buy(count, answer) draws, labels by answer(id) and ingests; returns the ids."""

    def buy(count, answer=lambda item: CLASSES[int(item.split("-")[1]) % 3]):
        batch = next_batch(study, count)
        ids = [row["id"] for row in batch.rows]
        ingest(study, label_file(*(f"{item},{answer(item)}" for item in ids)))
        return ids

    return buy


def estimate_row(shown, metric="error", estimator="doubly-robust", group=None):
    (found,) = (
        each
        for each in shown.estimates
        if (each.metric, each.estimator, each.group) == (metric, estimator, group)
    )
    return found


def test_without_labels_nothing_is_estimated_and_the_reason_is_given(study):
    shown = report(study)
    assert all(each.estimate is None and each.lower is None for each in shown.estimates)
    assert estimate_row(shown).reason == "label at least 2 of the drawn items"
    assert (
        estimate_row(shown, estimator="ase").reason == "the surrogate's own view was not computed"
    )


def test_what_the_surrogate_says_before_any_label_is_shown_to_those_who_ask_for_it(study, buy):
    shown = report(study, estimators=("ase",))
    assert 0 < estimate_row(shown, estimator="ase").estimate < 1
    (warning,) = (note for note in shown.notes if "No label has checked" in note.text)
    assert warning.weight == Weight.INVALID
    # Once something is drawn, tables show it to everybody: so does the warning.
    next_batch(study, 2)
    drawn = report(study)
    assert estimate_row(drawn, estimator="ase").estimate is not None
    assert warning in drawn.notes
    buy(2)
    notes = report(study, estimators=("ase",)).notes
    assert not any("No label has checked" in note.text for note in notes)


# Choices of studies in whose reports some number rests on random draws, and what to ask for.
WITH_RANDOM_NUMBERS = (
    ({}, {}),
    ({"surrogate": "forest", "groups": ("place",)}, {"require": ("error@place=barn<=0.5",)}),
    ({"surrogate": "linear", "augment": "none"}, {"estimators": ("alt-mas",)}),
    ({"metric": "auroc[cat]"}, {"details": True}),
    ({"metric": "recall[cat]"}, {"metrics": ("auroc[cat]", "recall[cat]")}),
    ({"question": "identify", "groups": ("place",)}, {"plot": "groups.svg"}),
    ({"question": "surface", "attributes": ("place",), "surface": "beta"}, {"surface": True}),
    ({"budget": 30, "looks": 2}, {"require": ("error<=0.5",)}),
)


@pytest.mark.parametrize(("choices", "wanted"), WITH_RANDOM_NUMBERS)
def test_rounds_that_wait_for_answers_change_no_number(begin_study, label_draws, choices, wanted):
    """Gates are among them: who asks for more items must not get another verdict for it."""

    def read(study):
        shown = report(study, **({"interval": "fixed"} | wanted))
        page = json.loads(shown.to_json())
        # The number of draws stands in the counts and in the list of rounds.
        page.pop("counts")
        return {name: page[name] for name in page if name != "details"}, (
            shown.details and shown.details.history
        )

    study = begin_study(**choices)
    for _ in range(2):
        label_draws(study, 9)
    before = read(study)
    next_batch(study, 5)
    assert read(study) == before
    next_batch(study, 5, new=True)
    assert read(StoredStudy.open()) == before
    assert report(study).counts.pending == 10


def test_a_surrogate_that_has_learned_nothing_says_nothing(folder, write_pool):
    write_pool(folder / "pool.parquet", 60)
    init("pool.parquet", seed=1, surrogate="forest", augment="none")
    shown = report(StoredStudy.open(), estimators=("ase",))
    assert estimate_row(shown, estimator="ase").reason == "the surrogate has learned nothing yet"


def test_a_report_changes_nothing(study, buy):
    buy(10)
    before = study.ledger.record()
    report(study)
    assert study.ledger.record() == before


def test_the_headline_is_doubly_robust_and_the_own_view_stands_beside_it(study, buy):
    buy(10)
    shown = report(study)
    assert [each.estimator for each in shown.estimates[:2]] == ["doubly-robust", "ase"]
    assert [each.headline for each in shown.estimates if each.headline] == [True]
    for each in shown.estimates:
        if each.group is None:
            assert each.lower <= each.estimate <= each.upper
            assert each.n_labeled == 10
            assert each.n_pool == 40


def test_accuracy_is_exactly_one_minus_error(study, buy):
    buy(10)
    shown = report(study, metrics=("error", "accuracy"))
    error, accuracy = estimate_row(shown), estimate_row(shown, "accuracy")
    assert accuracy.estimate == pytest.approx(1 - error.estimate)
    assert accuracy.lower == pytest.approx(1 - error.upper)


def test_when_everything_is_labelled_the_answer_is_exact(study, buy):
    buy(40)
    shown = report(study)
    found = estimate_row(shown)
    assert found.method == "exact"
    assert found.lower == found.estimate == found.upper
    assert sum(each.n_pool for each in shown.estimates if each.group) == 40
    grouped = [each for each in shown.estimates if each.group]
    weighted = sum(each.estimate * each.n_pool for each in grouped) / 40
    assert weighted == pytest.approx(found.estimate)


def test_a_small_group_gets_no_interval(study, buy):
    buy(10)
    grouped = [each for each in report(study).estimates if each.group]
    assert {tuple(each.group) for each in grouped} == {("place",)}
    assert all(
        each.lower is None and each.reason.startswith("too few labels (") for each in grouped
    )


def test_a_note_says_that_labels_of_an_unfinished_round_wait(study, buy, label_file):
    buy(10)
    first = next_batch(study, 5).rows[0]["id"]
    ingest(study, label_file(f"{first},cat"))
    shown = report(study)
    assert estimate_row(shown).n_labeled == 10
    assert estimate_row(shown, estimator="ase").n_labeled == 11
    (waits,) = (note.text for note in shown.notes if "do not use yet" in note.text)
    assert waits.startswith(
        "Labels that the estimates do not use yet: 1, because 4 items of round 2 have no label"
    )


def test_the_answered_beginning_of_the_first_round_is_used_with_a_warning(study, label_file):
    ids = [row["id"] for row in next_batch(study, 10).rows]
    ingest(study, label_file(*(f"{item},cat" for item in ids[:6])))
    shown = report(study)
    assert estimate_row(shown).n_labeled == 6
    text = (
        "4 of the 10 items of round 1 have no label yet: the interval holds only if the easy ones "
        "were not labelled first."
    )
    assert text in [note.text for note in shown.notes]


def test_labels_behind_unfinished_rounds_are_no_estimate_and_the_report_says_why(study, label_file):
    batches = [next_batch(study, count, new=True).rows for count in (10, 12, 5)]
    ingest(study, label_file(*(f"{row['id']},cat" for row in batches[2])))
    shown = report(study, require=("error<=0.5",), interval="fixed")
    why = "22 items of rounds 1 and 2 have no label, and rounds count in order"
    assert estimate_row(shown).estimate is None
    assert estimate_row(shown).reason == shown.gates[0].reason == why
    assert any(f": 5, because {why}." in note.text for note in shown.notes)
    ingest(study, label_file(*(f"{row['id']},cat" for row in batches[0]), name="first.csv"))
    shown = report(study)
    assert estimate_row(shown).n_labeled == 10
    why = "12 items of round 2 have no label, and rounds count in order"
    assert any(f": 5, because {why}." in note.text for note in shown.notes)


def test_an_answer_that_comes_late_gives_the_numbers_of_one_in_time(folder, write_pool, label_file):
    """Of the same draws: also where a missing answer was reported in between."""
    found = []
    for name, late in (("early", 0), ("late", 3)):
        write_pool(folder / f"{name}.parquet", 90, seed=5)
        init(f"{name}.parquet", folder / name, seed=1)
        study = StoredStudy.open(folder / name)
        lines = [f"{row['id']},cat" for row in next_batch(study, 30).rows]
        ingest(study, label_file(*lines[late:], name=f"{name}.csv"))
        if late:
            before = estimate_row(report(study))
            assert before.n_labeled == 27
            ingest(study, label_file(*lines[:late], name="rest.csv"))
        found.append(report(study))
    assert found[0].estimates == found[1].estimates
    now = estimate_row(found[1])
    assert before.lower < now.lower and now.upper < before.upper


def test_declined_items_leave_the_target_and_are_counted(study, label_file):
    ids = [row["id"] for row in next_batch(study, 35).rows]
    ids += [item for item in (f"item-{row}" for row in range(40)) if item not in ids]
    lines = [f"{item},cat," for item in ids[:30]] + [f"{item},,declined" for item in ids[30:]]
    ingest(study, label_file(*lines, header="id,label,status"))
    shown = report(study)
    cache = study.cache()
    wrong = cache.rows(0, 40).outputs.pred[cache.find(ids[:30])] != cache.classes.index("cat")
    assert estimate_row(shown).estimate == pytest.approx(wrong.mean())
    assert any(note.text.startswith("Items declined: 10.") for note in shown.notes)


def test_supplied_labels_are_noted_and_used(study, buy, label_file):
    drawn = buy(10)
    stranger = next(f"item-{row}" for row in range(40) if f"item-{row}" not in drawn)
    ingest(study, label_file(f"{stranger},cat"))
    shown = report(study)
    assert any(
        note.text.startswith("Labels that you supplied for items that were not drawn: 1.")
        for note in shown.notes
    )
    assert estimate_row(shown, estimator="ase").n_labeled == 11


def test_a_surrogate_that_is_wrong_is_flagged(folder, write_pool, label_file):
    write_pool(folder / "pool.parquet", 400, seed=4)
    init("pool.parquet", seed=1, surrogate="model")
    study = StoredStudy.open()
    ids = [row["id"] for row in next_batch(study, 200).rows]
    cache = study.cache()
    called = cache.rows(0, 400).outputs.pred[cache.find(ids)]
    ingest(
        study,
        label_file(
            *(f"{item},{CLASSES[(code + 1) % 3]}" for item, code in zip(ids, called, strict=True))
        ),
    )
    shown = report(study)
    assert estimate_row(shown).estimate > 0.9
    assert estimate_row(shown, estimator="ase").estimate < 0.7
    assert any("lies outside the interval for error" in note.text for note in shown.notes)


def test_the_plain_mean_is_refused_for_active_draws_and_given_for_uniform_ones(study, buy):
    buy(10)
    refused = estimate_row(report(study, estimators=("iid",)), estimator="iid")
    assert refused.estimate is None
    assert refused.reason == "no plain mean: the draws were not uniform"


def test_uniform_draws_have_a_plain_mean(folder, write_pool, label_file):
    write_pool(folder / "pool.parquet", 40)
    init("pool.parquet", seed=1, acquisition="uniform")
    study = StoredStudy.open()
    ids = [row["id"] for row in next_batch(study, 10).rows]
    ingest(study, label_file(*(f"{item},cat" for item in ids)))
    plain = estimate_row(report(study, estimators=("iid",)), estimator="iid")
    cache = study.cache()
    wrong = cache.rows(0, 40).outputs.pred[cache.find(ids)] != 0
    assert plain.estimate == pytest.approx(wrong.mean())


def test_an_unknown_estimator_is_an_error(study):
    with pytest.raises(UnknownMethod, match="no estimator is called 'magic'"):
        report(study, estimators=("magic",))


def test_taking_labels_back_takes_the_estimate_back(study, buy):
    from activetest.study.ingest import undo

    buy(10)
    before = estimate_row(report(study)).estimate
    buy(10)
    undo(study)
    assert estimate_row(report(study)).estimate == before


def test_regression_reports_its_own_metrics(folder, label_file):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    pq.write_table(pa.table({"id": np.arange(300), "pred": 2 * x, "x": x}), "pool.parquet")
    init("pool.parquet", seed=1, level=0.999)
    study = StoredStudy.open()
    truth = 2 * x + 0.5 + rng.normal(size=300) * 0.3
    for _ in range(4):
        ids = [row["id"] for row in next_batch(study, 15).rows]
        ingest(study, label_file(*(f"{item},{truth[int(item)]}" for item in ids)))
    shown = report(study, metrics=("rmse", "mse", "mae", "bias"))
    ids = [row["id"] for row in next_batch(study, 240).rows]
    ingest(study, label_file(*(f"{item},{truth[int(item)]}" for item in ids)))
    known = report(study, metrics=("rmse", "mse", "mae", "bias"))
    for metric, value in (
        ("rmse", np.sqrt(np.mean((2 * x - truth) ** 2))),
        ("mse", np.mean((2 * x - truth) ** 2)),
        ("mae", np.mean(np.abs(2 * x - truth))),
        ("bias", np.mean(2 * x - truth)),
    ):
        found = estimate_row(shown, metric)
        assert found.lower < value < found.upper
        assert found.upper - found.lower < value if metric != "bias" else 0.35
        # Of 300 labels the values are exact.
        assert estimate_row(known, metric).estimate == pytest.approx(value)
    # A residual surrogate that has learned the offset predicts what was never labelled.
    error = 0.3 / 60**0.5
    assert estimate_row(shown, "bias", "ase").estimate == pytest.approx(
        np.mean(2 * x - truth), abs=2.5 * error
    )


def test_a_group_column_may_have_an_equals_sign_in_its_name(folder, label_file):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {"id": range(20), "pred": ["yes", "no"] * 10, "a=b": ["x", "y=z"] * 10}
    pq.write_table(pa.table({name: list(values) for name, values in rows.items()}), "pool.parquet")
    init("pool.parquet", groups=("a=b",), seed=1)
    study = StoredStudy.open()
    ids = [row["id"] for row in next_batch(study, 20).rows]
    ingest(study, label_file(*(f"{item},yes" for item in ids)))
    rows = [each for each in report(study).estimates if each.metric == "error"]
    shown = [(each.group, each.estimate) for each in rows if each.group]
    assert shown == [({"a=b": "x"}, 0.0), ({"a=b": "y=z"}, 1.0)]


def test_a_constant_loss_is_worth_no_number_of_random_labels(folder, label_file):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": list(range(60)), "pred": [1.0] * 60}), "pool.parquet")
    init("pool.parquet", seed=1)
    study = StoredStudy.open()
    ids = [row["id"] for row in next_batch(study, 30).rows]
    ingest(study, label_file(*(f"{item},1.1" for item in ids)))
    found = estimate_row(report(study), "rmse")
    assert found.estimate == pytest.approx(0.1, rel=1e-3)
    assert found.n_eff is None
    assert found.quantity.saved is None


def test_replaced_labels_are_noted_where_anytime_valid_intervals_depend_on_them(
    study, buy, label_file
):
    ids = buy(20)
    ingest(study, label_file(f"{ids[0]},owl", name="again.csv"), replace=True)
    ingest(study, label_file(f"{ids[0]},cat", name="once more.csv"), replace=True)

    def replaced_notes(**options) -> list[str]:
        notes = report(study, require=("error<=0.9",), **options).notes
        return [note for note in notes if note.text.startswith("Labels replaced")]

    assert len(replaced_notes()) == 1
    assert replaced_notes(interval="fixed") == []


def test_a_bound_on_a_loss_allows_anytime_valid_gates(study, buy):
    buy(20)
    with pytest.raises(ChoiceError, match="no bound on what one item can cost"):
        report(study, require=("log-loss<=5",))
    shown = report(study, metrics=("log-loss",), require=("log-loss<=7",), bound=8.0)
    (gate,) = shown.gates
    assert gate.method == "betting"
    assert 0 <= gate.lower <= gate.estimate <= gate.upper <= 8
    assert any("capped at 8, as requested" in note.text for note in shown.notes)
    # Larger losses count as the bound.
    assert (
        estimate_row(report(study, metrics=("log-loss",), bound=0.01), "log-loss").estimate <= 0.01
    )
    for wrong in (0.0, float("inf")):
        with pytest.raises(ChoiceError, match="`bound`"):
            report(study, bound=wrong)


def test_the_floor_of_a_report_is_that_of_the_rounds_to_come(begin_study, label_draws):
    study = begin_study()
    label_draws(study, 5)
    study.update(replace(study.choices, floor=0.6))
    assert report(study).floor == 0.6
    study.update(replace(study.choices, floor=0.25, floor_rule="clip"))
    assert report(study).floor == 0.2
    study.update(replace(study.choices, floor_rule="mix"))
    study.update(replace(study.choices, floor=0.2, interval="anytime"))
    assert report(study).floor == 0.2
    label_draws(study, 5)
    own = study.log(study.cache()).history[-1].choices["floor"]
    assert own >= 0.5
    # Each round chooses its own: the last one says what they are like.
    assert report(study).floor == own
    study.update(replace(study.choices, interval="fixed"))
    assert report(study).floor == 0.2


def test_labels_used_are_the_same_number_everywhere_and_count_every_annotator(study, label_file):
    """10 drawn, 2 of them answered twice, one corrected, one declined, and 4 supplied."""
    ids = [row["id"] for row in next_batch(study, 10).rows]
    header = "id,label,annotator"
    ingest(study, label_file(*(f"{id},cat,ann" for id in ids[1:]), header=header))
    ingest(
        study,
        label_file(f"{ids[0]},,declined,ann", header="id,label,status,annotator"),
    )
    ingest(study, label_file(f"{ids[1]},dog,bob", f"{ids[2]},cat,bob", header=header))
    ingest(study, label_file(f"{ids[1]},owl,bob", header=header), replace=True)
    others = [f"item-{n}" for n in range(40) if f"item-{n}" not in ids][:4]
    ingest(study, label_file(*(f"{id},dog,ann" for id in others), header=header))
    shown = report(study, require=("error<=0.9",), interval="fixed")
    whole = [row for row in shown.estimates if row.group is None]
    assert {row.n_answers for row in whole} == {16}
    assert [gate.n_answers for gate in shown.gates] == [16]
    in_groups = [row.n_answers for row in shown.estimates if row.group and row.metric == "error"]
    assert sum(in_groups) == 16
    text = shown.to_markdown()
    assert "14 (4 supplied, 1 declined, 16 answers) of 40 items" in text
    whole_json = json.loads(shown.to_json())
    assert whole_json["estimates"][0]["n_answers"] == whole_json["gates"][0]["n_answers"] == 16
    assert "labels used: 14" in junit.render(shown)


def test_the_own_view_among_anytime_valid_intervals_is_marked_in_every_format(study, buy):
    buy(20)
    shown = report(study, interval="anytime", estimators=("doubly-robust", "ase"))
    kinds = [each.quantity.kind for each in shown.estimates[:2]]
    assert kinds == ["anytime", "posterior"]
    for name, marks in (("text", 1), ("markdown", 1)):
        written = catalog.load("render", name).render(shown, verbose=True)
        assert written.count("(one look)") == marks, name
        assert "ase hold for one look at best" in " ".join(written.split())
    assert "(one look)" in html.render(shown)
    document = json.loads(catalog.load("render", "json").render(shown))
    assert [row["kind"] for row in document["estimates"][:2]] == kinds
    assert "(one look)" not in catalog.load("render", "text").render(report(study))


def test_a_report_on_the_population_is_wider_and_never_exact(study, buy):
    buy(40)
    here, there = report(study), report(study, population=True)
    assert (here.population, there.population, there.cluster) == (False, True, None)
    own, about = estimate_row(here), estimate_row(there)
    assert own.method == "exact"
    assert about.method == "korn-graubard"
    assert about.estimate == own.estimate
    assert about.lower < own.estimate < about.upper
    assert about.n_labeled == own.n_labeled == 40
    assert {each.estimator for each in there.estimates} == {"doubly-robust"}
    clustered = report(study, population=True, cluster="place")
    assert clustered.cluster == "place"
    wider = estimate_row(clustered)
    assert wider.upper - wider.lower >= about.upper - about.lower


def test_gates_on_the_population_are_decided_by_its_fixed_interval(study, buy):
    buy(40)
    share = estimate_row(report(study)).estimate
    bar = (f"error<={share + 0.02}",)
    (gate,) = report(study, require=bar, interval="fixed").gates
    assert gate.verdict == "pass"
    (gate,) = report(study, require=bar, population=True).gates
    assert (gate.verdict, gate.method) == ("undecided", "korn-graubard")
    assert "population" in gate.reason


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"interval": "anytime"}, "no anytime interval"),
        ({"interval": "posterior"}, "no posterior interval"),
        ({"half_width": 0.1}, "`half_width` plans labels"),
        ({"cluster": "plice"}, "no column 'plice'"),
        ({"cluster": "place", "population": False}, "is a sample of"),
    ],
)
def test_what_is_about_the_pool_alone_is_refused_for_the_population(study, buy, choices, problem):
    buy(10)
    with pytest.raises((ChoiceError, PoolError), match=problem) as caught:
        report(study, **({"population": True} | choices))
    assert caught.value.hint


def test_a_study_of_anytime_intervals_has_none_for_the_population(study, buy):
    buy(10)
    study.update(replace(study.choices, interval="anytime"))
    with pytest.raises(ChoiceError, match="no anytime interval"):
        report(study, population=True)
    assert report(study, population=True, interval="fixed").population


def test_labels_that_wait_for_the_headline_may_count_for_other_metrics(study, label_file):
    ids = [row["id"] for row in next_batch(study, 30).rows]
    ingest(study, label_file(*(f"{item},cat" for item in ids)))
    later = [row["id"] for row in next_batch(study, 8).rows]
    ingest(study, label_file(*(f"{item},cat" for item in later[1:])))
    found = report(study, metrics=["log-loss", "error"])
    (note,) = (each.text for each in found.notes if "do not use yet: 7" in each.text)
    assert "For error they count already." in note


def test_a_report_of_two_classes_has_their_usual_metrics_and_an_earlier_study_its_own(
    tmp_path, write_pool, label_file
):
    table = pq.read_table(write_pool(tmp_path / "wide.parquet", 60))
    columns = {"id": table["id"], "score": np.linspace(0.02, 0.98, 60)}
    pq.write_table(pa.table(columns), tmp_path / "two.parquet")
    init(str(tmp_path / "two.parquet"), tmp_path / "study", seed=1)
    study = StoredStudy.open(tmp_path / "study")
    ids = [row["id"] for row in next_batch(study, 30).rows]
    ingest(study, label_file(*(f"{item},{int(item.split('-')[1]) % 2}" for item in ids)))

    def list_shown(**options) -> list[str]:
        shown = report(StoredStudy.open(tmp_path / "study"), **options)
        return list(dict.fromkeys(row.title for row in shown.estimates))

    usual = ["error", "precision[1]", "recall[1]", "f1[1]", "rate[1]"]
    assert list_shown() == usual
    assert list_shown(interval="anytime") == ["error"]
    assert list_shown(metrics=["error"]) == ["error"]
    (raw,) = {row.from_outputs for row in report(study).estimates if row.metric == "rate"}
    assert raw == pytest.approx(0.5)
    assert {row.from_outputs for row in report(study).estimates if row.metric != "rate"} == {None}
    config = tmp_path / "study" / "study.toml"
    recorded = [line for line in config.read_text().splitlines() if line.startswith("metrics =")]
    earlier = 'metrics = ["error", "accuracy", "log-loss", "brier"]'
    config.write_text(config.read_text().replace(recorded[0], earlier))
    assert list_shown() == ["error"]
