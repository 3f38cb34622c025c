"""A report in order: its sections are gathered, and each can be missing."""

import json

import pytest

from activetest import catalog
from activetest.render import html, markdown, text
from activetest.render import json as as_json
from activetest.render.document.extent import Extent
from activetest.render.document.outline import headline, list_names, outline_report


@pytest.fixture
def without(monkeypatch):
    """without(section): its file is not there."""

    def remove(section: str) -> None:
        found = {name: place for name, place in catalog._own("sections").items() if name != section}
        monkeypatch.setattr(
            catalog,
            "_own",
            lambda family, own=catalog._own: found if family == "sections" else own(family),
        )

    return remove


def test_sections_stand_in_one_order_and_have_places_of_their_own():
    names = list_names()
    places = [catalog.fact("sections", name, "PLACE") for name in names]
    assert places == sorted(set(places))
    assert names.index("question") < names.index("surface") < names.index("judge")
    assert (names[0], names[-1]) == ("gates", "provenance")


def test_a_report_has_the_sections_of_its_parts(answer, answered, judged):
    assert [each.key for each in outline_report(answered(answer), Extent()).sections] == [
        *("question", "metrics", "groups"),
    ]
    assert outline_report(judged, Extent()).sections[0].key == "gates"


@pytest.mark.parametrize("section", ["question", "groups", "gates", "confusion"])
def test_without_the_file_of_a_section_reports_lack_it_alone(answer, answered, without, section):
    report = answered(answer)
    before = outline_report(report, Extent(verbose=True)).list_blocks()
    without(section)
    left = outline_report(report, Extent(verbose=True)).list_blocks()
    assert all(block in before for block in left)
    assert (len(left) < len(before)) == (section == "question")
    for write in (text.render, markdown.render, html.render, as_json.render):
        assert write(report)
    keys = json.loads(as_json.render(report)).keys()
    assert ("question" in keys) == (section != "question") and "judge" in keys


def test_the_headline_is_that_of_the_metric_unless_a_section_says_more(answer, answered):
    assert headline(answered(answer)).startswith("The model is wrong on 5.3 % of items")
