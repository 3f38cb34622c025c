"""Markdown for pull requests and job summaries."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from activetest.nouns.report import Note, Weight
from activetest.render import markdown

ONE_MEBIBYTE = 1024 * 1024


def test_verdicts_come_first_and_read_like_this(judged):
    assert markdown.render(judged).startswith(
        """\
## error of digits.parquet

**gates: 1 FAIL, 1 UNDECIDED, 1 PASS** (90 % intervals, valid at every look)

| gate | verdict | estimate | interval | labels | more labels |
| --- | --- | --- | --- | --- | --- |
| error\\<=0.1 | **PASS** | 0.053 | 0.031 to 0.082 | 38 | - |
| recall\\[cat\\]\\>=0.8 | **FAIL** | 0.610 | 0.550 to 0.680 | 38 | - |
| error@ink=much\\<=0.1 | **UNDECIDED** | 0.053 | 0.017 to 0.134 | 38 | about 130 |

- error@ink=much\\<=0.1: Groups need more labels than the pool.

**The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %).**
"""
    )


def test_every_line_of_a_table_has_as_many_cells_as_its_heading(whole, result, confusion, report):
    cells = report(*confusion(("cat", "d|og")))
    written = "\n".join(map(markdown.render, (whole, cells))) + "\n" + markdown.simulation([result])
    tables = [block.splitlines() for block in written.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4
    for table in tables:
        assert len({row.replace("\\|", "").count("|") for row in table}) == 1


def test_many_classes_are_shown_by_their_largest_mistakes(row, report, confusion):
    cells = confusion([f"class {number}" for number in range(31)])
    written = markdown.render(report(row(headline=True), *cells))
    assert "mistakes, the 20 largest of 930" in written
    assert written.count(" as class ") == 20


@pytest.fixture
def crowded(judged, row):
    """Twenty metrics times a thousand groups with long names, and a note."""
    usual = row()
    groups = [
        replace(usual, metric=f"metric-{metric}", group={"column": f"é{group}".ljust(40, "_")})
        for metric in range(20)
        for group in range(1000)
    ]
    return replace(
        judged, estimates=(*judged.estimates, *groups), notes=(Note("Read this.", Weight.WIDE),)
    )


def test_a_summary_fits_a_job_on_github_and_says_what_it_leaves_out(crowded):
    written = markdown.render(crowded)
    assert 0.9 * markdown.MOST_BYTES < len(written.encode()) <= markdown.MOST_BYTES < ONE_MEBIBYTE
    shown = written.count("column=é")
    assert 0 < shown < 20_000
    # Of every metric whose table is missing altogether, title and headings are lines as well.
    missing = 20 - written.count("by group")
    left_out = f"<sub>{20_000 - shown + missing:,} more lines are left out here"
    assert left_out in written
    assert "metric-0 by group" in written and "metric-19 by group" not in written
    assert "- Read this.\n" in written
    assert markdown.render(crowded, verbose=True).rstrip().endswith("floor 0.35, seed 7).</sub>")


def test_gates_are_the_last_to_be_left_out(crowded, gate):
    many = replace(crowded, gates=(gate(requirement="x" * 400),) * 5000)
    written = markdown.render(many)
    assert len(written.encode()) <= markdown.MOST_BYTES
    assert "gates: 5000 PASS" in written
    assert "by group" not in written
    assert "- Read this.\n" in written


def test_nothing_is_left_out_of_a_summary_that_fits(whole):
    assert "left out" not in markdown.render(whole)


def test_cautions_and_other_notes_have_titles_of_their_own(whole):
    cautions = [Note(f"Caution {number}.", Weight.WIDE) for number in range(4)]
    noted = replace(whole, notes=(*cautions, Note("A fact.")))
    shown = markdown.render(noted, more="the option -v")
    assert shown.endswith(
        "### Cautions\n\n- Caution 0.\n- Caution 1.\n- Caution 2.\n\n"
        "<sub>More with the option -v: 1 caution, 1 note.</sub>\n"
    )
    assert markdown.render(noted, verbose=True).partition("### Cautions")[2] == (
        "\n\n- Caution 0.\n- Caution 1.\n- Caution 2.\n- Caution 3.\n\n"
        "### Notes\n\n- A fact.\n\n"
        "<sub>doubly-robust: from the draws; ase: the surrogate's own view, without a guarantee"
        "</sub>\n\n"
        "<sub>Items are drawn where the surrogate (agreement) expects most to learn about error "
        "(acquisition optimal, floor 0.35, seed 7).</sub>\n"
    )


def test_a_mark_in_a_table_is_explained_once(row, report):
    groups = [row(group={"ink": name}, reliable=False) for name in ("much", "little")]
    assert markdown.render(report(row(headline=True), *groups)).count("(!) marks") == 1
    assert "(!)" not in markdown.render(report(row(headline=True, reliable=False)))


# Patterns that GitHub transforms, once Markdown has been rendered.
GITHUB = {
    "a mention": r"(?<!\w)@\w",
    "an address": r"://|www\.",
    "an address of mail": r"[\w.+-]+@[\w-]+\.\w",
    "an issue": r"#\d",
    "a formula": r"\$[^$]*\$",
    "an emoji": r":[\w+-]+:",
}
# Names that are more than names to Markdown or to GitHub.
NAMES = [
    "@octocat", "[@octocat]", "x @team/all", "mail a@b.com now", "a_b@c_d.org", "https://a.example/x_y",
    "see http://a.example", "ftp://a", "www.example.com", "WWW.Example.com", "Https://A.b",
    "&amp;", "&#64;octocat", "&lt;b&gt;", "R&D", "$a$", "$$x^2$$", "cost $5 or $6", "$`a`$",
    "#12", "a#12", "sharp #", "sharp ##", ":smile:", ":+1:", "a:b:c", "`code`", "<b>bold</b>",
    "a|b", "*a* _b_ ~~c~~", "\\", "\\@octocat", "\\&amp;", "[a](b)", "![a](b)", "<!-- x",
    "error@region=EU.west", "a@b", "1. x", "- x", "# x", "> x",
]  # fmt: skip


class Texts(HTMLParser):
    """The texts of a page, each between two tags; what is no cell is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def read_html(written: str) -> Texts:
    """A page as GitHub has it before it looks for names and addresses in it."""
    page = Texts()
    page.feed(MarkdownIt("commonmark").enable("table").render(written))
    page.close()
    return page


@pytest.mark.parametrize("name", NAMES)
def test_a_name_reads_as_it_is_and_calls_nobody(name, row, report):
    group = row(group={"column": name})
    noted = replace(report(row(headline=True), group), notes=(Note(name, Weight.WIDE),))
    page = read_html(markdown.render(noted))
    whole = "".join(page.texts)
    assert f"column={name}\n" in whole and f"\n{name}\n" in whole
    assert page.tags <= {"h2", "h3", "p", "ul", "li", "strong", "sub", "span"} | {
        *("table", "thead", "tbody", "tr", "th", "td")
    }
    for text in page.texts:
        for what, pattern in GITHUB.items():
            assert not re.search(pattern, text, re.IGNORECASE), (what, text)


@pytest.mark.parametrize("name", NAMES)
def test_a_pool_of_any_name_is_the_title_of_its_report(name, row, report):
    titled = replace(report(row(headline=True)), pool=name.replace("/", "-"))
    page = read_html(markdown.render(titled))
    assert f"error of {name.replace('/', '-')}\n" in "".join(page.texts)
