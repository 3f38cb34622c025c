"""Blocks on a page, and in formats without pictures."""

from dataclasses import replace
from typing import get_args

import pytest

from activetest.nouns.report import Note
from activetest.nouns.report_details import WorstItem
from activetest.render import markdown, text
from activetest.render.document.blocks import (
    Attachment,
    Bar,
    Bars,
    Block,
    Bullets,
    Chart,
    Code,
    Facts,
    Figure,
    Fold,
    Item,
    Items,
    Key,
    Map,
    MapCell,
    Matrix,
    Notes,
    Point,
    Sentence,
    Slices,
    Table,
)
from activetest.render.document.extent import Extent
from activetest.render.notebook import html as notebook
from activetest.render.page.blocks import write_block, write_blocks
from activetest.render.plots.axes import choose_axis
from activetest.render.sections import worst

TABLE = Table("", ("name", "many"), (("lions", "7"),))


@pytest.fixture
def blocks(row) -> dict[type, object]:
    """One block of each sort; all of them but keys speak of lions."""
    axis = choose_axis([0.0, 1.0])
    chart = Chart("lions by round", axis, axis, ("",) * len(axis.ticks), [Point(0, 0.5, 0, 1)])
    found = [
        Sentence("Lions are lions."),
        Facts([("animals", "lions")]),
        Bullets(["Mind the lions."]),
        Notes([Note("Mind the lions.")]),
        Code("feed lions"),
        TABLE,
        Matrix("lions", ("a", "b"), ((row(), row()), (row(), row()))),
        Map(TABLE, [[MapCell("7")]], "The more lions, the stronger."),
        Bars("animals", "animal", [Bar("lions", row())]),
        Figure(chart, "", TABLE),
        Slices("animal", [("lions", "7 of 9", 0.5, 0.7)]),
        Items([Item("lions", [("are animals", "")], None)]),
        Fold("more", [Sentence("Lions are lions.")]),
        Key([("bar", "lions")]),
        Attachment("The log", "lions.csv", "id", "every lion of all lions", "elsewhere"),
    ]
    return {type(block): block for block in found}


def test_every_sort_of_block_is_written_by_every_format(blocks):
    assert set(blocks) == set(get_args(Block))
    for sort, block in blocks.items():
        written = [
            text.write_blocks([block], None, None),
            markdown._write([block]),
            "".join(notebook._write([block])),
        ]
        assert "lions" in write_block(block).lower(), sort
        assert all(("lions" in each.lower()) == (sort is not Key) for each in written), sort


def test_an_unknown_sort_of_block_is_an_error():
    for write in (markdown._write_block, notebook._write_block, write_block):
        with pytest.raises(NotImplementedError):
            write("lions")


def test_no_text_of_a_block_is_markup(blocks):
    hostile = "<b onclick=x>lions"
    found = [
        Sentence(hostile, hostile),
        Facts([(hostile, hostile)]),
        Code(hostile),
        Items([Item(hostile, [(hostile, ""), (hostile, "name"), (hostile, "strong")], hostile)]),
        Slices(hostile, [(hostile, "", 0.5, 0.7)]),
        Fold(hostile, [Sentence(hostile, style="subtitle")]),
        Key([("bar", hostile)]),
        replace(blocks[Figure], caption=hostile),
    ]
    written = write_blocks(found)
    assert "onclick" in written and "<b onclick" not in written


@pytest.mark.parametrize(("judge", "predictor"), [(None, "model"), ("a judge", "judge")])
def test_the_worst_items_name_who_was_wrong(details, report, row, judge, predictor):
    found = details(worst_items=(WorstItem("a", None, "1", "0", 0.7, 0.7),))
    _, items = worst.write(found, replace(report(row()), judge=judge), Extent())
    assert f"{predictor}: <b>" in write_block(items)


@pytest.mark.parametrize("unlike", [True, False])
def test_the_worst_items_say_where_the_answer_is_unlike_others(details, report, row, unlike):
    found = details(worst_items=(WorstItem("a", None, "1", "0", 0.7, 0.7, unlike),))
    _, items = worst.write(found, report(row()), Extent())
    spans = items.items[0].write()
    assert ("unlike the model's answers to similar items" in spans) == unlike
