"""Surfaces in words and tables: the same everywhere, readable in 80 columns and without colours."""

import json
import re
from dataclasses import replace
from itertools import product

import pytest

from activetest.nouns.quantity import Quantity
from activetest.nouns.surface_report import SurfaceCell, SurfaceMap, SurfaceReport
from activetest.render import json as as_json
from activetest.render import markdown, text
from activetest.render.notebook import html
from activetest.wings.surfaces.sections.surface import list_short

RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
JOBS = ("Federal-gov", "Local-gov", "Never-worked", "Private", "Self-emp-inc", "State-gov")


def make_cell(value, attributes, *, width=0.1, labels=3, items=50, arms=1, method="surface"):
    """A combination with this number, or none."""
    ends = (None, None) if value is None else (max(value - width, 0), min(value + width, 1))
    quantity = Quantity(value, *ends, 0.95, "none" if value is None else method)
    return SurfaceCell(
        quantity=quantity,
        attributes=attributes,
        n_pool=items,
        n_labeled=labels,
        n_arms=arms,
        reason="no item of the pool has it" if value is None else None,
    )


def make_map() -> SurfaceMap:
    """Five races by six jobs; nobody of the first race never worked, and some have no label."""
    cells = [
        [
            make_cell(
                0.5 + 0.09 * row - 0.02 * column,
                {"race": race, "job": job},
                labels=column,
            )
            for column, job in enumerate(JOBS)
        ]
        for row, race in enumerate(RACES)
    ]
    cells[0][2] = make_cell(None, cells[0][2].attributes, labels=0, items=0, arms=0)
    return SurfaceMap("accuracy", "race", "job", RACES, JOBS, tuple(map(tuple, cells)))


@pytest.fixture
def found() -> SurfaceReport:
    """A surface over two attributes with everything that can be requested."""
    arms = [
        make_cell(0.5 + 0.01 * place, {"race": race, "job": job})
        for place, (race, job) in enumerate(product(RACES, JOBS))
    ]
    return SurfaceReport(
        metric="accuracy",
        higher_better=True,
        method="stacked",
        components={"pairs": 0.25, "confidence": 0.75},
        level=0.95,
        attributes={"race": 5, "job": 6},
        min_support=5,
        combinations=30,
        occurring=29,
        ranked=28,
        labeled=20,
        worst=tuple(arms[:10]),
        best=tuple(arms[::-1][:10]),
        effects=tuple(
            [make_cell(0.6 + 0.05 * place, {"race": race}) for place, race in enumerate(RACES)]
            + [make_cell(0.7, {"job": job}, arms=5) for job in JOBS]
        ),
        cells=(
            make_cell(0.8, {"race": "Black"}, arms=6),
            make_cell(0.9, {"race": "Black", "job": "Private"}, arms=0, items=0, labels=0),
            make_cell(None, {"job": "Private"}, arms=0, items=0, labels=0),
        ),
        maps=(make_map(),),
        detailed=True,
    )


@pytest.fixture
def shown(whole, found):
    """A report with it."""
    return replace(whole, surface=found)


def test_the_short_answer_names_the_worst_and_lists_few(shown, found):
    short = replace(found, detailed=False, cells=(), maps=(), effects=())
    printed = text.render(replace(shown, surface=short), width=200)
    assert "Accuracy is lowest where race=Amer-Indian-Eskimo, job=Federal-gov: 0.50" in printed
    assert "(95 % credible: 0.40 to 0.60; 3 labels there)" in printed
    assert "30, of which 29 occur, 28 have at least 5 items and 20 have a label" in printed
    assert "stacked: confidence 0.75, pairs 0.25" in printed
    worst = printed.split("worst combinations")[1].split("best combinations")[0]
    assert worst.count("Amer-Indian-Eskimo") == 5
    assert printed.split("best combinations")[1].count("White") == 3


def test_an_attribute_that_is_called_like_another_column_is_shown(shown, found):
    arm = make_cell(0.5, {"estimate": "north", "items": "many"})
    named = replace(
        found, attributes={"estimate": 2, "items": 2}, worst=(arm,), best=(arm,), cells=(), maps=()
    )
    printed = text.render(replace(shown, surface=named), width=200)
    rows = printed.split("worst combinations")[1].split("best combinations")[0].splitlines()
    assert rows[1].split() == [
        *("attribute_estimate", "attribute_items", "estimate", "interval", "labels", "items")
    ]
    assert rows[2].split() == ["north", "many", "0.50", "0.40", "to", "0.60", "3", "50"]


def test_of_an_error_the_worst_is_the_highest(found):
    printed = text.write_blocks(
        list_short(replace(found, metric="error", higher_better=False)), width=200
    )
    assert printed.startswith("Error is highest where")


def test_without_a_combination_of_enough_items_the_sentence_says_so(found):
    printed = text.write_blocks(list_short(replace(found, worst=(), best=())), width=200)
    assert printed.startswith("No combination of race, job has 5 items.")


def test_what_was_requested_is_marked_where_it_does_not_occur(shown):
    lines = text.render(shown, width=200).splitlines()
    union, *_ = (line for line in lines if line.startswith("race=Black  "))
    assert union.endswith("6 combinations")
    (absent,) = (line for line in lines if line.startswith("race=Black, job=Private"))
    assert absent.endswith("does not occur: a prediction")
    without, *_ = (line for line in lines if line.startswith("job=Private   "))
    assert "no item of the pool has it" in without


def test_effects_begin_with_the_attribute_that_matters_most(shown):
    part = text.render(shown, width=200).split("by each attribute")[1].split("\n\n")[0]
    assert [line.split("  ")[0] for line in part.splitlines()[2:4]] == [
        "race=Amer-Indian-Eskimo",
        "race=Asian-Pac-Islander",
    ]
    assert part.index("race=White") < part.index("job=")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal(shown, width):
    printed = text.render(shown, width=width)
    assert max(map(len, printed.splitlines())) <= width


def test_a_map_in_80_columns_has_letters_for_names_that_are_too_wide(shown):
    printed = text.render(shown, width=60)
    assert "columns: a Federal-gov, b Local-gov, c Never-worked" in printed
    wide = text.render(shown, width=120)
    assert "columns: a" not in wide and re.search(r"race +Federal-gov +Local-gov", wide)
    rows = wide.split("race (rows)")[1].splitlines()[2:7]
    assert rows[0].split() == ["Amer-Indian-Eskimo", "(0.50)", "0.48", ".", "0.44", "0.42", "0.40"]


def test_a_map_has_colours_only_where_they_are_wanted(shown, monkeypatch):
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    plain, colored = (text.render(shown, width=120, color=color) for color in (False, True))
    assert "\x1b" not in plain
    bare = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()
    # Worst and best ends of the scale, as 24-bit grounds.
    assert "48;2;230;97;1" in colored and "48;2;5;113;176" in colored


def test_names_of_users_cannot_move_the_terminal_or_open_an_element(shown, found):
    named = {"race": "\x1b[31m<b>", "job": "x"}
    evil = replace(found, worst=(make_cell(0.5, named),), cells=(make_cell(0.5, named),))
    report = replace(shown, surface=evil)
    assert "\x1b[31m" not in text.render(report, width=200, color=False)
    assert "<b>" not in html.render(report) and "\\<b\\>" in markdown.render(report)


def test_markdown_and_html_have_what_text_has(shown):
    for printed in (markdown.render(shown), html.render(shown)):
        for part in ("Accuracy is lowest where", "worst combinations", "by each attribute"):
            assert part in printed
        assert "no label there yet" in printed
    assert "background:#e66101" in html.render(shown)
    assert 'title="race=Amer-Indian-Eskimo, job=Never-worked: no such item"' in html.render(shown)


def test_json_has_the_cells_and_not_every_combination(shown):
    written = json.loads(as_json.render(shown))["surface"]
    assert len(written["worst"]) == len(written["best"]) == 10
    assert written["worst"][0]["attributes"] == {"race": RACES[0], "job": JOBS[0]}
    assert [cell["occurs"] for cell in written["cells"]] == [True, False, False]
    (drawn,) = written["maps"]
    assert (drawn["first"], drawn["second"], len(drawn["cells"])) == ("race", "job", 30)


def test_parts_of_items_are_counted_in_parts(found):
    part = make_cell(0.5, {"race": "Black", "job": "Private"}, items=12.345, labels=0.25)
    printed = text.write_blocks(list_short(replace(found, worst=(part,))), width=200)
    assert "0.2 labels there" in printed and "12.3" in printed


def test_values_of_attributes_with_too_few_labels_are_counted_and_not_listed(report, row, found):
    groups = [
        row(group={"ink": "much"}, headline=False),
        row(
            group={"ink": "little"},
            headline=False,
            quantity=Quantity(None, None, None, 0.95, "none"),
            reason="too few labels (2 of 10)",
        ),
    ]
    plain = report(row(headline=True), *groups)
    with_surface = replace(plain, surface=found)
    assert "ink=little" in text.render(plain)
    short = text.render(with_surface)
    assert "ink=much" in short and "ink=little" not in short
    assert "1 group with too few labels" in " ".join(short.split())
    assert "ink=little" in text.render(with_surface, verbose=True)
