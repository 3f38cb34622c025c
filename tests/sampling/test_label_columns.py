"""Columns that hold ids and labels, told by what they hold."""

import pytest

from activetest.errors import ColumnsUnclear
from activetest.sampling.label_columns import describe_columns, find_ids
from tests import makers

ROWS = range(12)
IDS = [f"{row:03}" for row in ROWS]
ANIMALS = [("cat", "dog")[row % 2] for row in ROWS]
FORM = {
    "Timestamp": ["1/2/2024 10:00:00"] * 12,
    "Score": [str(row % 3) for row in ROWS],
    "Item, please": IDS,
    "Which animal, if any?": ANIMALS,
}


@pytest.fixture
def animals(tmp_path):
    return makers.build_table(tmp_path, {"id": IDS, "pred": ANIMALS})


def hint(pool, columns, *, found=(), known=(), named=(), questions=False):
    error = ColumnsUnclear("x", "y", dict(found), columns, questions=questions)
    described, only = describe_columns(error, pool, known, dict(named))
    assert described.problem == "x"
    return (described.hint, only) if questions else described.hint


def test_columns_of_a_form_are_named_by_what_they_hold(animals):
    assert hint(animals, FORM) == (
        "say which ones they are: "
        "`columns={'id': 'Item, please', 'label': 'Which animal, if any?'}`"
    )
    other = FORM | {"Which animal, if any?": [each.upper() for each in ANIMALS]}
    assert "'label': 'Which animal, if any?'" in hint(animals, other)
    # Ids that lost their zeros, and a column that is called id and holds none.
    spoilt = FORM | {"Item, please": [str(row) for row in ROWS], "id": ["x"] * 12}
    assert "'id': 'Item, please'" in hint(animals, spoilt, found={"id": "id"})


def test_a_first_line_that_is_a_row_is_said_to_be_none(animals):
    columns = {"000": IDS[1:], "cat": ANIMALS[1:]}
    error = ColumnsUnclear("x has no column 'id'; it has 000, cat", "y", {}, columns)
    described, _ = describe_columns(error, animals, (), {})
    assert described.problem.startswith("x has no column 'id': its first line is no header, as '00")
    assert "above it" in described.hint and not described.ways


def test_columns_that_annotators_were_shown_are_no_answers_under_their_keys_either(animals):
    rows = {"model_says": ANIMALS, "note": [f"note {row}" for row in ROWS]}
    asked = {"found": {"id": "id"}, "questions": True}
    assert hint(animals, rows, **asked)[1] == "model_says"
    assert hint(animals, rows, known=["model says"], **asked)[1] is None


def test_only_what_is_not_known_is_named(animals):
    both = {"id": IDS, "answer": ANIMALS}
    assert hint(animals, both, found={"id": "id"}) == (
        "say which one it is: `columns={'label': 'answer'}`"
    )
    named = {"id": "Item, please"}
    assert hint(animals, FORM, found=named, named=named) == (
        "say which one it is: `columns={'label': 'Which animal, if any?'}`"
    )
    assert hint(animals, {"key": IDS}, found={"label": "label"}) == (
        "say which one it is: `columns={'id': 'key'}`"
    )


def test_neither_outputs_of_the_pool_nor_ids_are_proposed_as_labels(animals):
    columns = {"id": IDS, "pred": ANIMALS, "note": [f"note {row}" for row in ROWS]}
    assert hint(animals, columns, found={"id": "id"}, known={"pred"}) == (
        "none of its other columns holds classes of the pool: cat, dog"
    )
    assert "'label': 'pred'" in hint(animals, columns, found={"id": "id"})


def test_a_file_without_ids_says_what_ids_look_like(animals):
    assert hint(animals, {"text": ["a", "b"], "answer": ["cat", "dog"]}) == (
        "none of its columns holds ids of the pool, which look like '000': add them from the batch"
    )
    # Numbers of a few classes are no ids, although items are called so.
    assert find_ids({"n": ["000", "001"] * 6, "sci": ["1.2E+11"] * 12, "none": [""]}, animals) == []


def test_of_several_columns_of_classes_those_that_are_called_so_come_first(animals):
    columns = {"id": IDS, "first": ANIMALS, "my verdict": ANIMALS}
    assert hint(animals, columns, found={"id": "id"}) == (
        "say which one it is, the likeliest first: `columns={'label': 'my verdict'}` or "
        "`columns={'label': 'first'}`"
    )


def test_few_values_that_come_again_may_be_classes_of_any_name(animals):
    columns = {"id": IDS, "colour": ["red", "blue"] * 6, "user": ["ann"] * 12, "n": IDS}
    assert hint(animals, columns, found={"id": "id"}, named={"id": "id"}) == (
        "say which one it is: `columns={'label': 'colour'}`"
    )


def test_numbers_are_labels_where_the_pool_has_numbers(tmp_path):
    pool = makers.build_table(tmp_path, {"id": IDS, "pred": [row + 0.5 for row in ROWS]})
    columns = {"id": IDS, "seller": ["x"] * 12, "price": [f"{row},5" for row in ROWS]}
    assert "`columns={'label': 'price'}`" in hint(pool, columns, named={"id": "id"})


def test_the_only_question_whose_answers_are_labels_is_found(animals):
    asked = {"kind": ANIMALS, "why": ["ears"] * 12}
    assert hint(animals, asked, questions=True)[1] == "kind"
    both = asked | {"again": ANIMALS}
    said, only = hint(animals, both, questions=True)
    assert only is None and said.endswith(
        "`columns={'label': 'kind'}` or `columns={'label': 'again'}`"
    )
