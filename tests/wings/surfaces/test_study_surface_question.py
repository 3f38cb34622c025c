"""A study that asks about every combination of attributes: what the commands take, do and say."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cli.app import main
from activetest.errors import ChoiceError, PoolChanged
from activetest.nouns.choices import Choices
from activetest.nouns.log import ArmAllocation
from activetest.wings.groups.counts import count_groups
from activetest.wings.surfaces.fitting import collect_surface_data, fit_surface

ROWS = 80


@pytest.fixture
def columns(folder):
    """pool.parquet with 80 items, and its columns."""
    rng = np.random.default_rng(6)
    table = {
        "id": [f"item-{row}" for row in range(ROWS)],
        "score": rng.random(ROWS),
        "sex": rng.choice(["F", "M"], ROWS),
        "race": rng.choice(["A", "B", "C"], ROWS),
        "age": rng.permutation(ROWS) + 10,
        "traffic": rng.random(ROWS),
    }
    pq.write_table(pa.table(table), folder / "pool.parquet")
    return table


@pytest.fixture
def key(columns):
    """{id: label}"""
    rng = np.random.default_rng(7)
    right = rng.random(ROWS) < 0.8
    predicted = np.asarray(columns["score"]) >= 0.5
    labels = np.where(right, predicted, ~predicted).astype(int)
    return dict(zip(columns["id"], map(int, labels), strict=True))


@pytest.fixture
def begin(columns):
    """begin(**settings) is a study of the pool that explores sex and age in three bins."""

    def create(**settings) -> at.Study:
        usual = {"attributes": ["sex", "age[3]"], "question": "surface", "surface": "beta"}
        return at.Study.create("pool.parquet", "study", seed=1, **(usual | settings))

    return create


def label(study: at.Study, key: dict, count: int) -> list[str]:
    batch = study.next(count)
    study.ingest({id: key[id] for id in batch.ids})
    return batch.ids


# --- what init settles and says


def test_the_question_brings_its_metric_its_acquisition_and_its_floor(begin):
    made = begin(surface="stacked").choices
    assert (made.question, made.metric, made.acquisition) == (
        "surface",
        "accuracy",
        "surface-variance",
    )
    assert (made.floor, made.surface, made.min_support) == (0.1, "stacked", 5)
    assert made.attributes == made.groups == ("sex", "age")


def test_init_says_which_bins_and_combinations_there_are(begin):
    said = str(begin().setup)
    assert "attributes: sex, age; age in bins 10-36, 36-63, 63-89\n" in said
    assert "combinations of attributes: 6, of which 6 occur and 6 have at least 5 items\n" in said
    assert re.search(
        "^draws: surface-variance for accuracy, surrogate auto; question: estimate accuracy "
        "at every combination of sex and age; floor 0.1$",
        said,
        re.MULTILINE,
    )


def test_attributes_can_be_named_without_a_question_and_changed_later(begin, key):
    study = begin(question=None, groups=["race"])
    assert study.choices.question is None
    assert study.choices.groups == ("race", "sex", "age")
    label(study, key, 10)
    study.change(attributes=["race", "sex"], question="surface")
    assert study.choices.groups == ("race", "sex")
    assert study.choices.acquisition == "surface-variance"
    assert study.choices.metric == "error"
    label(study, key, 5)
    study.change(floor=0.5)
    assert study.choices.attributes == ("race", "sex")
    study.change(attributes=[], question="none")
    made = study.choices
    assert (made.attributes, made.groups, made.acquisition) == ((), (), "optimal")
    assert study.report().headline.estimate is not None


def test_an_empty_name_clears_attributes_and_groups_on_the_command_line(begin, key, capsys):
    study = begin()
    study.change(groups=["sex", "race"])
    label(study, key, 10)
    assert main(["init", "--study", "study", "--attributes", ""]) == 2
    assert "--question none" in capsys.readouterr().err
    assert main(["init", "--study", "study", "--attributes", "", "--question", "none"]) == 0
    now = at.Study.open("study")
    assert (now.choices.attributes, now.choices.groups) == ((), ("race",))
    assert main(["init", "--study", "study", "--group", ""]) == 0
    assert at.Study.open("study").choices.groups == ()
    assert now.status().counts.labeled == 10
    # Of several names an empty one is a mistake.
    assert main(["init", "--study", "study", "--attributes", "sex,"]) == 2


def test_bins_stay_until_attributes_are_named_again(begin, columns, key):
    study = begin(surrogate="agreement")
    label(study, key, 6)
    before = study.setup.schema.bins
    # The pool may be stored anew, with other values of what is neither id nor output.
    pq.write_table(pa.table({**columns, "age": np.asarray(columns["age"]) * 2}), "pool.parquet")
    study = at.Study.open("study")
    study.change(level=0.9)
    assert study.setup.schema.bins == before
    study.change(attributes=["sex", "age[3]"])
    assert study.setup.schema.bins != before


def test_questions_follow_each_other_with_the_acquisition_that_serves_them(begin, key):
    study = begin()
    study.change(question="identify")
    assert (study.choices.acquisition, study.choices.groups[0]) == ("thompson", "sex")
    label(study, key, 5)
    study.change(question="surface")
    assert study.choices.acquisition == "surface-variance"
    study.change(question="estimate", acquisition="uniform")
    assert study.choices.acquisition == "uniform"
    study.change(question="surface")
    # The user's choice stays where it serves.
    assert study.choices.acquisition == "uniform"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"attributes": None}, "about combinations of attributes, and there are none"),
        ({"metric": "brier"}, "mean of a statistic from 0 to 1"),
        ({"metric": "recall"}, "mean of a statistic from 0 to 1"),
        ({"acquisition": "thompson"}, "chooses between groups"),
        ({"question": "estimate", "acquisition": "surface-variance"}, "explores combinations"),
        (
            {"question": None, "acquisition": "surface-variance"},
            "chooses between combinations of attributes, and the study asks no question",
        ),
        ({"surface": "stackt"}, "no surface is called 'stackt'"),
        ({"surface": "beta[x=1]"}, "has no options"),
        ({"prior": "uniform"}, "has no effect on the question surface"),
        ({"compare": "F,M"}, "has no effect on the question surface"),
        ({"power": 2.0}, "no scores"),
        ({"weight": "traffic"}, "alike, and knows no `weight`"),
        ({"price": "traffic"}, "alike, and knows no `price`"),
        ({"min_support": 0}, "min_support is 0"),
    ],
)
def test_what_makes_no_sense_is_refused(begin, folder, settings, says):
    with pytest.raises(ChoiceError, match=says):
        begin(**settings)
    assert not (folder / "study").exists()


def test_a_regression_pool_has_no_surface(folder, columns):
    values = {**columns, "pred": columns.pop("score")}
    del values["score"]
    pq.write_table(pa.table(values), "pool.parquet")
    with pytest.raises(ChoiceError, match="this pool predicts values"):
        at.Study.create(
            "pool.parquet", "study", attributes=["sex"], question="surface", task="regression"
        )


# --- the loop


def test_rounds_are_durable_and_the_same_for_the_same_seed(begin, key, folder):
    study = begin()
    first = label(study, key, 7)
    pending = study.next(6).ids
    assert at.Study.open("study").next(6).ids == pending
    other = at.Study.create(
        "pool.parquet", "other", seed=1, attributes=["sex", "age[3]"], question="surface",
        surface="beta",
    )  # fmt: skip
    assert label(other, key, 7) == first
    assert other.next(6).ids == pending
    assert study.verify().passed
    log = study.export()
    assert log.summary().startswith("13 draws, 7 answers")


def test_a_study_opened_again_knows_its_arms_and_weights(begin, key):
    study = begin()
    label(study, key, 12)
    label(study, key, 12)
    stored = at.Study.open("study")._current()
    cache = stored.cache()
    log = stored.log(cache)
    assert all(isinstance(each.allocation, ArmAllocation) for each in log.history)
    data = collect_surface_data(log, cache, stored.choices)
    assert data.weights == pytest.approx(1)
    assert data.counts.sum() == 24
    surface, _ = fit_surface(log, cache, stored.choices, seed=stored.seed)
    assert surface.mean.shape == (6,)
    # Groups that are unions of arms are not uniform inside, and the arms themselves are.
    assert count_groups(log, cache, stored.choices, group="sex", kind="accuracy").weighted.any()


def test_labels_taken_back_leave_the_surface_as_it_was(begin, key):
    study = begin()
    label(study, key, 8)
    before = study.next(4).ids
    study.ingest({id: key[id] for id in before})
    study.undo()
    stored = study._current()
    cache = stored.cache()
    assert len(collect_surface_data(stored.log(cache), cache, stored.choices).items) == 8
    assert study.next(4).ids == before


def test_labelled_items_can_be_asked_about_again(begin, key):
    study = begin(annotators="dawid-skene")
    ids = study.next(8).ids
    study.ingest([{"id": id, "label": key[id], "annotator": "ann"} for id in ids])
    assert set(study.next(again=3).ids) <= set(ids)


def test_supplied_labels_and_declined_items(begin, key, columns):
    study = begin()
    drawn = label(study, key, 4)
    declined, supplied = [id for id in key if id not in drawn][:2]
    study.ingest(
        [
            {"id": declined, "label": "", "status": "declined"},
            {"id": supplied, "label": key[supplied], "status": "labelled"},
        ]
    )
    stored = study._current()
    cache = stored.cache()
    data = collect_surface_data(stored.log(cache), cache, stored.choices)
    assert (data.supplied, len(data.items)) == (1, 5)
    assert cache.ids(np.flatnonzero(data.declined)) == [declined]
    assert declined not in study.next(70).ids


def test_the_top_rows_of_arms_have_no_probabilities(begin, key):
    study = begin(selection="top")
    assert study.next(6).deterministic
    label(study, key, 6)
    assert study.status().counts.deterministic == 6
    assert "picks: surface-variance" in str(study.setup)


def test_status_says_what_next_explores(begin):
    assert begin().status().sentence == (
        "next draws from 80 items to estimate accuracy at every combination of sex and age: "
        "surface-variance, surrogate auto"
    )


def test_anytime_intervals_follow_from_what_rounds_keep(begin, key):
    study = begin(interval="anytime")
    for _ in range(3):
        label(study, key, 12)
    row = study.report().headline
    truth = np.mean([key[id] == (score >= 0.5) for id, score in _scores()])
    assert row.method == "betting"
    assert row.lower <= truth <= row.upper


def _scores():
    table = pq.read_table("pool.parquet").to_pydict()
    return zip(table["id"], table["score"], strict=True)


def test_the_whole_pool_labelled_is_exact(begin, key):
    study = begin()
    while study.next(30).ids:
        label(study, key, 30)
    row = study.report().headline
    truth = np.mean([key[id] == (score >= 0.5) for id, score in _scores()])
    assert (row.method, row.estimate) == ("exact", pytest.approx(truth))


def test_the_loop_on_the_command_line(folder, columns, key, capsys, label_file):
    words = ("--attributes", "sex,race,age[2]", "--question", "surface", "--min-support", "3")
    assert main(["init", "pool.parquet", *words, "--seed", "1"]) == 0
    for number in range(2):
        assert main(["next", "--n", "12", "--output", f"{number}.csv"]) == 0
        ids = [line.split(",")[0] for line in (folder / f"{number}.csv").read_text().split()[1:]]
        assert len(ids) == 12
        assert main(["ingest", str(label_file(*(f"{id},{key[id]}" for id in ids)))]) == 0
    capsys.readouterr()
    assert main(["report"]) == 0
    assert "The model is right on" in capsys.readouterr().out
    assert main(["status"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "every combination of sex, race and age: surface-variance" in said
    assert main(["init", "--attributes", "sex[3]"]) == 2
    assert "holds no numbers" in capsys.readouterr().err
    assert main(["init", "--surface", "betta"]) == 2


def test_a_pool_that_lost_an_attribute_is_not_the_studys(begin, columns, key):
    study = begin()
    label(study, key, 3)
    del columns["sex"]
    pq.write_table(pa.table(columns), "pool.parquet")
    with pytest.raises(PoolChanged, match="no column 'sex'"):
        study.next(3)
    assert Choices.surface == "stacked"
