"""Answer keys: a label for every item, by the equality of labels and classes that studies have."""

import numpy as np
import pytest

from activetest.cache.cache import Cache
from activetest.errors import LabelError
from activetest.simulation.answer_key import read_answer_key
from tests.makers import build_table

SCORES = {"score": np.linspace(0.1, 0.9, 12)}
CLASSES = {"id": [f"i{row}" for row in range(12)], "pred": ["1", "2", "cat"] * 4}


@pytest.fixture
def scores(tmp_path) -> Cache:
    """A pool of two classes without ids."""
    return build_table(tmp_path, SCORES)


@pytest.fixture
def classes(tmp_path) -> Cache:
    """A pool of hard labels."""
    return build_table(tmp_path, CLASSES)


@pytest.mark.parametrize("name", ["{}", "row-{}"])
def test_a_key_of_a_pool_without_ids_has_its_row_numbers(scores, label_file, name):
    path = label_file(*(f"{name.format(row)},{row % 2}.0" for row in range(12)))
    assert read_answer_key(scores, path).tolist() == [0, 1] * 6
    assert read_answer_key(scores, {row: row % 2 for row in range(12)}).tolist() == [0, 1] * 6


def test_a_key_may_call_its_columns_otherwise(scores, label_file):
    lines = (f"row-{row},{row % 2},x" for row in range(12))
    path = label_file(*lines, header="item,truth,label")
    named = {"id": "item", "label": "truth"}
    assert read_answer_key(scores, path, columns=named).tolist() == [0, 1] * 6
    with pytest.raises(LabelError, match="has no column 'gold'"):
        read_answer_key(scores, path, columns={"label": "gold"})


@pytest.mark.parametrize("first", [1, 1000])
def test_a_key_with_numbers_of_another_tool_is_refused(scores, label_file, first):
    path = label_file(*(f"{row + first},{row % 2}" for row in range(12)))
    with pytest.raises(LabelError, match="is not in the pool") as error:
        read_answer_key(scores, path)
    assert "'row-0'" in error.value.hint


def test_labels_equal_classes_as_in_a_study(classes):
    labels = ["1.0", " 2 ", "cat", "01", "2.", "cat", "2", "1", "Cat", "1", "2", "3"]
    key = dict(zip(CLASSES["id"], labels, strict=True))
    expected = [0, 1, 2, 0, 1, 2, 1, 0, -1, 0, 1, -1]
    assert read_answer_key(classes, key, unmatched=True).tolist() == expected
    with pytest.raises(LabelError, match="'Cat' is not a label of this pool"):
        read_answer_key(classes, key)


@pytest.mark.parametrize("word", ["N/A", "declined"])
def test_a_word_for_no_label_is_no_class(classes, word):
    key = dict.fromkeys(CLASSES["id"], "1") | {"i3": word}
    with pytest.raises(LabelError, match=f"{word!r} is not a label") as error:
        read_answer_key(classes, key, unmatched=True)
    assert "a class of this name needs another one" in error.value.hint


def test_a_key_of_which_no_label_is_a_class_is_refused(classes):
    with pytest.raises(LabelError, match="none of its 12 labels is a class"):
        read_answer_key(classes, dict.fromkeys(CLASSES["id"], "CAT"), unmatched=True)


@pytest.mark.parametrize("label", ["\u0663", "1_0", "nan", "inf", "1e999", "x"])
def test_values_are_numbers_with_the_digits_0_to_9(tmp_path, label):
    pool = build_table(tmp_path, {"pred": [0.5, 1.5]})
    assert read_answer_key(pool, {0: "1e1", 1: " 2.50"}).tolist() == [10, 2.5]
    with pytest.raises(LabelError, match="is not a label of this pool"):
        read_answer_key(pool, {0: label, 1: "1"})
