"""Several models: the metrics of each, and how far apart they are."""

from collections.abc import Iterator, Sequence

from activetest.nouns.report import EstimateRow, Report
from activetest.render.document import words
from activetest.render.document.blocks import Bar, Bars, Block, Columns, Sentence, Table, tabulate
from activetest.render.document.extent import Extent, list_known
from activetest.render.sections.metrics import find_usual

PLACE = 6
TITLE = "Models"
OF = "of_models"


def write(estimates: Sequence[EstimateRow], report: Report, extent: Extent) -> Iterator[Block]:
    """A row for every model and metric, and one for every difference; on pages as dots."""
    usual = find_usual(report, extent)
    rows = [row for row in list_known(report) if row.models and row.group is None]
    rows = [row for row in rows if not usual or row.estimator == usual]
    apart = [row for row in rows if len(row.models) > 1]
    alone = [row for row in rows if len(row.models) == 1]
    if alone:
        yield _tabulate("other models", alone)
    if apart and extent.paged:
        built = [Bar(words.metric(row), row, note=words.differ(row)) for row in apart]
        yield Bars("differences between models", "difference", built, reference=0.0)
    elif apart:
        yield _tabulate("differences between models", apart)
    if apart:
        yield Sentence(
            "Differences are of the same items: where both models do the same, there is none. "
            '"No clear difference" does not say that models are equal.',
            style="small",
        )


def _tabulate(title: str, rows: Sequence[EstimateRow]) -> Table:
    columns: Columns = {
        "metric": words.metric,
        "estimate": words.estimate,
        "interval": words.interval_or_reason,
        "differ": words.differ,
        "labels": lambda row: words.count(row.n_labeled),
        "n_eff": lambda row: words.count(row.n_eff),
        "saved": lambda row: words.ratio_saved(row.quantity.saving),
    }
    if len(rows[0].models) == 1:
        del columns["differ"]
    return tabulate(title, columns, rows)
