"""Labels that cannot be, and what is said of them: every limit, one by one."""

import pytest

from activetest.errors import ChoiceError, LabelError
from activetest.labels.files import Label
from activetest.labels.matching import LikelyMapping
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.pool.outputs import LARGEST
from activetest.study.label_checks import (
    _hint_mapping,
    check_missing,
    check_plausible,
    find_outside,
    guess_classes,
    make_restorer,
    read_answers,
)
from tests import makers


@pytest.fixture
def animals(tmp_path):
    """A pool with open classes: twelve items of which the model calls every second a cat."""
    columns = {"id": [f"i{row}" for row in range(12)], "pred": ["cat", "dog"] * 6}
    return makers.build_table(tmp_path, columns)


@pytest.fixture
def numbers(tmp_path):
    """A pool of predicted numbers."""
    columns = {"id": [f"i{row}" for row in range(12)], "pred": [row + 0.5 for row in range(12)]}
    return makers.build_table(tmp_path, columns, name="numbers")


def label(
    id: str, text: str, *, line: int = 2, status: int = LABELLED, annotator: str = ""
) -> Label:
    return Label(f"line {line}", id, annotator, status, text)


def label_all(*texts: str) -> list[Label]:
    return [label(f"i{row}", text, line=row + 2) for row, text in enumerate(texts)]


def refuse(call, *arguments, **options) -> LabelError:
    with pytest.raises(LabelError) as error:
        call(*arguments, **options)
    return error.value


# --- cells that were written for a spreadsheet


def restore(pool, row: Label, edit=list) -> Label:
    (found,) = make_restorer(pool, edit, "log", notes=[])([row])
    return found


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (["=a", "b"], "=a"),
        (["b", "=a"], "=a"),
        (["'=a", "b"], "'=a"),
        (["b", "'=a"], "'=a"),
        (["b", "c"], "'=a"),
    ],
)
def test_an_apostrophe_before_an_id_goes_where_the_pool_knows_the_id_without_it(
    tmp_path, ids, found
):
    pool = makers.build_table(tmp_path, {"id": ids, "pred": ["cat", "dog"]})
    assert restore(pool, label("'=a", "cat")).id == found


@pytest.mark.parametrize("ids", [["'=a", "=a"], ["=a", "'=a"], ["=b", "'=b", "'=a", "=a"]])
def test_an_id_that_the_pool_knows_with_and_without_an_apostrophe_is_refused(tmp_path, ids):
    pool = makers.build_table(tmp_path, {"id": ids, "pred": ["cat", "dog"] * (len(ids) // 2)})
    error = refuse(restore, pool, label("'=a", "cat", line=7))
    assert error.problem.startswith('log, line 7: id "\'=a" may be the item of this name')


def test_apostrophes_before_labels_and_names_of_annotators_go_unless_a_class_has_them(tmp_path):
    pool = makers.build_table(tmp_path, {"id": ["a", "b", "c"], "pred": ["'=x", "y", "=z"]})

    def edit(rows):
        return [row._replace(place="edited") for row in rows]

    assert restore(pool, label("a", "'=x"), edit) == label("a", "'=x")._replace(place="edited")
    assert restore(pool, label("a", "'=z")).label == "=z"
    assert restore(pool, label("a", "'=new")).label == "=new"
    assert restore(pool, label("a", "'new")).label == "'new"
    found = restore(pool, label("'b", "y")._replace(annotator="'=ann"), edit)
    assert (found.id, found.label, found.annotator, found.place) == ("'b", "y", "=ann", "edited")


# --- words for no label


@pytest.mark.parametrize("letter", ["\x00", "\x07", "\x1b", "\uffff"])
def test_control_characters_are_in_no_label_and_no_name(animals, letter):
    error = refuse(read_answers, label_all("cat", f"c{letter}"), animals, "log", open_classes=True)
    assert "line 3, id 'i1': the label" in error.problem and repr(letter) in error.problem
    row = label("i0", "cat", annotator=f"ann{letter}")
    assert "the annotator" in refuse(read_answers, [row], animals, "log", open_classes=True).problem
    # Texts of people have tabs and ends of lines.
    rows = label_all("cat", "a\tb\r\nc\x85")
    assert len(read_answers(rows, animals, "log", open_classes=True)) == 2


def test_a_class_of_the_pool_may_have_control_characters(tmp_path):
    columns = {"id": ["i0", "i1"], "pred": ["a\x00", "b"]}
    pool = makers.build_table(tmp_path, columns)
    assert read_answers(label_all("a\x00", "b"), pool, "log", open_classes=True)
    assert refuse(read_answers, label_all("a\x01"), pool, "log", open_classes=True)


def test_words_for_no_label_are_no_classes(animals):
    assert check_missing(["N/A", "?"], animals) == ("N/A", "?")
    with pytest.raises(ChoiceError, match="' cat', which is a class"):
        check_missing(["?", " cat"], animals)


@pytest.mark.parametrize(
    ("count", "end"),
    [(1, "(line 2)"), (5, "(line 6)"), (6, "(line 6) and 1 more"), (7, "(line 6) and 2 more")],
)
def test_of_words_for_no_label_five_are_named_and_the_others_counted(animals, count, end):
    rows = label_all(*["n/a"] * count, "cat")
    answers = read_answers(rows, animals, "log", open_classes=True)
    error = refuse(check_plausible, answers, answers, rows, animals, "log")
    assert error.problem.startswith("log: some labels seem to say that there is none: 'n/a' of id")
    assert error.problem.endswith(end) and "i5" not in error.problem


# --- several classes


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["cat|dog"], "of id 'i0' lists several classes"),
        (["cat", "cat|dog", "dog, cat"], "of id 'i1' lists several classes, and 1 more do"),
    ],
)
def test_labels_that_list_several_classes_are_refused(animals, texts, said):
    rows = label_all(*texts)
    answers = read_answers(rows, animals, "log", open_classes=True)
    assert refuse(check_plausible, answers, answers, rows, animals, "log").problem.endswith(said)
    check_plausible([], answers, rows, animals, "log")


def test_a_list_of_classes_says_what_to_do_about_it_in_a_closed_pool_too(tmp_path):
    pool = makers.build_pool(tmp_path, 12)
    rows = [label("item-1", "cow"), label("item-2", "cat|dog")]
    error = refuse(read_answers, rows, pool, "log", open_classes=False)
    assert error.hint.startswith("where several classes can be true of an item")
    error = refuse(read_answers, rows[:1], pool, "log", open_classes=False)
    assert error.hint == "did you mean 'owl'? the classes are cat, dog, owl"


@pytest.mark.parametrize("open_classes", [False, True])
def test_whole_numbers_with_decimal_commas_are_no_lists_of_classes(tmp_path, open_classes):
    columns = {"id": [f"i{row}" for row in range(12)], "pred": ["0", "1"] * 6}
    pool = makers.build_table(tmp_path, columns)
    rows = label_all(*["0,0", "1,0"] * 6)
    with pytest.raises(LabelError) as caught:
        answers = read_answers(rows, pool, "log", open_classes=open_classes)
        check_plausible(answers, answers, rows, pool, "log")
    assert caught.value.mapping == {"0,0": "0", "1,0": "1"}
    assert "several classes" not in caught.value.hint


# --- files of which no label is a class


def test_ten_labels_of_no_class_are_refused_and_nine_are_not(animals):
    rows = label_all("w", "x", "y", "z", "u", "v", "q", "p", "o", "n")
    answers = read_answers(rows, animals, "log", open_classes=True)
    error = refuse(check_plausible, answers, answers, rows, animals, "log")
    assert error.problem.startswith("log: none of its 10 labels is a class")
    assert error.hint.startswith("say which classes they stand for in a CSV file")
    assert error.mapping == {}
    check_plausible(answers[:9], answers[:9], rows, animals, "log")
    check_plausible([], answers, rows, animals, "log")
    # A declined item has no label.
    declined = [answers[0]._replace(status=DECLINED, label=""), *answers[1:]]
    check_plausible(declined, declined, rows, animals, "log")


def test_classes_are_guessed_from_the_labels_that_are_none(animals):
    def guess(*texts):
        return guess_classes(
            read_answers(label_all(*texts), animals, "", open_classes=True), animals
        )

    assert guess("cat", "dog") is None
    # The model predicts a cat for the first and third: that says nothing of what people mean.
    assert guess("eins", "zwei", "eins", "zwei", "cat", "dog") is None
    assert guess("Cat", "dog", "dog").classes == {"Cat": "cat"}


def test_a_class_in_other_letters_is_asked_about_however_many_labels_are_classes(animals):
    rows = label_all("cat", "dog", "Dog", "cat", "dog ", "cow", "Dog")
    answers = read_answers(rows, animals, "log", open_classes=True)
    error = refuse(check_plausible, answers, answers, rows, animals, "log")
    assert error.problem == (
        "log: 3 of its 7 labels are no class: 'Dog' (2), 'cow' (1), and the classes are cat, dog"
    )
    assert error.mapping == {"Dog": "dog"}
    assert "; add what cow stands for; `as_is=True`" in error.hint
    check_plausible(answers[:2], answers, rows, animals, "log")


@pytest.mark.parametrize(
    ("name", "label"),
    [("Z\u00fcrich", "Z?rich"), ("Z\u00fcrich", "Z\u00c3\u00bcrich"), ("\u0416", "\u00c6")],
)
def test_a_class_in_another_encoding_is_asked_about(tmp_path, name, label):
    pool = makers.build_table(tmp_path, {"id": ["i0", "i1", "i2"], "pred": [name] + ["B"] * 2})
    rows = label_all(label)
    answers = read_answers(rows, pool, "log", open_classes=True)
    error = refuse(check_plausible, answers, answers, rows, pool, "log")
    assert error.problem.endswith(f"{label!r} looks like the class {name!r} in another encoding")
    others = label_all("Z\u00fcrcher", "C?", "?Z")
    answers = read_answers(others, pool, "log", open_classes=True)
    check_plausible(answers, answers, others, pool, "log")


# --- dates that spreadsheets make


@pytest.fixture
def ages(tmp_path):
    """A pool of classes that a spreadsheet takes for dates."""
    columns = {"id": [f"i{row}" for row in range(4)], "pred": ["1-2", "3-5", "21+", "2-1"]}
    return makers.build_table(tmp_path, columns)


def test_a_date_is_asked_about_where_classes_could_become_dates(ages):
    rows = label_all("21+", "5-Mar", "1/2/2024", "12-Dec")
    answers = read_answers(rows, ages, "log", open_classes=True)
    error = refuse(check_plausible, answers, answers, rows, ages, "log")
    assert error.problem == (
        "log, line 3: label '5-Mar' of id 'i1' is a date, which spreadsheets make of '3-5', and 2 "
        "other labels are dates, too"
    )
    # Two classes could have become the first of January or the second of February.
    assert error.mapping == {"5-Mar": "3-5"}
    assert "`map={'5-Mar': '3-5'}`" in error.hint and "`as_is=True`" in error.hint
    plain = label_all("21+", "not stated", "1-2")
    answers = read_answers(plain, ages, "log", open_classes=True)
    check_plausible(answers, answers, plain, ages, "log")


def test_a_date_is_named_in_closed_pools_and_where_labels_are_numbers(tmp_path, numbers):
    probs = {"id": ["i0", "i1"], "prob_1-2": [0.1, 0.6], "prob_3-5": [0.9, 0.4]}
    pool = makers.build_table(tmp_path, probs, name="probs")
    error = refuse(read_answers, label_all("2-Jan"), pool, "log", open_classes=False)
    assert "is a date, which spreadsheets make of '1-2'" in error.problem
    assert "as_is" not in error.hint and error.mapping == {"2-Jan": "1-2"}
    error = refuse(read_answers, label_all("01. Mai"), numbers, "log", open_classes=False)
    assert "spreadsheets make dates of numbers such as 1.5" in error.hint


def test_dates_are_further_classes_where_no_class_looks_like_a_date(animals):
    rows = label_all("cat", "2-Jan")
    answers = read_answers(rows, animals, "log", open_classes=True)
    check_plausible(answers, answers, rows, animals, "log")


# --- decimal commas


@pytest.mark.parametrize(
    ("texts", "read"),
    [
        (["1,5", "2", "-0,25"], ["1.5", "2.0", "-0.25"]),
        (["1.234,5", "1,234"], ["1234.5", "1.234"]),
        (["1,234", "0,5"], ["1.234", "0.5"]),
        (["1,234", "2,345"], None),
        (["1,5", "2.5"], None),
        (["1.5", "2"], None),
    ],
)
def test_commas_are_decimal_commas_where_they_can_be_nothing_else(numbers, texts, read):
    notes = []
    rows = list(make_restorer(numbers, list, "log", notes=notes)(label_all(*texts)))
    assert [row.label for row in rows] == (read or texts)
    assert bool(notes) == bool(read)


def test_a_comma_before_three_digits_is_asked_about(numbers):
    error = refuse(read_answers, label_all("1,234"), numbers, "log", open_classes=False)
    assert error.hint == (
        "say what the mark is: '1,234' is 1,234 with a decimal point, and 1.234 with a decimal "
        "comma: `decimal='.'` or `decimal=','`"
    )
    rows = make_restorer(numbers, list, "log", notes=[], decimal=",")(label_all("1,234"))
    assert read_answers(list(rows), numbers, "log", open_classes=False)[0].label == "1.234"


def test_numbers_have_no_classes_to_guess_or_to_lie_outside(numbers):
    answers = read_answers(label_all("1", "2"), numbers, "", open_classes=False)
    assert guess_classes(answers, numbers) is None
    assert find_outside(answers, numbers) == ()


@pytest.mark.parametrize(("count", "written"), [(50, True), (51, False)])
def test_a_mapping_of_more_than_fifty_pairs_is_named_and_not_written(count, written):
    hint = _hint_mapping(LikelyMapping({f"{row}": "cat" for row in range(count)}, "why"))
    assert hint.startswith("they may stand for these classes (why); if so, `map=")
    assert ("`map={'0': 'cat', " in hint, "`map=error.mapping`" in hint) == (written, not written)


# --- ids and labels that cannot be


@pytest.mark.parametrize(("count", "end"), [(2, "x1"), (5, "x4"), (6, "x4"), (8, "x4")])
def test_five_unknown_ids_are_named_and_the_others_counted(animals, count, end):
    rows = [label(f"x{row}", "cat") for row in range(count)]
    error = refuse(read_answers, rows, animals, "log", open_classes=True)
    more = f" and {count - 5} more" if count > 5 else ""
    assert error.problem.startswith(f"log: {count} ids are not in the pool: 'x0' (line 2), ")
    assert error.problem.endswith(f"{end!r} (line 2){more}")


@pytest.mark.parametrize(("count", "more"), [(2, False), (5, False), (6, True)])
def test_five_labels_that_cannot_be_are_named(numbers, count, more):
    rows = label_all(*["much"] * count)
    error = refuse(read_answers, rows, numbers, "log", open_classes=False)
    assert error.problem.startswith("log: some labels are not usable numbers: 'much' of id 'i0'")
    assert error.problem.endswith(" and more") == more
    assert error.problem.count("'much'") == min(count, 5)


def test_the_largest_number_is_a_label_and_one_above_it_is_none(numbers):
    rows = [label("i0", f"{LARGEST:.0f}"), label("i1", f"-{LARGEST:.0f}"), label("i2", "")]
    rows.append(label("i3", "x", status=PENDING))
    answers = read_answers(rows, numbers, "log", open_classes=False)
    assert [(each.id, each.label) for each in answers] == [
        ("i0", "1000000000000000.0"), ("i1", "-1000000000000000.0"), ("i2", ""),
    ]  # fmt: skip
    for text, what in ((f"{LARGEST + 1:.0f}", "too large"), ("1e999", "not a number")):
        error = refuse(read_answers, [label("i0", text)], numbers, "log", open_classes=False)
        assert error.problem == f"log, line 2: label {text!r} of id 'i0' is {what}"


@pytest.mark.parametrize(
    ("texts", "hinted"),
    [
        (["0.5"], True),
        (["0.5", "2"], True),
        (["2"], False),
        (["0.5", "much"], False),
    ],
)
def test_fractional_labels_of_a_score_may_be_values(tmp_path, texts, hinted):
    columns = {"id": [f"i{row}" for row in range(4)], "score": [0.1, 0.2, 0.7, 0.9]}
    pool = makers.build_table(tmp_path, columns)
    error = refuse(read_answers, label_all(*texts), pool, "log", open_classes=False)
    assert error.hint.startswith("these labels are numbers, and this study takes") == hinted
    probs = {"id": ["i0", "i1"], "prob_no": [0.1, 0.6], "prob_yes": [0.9, 0.4]}
    other = makers.build_table(tmp_path, probs, name="probs")
    hint = refuse(read_answers, label_all("0.5"), other, "log", open_classes=False).hint
    assert hint == "the classes are no, yes"


@pytest.mark.parametrize(
    ("column", "texts", "hinted"),
    [
        ("score", ["no", "yes"], True),
        ("score", ["no", "yes", "so"], False),
        ("score", ["no"], False),
        ("score", ["no", "yes", "1.5"], False),
        ("pred", ["no", "yes"], False),
    ],
)
def test_two_words_for_a_number_may_be_classes_of_which_it_is_the_probability(
    tmp_path, column, texts, hinted
):
    columns = {"id": [f"i{row}" for row in range(4)], column: [0.1, 0.2, 0.7, 0.9]}
    pool = makers.build_table(tmp_path, columns, task="regression", outputs=(column,))
    error = refuse(read_answers, label_all(*texts), pool, "log", open_classes=False)
    assert error.hint.startswith("labels of this pool are numbers")
    assert error.hint.endswith("with the class of low scores first") == hinted
