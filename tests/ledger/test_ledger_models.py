"""Further models in a ledger: once each, in the chain, and known by what came before them."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from activetest.errors import StudyError
from activetest.ledger import chain
from activetest.ledger.ledger import Answer, Ledger, LedgerMoved
from activetest.nouns.log import LABELLED, Objective, Round
from activetest.nouns.study_lists import Model, is_model_name
from tests import makers

SECOND = Model("v2", source="study://models/v2.parquet", fingerprint="f2", trained=True)


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return makers.new_ledger(tmp_path / "ledger.db")


def add(ledger: Ledger, model: Model, place=lambda: None) -> None:
    ledger.add_model(model, place, revision=ledger.record().revision)


def draw(ledger: Ledger, number: int) -> None:
    round = Round(
        number=number,
        rows=np.array([number]),
        q=np.array([0.1]),
        choices={"metric": "error", "surrogate": "agreement"},
        params={},
        statistics=("zero_one",),
        groups=("",),
        imputed=np.zeros((1, 1)),
        imputed_sum=np.zeros((1, 1)),
        count=np.array([100]),
        objectives=(Objective(("zero_one",), (1.0,), 1.0),),
    )
    ledger.record_round(round, [f"i{number}"], revision=ledger.record().revision)


def change(ledger: Ledger, statement: str) -> None:
    """Run a statement as somebody else."""
    with closing(sqlite3.connect(ledger.path)) as db, db:
        assert db.execute(statement).rowcount


def test_a_study_begins_with_one_model(ledger):
    assert ledger.models() == (Model(fingerprint="abc"),)


def test_models_are_listed_with_the_rounds_before_them(ledger):
    draw(ledger, 1)
    draw(ledger, 2)
    add(ledger, SECOND)
    draw(ledger, 3)
    add(ledger, Model("v3", fingerprint="f3", trained=False))
    first, second, third = Ledger(ledger.path).models()
    assert (first.name, first.rounds, first.trained) == ("model", 0, None)
    assert (second.name, second.rounds, second.trained) == ("v2", 2, True)
    assert (second.source, second.fingerprint) == ("study://models/v2.parquet", "f2")
    assert (third.name, third.rounds, third.trained) == ("v3", 3, False)
    # It is known without reading all again.
    assert ledger.models() == (first, second, third)


def test_a_model_is_an_entry_that_moves_no_revision(ledger):
    before, revision = ledger.hashes, ledger.record().revision
    add(ledger, SECOND)
    assert ledger.hashes[:-1] == before
    assert ledger.record().revision == revision
    assert ledger._read().entries[-1].kind == chain.MODEL
    draw(ledger, 1)
    assert Ledger(ledger.path).record().draws[0].id == "i1"


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE models SET name = 'v3' WHERE number = 2", r"model 2 \('v3'\) is not"),
        ("UPDATE models SET trained = 0 WHERE number = 2", r"model 2 \('v2'\) is not"),
        ("UPDATE models SET source = 'x' WHERE number = 2", r"model 2 \('v2'\) is not"),
        (
            "UPDATE models SET fingerprint = 'f9' WHERE number = 2",
            r"the fingerprint of model 2 \('v2'\) is not",
        ),
        ("DELETE FROM models WHERE number = 2", "model 2 is not"),
        ("DELETE FROM entries WHERE number = 2", r"model 2 \('v2'\) is in no entry"),
    ],
)
def test_a_changed_model_is_damage_and_named(ledger, statement, named):
    add(ledger, SECOND)
    change(ledger, statement)
    with pytest.raises(StudyError, match=f"damaged: {named}"):
        Ledger(ledger.path).models()


@pytest.mark.parametrize("name", ["v2", "model", "", "../v2", "v 2", "2v", "v2\n"])
def test_a_name_that_no_model_can_have_is_damage_though_its_hash_holds(ledger, name):
    add(ledger, SECOND)
    with ledger._append() as (writer, contents):
        row = contents.models[-1]._replace(number=3, entry=3, name=name, fingerprint="")
        changes = {"models": {3: {"fingerprint": ""}}}
        writer.append(chain.MODEL, of=3, rows={"models": [row]}, changes=changes)
    with pytest.raises(StudyError, match="a model has the name of another one, or none that"):
        Ledger(ledger.path).models()


@pytest.mark.parametrize("name", ["v2", "V2", "model", "Model"])
def test_a_name_is_taken_once_whatever_its_case(ledger, name):
    """Some file systems keep one file for both."""
    add(ledger, SECOND)
    before = ledger.hashes
    with pytest.raises(StudyError, match="has a model .* already"):
        add(ledger, Model(name, fingerprint="f3"), place=lambda: pytest.fail("it is placed"))
    assert Ledger(ledger.path).hashes == before


def test_a_model_is_added_to_the_ledger_that_it_was_checked_with(ledger):
    revision = ledger.record().revision
    answers = [Answer("i1", "ann", LABELLED, "cat")]
    ledger.add_answers(answers, source="a.csv", revision=revision)
    with pytest.raises(LedgerMoved):
        ledger.add_model(SECOND, lambda: pytest.fail("it is placed"), revision=revision)
    assert len(ledger.models()) == 1


def test_a_model_whose_file_cannot_be_placed_is_not_added(ledger):
    def refuse() -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        add(ledger, SECOND, place=refuse)
    assert len(ledger.models()) == len(Ledger(ledger.path).models()) == 1


def test_a_version_that_knows_one_model_refuses_two(ledger, monkeypatch):
    """As versions up to 0.11 do: the kind of the entry is none that they know."""
    add(ledger, SECOND)
    monkeypatch.setattr(chain, "KINDS", tuple(each for each in chain.KINDS if each != "model"))
    with pytest.raises(StudyError, match="newer version .* an entry of the kind 'model'"):
        Ledger(ledger.path).record()


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        *(("v2", True), ("Ridge-0.1_b", True), ("a" * 64, True), ("a" * 65, False)),
        *(("", False), ("2v", False), ("_v", False), (".v", False), ("v/2", False)),
        *(("v 2", False), ("v2\n", False), ("..", False), ("v=2", False), ("\u00e9t\u00e9", False)),
    ],
)
def test_names_of_models_are_plain(name, possible):
    assert is_model_name(name) == possible
