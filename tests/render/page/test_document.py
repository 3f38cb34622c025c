"""The page as a whole: well-formed, readable by everybody, closed to the outside, not too big."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote

import pytest

from activetest.nouns.report import Note, Weight
from activetest.nouns.report_details import ContestedItem, WorstItem
from activetest.render import html
from activetest.render import json as as_json
from activetest.render.page import markup, style

VOID = {"meta", "br", "input", "img", "hr", "link"}
HOSTILE = "</style><script>alert(1)</script>\u202e<img src=x onerror=y>'\"&\x1b[2J`"


class Page(HTMLParser):
    """A page as a list of (element, attributes, elements around it, text inside)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[dict] = []
        self.open: list[dict] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {[each['tag'] for each in self.open]}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        found = {"tag": tag, "text": "", "around": list(self.open), **dict(attrs)}
        self.elements.append(found)
        if tag not in VOID:
            self.open.append(found)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1]["tag"] == tag, (tag, [e["tag"] for e in self.open])
        self.open.pop()

    def handle_data(self, data):
        for each in self.open:
            each["text"] += data

    def all(self, tag: str) -> list[dict]:
        return [each for each in self.elements if each["tag"] == tag]


def inside(element: dict, tag: str) -> dict | None:
    return next((each for each in reversed(element["around"]) if each["tag"] == tag), None)


@pytest.fixture
def page(detailed) -> Page:
    return Page(html.render(detailed))


def test_ids_are_unique_and_links_lead_to_them(page):
    ids = [each["id"] for each in page.elements if "id" in each]
    assert len(ids) == len(set(ids)) > 5
    links = [each["href"] for each in page.all("a") if each["href"].startswith("#")]
    assert links and {link[1:] for link in links} == set(ids)
    assert {each["aria-labelledby"] for each in page.all("section")} == set(ids)


def test_screen_readers_find_a_language_a_title_landmarks_and_headings_in_order(page):
    assert page.all("html")[0]["lang"] == "en"
    assert page.all("title")[0]["text"] == "error of digits.parquet, by activetest"
    for landmark in ("header", "main", "nav", "footer"):
        assert len(page.all(landmark)) == 1
    levels = [int(each["tag"][1]) for each in page.elements if re.fullmatch("h[1-6]", each["tag"])]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= before + 1 for before, later in pairwise(levels))


def test_every_plot_has_a_name_and_its_numbers_in_a_table(page):
    pictures = page.all("svg")
    plots = [each for each in pictures if each.get("role") == "img"]
    assert len(plots) > 12
    for each in pictures:
        # Others are parts of plots, or marks that the words beside them say.
        part = inside(each, "svg") is not None
        assert each in plots or part or each.get("aria-hidden") == "true"
    for each in plots:
        assert each["aria-label"].strip()
        row, figure = inside(each, "tr"), inside(each, "figure")
        tables = [table for table in page.all("table") if figure in table["around"]]
        assert row is not None or (figure is not None and len(tables) == 1)


def test_every_table_has_a_caption_and_heads_with_a_scope(page):
    tables = page.all("table")
    assert len(tables) > 8
    for table in tables:
        captions = [each for each in page.all("caption") if each["around"][-1] is table]
        assert len(captions) == 1 and captions[0]["text"].strip()
    assert {each["scope"] for each in page.all("th")} == {"col", "row"}


def test_nothing_runs_and_nothing_is_loaded(page, detailed):
    text = html.render(detailed)
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & {
        each["tag"] for each in page.elements
    }
    for each in page.elements:
        assert not [name for name in each if name.startswith("on") or name in ("src", "style")]
        if "href" in each:
            assert each["href"].startswith(("#", "data:"))
    assert "://" not in text and "@import" not in text and "url(" not in text


def test_the_policy_allows_the_page_s_own_style_alone(page):
    policy = next(each["content"] for each in page.all("meta") if "http-equiv" in each)
    (sheet,) = page.all("style")
    digest = base64.b64encode(hashlib.sha256(sheet["text"].encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == f"'sha256-{digest}'"


def test_names_and_texts_of_others_are_neither_markup_nor_obeyed(detailed, row, gate, details):
    odd = details(
        worst_items=(WorstItem(HOSTILE, f"a\n{HOSTILE}", HOSTILE, HOSTILE, 0.5, 1.0),),
        contested=(ContestedItem(HOSTILE, HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),)),),
        loss=HOSTILE,
        draws_csv=f"id,label\n{HOSTILE},x\n",
        random_band=HOSTILE,
        history_of=HOSTILE,
    )
    provenance = replace(odd.provenance, pool=HOSTILE, commands=(HOSTILE,), chain=HOSTILE)
    report = replace(
        detailed,
        pool=HOSTILE,
        details=replace(odd, provenance=provenance),
        estimates=(
            row(headline=True, class_name=HOSTILE),
            row(metric="recall", class_name=HOSTILE),
            row(group={HOSTILE: HOSTILE}),
            row(group={HOSTILE: "a"}, against={HOSTILE: HOSTILE}),
        ),
        gates=(gate(requirement=f"error@g={HOSTILE}<=0.1", reason=HOSTILE),),
        notes=(Note(HOSTILE, Weight.INVALID), Note(HOSTILE)),
    )
    written = html.render(report)
    found = Page(written)
    kinds = {each["tag"] for each in found.elements}
    assert not kinds & {"script", "img"} and len(found.all("style")) == 1
    assert "\x1b" not in written and "\u202e" not in written
    assert "\\u202e" in written and "&lt;script&gt;" in written


@pytest.fixture
def large(detailed, row, details, log):
    """1,000 labels, 50 groups of long names, and as much of everything else as there can be."""

    def build_report(labels: int, groups: int):
        names = [f"a group with a rather long name, number {at:03d}" for at in range(groups)]
        rows = [row(headline=True), *(row(group={"region": name}) for name in names)]
        rows += [row(metric=each, estimate=0.5) for each in ("f1[a]", "recall[a]", "precision[a]")]
        text = "words of an item, and more of them " * 8
        items = tuple(
            WorstItem(f"item-{at}", text, "negative", "positive", 0.9, 2.0 - at / 10)
            for at in range(10)
        )
        contested = tuple(
            ContestedItem(f"item-{at}", text, "a", (("ann", "a"), ("bob", "b"))) for at in range(10)
        )
        full = details(draws_csv=log(labels), worst_items=items, contested=contested)
        return replace(detailed, estimates=tuple(rows), details=full)

    return build_report


def test_a_study_of_1000_labels_and_50_groups_fits_with_its_log(large):
    written = html.render(large(1000, 50))
    assert len(written.encode()) <= 150_000
    assert read_log(Page(written)).count("\n") == 1001
    assert "left out" not in written
    assert written.count("a group with a rather long name, number 049") >= 1


def test_the_log_is_compressed_before_anything_is_left_out(large):
    packed = html.render(large(2000, 50))
    assert len(packed.encode()) <= 150_000
    assert 'download="draws.csv.gz"' in packed
    assert read_log(Page(packed)).count("\n") == 2001


@pytest.mark.parametrize("labels", range(1000, 1700, 100))
def test_no_page_is_larger_than_it_may_be(large, labels):
    assert len(html.render(large(labels, 40)).encode()) <= 150_000


def test_a_larger_study_says_what_is_left_out(large):
    written = html.render(large(60_000, 500))
    assert len(written.encode()) <= html.MOST_BYTES
    assert re.search(r"\d+ better groups are left out here: JSON has them", written)
    assert "60,000 lines, too many for this file" in written
    # The worst are there.
    assert len(Page(written).all("tr")) > 40


def test_the_log_is_the_one_that_export_writes(page, detailed):
    assert read_log(page) == detailed.details.draws_csv


def read_log(page: Page) -> str:
    (link,) = (each for each in page.all("a") if "download" in each)
    head, _, content = link["href"].partition(",")
    if head.endswith("base64"):
        return gzip.decompress(base64.b64decode(content)).decode()
    return unquote(content)


def test_the_same_report_is_the_same_page(detailed):
    assert html.render(detailed) == html.render(replace(detailed))


def test_empty_sections_do_not_appear(row, report, nothing):
    empty = report(row(**nothing, n_labeled=0, headline=True, reason="no labels yet"))
    written = Page(html.render(empty))
    assert not written.all("section") and not written.all("nav") and not written.all("svg")
    assert "No estimate yet: no labels yet." in written.all("h1")[0]["text"]


def test_sections_without_anything_to_say_are_left_out(detailed, details):
    bare = details(
        history=(),
        confusion=None,
        reliability=None,
        worst_items=(),
        sampled=(),
        raters=(),
        alpha=None,
        contested=(),
        n_contested=0,
        draws_csv="",
    )
    ids = {each["id"] for each in Page(html.render(replace(detailed, details=bare))).all("h2")}
    assert ids == {"gates", "cautions", "metrics", "groups", "provenance"}
    whole = {each["id"] for each in Page(html.render(detailed)).all("h2")}
    assert whole - ids == {
        *("rounds", "confusion", "reliability", "worst", "sampled", "annotators"),
    }


def test_at_most_three_cautions_are_open_and_the_other_notes_can_be_opened(detailed):
    notes = [Note(f"Caution {at}.", Weight.INVALID) for at in range(5)] + [Note("A fact.")]
    found = Page(html.render(replace(detailed, notes=tuple(notes))))
    items = [each for each in found.all("li") if each["text"].startswith(("Caution", "A fact"))]
    opened = [each["text"] for each in items if inside(each, "details") is None]
    assert opened == ["Caution 0.", "Caution 1.", "Caution 2."]
    assert [each["text"] for each in items if inside(each, "details")] == [
        *("Caution 3.", "Caution 4.", "A fact."),
    ]


def test_the_program_knows_its_own_pages(detailed):
    assert html.MARKS[0] in html.render(detailed)[:1000]


def test_a_page_without_details_says_the_rest(detailed):
    written = Page(html.render(replace(detailed, details=None)))
    assert {each["id"] for each in written.all("h2")} == {"gates", "cautions", "metrics", "groups"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_can_be_read_in_both_schemes(scheme):
    colors = read_colors(scheme)
    ground = colors["page"]
    for name in ("ink", "faint", "blue", "orange", "pass", "fail", "undecided"):
        assert contrast(colors[name], ground) >= 4.5, name
    assert contrast(colors["ink"], colors["soft"]) >= 4.5
    for kind in ("blue", "orange"):
        for place, part in enumerate(style.SHADES):
            cell = mix(colors[kind], ground, part / 100)
            letters = ground if place >= style.TURNED else colors["ink"]
            assert contrast(letters, cell) >= 4.5, (kind, part)
    # Marks that mean something have a contrast of at least 3 to 1.
    for name in ("blue", "few", "orange"):
        assert contrast(colors[name], ground) >= 3, name


def read_colors(scheme: str) -> dict[str, tuple[int, int, int]]:
    sheet = style.write()
    found = {}
    parts = re.findall(r":root\{([^}]*)\}", sheet)
    for part in parts[:1] if scheme == "light" else parts:
        for name, code in re.findall(r"--([a-z]+):#([0-9a-f]+)", part):
            digits = code if len(code) == 6 else "".join(2 * digit for digit in code)
            found[name] = tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))
    return found


def mix(color, ground, part: float) -> tuple[float, ...]:
    return tuple(part * a + (1 - part) * b for a, b in zip(color, ground, strict=True))


def contrast(one, other) -> float:
    """WCAG 2.2: the relative luminances of both."""

    def luminance(color) -> float:
        shares = [each / 255 for each in color]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_numbers_are_those_of_the_json(detailed):
    page, document = Page(html.render(detailed)), json.loads(as_json.render(detailed))
    texts = {each["aria-labelledby"]: each["text"] for each in page.all("section")}
    for gate in document["gates"]:
        assert gate["requirement"] in texts["gates"]
        assert f"{gate['estimate']:.2g}"[:4] in texts["gates"]
    details = document["details"]
    for point in details["history"]:
        assert str(point["n_labeled"]) in texts["rounds"]
        assert f"{point['estimate']:.3f}" in texts["rounds"]
    for cell in details["confusion"]["cells"]:
        assert f"{100 * cell['estimate']:.1f}" in texts["confusion"]
    for item in details["worst_items"]:
        assert item["id"] in texts["worst"] and item["label"] in texts["worst"]
    for share in details["sampled"]:
        assert f"{100 * share['share_of_labels']:.1f} %" in texts["sampled"]
        assert f"{100 * share['share_of_pool']:.1f} %" in texts["sampled"]
    assert f"{details['alpha']:.2f}" in texts["annotators"]
    source = details["provenance"]
    for name in ("pool", "fingerprint", "chain"):
        assert source[name] in texts["provenance"]
    for estimate in document["estimates"]:
        if estimate["group"] and estimate["estimate"] is not None:
            assert f"{100 * estimate['estimate']:.1f} %" in texts["groups"]


def test_the_caution_about_code_is_code():
    assert markup.write_code("use `next`") == "use <code>next</code>"
