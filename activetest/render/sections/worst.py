"""The labelled items that the model, or the judge, did worst on, with their texts."""

from collections.abc import Iterator

from activetest.nouns.report import Report
from activetest.nouns.report_details import ReportDetails, WorstItem
from activetest.render.document import words
from activetest.render.document.blocks import Block, Item, Items, Sentence
from activetest.render.document.extent import Extent

PLACE = 11
TITLE = "The worst labelled items"
OF = "details"
PAGED = True

# Losses from here on are written as whole numbers.
_MANY_DIGITS = 1000


def write(details: ReportDetails, report: Report, extent: Extent) -> Iterator[Block]:
    """Those with the largest loss; nothing without any."""
    if not (items := details.worst_items):
        return
    loss = f" ({details.loss})" if details.loss else ""
    yield Sentence(
        f"The {len(items)} labelled items with the largest loss{loss}. "
        "They were chosen because they are bad: they say nothing about how often that happens.",
        style="plain",
    )
    yield Items([_describe(item, words.name_predictor(report)) for item in items])


def _describe(item: WorstItem, predictor: str) -> Item:
    spans = [(f"{predictor}: ", ""), (item.predicted, "strong")]
    spans += [(" · label: ", ""), (item.label, "strong")]
    if words.real(item.confidence):
        spans.append((f" · confidence {item.confidence:.2f}", ""))
    if item.loss != item.confidence:
        large = abs(item.loss) >= _MANY_DIGITS
        loss = words.count(item.loss) if large else words.short(item.loss)
        spans.append((f" · loss {loss}", ""))
    if item.unlike:
        spans.append((f" · unlike the {predictor}'s answers to similar items", ""))
    return Item(item.id, spans, item.text)
