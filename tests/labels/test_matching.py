"""Which class a label equals, and which ones labels that equal none may stand for."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from activetest.labels.matching import (
    ClassMatcher,
    LikelyMapping,
    guess_by_spelling,
    guess_mapping,
    parse_number,
    parse_whole,
)

NAMES = st.lists(st.text(min_size=1).filter(lambda text: text == text.strip()), unique=True)
SPACES = st.text(" \t\n\r\u00a0\u2003")


@given(NAMES, SPACES, SPACES)
def test_every_class_equals_itself_with_any_white_space_around_it(names, before, after):
    matcher = ClassMatcher(names)
    padded = ClassMatcher([f"{before}{name}{after}" for name in names])
    for name in names:
        assert matcher.find(name) == matcher.find(f"{before}{name}{after}") == name
        assert padded.find(name) == f"{before}{name}{after}"


@given(st.sets(st.integers(-(10**6), 10**6)), st.integers(0, 4), st.booleans(), st.booleans())
def test_a_whole_number_equals_the_class_of_its_value(numbers, zeros, sign, point):
    matcher = ClassMatcher([str(number) for number in numbers])
    for number in numbers:
        digits = "0" * zeros + str(abs(number)) + "." * point + "0" * (point and zeros)
        written = ("-" if number < 0 else "+" * sign) + digits
        assert matcher.find(written) == str(number)
        assert matcher.find(f"{written}e0") == str(number)
    assert matcher.find(str(10**7)) is None


@given(st.text())
@example("0\x1f")
def test_a_number_is_one_in_python_and_has_the_digits_0_to_9_alone(text):
    number, whole = parse_number(text), parse_whole(text)
    if number is not None:
        # Space is what strip() takes away: separators of records as well, unlike float().
        assert number == float(text.strip()) and text.strip().isascii() and "_" not in text
    if whole is not None:
        assert number == float(whole)


@pytest.mark.parametrize(
    ("text", "number", "whole"),
    [
        ("2", 2.0, 2),
        ("2.0", 2.0, 2),
        ("2.", 2.0, 2),
        ("+02.00", 2.0, 2),
        ("-0", 0.0, 0),
        ("1e+05", 100000.0, 100000),
        ("15e-1", 1.5, None),
        ("2.5", 2.5, None),
        (".5", 0.5, None),
        ("12345678901234567890", 12345678901234567890.0, 12345678901234567890),
        ("1e999", float("inf"), None),
        *((text, None, None) for text in ("", ".", "e1", "nan", "inf", "0x2", "2 0", "1,5")),
        *((text, None, None) for text in ("\u0662", "\uff12", "\u00b2", "1_0", "\u0967")),
    ],
)
def test_what_is_a_number(text, number, whole):
    assert (parse_number(text), parse_whole(text)) == (number, whole)


def test_a_label_that_could_be_two_classes_is_none():
    assert ClassMatcher(["2", "02"]).find("2.0") is None
    assert ClassMatcher(["2", "02"]).find("02") == "02"
    assert ClassMatcher([" a", "a "]).find("a") is None
    assert ClassMatcher([" a", "a"]).find("a") == "a"


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("Neutral", "neutral"),
        ("NOT SPAM", "not_spam"),
        ("not-spam ", "not_spam"),
        ("\uff2f\uff2b", "ok"),
    ],
)
def test_case_width_spaces_and_punctuation_are_spelling(label, known):
    found = guess_by_spelling([label, "other"], ["neutral", "not_spam", "ok"])
    assert found.classes == {label: known}


@pytest.mark.parametrize("label", ["-1", "1.0", "11", "one"])
def test_other_numbers_are_no_other_spelling(label):
    assert guess_by_spelling([label], ["1", "10"]) is None


def guess(labels, classes, predicted=None):
    found = guess_mapping(labels, predicted or labels, classes)
    return found and found.classes


def test_codes_stand_for_classes_in_their_order():
    assert guess(list("01"), ["a", "b", "c"]) == {"0": "a", "1": "b"}
    assert guess(["1.0", "3.0"], ["a", "b", "c"]) == {"1.0": "a", "3.0": "c"}
    assert guess(list("05"), ["a", "b", "c"]) is None
    # Either order fits: the predictions decide.
    codes, classes = list("1122"), ["a", "b", "c"]
    assert guess(codes, classes, list("bbcc")) == {"1": "b", "2": "c"}
    assert guess(codes, classes, list("aabb")) == {"1": "a", "2": "b"}


def test_names_from_a_to_z_stand_for_codes_where_predictions_tell_nothing():
    assert guess(["so", "no", "yes"], ["0", "1", "2"], ["0"] * 3) == {
        "no": "0",
        "so": "1",
        "yes": "2",
    }
    assert guess(["so", "no"], ["0", "1", "2"], ["0"] * 2) is None
    assert guess(["so", "no", "7"], ["0", "1", "2"], ["0"] * 3) is None


@pytest.mark.parametrize(
    "labels",
    [
        ["0.5", "1.5", "2.5"],
        ["1e-5", "2e-5", "3e-5"],
        ["1/2", "1/3", "1/4"],
        ["\u0660.5", "\u0661.5", "\u0662.5"],
        ["\u4e00", "\u4e8c", "\u4e09"],
        ["so", "no", "\u00bd"],
    ],
)
def test_numbers_of_any_script_are_no_names_from_a_to_z(labels):
    assert guess(labels, ["0", "1", "2"], ["0"] * 3) is None


@pytest.mark.parametrize("zero", [0x660, 0x966, 0xFF10])
def test_the_digits_of_other_scripts_stand_for_their_values(zero):
    labels = [chr(zero + 2), chr(zero + 1), chr(zero + 1) + chr(zero)]
    found = guess_mapping(labels, ["1", "2", "2"], ["1", "2", "10"])
    assert found == LikelyMapping(
        {labels[0]: "2", labels[1]: "1", labels[2]: "10"}, "the same digits of another script"
    )
    assert guess(labels, ["0", "1", "2"], ["0"] * 3) is None


def test_predictions_decide_only_where_another_order_fits_much_worse():
    codes = list("0" * 10 + "1" * 10)
    mostly = ["b"] * 9 + ["a"] + ["a"] * 9 + ["b"]
    slightly = ["b"] * 6 + ["a"] * 4 + ["a"] * 6 + ["b"] * 4
    assert guess(codes, ["a", "b"], mostly) == {"0": "b", "1": "a"}
    assert guess(codes, ["a", "b"], slightly) == {"0": "a", "1": "b"}


def test_there_is_no_guess_where_labels_tell_nothing():
    assert guess(["x", "y"], ["a", "b"], ["a", "a"]) is None
    assert guess(["x"] * 4, ["a", "b"], ["a", "a", "b", "b"]) is None
    assert guess(["x", "x", "y", "y"], ["a", "b"], ["a", "a", "a", "a"]) is None


@given(st.data())
def test_a_guess_names_classes_and_labels_that_there_are(data):
    classes = data.draw(
        st.lists(st.text("abAB01 .", min_size=1, max_size=3), min_size=1, unique=True)
    )
    labels = data.draw(st.lists(st.text("abAB012 .-", min_size=1, max_size=3), min_size=1))
    predicted = [data.draw(st.sampled_from(classes)) for _ in labels]
    found = guess(labels, classes, predicted) or {}
    assert set(found) <= set(labels) and set(found.values()) <= set(classes)
