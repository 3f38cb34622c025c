"""The labelled items against the pool."""

from collections.abc import Iterator, Sequence

from activetest.nouns.name_lists import list_few
from activetest.nouns.report import Report
from activetest.nouns.report_details import SampledShare
from activetest.render.document import words
from activetest.render.document.blocks import Block, Fold, Key, Sentence, Slices
from activetest.render.document.extent import Extent

PLACE = 12
TITLE = "Labels against the pool"
OF = "details.sampled"
PAGED = True

# Ways to cut the pool that are shown without opening anything.
_OPEN = 2


def write(shares: Sequence[SampledShare], report: Report, extent: Extent) -> Iterator[Block]:
    """Each way to cut the pool; nothing without labels."""
    if not any(share.n_labeled for share in shares):
        return
    yield Sentence(
        "Labels are drawn where they tell most, so they are not spread like the pool. The "
        "estimates correct for it.",
        style="plain",
    )
    yield Key([("bar", "share of the labels"), ("bar2", "share of the pool")])
    rows: dict[str, list[tuple[str, str, float, float]]] = {}
    for each in shares:
        note = f"{words.count(each.n_labeled)} of {words.count(each.n_pool)} items"
        row = each.name, note, each.share_of_labels, each.share_of_pool
        rows.setdefault(each.what, []).append(row)
    kinds, cuts = list(rows), [Slices(what, of_kind) for what, of_kind in rows.items()]
    yield from cuts[:_OPEN]
    yield Fold(f"By {list_few(kinds[_OPEN:])}", cuts[_OPEN:])
