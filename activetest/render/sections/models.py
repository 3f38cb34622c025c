"""Several models: the metrics of each, and how far they are from a reference."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from activetest import catalog
from activetest.nouns.report import EstimateRow, Report
from activetest.render.document import words
from activetest.render.document.blocks import Bar, Bars, Block, Columns, Sentence, Table, tabulate
from activetest.render.document.extent import Extent, list_known
from activetest.render.sections.metrics import find_usual, group_rows

PLACE = 6
TITLE = "Models"
OF = "of_models"

_OF_DIFFERENCES = (
    "Differences are of the same items: where both models do the same, there is none. "
    '"No clear difference" does not say that models are equal.'
)

_OF_SHARES = (
    "Wins and losses are estimated shares of items: on which the model alone is right, and on "
    "which the reference alone is."
)


class _Model(NamedTuple):
    """A model with its own number, and with its difference to the reference; None without."""

    name: str
    alone: EstimateRow | None
    apart: EstimateRow | None


def write(estimates: Sequence[EstimateRow], report: Report, extent: Extent) -> Iterator[Block]:
    """For each metric a row per model, the best first, with its difference to the reference.

    On pages these are dots on intervals.
    """
    usual = find_usual(report, extent)
    known = [row for row in list_known(report) if row.group is None and row.against is None]
    known = [row for row in known if not usual or row.estimator == usual]
    plain = {_find_kind(row): row for row in known if not row.models}
    named = [row for row in known if row.models]
    several = len({row.estimator for row in named}) > 1
    for rows in group_rows(named, _find_kind):
        yield from _compare(rows, plain.get(_find_kind(rows[0])), extent, several=several)
    apart = [row for row in estimates if len(row.models) > 1]
    if apart:
        kinds = [_find_kind(row) for row in apart if row.compared is not None]
        together = " Intervals of differences hold together." * (len(kinds) > len({*kinds}))
        yield Sentence(_OF_DIFFERENCES + together, style="small")
    if any(map(_find_shares, apart)):
        yield Sentence(_OF_SHARES, style="small")


def _find_kind(row: EstimateRow) -> tuple[str, str | None, str]:
    """Rows with the same one are of one table."""
    return row.metric, row.class_name, row.estimator


def _compare(
    rows: Sequence[EstimateRow], own: EstimateRow | None, extent: Extent, *, several: bool
) -> Iterator[Block]:
    """One metric of all models, and what lies between them; own is that of the first model.

    several  whether the title says which estimator it is
    """
    alone = {row.models[0]: row for row in rows if len(row.models) == 1}
    apart = [row for row in rows if len(row.models) > 1]
    references = dict.fromkeys(row.models[1] for row in apart)
    # The first model's number has no name: it is the one that only differences name.
    names = dict.fromkeys([*references, *(row.models[0] for row in apart), *alone])
    first = next((name for name in names if name not in alone), None)
    if own is not None and first is not None:
        alone[first] = own
    metric = words.name_metric(rows[0].metric, rows[0].class_name)
    metric += f" ({rows[0].estimator})" if several else ""
    if len(references) > 1:
        models = [_Model(name, alone.get(name), None) for name in names if name in alone]
        yield from [_tabulate(metric, models, "")] if models else []
        yield _tabulate(metric, [_Model(words.metric(row), None, row) for row in apart], "each")
        return
    (reference,) = references or ("",)
    differences = {row.models[0]: row for row in apart}
    models = [
        _Model(name, alone.get(name), differences.get(name))
        for name in names
        if name in alone or name in differences
    ]
    models.sort(key=lambda each: _rank(each.alone))
    if not extent.paged:
        yield _tabulate(metric, models, reference)
        return
    bars = [Bar(each.name, each.alone) for each in models if each.alone is not None]
    if bars:
        yield Bars(f"{metric} by model", "model", bars)
    if apart:
        bars = [Bar(row.models[0], row, note=words.differ(row)) for row in apart]
        title = f"{metric}: difference to {reference}"
        yield Bars(title, "model", bars, reference=0.0)


def _find_shares(row: EstimateRow | None) -> tuple[float, float] | None:
    """Shares of items on which the model alone is right, and the reference alone; None unknown."""
    compared = None if row is None else row.compared
    if compared is None or compared.better is None or compared.worse is None:
        return None
    return compared.better, compared.worse


def _write_shares(row: EstimateRow | None) -> str:
    """Both shares in words."""
    shares = _find_shares(row)
    return "-" if shares is None else ", ".join(f"{100 * each:.2g} %" for each in shares)


def _rank(row: EstimateRow | None) -> float:
    """Smaller for better estimates, where a metric says which are; last without an estimate."""
    if row is None or row.estimate is None:
        return np.inf
    ours = catalog.bare_name(row.metric) in catalog.names("metrics")
    better = catalog.fact("metrics", row.metric, "BETTER") if ours else None
    return {"higher": -row.estimate, "lower": row.estimate}.get(better or "", 0.0)


def _tabulate(metric: str, models: Sequence[_Model], reference: str) -> Table:
    """A row for each model; columns that say nothing are left out."""
    columns: Columns = {"model": lambda each: each.name}
    if any(each.alone is not None for each in models):
        columns |= {
            metric: lambda each: words.estimate(each.alone) if each.alone else "-",
            "interval": lambda each: words.interval_or_reason(each.alone) if each.alone else "-",
        }
    if any(each.apart is not None for each in models):
        columns |= {
            f"minus {reference}": lambda each: words.estimate(each.apart) if each.apart else "-",
            "its interval": lambda each: (
                words.interval_or_reason(each.apart) if each.apart else "-"
            ),
            "differ": lambda each: words.differ(each.apart) if each.apart else "-",
        }
    if any(each.apart is not None and _find_shares(each.apart) for each in models):
        columns |= {
            "wins, losses": lambda each: _write_shares(each.apart),
        }
    return tabulate(f"{metric} by model", columns, models)
