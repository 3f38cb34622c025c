"""Who answered, how far they agree, and items that they do not agree on."""

from collections.abc import Iterator, Sequence

from activetest.nouns.report import Report
from activetest.nouns.report_details import AnnotatorAnswers, ContestedItem, ReportDetails
from activetest.render.document import words
from activetest.render.document.blocks import (
    Block,
    Columns,
    Item,
    Items,
    Sentence,
    Table,
    tabulate,
)
from activetest.render.document.extent import Extent

PLACE = 13
TITLE = "Annotators"
OF = "details"
PAGED = True

# Classes for which an annotator's share of right answers is shown.
_CLASSES = 6


def write(details: ReportDetails, report: Report, extent: Extent) -> Iterator[Block]:
    """Nothing where answers have no names and agree."""
    people, items = details.raters, details.contested
    if not people and not items:
        return
    if details.alpha is not None:
        yield Sentence(
            f"Krippendorff's alpha is {details.alpha:.2f}: 1 is full agreement, 0 is chance.",
            style="plain",
        )
    if people:
        yield _tabulate(people)
    if items:
        hidden = details.n_contested > len(items)
        more = f": the {len(items)} most contested of {details.n_contested:,}" if hidden else ""
        yield Sentence(f"Items with different answers{more}", style="subtitle")
        yield Items(list(map(_describe, items)))


def _tabulate(people: Sequence[AnnotatorAnswers]) -> Table:
    columns: Columns = {
        "annotator": lambda each: words.plain(each.name) or "no name",
        "labelled": lambda each: words.count(each.labeled),
        "declined": lambda each: words.count(each.declined),
        "compared with others": lambda each: words.count(each.compared),
        "of these equal": lambda each: (
            "-" if each.agreeing is None else f"{100 * each.agreeing:.0f} %"
        ),
        "estimated: right, by true class": lambda each: _write_right(each.confusion),
    }
    if not any(each.confusion for each in people):
        del columns["estimated: right, by true class"]
    return tabulate("annotators", columns, people, titled=False)


def _describe(item: ContestedItem) -> Item:
    spans = []
    for at, (name, label) in enumerate(item.answers):
        spans += [(", " if at else "", ""), (name or "somebody", "name" if name else "")]
        spans += [(": ", ""), (label, "strong")]
    return Item(item.id, [*spans, ("; counts as ", ""), (item.label, "strong")], item.text)


def _write_right(confusion: dict[str, dict[str, float]] | None) -> str:
    """How often an annotator is right, by true class: the first of many classes."""
    found = (confusion or {}).items()
    right = [f"{words.plain(name)} {100 * row[name]:.0f} %" for name, row in found]
    return ", ".join([*right[:_CLASSES], "..."][: len(right)]) or "-"
