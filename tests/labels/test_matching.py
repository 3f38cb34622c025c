"""The class that a label equals, and the classes that labels equal to none may stand for."""

import unicodedata

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
from activetest.nouns.canonical import make_canonical

NAMES = st.lists(
    st.text(min_size=1).filter(lambda text: text == text.strip()), unique_by=make_canonical
)
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


def guess(labels, classes):
    found = guess_mapping(labels, classes)
    return found and found.classes


def test_neither_an_order_nor_the_alphabet_tells_which_class_is_meant():
    assert guess(["fail", "pass"], ["a", "b"]) is None
    assert guess(list("01"), ["a", "b"]) is None
    assert guess(list("012"), ["negative", "neutral", "positive"]) is None
    assert guess(["bad", "good", "so"], ["0", "1", "2"]) is None
    assert guess(["x", "y"], ["a", "b"]) is None


def test_words_mean_what_they_say_in_whatever_order_classes_are():
    for classes in (["0", "1"], ["1", "0"]):
        assert guess(["fail", "pass"], classes) == {"fail": "0", "pass": "1"}
    found = guess_mapping(["Chargeback", "FRAUD", "OK", "legit"], ["ok", "fraud"])
    assert found == LikelyMapping(
        {"Chargeback": "fraud", "FRAUD": "fraud", "OK": "ok", "legit": "ok"},
        "by the meaning of the words",
    )


@pytest.mark.parametrize("zero", [0x660, 0x966, 0xFF10])
def test_the_digits_of_other_scripts_stand_for_their_values(zero):
    labels = [chr(zero + 2), chr(zero + 1), chr(zero + 1) + chr(zero)]
    assert guess_mapping(labels, ["1", "2", "10"]) == LikelyMapping(
        {labels[0]: "2", labels[1]: "1", labels[2]: "10"}, "the same digits of another script"
    )
    assert guess(labels, ["0", "1", "2"]) is None


@pytest.mark.parametrize(
    ("labels", "classes", "found"),
    [
        (["0", "1"], ["LABEL_1", "LABEL_0"], {"0": "LABEL_0", "1": "LABEL_1"}),
        (["1.0", "02"], ["1 star", "2 stars"], {"1.0": "1 star", "02": "2 stars"}),
        (["LABEL_0"], ["0", "1"], {"LABEL_0": "0"}),
        (["0", "3"], ["LABEL_0", "LABEL_1"], None),
        (["0", "1"], ["LABEL_0", "CLASS_1"], None),
        (["0", "1"], ["LABEL_0", "LABEL_00"], None),
        (["LABEL_2"], ["0", "1"], None),
        (["0,0", "1,0"], ["0", "1"], {"0,0": "0", "1,0": "1"}),
        (["2,0", "4,00"], ["1", "2", "4"], {"2,0": "2", "4,00": "4"}),
        (["1,0"], ["0", "1"], None),
        (["1,0", "2,5"], ["1", "2"], None),
        (["1,0", "x"], ["1", "2"], None),
    ],
)
def test_the_number_in_a_name_is_the_number(labels, classes, found):
    assert guess(labels, classes) == found


@given(st.data())
def test_a_guess_names_classes_and_labels_that_there_are(data):
    words = ["yes", "no", "1", "0", "1.0", "ok", "OK", "fraud", "a1", "a2", "not-spam", "spam"]
    names = st.sampled_from(words)
    classes = data.draw(st.lists(names, min_size=1, unique=True))
    labels = data.draw(st.lists(names, min_size=1))
    found = guess(labels, classes) or {}
    assert set(found) <= set(labels) and set(found.values()) <= set(classes)


# --- lists of one, decimal commas and forms of Unicode


@pytest.mark.parametrize("label", ['["dog"]', "['dog']", '[ "dog" ]', "[' dog ']", "[\"['dog']\"]"])
def test_a_list_of_one_class_is_that_class(label):
    assert ClassMatcher(["cat", "dog"]).find(label) == "dog"
    assert ClassMatcher(["dog", label]).find(label) == label


@pytest.mark.parametrize("label", ["[]", '["cat", "dog"]', "['cat', 'dog']", "[dog]", '[["dog"]]'])
def test_other_lists_are_no_class(label):
    assert ClassMatcher(["cat", "dog"]).find(label) is None


def test_a_list_of_one_number_is_that_number():
    assert ClassMatcher(["0", "1"]).find("[1]") == ClassMatcher(["1"]).find("[ 1.0 ]") == "1"


def test_a_decimal_comma_is_a_point_unless_it_lists_classes():
    assert ClassMatcher(["1.5", "2.0"]).find("1,5") == "1.5"
    assert ClassMatcher(["1", "5", "1.5"]).find("1,5") is None
    assert ClassMatcher(["1.5"]).find("1,50") is None


@given(st.text(min_size=1).filter(lambda text: text == text.strip()))
def test_texts_that_unicode_calls_equal_are_one_class(name):
    forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD")}
    for known in forms:
        assert {ClassMatcher([known]).find(form) for form in forms} == {known}
