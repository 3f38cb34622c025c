"""Makers of what labelling tools export, in the shape that each program writes."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

# Characters that no cell of a workbook holds.
_CONTROLS = re.compile(r"[\x00-\x1f\ud800-\udfff\ufffe\uffff]")
TIME = "2026-05-04T10:00:00.000000Z"


def choose(answer: str | list[str] | None, *, name: str = "label") -> list[dict[str, Any]]:
    """The result of an annotation in Label Studio: one choice or several, or none."""
    if answer is None:
        return []
    choices = [answer] if isinstance(answer, str) else answer
    value = {"choices": choices}
    named = {"id": "abc", "type": "choices", "origin": "manual", "to_name": "item"}
    return [named | {"value": value, "from_name": name}]


def annotate(
    number: int, by: Any, result: list[dict[str, Any]], *, skipped: bool = False, **more: Any
) -> dict[str, Any]:
    """An annotation of Label Studio."""
    times = {"created_at": TIME, "updated_at": TIME, "draft_created_at": None, "lead_time": 3.5}
    return {
        **{"id": number, "completed_by": by, "result": result, "was_cancelled": skipped},
        **{"ground_truth": False, "prediction": {}, "result_count": len(result), "task": number},
        **times,
        **more,
    }


def write_label_studio(
    tasks: Iterable[tuple[Mapping[str, Any], list[dict[str, Any]]]], *, key: str = "annotations"
) -> bytes:
    """The full JSON export: tasks with these data and annotations."""
    found = [
        {
            **{"id": 100 + number, key: annotations, "file_upload": "tasks.json", "drafts": []},
            **{"predictions": [], "data": dict(data), "meta": {}, "inner_id": number},
            **{"total_annotations": len(annotations), "project": 1, "updated_by": 1},
        }
        for number, (data, annotations) in enumerate(tasks, 1)
    ]
    return json.dumps(found, ensure_ascii=False).encode()


def list_rows(
    tasks: Iterable[tuple[Mapping[str, Any], list[dict[str, Any]]]], *, numbered: bool
) -> list[dict[str, Any]]:
    """The rows of JSON_MIN (numbered: annotators are numbers) and of CSV: none for a skip.

    In JSON_MIN the task's id takes the place of an id of the data; in CSV it is the reverse.
    """
    rows = []
    for number, (data, annotations) in enumerate(tasks, 101):
        for each in annotations:
            if each["was_cancelled"]:
                continue
            by = each["completed_by"]
            by = by["email"] if isinstance(by, dict) else by if numbered else str(by)
            values = {}
            for result in each["result"]:
                found = result["value"]
                choices = found.get("choices", [])
                values[result["from_name"]] = choices[0] if len(choices) == 1 else found
            own = {"id": number}
            record = {**data, **own, **values} if numbered else {**own, **values, **data}
            rows.append(
                record
                | {"annotator": by, "annotation_id": each["id"], "created_at": TIME}
                | {"updated_at": TIME, "lead_time": 3.5}
            )
    return rows


def write_json_min(tasks: Any) -> bytes:
    """The export JSON_MIN."""
    return json.dumps(list_rows(tasks, numbered=True), ensure_ascii=False, indent=2).encode()


def write_table(tasks: Any, *, separator: str = ",") -> bytes:
    """The export CSV, or TSV."""
    rows = list_rows(tasks, numbered=False)
    text = io.StringIO()
    names = sorted({name for row in rows for name in row})
    writer = csv.DictWriter(
        text, names, quoting=csv.QUOTE_NONNUMERIC, delimiter=separator, lineterminator="\n"
    )
    writer.writeheader()
    for row in rows:
        cells = {
            name: json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict | list) else cell
            for name, cell in row.items()
        }
        writer.writerow(cells)
    return text.getvalue().encode()


def write_argilla(
    records: Iterable[tuple[str, list[tuple[Any, str, str]]]],
    *,
    flat: bool = True,
    question: str = "label",
    metadata: bool = True,
) -> bytes:
    """Records of Argilla with these responses: value, user and status; the list that it exports."""
    found = []
    for id, responses in records:
        own = {"activetest_id": id, "activetest_order": 1} if metadata else {}
        if flat:
            lists = list(zip(*responses, strict=True)) or [None] * 3
            values, users, statuses = (None if each is None else list(each) for each in lists)
            record = {"id": id, "status": "pending", "_server_id": None, "text": "a text"} | own
            record |= {f"{question}.responses": values, f"{question}.responses.users": users}
            record |= {f"{question}.responses.status": statuses, f"{question}.suggestion": "no"}
        else:
            given = [{"value": value, "user_id": user} for value, user, _ in responses]
            record = {"id": id, "fields": {"text": "a text"}, "metadata": own, "suggestions": {}}
            record |= {"responses": {question: given} if given else {}, "vectors": {}}
            record |= {"status": "pending", "_server_id": None}
        found.append(record)
    return json.dumps(found, ensure_ascii=False).encode()


def write_xlsx(rows: Iterable[Iterable[Any]], *, formulas: bool = False) -> bytes:
    """A workbook of one sheet; texts that begin like formulas are texts, unless `formulas`."""
    import openpyxl

    book = openpyxl.Workbook()
    for number, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            cell = book.active.cell(number, column, value)
            if isinstance(value, str) and not formulas:
                cell.data_type = "s"
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def printable(text: str) -> str:
    """The text without what some formats cannot hold."""
    return _CONTROLS.sub("", text)[:30_000] or "empty"


def write(format: str, answers: list[tuple[str, str]]) -> bytes:
    """(id, label) of one annotator in one of FORMATS."""
    tasks = [
        ({"activetest_id": id, "text": "t"}, [annotate(number, 1, choose(label))])
        for number, (id, label) in enumerate(answers, 1)
    ]
    match format:
        case "label-studio.json":
            return write_label_studio(tasks)
        case "min.json":
            return write_json_min(tasks)
        case "export.csv":
            return write_table(tasks)
        case "argilla.json":
            return write_argilla((id, [(label, "u", "submitted")]) for id, label in answers)
        case "lines.jsonl":
            rows = ({"id": id, "label": label} for id, label in answers)
            return "\n".join(json.dumps(row) for row in rows).encode()
    return write_xlsx([("id", "label"), *answers])


FORMATS = (
    *("label-studio.json", "min.json", "export.csv", "argilla.json", "lines.jsonl"),
    "labels.xlsx",
)
