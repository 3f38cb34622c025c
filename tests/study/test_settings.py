"""Names of ids and classes, and settings that stay after the first draw."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests.makers import init

CONFIG = Path(".activetest", "study.toml")


@pytest.fixture
def scored(folder) -> str:
    """A pool of 30 scores without ids."""
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"score": rng.random(30), "x": rng.random(30)}), "pool.parquet")
    return "pool.parquet"


def test_a_study_says_what_its_ids_are(scored):
    setup = init(scored, seed=1)
    assert "the ids are row-0, row-1 ..." in str(setup)
    assert next_batch(StoredStudy.open(), 30).ids[0].startswith("row-")


def test_predictions_are_stripped(folder):
    names = [" cat", "cat", "dog\t", "\u2003cow "]
    pq.write_table(pa.table({"id": list("abcd"), "pred": names}), "pool.parquet")
    setup = init("pool.parquet", seed=1, positive=" cat ")
    assert setup.schema.classes == ("cat", "cow", "dog") and setup.schema.positive == "cat"
    assert StoredStudy.open().cache().rows(0, 4).outputs.pred.tolist() == [0, 0, 2, 1]


@pytest.mark.parametrize(
    ("columns", "fingerprint"),
    [
        ({"id": list("abcd"), "pred": list("abab")}, "08795fb7d13a34d9ebed59afa17afcb2"),
        ({"score": [0.1, 0.2, 0.3]}, "bfb5ea9f771e57c18752f775f59a1ef4"),
    ],
)
def test_fingerprints_follow_the_content_and_nothing_else(folder, columns, fingerprint):
    pq.write_table(pa.table(columns), "pool.parquet")
    assert init("pool.parquet", seed=1).fingerprint == fingerprint


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"budget": 50}, "budget"),
        ({"looks": 4}, "looks"),
        ({"spending": "pocock"}, "spending"),
        ({"last_look": 30}, "last_look"),
        ({"level": 0.9}, "level"),
        ({"floor": 0.5}, "floor"),
        ({"interval": "anytime"}, "interval"),
    ],
)
def test_what_looks_were_planned_with_stays_after_the_first_draw(begin_study, changes, name):
    begin_study(budget=40)
    next_batch(StoredStudy.open(), 5)
    stored = CONFIG.read_text()
    with pytest.raises(ChoiceError, match=f"`{name}` stays after the first draw") as raised:
        init(None, **changes)
    assert "start another study" in raised.value.hint
    assert CONFIG.read_text() == stored
    # Settings that they do not rest on may change.
    init(None, metric=("accuracy",), surrogate="model")


def test_a_first_round_that_drew_uniformly_by_itself_does_not_hold_the_floor(begin_study):
    # No member of the surrogate differs before there is a label.
    begin_study(budget=40, surrogate="linear", augment="none", acquisition="bald")
    next_batch(StoredStudy.open(), 5)
    study = StoredStudy.open()
    assert study.ledger.first_choices().floor == 1.0
    assert study.choices.floor < 1.0
    with pytest.raises(ChoiceError, match="`level` stays after the first draw"):
        init(None, level=0.9)


def test_a_budget_that_comes_after_the_first_draw_plans_no_looks(begin_study):
    study = begin_study()
    next_batch(study, 5)
    late = "gates stay anytime-valid: looks are planned before the first draw"
    assert late in init(None, budget=40).notices
    assert late not in init(None, metric="accuracy").notices
    assert StoredStudy.open().choices.interval == "fixed"
    with pytest.raises(ChoiceError, match="`interval` stays after the first draw"):
        init(None, interval="sequential")
    with pytest.raises(ChoiceError, match="`looks` is about sequential gates, and their looks are"):
        init(None, looks=3)
    with pytest.raises(ChoiceError, match="`last_look` is about .* this study began without any"):
        init(None, last_look=30)


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        ("looks = 5", "looks = 2", "restore the line looks = 5"),
        ("budget = 40", "budget = 80", "restore the line budget = 40"),
        ("budget = 40", "last_look = 40", "remove the line"),
        ('spending = "cubic"', 'spending = "pocock"', 'restore the line spending = "cubic"'),
        ("level = 0.95", "level = 0.9", "restore the line level = 0.95"),
        ("floor = 0.35", "floor = 0.5", "restore the line floor = 0.35"),
        (
            'interval = "sequential"',
            'interval = "anytime"',
            'restore the line interval = "sequential"',
        ),
    ],
)
def test_an_edit_of_what_looks_were_planned_with_is_refused(begin_study, before, after, hint):
    study = begin_study(budget=40)
    written = CONFIG.read_text()
    edited = written.replace(before, after)
    assert edited != written
    next_batch(study, 5)
    CONFIG.write_text(edited)
    with pytest.raises(ChoiceError, match="stays after the first draw") as raised:
        StoredStudy.open()
    assert raised.value.problem.startswith(f"{CONFIG.resolve()}, [choices]: ")
    assert raised.value.hint == hint
    CONFIG.write_text(written)
    assert StoredStudy.open().choices.looks == 5


def test_before_the_first_draw_study_toml_may_plan_other_looks(begin_study):
    begin_study(budget=40)
    CONFIG.write_text(CONFIG.read_text().replace("looks = 5", "looks = 2"))
    assert StoredStudy.open().choices.looks == 2


def test_looks_that_are_written_into_a_study_that_began_without_are_refused(begin_study):
    study = begin_study()
    next_batch(study, 5)
    interval = 'interval = "fixed"'
    assert interval in CONFIG.read_text()
    CONFIG.write_text(CONFIG.read_text().replace(interval, 'interval = "sequential"\nbudget = 60'))
    with pytest.raises(ChoiceError, match="interval stays after the first draw"):
        StoredStudy.open()


def test_other_gates_forget_the_looks_of_sequential_ones(begin_study):
    begin_study(budget=40, looks=3, spending="pocock")
    init(None, interval="anytime")
    choices = StoredStudy.open().choices
    assert (choices.interval, choices.looks, choices.spending) == ("anytime", 5, "cubic")
    with pytest.raises(ChoiceError, match="`looks` is about sequential gates"):
        init(None, looks=3)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"interval": "sequential"}, "decided by a last look, after a number of draws"),
        ({"budget": 40, "looks": 0}, "looks is 0"),
        ({"budget": 40, "looks": 101}, "looks is 101"),
        ({"budget": 40, "spending": "obrien"}, "spending is 'obrien'"),
        ({"last_look": 1.5}, "last_look is 1.5"),
        ({"budget": 0.0}, "budget is 0"),
        ({"budget": -3}, "budget is -3"),
        ({"budget": float("nan")}, "budget is nan"),
        ({"budget": 1e300}, "`budget` is 1e+300"),
        ({"budget": 60, "looks": 100}, "100 looks do not fit into 60 draws"),
        ({"last_look": 7, "looks": 8}, "8 looks do not fit into 7 draws"),
        ({"budget": 60, "last_look": 61}, "`last_look` is after 61 draws, and the budget ends"),
        ({"looks": 3}, "these need a number of draws that is planned before the first one"),
        ({"spending": "pocock"}, "these need a number of draws that is planned before the first"),
        (
            {"budget": 60, "looks": 3, "interval": "fixed"},
            "`looks` is about sequential gates, and the interval is fixed",
        ),
        ({"budget": 40, "interval": "sequential", "level": 0.4}, "gates need a level above 0.5"),
        (
            {"budget": 40, "interval": "sequential", "selection": "top"},
            "sequential gates need items that are drawn at random",
        ),
    ],
)
def test_looks_that_cannot_be_planned_are_refused(begin_study, changes, problem):
    with pytest.raises(ChoiceError, match=re.escape(problem)):
        begin_study(**changes)


def test_money_says_nothing_about_draws_so_the_last_look_is_planned_for_itself(folder):
    pq.write_table(
        pa.table({"id": range(30), "score": np.linspace(0, 1, 30), "cost": np.ones(30)}),
        "pool.parquet",
    )
    money = "gates are anytime-valid, because nobody knows how many draws this money will buy; "
    setup = init("pool.parquet", seed=1, price="cost", budget=20)
    assert setup.notices[-1] == f"{money}`last_look=400` plans looks"
    assert money not in str(init(None, price="cost", metric="accuracy"))
    assert money not in str(init(None, budget=20, interval="fixed"))
    assert StoredStudy.open().choices.interval == "fixed"
    with pytest.raises(ChoiceError, match="and the budget is money") as raised:
        init(None, interval="sequential")
    assert raised.value.hint == "`last_look=400`"
    with pytest.raises(ChoiceError, match="`looks` is about sequential gates") as raised:
        init(None, looks=3)
    assert raised.value.hint == "plan it: `last_look=400`; or leave `looks` out"
    # Twenty of money may buy more draws than twenty.
    assert init(None, last_look=25, dry_run=True).choices.last_look == 25
    init(None, last_look=12)
    study = StoredStudy.open()
    assert (study.choices.interval, study.choices.last_look) == ("sequential", 12)
    next_batch(study, 4)
    # The budget may change, for it plans nothing here.
    init(None, budget=30)
    with pytest.raises(ChoiceError, match="`last_look` stays after the first draw"):
        init(None, last_look=20)
