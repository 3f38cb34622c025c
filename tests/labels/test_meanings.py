"""Meanings of words, and words without a clear meaning."""

import itertools

import pytest

from activetest.labels.meanings import describe_counts, read_meanings


@pytest.mark.parametrize(
    ("labels", "classes", "meant"),
    [
        (["OK", "legit", "Fraud", "chargeback"], ["fraud", "ok"], "ok ok fraud fraud"),
        (["OK", "legit", "Fraud", "chargeback"], ["0", "1"], "0 0 1 1"),
        (["pass", "fail"], ["0", "1"], "1 0"),
        (["Passed", "FAILED"], ["False", "True"], "True False"),
        (["correct", "wrong"], ["fail", "pass"], "pass fail"),
        (["yes", "no"], ["0.0", "1.0"], "1.0 0.0"),
        (["ja", "nein"], ["yes", "no"], "yes no"),
        (["vrai", "faux"], ["true", "false"], "true false"),
        (["да", "нет"], ["yes", "no"], "yes no"),
        (["はい", "いいえ"], ["yes", "no"], "yes no"),
        (["예", "아니요"], ["1", "0"], "1 0"),
        (["是", "否"], ["true", "false"], "true false"),
        (["👍", "👎🏽"], ["0", "1"], "1 0"),
        (["✔️", "✗"], ["no", "yes"], "yes no"),
        (["👍", "👎"], ["bad", "good"], "good bad"),
        (["korrekt", "Falsch"], ["0", "1"], "1 0"),
        (["1", "0"], ["spam", "ham"], "spam ham"),
        (["spam", "not spam"], ["ham", "spam"], "spam ham"),
        (["toxic", "non-toxic"], ["0", "1"], "1 0"),
        (["0", "1"], ["not urgent", "urgent"], "not-urgent urgent"),
        (["y", "n"], ["no", "yes"], "yes no"),
        (["legit"], ["fraud", "ok"], "ok"),
        (["pos", "neg", "neu"], ["neutral", "positive", "negative"], "positive negative neutral"),
    ],
)
def test_words_mean_a_class_in_every_order(labels, classes, meant):
    expected = dict(zip(labels, (each.replace("-", " ") for each in meant.split()), strict=True))
    for order in itertools.permutations(classes):
        assert read_meanings(labels, order) == expected
        assert read_meanings(labels[::-1], order) == expected


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        # Either could be the one.
        (["good", "bad"], ["0", "1"]),
        (["safe", "unsafe"], ["0", "1"]),
        (["accepted", "rejected"], ["0", "1"]),
        # It is about something else.
        (["fraud", "ok"], ["pass", "fail"]),
        (["left", "right"], ["0", "1"]),
        (["✅", "❌"], ["fraud", "ok"]),
        (["👍", "👎"], ["fraud", "legit"]),
        (["😀", "😡"], ["yes", "no"]),
        (["positive", "negative"], ["fraud", "ok"]),
        # One side alone, and letters that may be anything.
        (["ok"], ["0", "1"]),
        (["x", "y"], ["0", "1"]),
        (["1", "0"], ["cat", "dog"]),
        (["0", "1", "2"], ["negative", "neutral", "positive"]),
        (["no", "yes"], ["0", "1", "2"]),
        (["pass"], []),
    ],
)
def test_nothing_is_said_where_it_is_not_clear(labels, classes):
    for order in itertools.permutations(classes):
        assert read_meanings(labels, order) == {}


def test_a_word_that_is_not_known_leaves_the_others_as_they_are():
    found = read_meanings(["pass", "maybe", "fail"], ["0", "1"])
    assert found == {"pass": "1", "fail": "0"}


def test_counts_are_given_from_the_most_frequent_on():
    counts = {"b": 2, "a": 2, "c": 1_000}
    assert describe_counts(counts, 2) == "'c' (1,000), 'a' (2) and 1 more"
    assert describe_counts(counts, 3) == "'c' (1,000), 'a' (2), 'b' (2)"
