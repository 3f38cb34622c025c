"""Cost matrices as people write them down."""

import pytest

from activetest.errors import ChoiceError
from activetest.pool import costs

CLASSES = ("cat", "dog")


@pytest.fixture
def matrix(tmp_path):
    """Writes a file and returns its path."""

    def write(content: str | bytes):
        path = tmp_path / "costs.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_rows_are_what_was_predicted_and_columns_what_is_true(matrix):
    assert costs.read_costs(matrix("predicted,cat,dog\ncat,0,5\ndog,1,0\n"), CLASSES) == (
        (0, 5),
        (1, 0),
    )


def test_classes_may_come_in_any_order(matrix):
    turned = matrix(",dog,cat\ndog,0,1\ncat,5,0\n")
    assert costs.read_costs(turned, CLASSES) == ((0, 5), (1, 0))


def test_a_mark_at_the_start_blanks_and_empty_lines_do_not_matter(matrix):
    odd = matrix("\ufeff, cat ,dog\r\n\r\ncat, 0,5\r\ndog,-1.5,0\r\n\r\n")
    assert costs.read_costs(odd, CLASSES) == ((0, 5), (-1.5, 0))


def test_names_may_hold_commas(matrix):
    assert costs.read_costs(matrix(',"a,b",c\n"a,b",0,2\nc,3,0\n'), ("a,b", "c")) == (
        (0, 2),
        (3, 0),
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "costs.csv is empty"),
        (",cat,dog\ncat,0,5\n", "first column: the predicted class 'dog' is missing"),
        (",cat\ncat,0\ndog,1\n", "line 1: the true class 'dog' is missing"),
        (",cat,cow\ncat,0,5\ncow,1,0\n", "line 1: 'cow' is no class of this pool"),
        (",cat,dog,dog\ncat,0,5,5\ndog,1,0,0\n", "line 1: the true class 'dog' stands there twice"),
        (",cat,dog\ncat,0,5\ncat,0,5\ndog,1,0\n", "the predicted class 'cat' stands there twice"),
        (",cat,dog\n\ncat,0\ndog,1,0\n", "line 3: 1 costs for 2 classes"),
        (",cat,dog\ncat,0,five\ndog,1,0\n", "line 2, column 'dog': 'five' is no cost"),
        (",cat,dog\ncat,0,inf\ndog,1,0\n", "line 2, column 'dog': 'inf' is no cost"),
        (",cat,dog\ncat,0,\ndog,1,0\n", "line 2, column 'dog': '' is no cost"),
        (";cat;dog\ncat;0;5\ndog;1;0\n", "line 1: the true class 'cat' is missing"),
        ('"cat,dog\n', "line 1"),
        (b"\xff\xfe,", "is not UTF-8"),
    ],
)
def test_what_is_no_matrix_of_these_classes_says_where(matrix, content, problem):
    path = matrix(content)
    with pytest.raises(ChoiceError) as raised:
        costs.read_costs(path, CLASSES)
    assert problem in raised.value.problem
    assert str(path) in raised.value.problem
    assert raised.value.hint


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ChoiceError, match="there is no file"):
        costs.read_costs(tmp_path / "nowhere.csv", CLASSES)
    with pytest.raises(ChoiceError, match="cannot be read"):
        costs.read_costs(tmp_path, CLASSES)


def test_values_have_no_costs(matrix):
    with pytest.raises(ChoiceError, match="this pool has none"):
        costs.read_costs(matrix(",cat\ncat,0\n"), ())


def test_a_mapping_says_the_same_as_a_file():
    mapping = {"dog": {"cat": 1, "dog": 0}, "cat": {"dog": 5.0, "cat": 0}}
    assert costs.read_costs(mapping, CLASSES) == ((0, 5), (1, 0))
    numbers = {0: {0: 0, 1: 2}, 1: {0: 3, 1: -1}}
    assert costs.read_costs(numbers, ("0", "1")) == ((0, 2), (3, -1))


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        ({}, "the predicted class 'cat' is missing"),
        ({"cat": 1, "dog": 2}, "of predicted 'cat' is 1"),
        ({"cat": {"cat": 0}, "dog": {}}, "of predicted 'cat': the true class 'dog' is missing"),
        ({"cat": {"cat": 0, "dog": 1, "cow": 2}, "dog": {}}, "'cow' is no class of this pool"),
        ({"cat": {"cat": 0, "dog": None}, "dog": {}}, "true 'dog': None is no cost"),
        ({"cat": {"cat": 0, "dog": float("nan")}, "dog": {}}, "true 'dog': nan is no cost"),
    ],
)
def test_a_mapping_that_is_no_matrix_names_the_classes(mapping, problem):
    with pytest.raises(ChoiceError, match=problem) as caught:
        costs.read_costs(mapping, CLASSES)
    assert caught.value.hint


def test_costs_of_classes_are_refused_where_values_are_predicted():
    with pytest.raises(ChoiceError, match="`costs` holds costs of classes"):
        costs.read_costs({"cat": {}}, ())
