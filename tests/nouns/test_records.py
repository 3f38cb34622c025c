"""Records read by their annotations: what each annotation takes, and what is written again."""

import math
from dataclasses import dataclass, field
from typing import Annotated

import pytest

from activetest.errors import ChoiceError
from activetest.nouns.records import (
    Rule,
    find_missing,
    find_unknown,
    one_of,
    read_record,
    write_record,
)


@dataclass(frozen=True)
class Record:
    text: str
    flag: bool = False
    whole: int = 0
    number: float = 0.0
    texts: tuple[str, ...] = ()
    table: tuple[tuple[float, ...], ...] = ()
    maybe: int | None = None
    even: Annotated[int, Rule("it must be even", lambda value: value % 2 == 0)] | None = None
    mark: Annotated[str, one_of("ab")] = "a"
    verb: str = field(default="draw", metadata={"values": ("draw", "take")})


VALUES = {
    "text": (("", "a"), (1, None, b"a", ["a"]), "it must be a text"),
    "flag": ((True, False), (0, 1, "true", None), "it must be true or false"),
    "whole": ((0, -3, 10**30), (True, 1.0, "1", None), "it must be a whole number"),
    "number": ((0, 1.5, math.inf), (True, "1", None, [1.0]), "it must be a number"),
    "texts": (
        ([], ["a"], ("a", "b")),
        ("a", ["a", 1], {"a": 1}, None),
        "it must be a list of texts",
    ),
    "table": (
        ([], [[1, 2.5], []]),
        ([1], [["1"]], "ab"),
        "it must be a list of lists of numbers",
    ),
    "maybe": ((None, 3), ("3", True, 1.0), "it must be a whole number"),
    "even": ((None, 4), (3, "4"), "it must be even"),
    "mark": (("a", "b"), ("c", "", 1, [], None), "it must be one of a, b"),
    "verb": (("draw", "take"), ("", "top", None), "it must be draw or take"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_field_takes_what_its_annotation_says_and_nothing_else(name):
    taken, refused, hint = VALUES[name]
    for value in taken:
        read_record(Record, {"text": "a", name: value})
    for value in refused:
        with pytest.raises(ChoiceError) as error:
            read_record(Record, {"text": "a", name: value}, "here: ")
        assert error.value.problem.startswith(f"here: {name} is ")
        assert error.value.hint == hint


def test_lists_become_tuples_and_are_written_as_lists_again():
    entries = {"text": "a", "texts": ["b"], "table": [[1, 2], []], "number": 0.5}
    record = read_record(Record, entries)
    assert record == Record("a", number=0.5, texts=("b",), table=((1, 2), ()))
    written = write_record(record)
    assert written == entries | {"flag": False, "whole": 0, "mark": "a", "verb": "draw"}
    assert read_record(Record, written) == record


def test_a_whole_number_is_shown_as_it_is_typed():
    with pytest.raises(ChoiceError, match="^mark is 5$"):
        read_record(Record, {"text": "a", "mark": 5.0})


def test_names_of_no_field_and_fields_without_an_entry_are_found_in_order():
    assert find_unknown(Record, {"text": 1, "z": 1, "b": 1}) == "b"
    assert find_unknown(Record, {"text": 1}) is None
    assert find_missing(Record, {"flag": True}) == "text"
    assert find_missing(Record, {"text": "a"}) is None
