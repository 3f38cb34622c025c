"""The labelled items on which models and their reference differ, with their texts."""

from collections.abc import Iterator

from activetest.nouns.report import Report
from activetest.nouns.report_details import DisputedItem, ReportDetails
from activetest.render.document.blocks import Block, Item, Items, Sentence
from activetest.render.document.extent import Extent

PLACE = 11.5
TITLE = "Items on which models differ"
OF = "details"
PAGED = True


def write(details: ReportDetails, report: Report, extent: Extent) -> Iterator[Block]:
    """Those on which most models differ from the reference; nothing without any."""
    if not (items := details.disputed):
        return
    reference = items[0].answers[0][0]
    yield Sentence(
        f"Labelled items on which {reference} is right and another model is wrong, or the other "
        "way: first those on which most models differ from it.",
        style="plain",
    )
    yield Items([_describe(item) for item in items])


def _describe(item: DisputedItem) -> Item:
    spans = [("label: ", ""), (item.label, "strong")]
    for model, answer, right in item.answers:
        spans += [(" · ", ""), (model, "name"), (": ", ""), (answer, "strong" if right else "")]
        spans.append((" (right)" if right else " (wrong)", ""))
    return Item(item.id, spans, item.text)
