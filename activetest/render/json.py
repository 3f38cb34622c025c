"""Reports as JSON: one document, versioned, null for what does not exist, never NaN."""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict

from activetest.nouns.group_report import Assessment
from activetest.nouns.report import SCHEMA_VERSION, Counts, EstimateRow, Gate, Report
from activetest.render import _assessment


def render(report: Report) -> str:
    """The whole report; groups are {column: value} or null."""
    return _document(
        {
            "pool": report.pool,
            "fingerprint": report.fingerprint,
            "seed": report.seed,
            "metric": report.metric,
            "surrogate": report.surrogate,
            "acquisition": report.acquisition,
            "floor": report.floor,
            "selection": report.selection,
            "power": report.power,
            "surrogate_note": report.surrogate_note,
            "counts": asdict(report.counts),
            "estimates": [_estimate(line) for line in report.estimates],
            "notes": list(report.notes),
            "gates": [_gate(gate) for gate in report.gates],
        }
        | _answer(report.assessment)
    )


def status(counts: Counts, coming: str = "") -> str:
    """Where a study stands; coming says what `next` would do."""
    return _document({"counts": asdict(counts), "next": coming or None})


def simulation(results: Sequence[dict]) -> str:
    """One object per strategy, metric and budget."""
    return _document({"results": list(results)})


def _answer(answer: Assessment | None) -> dict:
    """The answer to the task; null for what it does not have."""
    if answer is None:
        return dict.fromkeys(("task", "groups", "comparison", "confusion", "reliability"))
    fields = asdict(answer)
    parts = {name: fields.pop(name) for name in ("groups", "comparison", "confusion")}
    parts["reliability"] = fields.pop("reliability")
    if parts["comparison"]:
        parts["comparison"]["lambda"] = parts["comparison"].pop("probability")
    fields["group"] = fields.pop("column")
    return {"task": fields | {"answer": _assessment.sentence(answer)}} | parts


def _estimate(line: EstimateRow) -> dict:
    return _in_order(line, "metric", "class", "group", "against")


def _gate(gate: Gate) -> dict:
    fields = _in_order(gate, "requirement", "metric", "class", "group")
    for name in ("e_pass", "e_fail"):
        # Null says that there is no such number; beyond all bounds is a number for those who
        # compare.
        if fields[name] == math.inf:
            fields[name] = sys.float_info.max
    return fields


def _in_order(said: EstimateRow | Gate, *first: str) -> dict:
    """The fields, these first."""
    fields = asdict(said)
    fields["class"] = fields.pop("class_name")
    return {name: fields.pop(name) for name in first} | fields


def _document(content: dict) -> str:
    document = {"schema_version": SCHEMA_VERSION} | content
    return json.dumps(_finite(document), indent=2, allow_nan=False) + "\n"


def _finite(value):
    """The same with numpy's numbers made plain, and null where a number is not finite."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
