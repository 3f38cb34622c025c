"""Gates that are asked for and plans are in the ledger, before anybody sees what came of them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.errors import ChoiceError, StorageError
from activetest.nouns.study_lists import AskedGate, Plan, Target
from activetest.reporting import rows
from activetest.study import next as following
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests import makers


@pytest.fixture
def begin(folder):
    """begin(settings) makes a study with eight labels."""

    def make(**settings) -> at.Study:
        makers.write_pool(folder / "pool.parquet", 60)
        study = at.Study.create("pool.parquet", seed=1, groups="place", **settings)
        study.ingest(dict.fromkeys(study.next(8).ids, "cat"))
        return study

    return make


def ledger_of(study: at.Study):
    return StoredStudy.open(study.folder).ledger


def list_kinds(study: at.Study) -> list[str]:
    return [each.kind for each in ledger_of(study)._read().entries]


# --- gates


def test_a_gate_is_recorded_as_it_was_asked_for(begin):
    study = begin()
    study.report(require=["error <= .9", "accuracy@place=tree>=0.1"])
    study.report(require="accuracy>=0.2", interval="fixed", population=True)
    group = {"metric": "accuracy", "group": {"place": "tree"}}
    assert ledger_of(study).gates() == (
        AskedGate("error <= .9", {"metric": "error"}, "<=", 0.9, 0.95, "anytime"),
        AskedGate("accuracy@place=tree>=0.1", group, ">=", 0.1, 0.95, "anytime"),
        AskedGate(
            *("accuracy>=0.2", {"metric": "accuracy"}, ">=", 0.2, 0.95, "fixed", "report"),
            {"population": True},
        ),
    )
    assert study.verify().passed


def test_gates_of_a_study_with_looks_are_sequential(begin):
    study = begin(budget=40)
    study.report(require="f1[cat]>=0.1")
    (gate,) = ledger_of(study).gates()
    assert (gate.interval, gate.expression) == ("sequential", {"metric": "f1", "class": "cat"})


def test_gates_of_study_toml_are_recorded_as_such_and_once(begin):
    study = begin()
    path = study.folder / "study.toml"
    path.write_text(path.read_text() + '\n[report]\nrequire = ["error<=0.9"]\n')
    study.report()
    study.report(require="error<=0.90")
    study.report(require=())
    assert [each.source for each in ledger_of(study).gates()] == ["study.toml"]
    assert list_kinds(study)[-1] == "gate" and list_kinds(study).count("gate") == 1


@pytest.mark.parametrize(
    "gate", ["error<=90", "error@place=nowhere<=0.5", "nonsense>=1", "error@place=sea,tree<=0"]
)
def test_a_gate_that_is_none_is_not_recorded(begin, gate):
    study = begin()
    with pytest.raises(ChoiceError):
        study.report(require=["accuracy>=0.1", gate])
    assert ledger_of(study).gates() == ()


def test_a_gate_is_on_disk_before_its_number_is_computed(begin, monkeypatch):
    study = begin()

    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(rows, "estimate_row", fail)
    with pytest.raises(KeyboardInterrupt):
        study.report(require="error<=0.9")
    assert [each.requirement for each in ledger_of(study).gates()] == ["error<=0.9"]


def test_a_gate_that_is_asked_for_while_items_are_drawn_lets_them_be_drawn_once(begin, monkeypatch):
    study, plan, asked = begin(), following.plan_rounds, []

    def ask(*args, **named):
        asked.append(study.report(require=f"error<=0.{len(asked) + 5}"))
        return plan(*args, **named)

    monkeypatch.setattr(following, "plan_rounds", ask)
    next_batch(StoredStudy.open(study.folder), 3)
    assert len(asked) == 1
    assert list_kinds(study)[-2:] == ["gate", "round"]


def test_where_the_disk_refuses_a_gate_there_is_no_report(begin, monkeypatch):
    study = begin()

    def refuse(*_):
        raise StorageError("cannot write: database or disk is full", "free some space")

    monkeypatch.setattr("activetest.ledger.ledger.Ledger.record_gates", refuse)
    with pytest.raises(StorageError, match="full"):
        study.report(require="error<=0.9")


# --- plans


def test_a_plan_is_recorded_at_the_beginning_and_whenever_it_changes(begin):
    study = begin(budget=40, interval="fixed")
    assert ledger_of(study).plan() == Plan(budget=40.0)
    assert list_kinds(study) == ["study", "plan", "round", "file"]
    study.change(floor=0.5)
    assert list_kinds(study).count("plan") == 1
    study.change(budget=50, level=0.9)
    assert ledger_of(study).plan() == Plan(budget=50.0, level=0.9)
    # An edit by hand is recorded with the round that follows it.
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace("budget = 50", "budget = 44"))
    assert list_kinds(study)[4:] == ["plan"]
    at.Study.open(study.folder).next(3)
    assert list_kinds(study)[4:] == ["plan", "plan", "round"]
    assert ledger_of(study).plan() == Plan(budget=44.0, level=0.9)
    assert study.verify().passed


def test_a_budget_of_labels_plans_looks(begin):
    study = begin(budget=40, looks=4)
    assert ledger_of(study).plan() == Plan(40.0, "labels", 4, 40, "cubic", "sequential", 0.95)


def test_another_seed_before_the_first_draw_comes_with_its_plan(folder):
    makers.write_pool(folder / "pool.parquet", 60)
    study = at.Study.create("pool.parquet", seed=1)
    study.change(seed=2, budget=40)
    assert list_kinds(study) == ["study", "plan", "restart", "plan"]
    assert ledger_of(study).plan().looks == 5 and ledger_of(study).seed == 2


def test_a_budget_for_items_with_prices_is_money(folder):
    frame = {"id": ["a", "b", "c"], "prob_x": [0.1, 0.5, 0.9], "prob_y": [0.9, 0.5, 0.1]}
    pq.write_table(pa.table(frame | {"cents": [1.0, 2.0, 3.0]}), "pool.parquet")
    study = at.Study.create("pool.parquet", seed=1, budget=9.5, price="cents")
    assert ledger_of(study).plan() == Plan(budget=9.5, unit="money")


# --- rounds


def test_a_round_records_what_was_planned_before_it(begin):
    study = begin(metric=["error", "f1[cat]"], budget=40, looks=4)
    study.next(100)
    stored = StoredStudy.open(study.folder)
    first, second = stored.log(stored.cache()).history
    targets = Target({"metric": "error"}, 0.5), Target({"metric": "f1", "class": "cat"}, 0.5)
    assert first.targets == second.targets == targets
    assert first.looks == second.looks == (10, 20, 30, 40)
    assert [(each.part, each.planned) for each in first.parts] == [(1, 8)]
    # No more than there are.
    assert [(each.part, each.planned) for each in second.parts] == [(1, 52)]
    assert (first.phase, second.phase) == (1, 1)
