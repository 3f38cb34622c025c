"""Markdown in a terminal: every word is there, and no line is too wide."""

import re

import pytest

from activetest.cli import markdown, pages

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def lay_out(text: str, width: int = 80) -> str:
    """The page without colours."""
    return ESCAPE.sub("", markdown.render(text, width))


def words(text: str) -> list[str]:
    return sorted(re.findall(r"[A-Za-z0-9]+", text))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("topic", pages.list_topics())
def test_pages_fit_the_terminal_and_lose_no_word(topic, width):
    text = pages.read_page(topic)
    shown = lay_out(text, width)
    assert max(map(len, shown.splitlines())) <= min(width, markdown.WIDTH)
    # Links are spelled out, and long words may be broken.
    missing = set(words(re.sub(r"\]\([^)]*\)", "]", text))) - set(words(shown))
    assert {each for each in missing if each not in "".join(shown.split())} == set()


def test_a_table_that_fits_has_its_columns_beside_each_other():
    shown = lay_out("| a | b | c |\n|---|---|---|\n| one | two | three |\n")
    assert shown.split("\n")[:3] == ["", "a    b    c", "one  two  three"]


def test_two_columns_stand_beside_each_other_with_the_text_wrapped():
    shown = lay_out(f"| name | meaning |\n|---|---|\n| `x` | {'word ' * 30}|\n")
    first, second = shown.splitlines()[2:4]
    assert first.startswith("x     word") and second.startswith("      word")


def test_a_table_that_does_not_fit_has_names_with_their_text_below():
    row = f"| `--option` | 0.35 | {'word ' * 30}| |"
    shown = lay_out(f"| option | default | meaning | values |\n|---|---|---|---|\n{row}\n")
    lines = shown.strip("\n").splitlines()
    assert lines[:3] == ["option", "    meaning", "--option"]
    assert all(line.startswith("    word") for line in lines[3:-1])
    assert lines[-1] == "    default: 0.35"


def test_links_to_pages_become_commands():
    text = (
        "See [groups](groups.md), [the rates](metrics.md#rates), [above](#top), [x](https://x.org)"
    )
    assert lay_out(text, 100) == (
        "See activetest help groups, the rates (activetest help metrics), above, x (https://x.org)\n"
    )


def test_code_is_shown_as_it_stands():
    code = "    activetest report --metric 'f1[macro]'  # [bold]x[/bold] :smile:\n"
    assert code in lay_out(f"text\n\n{code}\ntext\n")


def test_colours_have_no_background():
    """A background hides text in terminals of another colour."""
    shown = markdown.render("# A\n\n`code` and **bold**\n\n    block\n\n| a | b |\n|-|-|\n", 80)
    codes = {code for each in re.findall(r"\x1b\[([0-9;]*)m", shown) for code in each.split(";")}
    assert codes and not codes & {str(code) for code in (*range(40, 49), *range(100, 108))}
