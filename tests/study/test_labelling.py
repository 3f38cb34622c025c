"""Item by item: each answer is in the ledger at once, and can be taken back."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.errors import ChoiceError, LabelConflict, LabelError
from activetest.labels.annotators import resolve_answers
from activetest.study.labelling import SOURCE, find_columns


def open_study(study) -> at.Study:
    return at.Study.open(study.folder)


def known(study: at.Study) -> dict[str, str]:
    record = study._current().ledger.record()
    return {id: label for id, (_, label) in resolve_answers(record.answers).items()}


def write_study(folder, columns: dict, **settings) -> at.Study:
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    return at.Study.create("pool.parquet", seed=1, **settings)


def test_every_answer_is_stored_when_it_was_given(study):
    given = open_study(study)
    session = given.label(4)
    for number in range(4):
        id = session.item.id
        session.answer("cat")
        assert known(at.Study.open(study.folder))[id] == "cat"
        assert len(known(given)) == session.answered == number + 1
    assert session.item is None
    with pytest.raises(LabelError, match="every item"):
        session.answer("cat")


def test_nothing_is_drawn_unless_a_number_is_named(study):
    given = open_study(study)
    assert (given.label().item, given.label().total) == (None, 0)
    assert given.status().counts.drawn == 0
    assert given.label(3).total == 3
    assert given.label(9).total == 3
    assert given.status().counts.drawn == 3


def test_the_items_are_those_of_the_batch_in_its_order(study):
    given = open_study(study)
    ids = given.next(5).ids
    session, found = given.label(), []
    while session.item is not None:
        found.append(session.item.id)
        session.answer("dog")
    assert found == ids


def test_another_session_goes_on_where_the_last_one_stopped(study):
    given = open_study(study)
    ids = given.next(5).ids
    session = given.label()
    session.answer("cat")
    session.decline()
    later = given.label()
    assert (later.item.id, later.answered, later.total) == (ids[2], 2, 5)


def test_undo_takes_answers_back_one_after_another(study):
    given = open_study(study)
    session = given.label(3)
    first, second = session.item.id, None
    session.answer("cat")
    second = session.item.id
    session.decline()
    assert known(given) == {first: "cat", second: ""}
    assert session.undo()
    assert (session.item.id, known(given)) == (second, {first: "cat"})
    assert session.undo()
    assert (session.item.id, session.item.answer, known(given)) == (first, None, {})
    assert not session.undo()
    assert (session.answered, session.total) == (0, 3)


def test_undo_reaches_back_into_the_session_before(study):
    given = open_study(study)
    session = given.label(3)
    first = session.item.id
    session.answer("cat")
    later = given.label()
    assert later.undo()
    assert (later.item.id, later.answered, later.total, known(given)) == (first, 0, 3, {})
    assert later.item.values.keys() == session._items[first].values.keys()
    assert not later.undo()


def test_undo_leaves_the_answers_of_somebody_else_and_of_files(study):
    given = open_study(study)
    ids = given.next(4).ids
    given.label(annotator="ann").answer("cat")
    assert not given.label(annotator="ben").undo()
    given.ingest({ids[1]: "cat"})
    assert not given.label(annotator="ann").undo()
    assert known(given) == {ids[0]: "cat", ids[1]: "cat"}


def test_an_answer_under_a_later_file_stays_until_another_replaces_it(study):
    given = open_study(study)
    ids = given.next(4).ids
    session = given.label()
    session.answer("cat")
    given.ingest({ids[3]: "owl"})
    assert session.undo()
    assert (session.item.id, session.item.answer) == (ids[0], "cat")
    assert known(given) == {ids[0]: "cat", ids[3]: "owl"}
    session.answer("dog")
    assert known(given)[ids[0]] == "dog"
    # The replacement is the last file, and comes off: the first answer counts again.
    assert session.undo()
    assert known(given)[ids[0]] == session.item.answer == "cat"


def test_skipped_items_come_last_and_undo_brings_them_back(study):
    given = open_study(study)
    ids = given.next(3).ids
    session = given.label()
    session.skip()
    assert (session.item.id, session.skipped, known(given)) == (ids[1], 1, {})
    assert session.undo()
    assert (session.item.id, session.skipped) == (ids[0], 0)
    session.skip()
    session.answer("cat")
    session.answer("cat")
    assert session.item.id == ids[0]
    session.answer("cat")
    assert (session.item, session.skipped) == (None, 0)


def test_items_that_somebody_answers_meanwhile_are_left_out(study):
    given = open_study(study)
    ids = given.next(4).ids
    session = given.label()
    given.ingest({ids[1]: "cat", ids[2]: "dog"})
    session.answer("cat")
    assert (session.item.id, session.answered, session.total) == (ids[3], 3, 4)


def test_undo_returns_to_a_skipped_item_that_somebody_has_answered_meanwhile(study):
    given = open_study(study)
    ids = given.next(2).ids
    session = given.label()
    session.skip()
    given.label(annotator="bob").answer("cat")
    session.answer("dog")
    assert (session.item, session.answered, session.total) == (None, 2, 2)
    assert session.undo() and session.item.id == ids[1]
    assert session.undo() and session.item.id == ids[0]
    assert (session.answered, session.total) == (0, 2)


def test_a_second_window_of_one_annotator_is_noticed(study):
    given = open_study(study)
    session, other = given.label(3, annotator="ann"), given.label(annotator="ann")
    other.answer("cat")
    with pytest.raises(LabelConflict):
        session.answer("dog")
    assert session.item.answer == "cat"
    session.answer("dog")
    assert list(known(given).values()) == ["dog"]


def test_answers_are_read_as_those_of_files(study):
    given = open_study(study)
    session = given.label(2)
    for wrong in ("bird", "", " ", "N/A"):
        with pytest.raises(LabelError):
            session.answer(wrong)
    with pytest.raises(LabelError, match="^label 'caat' of id") as caught:
        session.answer("caat")
    assert "did you mean 'cat'" in caught.value.hint
    assert (session.answered, known(given)) == (0, {})
    session.answer(" cat ")
    assert list(known(given).values()) == ["cat"]


def test_the_ledger_names_annotator_and_source(study):
    given = open_study(study)
    given.label(2, annotator=" ann ").answer("cat")
    (row,) = [row for row in given._current().ledger.list_log() if row.source]
    assert (row.annotator, row.source) == ("ann", SOURCE)


def test_ids_with_an_apostrophe_are_the_items_they_name(folder):
    columns = {"id": ["'=1", "=1", "a"], "prob_x": [0.2, 0.5, 0.7], "prob_y": [0.8, 0.5, 0.3]}
    given = write_study(folder, columns)
    session = given.label(3)
    ids = list(session._queue)
    for label in ("x", "y", "x"):
        session.answer(label)
    assert known(given) == dict(zip(ids, ("x", "y", "x"), strict=True))


def test_numbers_are_checked_and_classes_may_be_new_where_the_pool_says_so(folder):
    given = write_study(folder, {"pred": [1.5, 2.5, 3.5]})
    session = given.label(2)
    assert session.classes == ()
    for wrong in ("3,5", "x", "inf", "nan", "1e300"):
        with pytest.raises(LabelError):
            session.answer(wrong)
    session.answer(" -2.5e1 ")
    session.answer(3)
    assert sorted(known(given).values()) == ["-25.0", "3.0"]


def test_a_class_that_the_model_never_predicts(folder):
    given = write_study(folder, {"pred": ["yes", "no", "yes"]})
    session = given.label(3)
    assert session.open_classes and session.classes == ("no", "yes")
    session.answer("maybe")
    with pytest.raises(LabelError, match="no label"):
        session.answer("n/a")
    session.answer("n/a", as_is=True)
    with pytest.raises(LabelError, match="'YES' is no class") as error:
        session.answer("YES")
    assert error.value.hint == "did you mean 'yes'? `as_is=True` takes it for a further class"
    session.answer("YES", as_is=True)
    assert sorted(known(given).values()) == ["YES", "maybe", "n/a"]


def test_columns_of_text_are_shown_and_no_opinion_of_the_model(folder):
    text = ["a", "b"]
    names = ("text", "region", "label", "target", "pred_label", "judge_reason", "surrogate_pred_x")
    columns = {"id": text, "prob_a": [0.4, 0.6], "prob_b": [0.6, 0.4], "pred": text, "x": [1.0, 2]}
    given = write_study(folder, columns | dict.fromkeys(names, text))
    assert find_columns(given._current()) == ("text", "region")
    assert list(given.label(2).item.values) == ["text", "region"]
    assert given.label(show="x").item.values["x"] in (1.0, 2.0)
    assert given.label(show=()).item.values == {}
    with pytest.raises(at.PoolError, match="no column 'z'"):
        given.label(show="z")


def test_a_session_shows_the_item_that_is_to_be_answered(folder):
    texts = ["a\x1b[31m", "b" * 300]
    given = write_study(folder, {"id": ["x", "y"], "pred": ["u", "v"], "text": texts})
    session = given.label(2)
    first = session.item
    lines = str(session).splitlines()
    assert lines[0] == f"0 of 2 items have an answer; the next one is {first.id}"
    assert lines[1].startswith("  text: ") and "\x1b" not in str(session) and len(lines[1]) < 250
    assert first.id in session._repr_html_() and "classes: u and v" in session._repr_html_()
    for _ in range(2):
        session.answer("u")
    assert str(session) == "2 of 2 items have an answer"
    assert "\n" not in repr(session)


def test_second_opinions_are_about_items_that_this_annotator_has_not_labelled(study):
    given = open_study(study)
    session = given.label(4, annotator="ann")
    while session.item is not None:
        session.answer("cat")
    with pytest.raises(ChoiceError, match="name of who"):
        given.label(again=2)
    again = given.label(again=3, annotator="ben")
    assert again.total == 3
    first = again.item.id
    again.answer("dog")
    assert again.undo() and again.item.id == first
    while again.item is not None:
        again.answer("dog")
    assert given.label(again=9, annotator="ben").total == 1
    assert given.label(again=9, annotator="ann").total == 0
    assert given.status().counts.drawn == 4


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"n": 0}, "`n` is 0"),
        ({"again": 0, "annotator": "ben"}, "`again` is 0"),
        ({"n": 1, "again": 1}, "`again` draws none"),
        ({"n": "x"}, "`n` is 'x'"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(study, wrong, problem):
    with pytest.raises(ChoiceError, match=problem):
        open_study(study).label(**wrong)
    assert open_study(study).status().counts.drawn == 0
