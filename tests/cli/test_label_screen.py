"""Contents of the screen: which key is which class, and lines that fit."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from activetest.cli import label_screen
from activetest.cli.label_screen import View, assign_keys, find_command_keys, lay_out, wrap_text

LONG = "слово 单词 word 👩 " * 300


def view(**more) -> View:
    values = {"text": "a short text"}
    start = {"head": "1 of 20", "id": "item-1", "values": values, "commands": {"q": "quit"}}
    return View(**({"classes": {"1": "no", "2": "yes"}} | start | more))


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        (["no", "yes"], "12"),
        (["0", "1", "2"], "012"),
        (["a", "b", "c"], "abc"),
        (["A", "D", "S"], "ADS"),
        (["1", "none", "other"], "1ac"),
        (["-1", "0", "1"], "a01"),
        (["+", "-"], "12"),
        ([f"class {n}" for n in range(12)], "123456789ace"),
    ],
)
def test_a_class_has_its_own_letter_or_the_next_free_key(classes, keys):
    assert dict(zip(keys, classes, strict=True)) == assign_keys(classes)


@pytest.mark.parametrize(
    "classes",
    [[], [str(n) for n in range(12)], [f"class {n}" for n in range(40)], ["1.5", "2.5"]],
)
def test_too_many_classes_and_longer_numbers_are_typed(classes):
    assert assign_keys(classes) == {}


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), unique=True, max_size=40))
def test_no_key_stands_for_two_things_and_every_command_has_one(classes):
    keys = assign_keys(classes)
    assert keys == {} or sorted(keys.values()) == sorted(classes)
    commands = find_command_keys(keys)
    assert set(commands.values()) == set(label_screen.COMMANDS)
    assert not {key.casefold() for key in keys} & set(commands)


def test_letters_of_classes_are_no_commands():
    commands = find_command_keys(assign_keys(["A", "B", "C", "D"]))
    assert "d" not in commands and "b" not in commands
    assert label_screen.name_keys(commands)["decline"] == "!"
    assert commands["page up"] == "back"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (50, 20), (20, 9), (200, 60)])
@pytest.mark.parametrize("text", ["", "short", LONG, "x" * 5_000, "字" * 500, "\n" * 500])
def test_the_screen_fits_and_its_pages_hold_the_whole_text(width, height, text):
    shown, pages, page = [], 1, 0
    while page < pages:
        each = view(values={"text": text}, page=page)
        lines, pages = lay_out(each, width, height, styled=False)
        assert len(lines) <= height
        assert max(map(cell_len, lines)) < width
        assert any("[1] no" in line for line in lines)
        rule = next(at for at, line in enumerate(lines) if line.startswith("--"))
        start = 3 if lines[1].startswith("id ") else 1
        shown += lines[start:rule]
        page += 1
    assert "".join("".join(shown).split()) == "".join(text.split())


def test_nothing_in_a_text_or_a_name_reaches_the_terminal():
    evil = "\x1b[2J\x9b1m\x07\x08\u202e\ud800\r"
    names = {"1": f"no{evil}", "2": "yes"}
    each = view(
        id=evil,
        values={f"text{evil}": evil, "more": [evil]},
        classes=names,
        message=evil,
        head=evil,
    )
    lines, _ = lay_out(each, 80, 24, styled=False)
    assert all(set(line) <= set(string.printable) - set("\r\x0b\x0c\t") for line in lines)
    assert any(r"\x1b[2J" in line for line in lines)


def test_letters_are_joined_and_spaces_are_blanks():
    assert wrap_text("a\u00a0b\u3000c\td\r\ne\u2028f", 40) == ["a b c    d", "e", "f"]
    for joined in ("می‌خواهم", "👩‍👩‍👧", "क्‍ष"):
        assert wrap_text(joined, 40) == [joined]


def test_words_stay_whole_and_the_first_blanks_stay():
    assert wrap_text("    if x:\n        return", 20) == ["    if x:", "        return"]
    assert wrap_text("one two three", 8) == ["one two", "three"]
    assert wrap_text("one twothreefour", 8) == ["one", "twothree", "four"]


def test_a_text_of_100_000_characters_has_a_page_for_each_part():
    values = {"text": "".join(f"{number:05}" for number in range(20_000))}
    found = [lay_out(view(values=values, page=page), 80, 24, styled=False) for page in (0, 9, 999)]
    (first, pages), (tenth, _), (last, _) = found
    room = 24 - 3 - 4
    assert pages == -(-100_000 // (79 * room))
    assert first[3].startswith("00000") and f"page {999 % pages + 1} of {pages}" in last[-4]
    assert tenth[3] == values["text"][9 * 79 * room :][:79]


def test_a_text_without_an_end_is_cut():
    each = view(values={"text": "word\n" * 200_000})
    pages = lay_out(each, 80, 24, styled=False)[1]
    lines, _ = lay_out(view(values=each.values, page=pages - 1), 80, 24, styled=False)
    assert "... 500,000 more characters" in lines


def test_columns_have_names_where_there_are_several():
    values = {"question": "why?", "answer": "x " * 100, "n": 3, "tags": ["a", 1]}
    lines, _ = lay_out(view(values=values), 60, 30, styled=False)
    assert "question: why?\n\nanswer:\nx x" in "\n".join(lines)
    assert "\n\n\nn: 3" not in "\n".join(lines) and "\n\nn: 3" in "\n".join(lines)
    for line in ("question: why?", "answer:", "n: 3", 'tags: ["a", 1]'):
        assert line in lines


def test_styles_are_those_that_were_chosen():
    plain, _ = lay_out(view(), 60, 20, styled=False)
    styled, _ = lay_out(view(), 60, 20, styled=True)
    assert "\x1b" not in "".join(plain)
    assert "\x1b[1m" in "".join(styled)


def test_what_is_typed_finds_classes():
    classes = ["tabby cat", "cat", "Catfish", "dog"]
    assert label_screen.find_matches("CAT", classes) == ["cat", "Catfish", "tabby cat"]
    lines, _ = lay_out(view(typed="ca" * 90, matches=classes), 40, 20, styled=False)
    assert "tabby cat   cat   Catfish   dog" in lines
    assert any(line.startswith("label: ") and line.endswith("aca_") for line in lines)
