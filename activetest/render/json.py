"""Reports as JSON: one document, versioned, null for what does not exist, never NaN."""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any

from activetest.nouns.curve import Curve
from activetest.nouns.inspection import Inspection
from activetest.nouns.quantity import Measured
from activetest.nouns.report import (
    SCHEMA_VERSION,
    AssumptionCheck,
    Counts,
    Gate,
    Report,
)
from activetest.nouns.report_details import ReportDetails
from activetest.render.document.outline import read_sections

SUFFIXES = (".json",)
MARKS = ('{\n  "schema_version": ', '"fingerprint": "', '"surrogate": "', '"acquisition": "')
SIMULATION_MARKS = ('{\n  "schema_version": ', '"results": [', '"acquisition": "')

# Keys that every row of numbers begins with, whatever it is about.
DIMENSIONS = ("model", "part", "criterion", "repeat")
# Keys of each kind of record that follow these, in order.
ESTIMATE_KEYS = (
    *("metric", "class", "group", "against", "estimator", "estimate", "lower", "upper", "level"),
    *("method", "kind", "n_draws", "n_labeled", "n_answers", "n_pool", "n_eff", "labels_saved"),
    *("labels_saved_kind", "spent", "max_weight_share", "variance_inflated", "headline", "reason"),
    *("shrunk", "surrogate_std", "from_outputs", "reliable", "answered", "least", "most"),
    "assumptions",
)
# Keys of a report whose values are its fields, and those of other records.
_REPORT = (
    *("pool", "fingerprint", "seed", "metric", "surrogate", "acquisition", "floor", "selection"),
    *("power", "surrogate_note", "auxiliary_outputs", "population", "cluster", "weight"),
)
_GATE = (
    *("requirement", "metric", "class", "group", "against", "op", "threshold", "verdict"),
    *("level", "method"),
    *("n_draws", "n_labeled", "n_answers", "estimate", "lower", "upper", "e_pass", "e_fail"),
    *("more_labels", "reason", "decided_round", "look", "looks", "labels_to_next_look", "p_pass"),
    *("answered", "least", "most"),
    "assumptions",
)
_SINCE_ADDED = ("estimate", "lower", "upper", "level", "method", "n_labeled", "reliable")
_ASSUMPTION = (
    *("assumption", "class", "below", "at_most", "n_pool", "n_labeled", "n_found", "upper"),
    "verdict",
)
_TABLE_CELL = (
    *("predicted", "truth", "n_labeled", "estimate", "lower", "upper", "level", "method"),
    "reliable",
)
# Groups that a number is compared with: as objects, which say of which model and part, too.
_SIDES = {"against", "first", "second"}
# Where a value is found whose attribute is not called like its key.
_ATTRIBUTES = {
    "kind": "quantity.kind",
    "class": "class_name",
    "labels_saved": "quantity.saved",
    "labels_saved_kind": "quantity.saving.kind",
    "spent": "quantity.saving.spent",
    "difference": "estimate",
    "accuracy": "estimate",
}


def render(report: Report) -> str:
    """The whole report; groups are {column: value} or null, notes are the heaviest first."""
    return _document(
        {name: getattr(report, name) for name in _REPORT}
        | ({} if report.threshold is None else {"threshold": report.threshold})
        | {
            "assumptions": [read_record(each, _ASSUMPTION) for each in report.assumptions],
            "counts": _write_counts(report.counts),
            "estimates": [read_record(row, ESTIMATE_KEYS) for row in report.estimates],
            "notes": [note.text for note in report.notes],
            "gates": [_write_gate(gate) for gate in report.gates],
        }
        | read_sections(report)
        | {"details": _write_details(report.details) if report.details else None}
    )


def status(counts: Counts, coming: str = "") -> str:
    """Where a study stands; coming says what `next` would do."""
    return _document({"counts": _write_counts(counts), "next": coming or None})


def _write_counts(counts: Counts) -> dict[str, Any]:
    """The counts; models where there are several, and items left out where there are any."""
    of_few = ("models", "left_out")
    return {name: value for name, value in asdict(counts).items() if value or name not in of_few}


def inspection(found: Inspection) -> str:
    """Contents of a file, and the study that fits it."""
    return _document(asdict(found))


def simulation(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """One object per strategy, metric and budget, and one per answer to a question."""
    found = {"results": results, "answers": [_write_answer(each) for each in answers]}
    return _document({name: [begin_row() | row for row in rows] for name, rows in found.items()})


def _write_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer; regret where the question is about models."""
    looks = [
        {name: value for name, value in look.items() if (name, value) != ("regret", None)}
        for look in answer["looks"]
    ]
    return answer | {"looks": looks}


def curve(found: Curve, pool: str = "") -> str:
    """A curve of the pool of this name; points are in order of the threshold, or of the bin."""
    return _document({"pool": pool} | _write_curve(found))


def _write_curve(found: Curve) -> dict[str, Any]:
    """A curve with its points."""
    fields = ("level", "band", "estimator", "n_draws", "n_labeled", "n_answers", "n_pool")
    return {
        "curve": str(found.kind),
        "class": found.class_name,
        **{name: getattr(found, name) for name in fields},
        "notes": found.list_notes(),
        "points": [begin_row() | point for point in found.list_points()],
    }


def _write_details(details: ReportDetails) -> dict[str, Any]:
    """The details of a report: every field of the nouns, in their order."""
    found: dict[str, Any] = {field.name: getattr(details, field.name) for field in fields(details)}
    for name in ("history", "worst_items", "sampled", "raters", "contested", "disputed"):
        found[name] = list_rows(found[name])
    for each in found["contested"]:
        each["answers"] = [{"rater": rater, "label": label} for rater, label in each["answers"]]
    for each in found["disputed"]:
        each["answers"] = [
            {"model": model, "predicted": answer, "right": right}
            for model, answer, right in each["answers"]
        ]
    if not details.disputed:
        del found["disputed"]
    provenance = asdict(details.provenance)
    table, curve = details.confusion, details.reliability
    cells = [read_record(cell, _TABLE_CELL) for cell in table.cells] if table else []
    return found | {
        "confusion": asdict(table) | {"cells": cells} if table else None,
        "reliability": _write_curve(curve) if curve else None,
        "provenance": provenance | {"settings": dict(details.provenance.settings)},
    }


def _write_gate(gate: Gate) -> dict[str, Any]:
    fields = read_record(gate, _GATE)
    for name in ("e_pass", "e_fail"):
        # Null says that there is no such number; an infinite one has to stay comparable.
        if fields[name] == math.inf:
            fields[name] = sys.float_info.max
    if gate.since_added:
        fields["since_added"] = read_values(gate.since_added, _SINCE_ADDED)
    return fields


def begin_row() -> dict[str, Any]:
    """The model, part, criterion and repeat of a row; null while a study has one of each."""
    return dict.fromkeys(DIMENSIONS)


def read_record(record: Measured | AssumptionCheck, keys: Sequence[str]) -> dict[str, Any]:
    """A row: {key: value} of a record and its quantity, the other side of a difference as a row."""
    found = begin_row() | read_values(record, keys)
    for side in _SIDES & found.keys():
        found[side] = None if found[side] is None else begin_row() | {"group": found[side]}
    found["model"], *reference = getattr(record, "models", ()) or (None,)
    if reference:
        found["against"] = begin_row() | {"model": reference[0], "group": found["group"]}
    if parts := getattr(record, "parts", ()):
        found |= {"part": parts[0], "group": None}
        found["against"] = begin_row() | {"part": parts[1], "group": None} if parts[1:] else None
    if compared := getattr(record, "compared", None):
        found["compared"] = asdict(compared)
    return found


def read_values(record: Measured | AssumptionCheck, keys: Sequence[str]) -> dict[str, Any]:
    """{key: value} of a record and its quantity."""
    return {key: attrgetter(_ATTRIBUTES.get(key, key))(record) for key in keys}


def list_rows(records: Iterable[Any]) -> list[dict[str, Any]]:
    """Records whose fields are keys, as rows."""
    return [begin_row() | asdict(each) for each in records]


def _document(content: Mapping[str, Any]) -> str:
    document = {"schema_version": SCHEMA_VERSION} | dict(content)
    return json.dumps(_finite(document), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """The same with NumPy's numbers as plain ones, and None where a number is not finite."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
