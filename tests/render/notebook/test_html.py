"""Fragments of HTML that notebooks show."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from activetest.nouns.inspection import Column, Inspection
from activetest.nouns.report import Counts, Note, Weight
from activetest.render import markdown
from activetest.render.notebook import html

COUNTS = Counts(
    n_pool=1497,
    draws=40,
    drawn=40,
    labeled=38,
    pending=2,
    declined=0,
    supplied=3,
    answers=41,
    rounds=4,
    budget=200,
)
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</td></table></div><b>",
    "<!--",
    "&lt;b&gt;&#60;",
    "javascript:alert(1)",
    "a\nb\x1b[31m\u202ec",
    "`<i>`",
    "$x$ \\(y\\)",
]


class Fragment(HTMLParser):
    """The elements, attributes and texts of a fragment; every element is closed where it should."""

    def __init__(self, written: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.roots = 0
        self.feed(written)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.roots += not self.open
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        assert self.open
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        return " ".join(self.texts)


TAGS = {"div", "table", "thead", "tbody", "tr", "th", "td", "b", "ul", "li", "code"}
# Of the picture of the headline.
DRAWN = {"svg", "line", "rect", "text"}


def parse(written: str) -> Fragment:
    """The fragment: one element of plain markup, without script, address or event."""
    pictures = re.findall("<svg .*?</svg>", written, re.DOTALL)
    for picture in pictures:
        assert Fragment(picture).tags <= DRAWN and "style" not in picture and "href" not in picture
        written = written.replace(picture, "")
    fragment = Fragment(written)
    assert fragment.roots == 1
    assert fragment.tags <= TAGS
    assert fragment.attributes <= {"class", "style", "scope"}
    styles = " ".join(re.findall(r'style="([^"]*)"', written))
    assert "url" not in styles and "http" not in styles
    return fragment


def test_the_headline_comes_first_and_then_verdicts(judged):
    texts = parse(html.render(judged)).texts
    assert texts[0] == ("The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %).")
    assert texts[1].startswith("gates: 1 FAIL, 1 UNDECIDED, 1 PASS")
    assert {"PASS", "FAIL", "UNDECIDED", "about 130"} <= set(texts)
    assert "error@ink=much<=0.1: Groups need more labels than the pool." in texts


def test_all_cells_of_the_markdown_are_there(whole, judged, answered, answer, compared, row):
    """Both formats are of the same tables."""
    groups = [row(group={"ink": value}) for value in ("little", "much")]
    reports = (whole, judged, answered(answer, *groups), answered(compared, *groups))
    for report in reports:
        fragment = parse(html.render(report))
        lines = [line for line in markdown.render(report).splitlines() if line.startswith("| ")]
        assert lines
        for line in lines:
            cells = re.sub(r"\\(.)", r"\1", line.replace("**", "")).strip("| ").split(" | ")
            for cell in cells:
                assert cell.strip() in {"", "---", *fragment.texts}, (cell, fragment.texts)


def test_at_most_three_cautions_are_shown(whole):
    notes = tuple(Note(f"Caution number {number}.", Weight.UNSTABLE) for number in range(5))
    text = parse(html.render(replace(whole, notes=notes))).text
    assert text.count("Caution number") == 3
    assert "2 cautions" in text


def test_the_mark_is_explained_where_it_stands(whole, row, report):
    legend = "marks an interval that is not reliable yet"
    unreliable = row(metric="log-loss", reliable=False)
    assert legend in html.render(report(row(headline=True), unreliable))
    assert legend not in html.render(report(row(headline=True), row(metric="log-loss")))


def test_without_labels_there_is_a_sentence(report):
    assert parse(html.render(report())).texts[0] == "No estimate yet."


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_markup(name, row, gate, report, answered, answer, confusion, matrix):
    rows = [
        row(headline=True, metric=name, class_name=name),
        row(metric="f1", class_name=name, estimator=name, method=name),
        row(group={name: name}, n_labeled=12),
        row(group={name: name}, against={name: "other"}),
        row(metric="f1", class_name=name, estimate=None, lower=None, upper=None, reason=name),
        *confusion((name, "dog")),
    ]
    gates = (gate(requirement=name, group={name: name}, class_name=name, reason=name),)
    notes = (Note(name, Weight.UNSTABLE),)
    whole = replace(
        report(*rows, notes=notes, gates=gates), pool=f"s3://{name}", metric=name, surrogate=name
    )
    groups = tuple(replace(group, group={name: name}) for group in answer.groups)
    asked = replace(
        answered(answer, *rows),
        assessment=replace(
            answer, groups=groups, column=name, target="confusion", confusion=matrix((name, "dog"))
        ),
    )
    for written in (html.render(whole), html.render(asked)):
        fragment = parse(written)
        assert "\x1b" not in written and "\u202e" not in written
        shown = name.replace("\n", "\\n").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
        assert shown.replace("`", "") in "".join(fragment.texts)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_value_of_a_batch_or_a_simulation_is_markup(name, result):
    rows = [{"id": name, "label": "", name: [name]}]
    fragment = parse(html.batch(rows, ("id", "label", name), summary=name))
    assert {"id", "label"} <= set(fragment.texts)
    parse(html.simulation([result | {"metric": name, "surrogate": name}]))
    parse(html.status(COUNTS, name, title=name))


@pytest.mark.parametrize("name", HOSTILE)
def test_no_value_of_a_file_or_of_an_item_to_label_is_markup(name):
    column = Column(name, "string", name, name)
    found = Inspection(name=name, format="csv", title="CSV", rows=3, columns=(column,))
    parse(html.inspection(replace(found, summary=(name,), create=name)))
    parse(html.inspection(replace(found, problem=name, hint=name)))
    item = SimpleNamespace(id=name, values={name: name, "other": None})
    assert "classes: " in parse(html.session(item, 1, 3, [name, "b"])).text


def test_a_file_is_shown_with_its_columns_and_the_call_that_makes_a_study():
    column = Column("score", "double", "probability of 1", "0.25")
    found = Inspection(name="a.csv", format="csv", title="CSV", rows=3, columns=(column,))
    shown = parse(html.inspection(replace(found, create="Study.create('a.csv')"))).texts
    assert shown[0] == "a.csv: CSV, 3 rows, 1 column"
    assert {"column", "score", "probability of 1", "0.25", "Study.create('a.csv')"} <= set(shown)


def test_an_item_to_label_is_shown_with_its_values_and_the_classes():
    item = SimpleNamespace(id="i7", values={"text": "x" * 500, "none": None})
    shown = parse(html.session(item, 1, 3, ("cat", "dog"))).texts
    assert shown[0] == "1 of 3 items have an answer"
    assert {"id", "i7", f"{'x' * 200} ...", "classes: cat and dog"} <= set(shown)
    assert "the label is a number" in parse(html.session(item, 0, 3, ())).text
    assert parse(html.session(None, 3, 3, ())).texts == ["3 of 3 items have an answer"]


def test_formulas_are_left_alone(whole):
    """Notebooks skip elements of these classes when they look for dollar signs."""
    assert 'class="activetest tex2jax_ignore mathjax_ignore"' in html.render(whole)


def test_colours_are_those_of_the_page_or_translucent(judged, result):
    """Black on a dark page, or white on a light one, could not be read."""
    pages = (html.render(judged), html.simulation([result]), html.status(COUNTS))
    for written in pages:
        declared = re.findall(r"(?:^|[;\"])(color|background|border-color):([^;\"]+)", written)
        assert declared
        for _, value in declared:
            assert value in ("inherit", "transparent") or value.startswith("rgba(")


def test_a_batch_is_a_table_of_its_items():
    rows = [{"id": "a", "label": "", "text": None}, {"id": "b", "label": "", "text": "x" * 500}]
    fragment = parse(html.batch(rows, ("id", "label", "text"), "round 1: 2 items drawn"))
    assert fragment.texts[:4] == ["round 1: 2 items drawn", "id", "label", "text"]
    assert "a" in fragment.texts and f"{'x' * 200} ..." in fragment.texts
    assert "None" not in fragment.text


def test_a_long_table_says_where_the_rest_is():
    rows = [{"id": str(number), "label": ""} for number in range(1100)]
    text = parse(html.batch(rows, ("id", "label"))).text
    assert "1,040 more rows:" in text and "batch.to_frame()" in text
    assert " 59 " in text and " 60 " not in text


def test_very_many_tables_stay_a_page(row, report):
    rows = [row(metric=f"m{metric}", group={"g": "a"}) for metric in range(200)]
    written = html.render(report(row(headline=True), *rows))
    assert "188 more tables" in parse(written).text
    assert written.count("<table") < 20


def test_a_status_is_what_the_other_formats_say():
    text = parse(html.status(COUNTS, "`study.next()` draws from 1,455 items")).text
    assert "1,497 items" in text and "200 labels, 162 left" in text
    assert "<code>study.next()</code>" in html.status(COUNTS, "`study.next()` draws")


def test_a_simulation_says_what_is_not_random(result):
    alone = result | {"selection": "top", "mse_ratio_se": None, "coverage": None}
    assert "all runs are the same study" in parse(html.simulation([alone])).text
    assert "2.9x" in parse(html.simulation([result])).texts


def test_a_matrix_of_few_classes_has_intervals_and_one_of_very_many_its_mistakes(
    row, report, confusion
):
    def write(classes: int) -> str:
        cells = confusion([f"class {number}" for number in range(classes)])
        return parse(html.render(report(row(headline=True), *cells))).text

    assert "0.100 (0.031 to 0.082)" in write(3)
    assert "(0.031" not in write(10) and "truth in rows" in write(10)
    assert "the 20 largest of 930" in write(31)


def test_the_headline_is_shown_as_a_bar_with_its_gate(judged, nothing, row, report):
    written = html.render(judged)
    (picture,) = re.findall(r"<svg .*?</svg>", written)
    assert 'role="img" aria-label="Error: 5.3 % (3.1 % to 8.2 %); error&lt;=0.1"' in picture
    # The gates on other numbers are not on it.
    assert picture.count('class="gate"') == 1
    assert "<svg" not in html.render(report(row(**nothing, headline=True, reason="no labels yet")))
