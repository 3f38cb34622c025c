"""Reports and simulations as columns of frames; the keys are those of the JSON documents.

Columns that are null in all rows of a study with one model, part, criterion and repeat are omitted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from activetest.nouns.report import Report, SimulatedStrategy
from activetest.render import json

# Types of the columns of estimates that are no numbers with digits after the point.
_TEXTS = (
    "metric",
    "class",
    "group",
    "against",
    "estimator",
    "method",
    "kind",
    "labels_saved_kind",
    "reason",
    "assumptions",
)
_COUNTS = ("n_draws", "n_labeled", "n_answers", "n_pool")
_FLAGS = ("variance_inflated", "headline", "reliable")
_TYPES: dict[str, type] = dict.fromkeys(json.ESTIMATE_KEYS, float)
_TYPES |= dict.fromkeys(_TEXTS, str) | dict.fromkeys(_COUNTS, int) | dict.fromkeys(_FLAGS, bool)

# {column: values}, and {column: type of the values that are not None}
Columns = tuple[dict[str, list[Any]], dict[str, type]]


def list_estimates(report: Report) -> Columns:
    """A row per estimate of a report; a group is the text column=value, several with a comma."""
    rows = [json.read_values(row, json.ESTIMATE_KEYS) for row in report.estimates]
    for row in rows:
        row |= {key: _write_group(row[key]) for key in ("group", "against")}
    return _turn(rows, _TYPES), _TYPES


def list_strategies(results: Iterable[SimulatedStrategy]) -> Columns:
    """A row per strategy, metric and budget; the quartiles are two columns."""
    types: dict[str, type] = {}
    for field in fields(SimulatedStrategy):
        kind = field.type if field.type in (str, int) else float
        names = _QUARTILES if field.name == "quartiles" else (field.name,)
        types |= dict.fromkeys(names, kind)
    rows = []
    for result in results:
        row = asdict(result)
        rows.append(row | dict(zip(_QUARTILES, row.pop("quartiles"), strict=True)))
    return _turn(rows, types), types


_QUARTILES = ("lower_quartile", "upper_quartile")


def _write_group(group: dict[str, str] | None) -> str | None:
    """A group as text; None is the whole pool."""
    return None if group is None else ", ".join(f"{name}={value}" for name, value in group.items())


def _turn(rows: Sequence[dict[str, Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    """Rows as columns."""
    return {name: [row[name] for row in rows] for name in names}
