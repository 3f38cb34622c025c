"""Second opinions: which labelled items somebody else is asked about, and what answers do."""

import csv
import io

import numpy as np
import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.rounds.fit import list_labelled
from activetest.study import again
from activetest.study.study import Study


def items_of(text):
    return [row["id"] for row in csv.DictReader(io.StringIO(text))]


@pytest.fixture
def doubted(study):
    """A study of 20 labels by ann, with second opinions by bob on five: two of them differ."""
    found = Study.open()
    ids = found.next(20).ids
    found.ingest([{"id": id, "label": "cat", "annotator": "ann"} for id in ids])
    bob = [{"id": id, "label": "cat", "annotator": "bob"} for id in ids[2:5]]
    found.ingest(bob + [{"id": id, "label": "dog", "annotator": "bob"} for id in ids[:2]])
    return found, ids


@pytest.mark.parametrize("method", ["majority", "dawid-skene"])
def test_disagreements_come_first_and_agreements_last(doubted, method):
    study, ids = doubted
    study.change(annotators=method)
    order = study.next(again=20).ids
    assert sorted(order) == sorted(ids)
    assert set(order[-3:]) == set(ids[2:5])
    if method == "majority":
        assert set(order[:2]) == set(ids[:2])


def test_among_equals_that_comes_first_which_another_answer_tells_most(doubted, monkeypatch):
    study, ids = doubted
    added, cost = np.arange(20) % 3, np.arange(20) % 2
    ranked = {}

    def rank(log, cache, *_, **__):
        positions, _ = list_labelled(log)
        ranked.update({id: at for at, id in enumerate(cache.ids(positions))})
        return added, cost

    monkeypatch.setattr(again, "rank_classes", rank)
    order = study.next(again=20).ids

    def place(id):
        tier = [id in ids[:2], id in ids[5:], id in ids[2:5]].index(True)
        return tier, -added[ranked[id]], -cost[ranked[id]], id

    assert list(order) == sorted(ids, key=place)


def test_asking_again_records_nothing_and_leaves_what_is_pending(doubted):
    study, _ = doubted
    pending = study.next(3).ids
    before = study.status()
    first = study.next(again=4)
    assert study.next(again=4).ids == first.ids
    assert study.status() == before
    assert study.next().ids == pending
    assert not set(first.ids) & set(pending)
    assert first.columns == ("id", "label", "annotator", "again")
    assert {row["again"] for row in first} <= {"ann", "ann; bob"}
    assert "4 items with labels" in first.summary()


def test_the_answer_of_somebody_else_decides_a_disagreement(doubted, folder):
    study, ids = doubted
    batch = study.next(again=2)
    batch.to_csv("again.csv")
    # The file can be written over as long as it has no answers.
    study.next(again=2, path="again.csv", show="place")
    rows = [row | {"label": "dog", "annotator": "eve"} for row in batch]
    before = study.report().headline.estimate
    assert study.ingest(rows).new == 2
    assert study.report().headline.estimate != before
    # Two of three agree now.
    assert not set(study.next(again=2).ids) & set(ids[2:5])


def test_the_command_writes_the_same_items_to_a_pipe_and_a_file(doubted, folder, capsys):
    study, _ = doubted
    capsys.readouterr()
    assert main(["next", "--again", "5"]) == 0
    out, err = capsys.readouterr()
    assert items_of(out) == study.next(again=5).ids
    assert "for somebody else" in err
    assert main(["next", "--again", "5", "--show", "place", "-o", "again.csv"]) == 0
    assert items_of((folder / "again.csv").read_text()) == items_of(out)
    assert (folder / "again.csv").read_text().splitlines()[0] == "id,label,annotator,again,place"


def test_what_is_needed_is_said(study):
    found = Study.open()
    with pytest.raises(ChoiceError, match="no item has a label") as caught:
        found.next(again=3)
    assert "next" in caught.value.hint
    found.ingest(dict.fromkeys(found.next(5).ids, "cat"))
    with pytest.raises(ChoiceError, match="no label says who gave it") as caught:
        found.next(again=3)
    assert "annotator" in caught.value.hint
    with pytest.raises(ChoiceError, match="`again` is 0"):
        found.next(again=0)
    with pytest.raises(ChoiceError, match="new=True"):
        found.next(again=2, new=True)
