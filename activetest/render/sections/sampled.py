"""What was labelled, against the pool."""

from collections.abc import Iterator, Sequence

from activetest.nouns.name_lists import list_few
from activetest.nouns.report import Report
from activetest.nouns.report_details import SampledShare
from activetest.render import _words as words
from activetest.render._blocks import Block, Fold, Key, Sentence, Slices
from activetest.render._extent import Extent

PLACE = 11
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
    kinds = list(dict.fromkeys(share.what for share in shares))
    cuts = [Slices(what, [_read(each) for each in shares if each.what == what]) for what in kinds]
    yield from cuts[:_OPEN]
    yield Fold(f"By {list_few(kinds[_OPEN:])}", cuts[_OPEN:])


def _read(share: SampledShare) -> tuple[str, str, float, float]:
    note = f"{words.count(share.n_labeled)} of {words.count(share.n_pool)} items"
    return share.name, note, share.share_of_labels, share.share_of_pool
