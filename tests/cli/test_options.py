"""What the values of options mean."""

import pytest

from activetest.cli import options


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["error"], ("error",)),
        (["error,f1[macro]", "recall[fraud]"], ("error", "f1[macro]", "recall[fraud]")),
        (["f-beta[2,fraud],error"], ("f-beta[2,fraud]", "error")),
        (["recall[a,b],recall[c, d],error"], ("recall[a,b]", "recall[c, d]", "error")),
        (["recall[no, ma'am]"], ("recall[no, ma'am]",)),
        (["error, brier"], ("error", "brier")),
        (["recall[a,b"], ("recall[a", "b")),
        ([], None),
        (None, None),
    ],
)
def test_commas_in_brackets_do_not_separate_metrics(given, meant):
    assert options.specifications(given) == meant


def test_commas_separate_names():
    assert options.split(["a,b", "c"]) == ("a", "b", "c")
    assert options.split(None) is None


def test_wishes_that_nobody_uttered_are_left_to_the_function():
    assert options.given({"a": None, "b": 0, "c": False, "d": ()}) == {"b": 0, "c": False, "d": ()}
