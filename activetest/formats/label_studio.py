"""Label Studio: tasks for its import, and its exports JSON, JSON_MIN, CSV and TSV.

The full JSON is a list of tasks `{"id", "data": {...}, "annotations": [{"completed_by",
"was_cancelled", "result": [{"from_name", "type", "value": {...}}]}]}`, with `completions` in place
of `annotations` in old versions. JSON_MIN, CSV and TSV have a row per annotation: the keys of the
data, one column per question, and annotator, annotation_id, created_at, updated_at, lead_time. They
leave out skipped tasks. The id of a row is Label Studio's own, or what the data calls so.

Source: label_studio_sdk, converter/converter.py and converter/exports/csv2.py.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from activetest.errors import ChoiceError, ColumnsUnclear, LabelError
from activetest.formats._answers import (
    KEY,
    check_type,
    find_question,
    has_header,
    make_pattern,
    read_objects,
    read_table,
    sample_rows,
    take_id,
    take_single,
)
from activetest.formats._tasks import write_scalar
from activetest.nouns.answer_fields import ID, ORDER, find_keys, hint_column
from activetest.nouns.file_head import FileHead
from activetest.nouns.name_lists import shorten_list
from activetest.system.safe_text import NOT_XML, escape_controls

TITLE = "Label Studio's tasks and exports"
SUFFIXES = (".json", ".csv", ".tsv")
ANSWERS = True
TASKS = True
CONFIG = True

# The control that asks, in the configuration that is written here.
_CONTROL, _OBJECT = "label", "item"
# Where the answer of a control of each type stands.
_TYPES = {"choices": "choices", "rating": "rating", "number": "number"} | {
    **{"textarea": "text", "pairwise": "selected"}
}
_COMMENT = "textarea"
# Columns that a row of an export has for each annotation.
_EXPORTED = ("annotation_id", "annotator", "lead_time")
# Columns of a row that hold no answer.
_NO_ANSWERS = {*_EXPORTED, "id", "created_at", "updated_at", ID, ORDER}
_TASKS = make_pattern("annotations", "completions")
_ROWS = make_pattern("annotation_id"), make_pattern("lead_time")
# The data of a task is an object; other tools call a text so.
_DATA = re.compile(KEY.format("data") + r"\s*\{"), make_pattern(ID)
# Digits of the order: it is text, which sorts as numbers do where all have as many.
_DIGITS = 7


def recognise(head: FileHead) -> bool:
    """Whether this is an export, or tasks for an import."""
    text = head.text or ""
    beginning = text.lstrip()
    if beginning[:1] == "[" or (beginning[:1] == "{" and '"data"' in text):
        return (
            (_TASKS.search(text) is not None and _DATA[0].search(text) is not None)
            or all(each.search(text) for each in _ROWS)
            or all(each.search(text) for each in _DATA)
        )
    return has_header(text, _is_export)


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A row per annotation, and one without an answer per task that has none.

    A cancelled annotation is a skip, and declines. Drafts and predictions are no answers. Raises
    LabelError for a task without the id, and for more than one answer in an annotation.
    """
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
        yield from _read_rows(
            read_table(content, name, _is_export), name, columns, split_cells=True
        )
        return
    tasks = list(read_objects(content, name, "task"))
    if any("data" in task for _, task in tasks):
        yield from _read_tasks(tasks, name, columns)
    else:
        yield from _read_rows(tasks, name, columns)


def write_tasks(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    orders: Sequence[int],
    classes: Sequence[str],
) -> bytes:
    """Tasks for the import, one a line, without predictions, which would lead annotators."""
    keys = find_keys(columns)
    tasks = [
        {
            "data": {ID: row["id"], ORDER: f"{order:0{_DIGITS}}"}
            | {key: write_scalar(row.get(column)) for column, key in keys.items()}
        }
        for row, order in zip(rows, orders, strict=True)
    ]
    lines = ",\n".join(json.dumps(task, ensure_ascii=False) for task in tasks)
    return f"[\n{lines}\n]\n".encode()


def write_config(columns: Sequence[str], classes: Sequence[str]) -> str:
    """The labelling configuration for such tasks: each shown column, and one choice or number.

    Raises ChoiceError for a class that XML cannot hold.
    """
    if impossible := [each for each in classes if NOT_XML.search(each)]:
        raise ChoiceError(
            f"no configuration of Label Studio can hold the class {impossible[0][:80]!r}: it has a "
            "character that XML has not",
            "use another format, for example argilla or csv",
        )
    keys = find_keys(columns) or {"id": ID}
    lines = ["<View>"]
    for number, (column, key) in enumerate(keys.items(), 1):
        name = _OBJECT if number == 1 else f"{_OBJECT}_{number}"
        lines += [f"  <Header value={quoteattr(escape_controls(column))}/>"] * (len(keys) > 1)
        lines.append(f"  <Text name={quoteattr(name)} value={quoteattr(f'${key}')}/>")
    asks = f"name={quoteattr(_CONTROL)} toName={quoteattr(_OBJECT)} required={quoteattr('true')}"
    if classes:
        lines.append(f'  <Choices {asks} choice="single">')
        lines += [f"    <Choice value={quoteattr(each)}/>" for each in classes]
        lines.append("  </Choices>")
    else:
        lines.append(f"  <Number {asks}/>")
    return "\n".join([*lines, "</View>", ""])


def list_columns(content: bytes, name: str) -> set[str]:
    """The keys of tasks as write_tasks writes them. Raises LabelError for any other file."""
    found: set[str] = set()
    for place, task in read_objects(content, name, "task"):
        data = task.get("data")
        if set(task) != {"data"} or not isinstance(data, dict) or not {ID, ORDER} <= set(data):
            raise LabelError(f"{name}, {place}: this is no task without answers")
        found |= set(data) - {ID, ORDER}
    return found


def _read_tasks(
    tasks: Sequence[tuple[str, dict[str, Any]]], name: str, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The answers of the full export."""
    parsed = []
    for place, task in tasks:
        where = f"{name}, {_place(place, task)}"
        data = check_type(task.get("data"), dict, "its data", where)
        given = task.get("annotations", task.get("completions"))
        annotations = [
            check_type(each, dict, "an annotation", where)
            for each in check_type(given, list, "the list of annotations", where)
        ]
        parsed.append((_place(place, task), data, annotations))
    control = _find_control(parsed, name, columns.get("label"))
    for place, data, annotations in parsed:
        # An id in the data is the user's, unlike that of a row.
        hidden = _NO_ANSWERS - {"id"}
        id = _take_id(data, columns, f"{name}, {place}: the data of the task", hidden=hidden)
        if not annotations:
            yield {"place": place, "id": id, "label": None}
        for number, annotation in enumerate(annotations, 1):
            at = f"{place}, annotation {annotation.get('id') or number}"
            row = {"place": at, "id": id, "annotator": _name_annotator(annotation, columns)}
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                yield row | {"label": None, "status": "declined"}
            else:
                yield row | {"label": _take_answer(annotation, control, f"{name}, {at}")}


def _place(place: str, task: Mapping[str, Any]) -> str:
    """The place of a task, with the id that Label Studio shows."""
    id = task.get("id")
    return f"{place} (id {id})" if isinstance(id, int) else place


def _find_control(
    parsed: Sequence[tuple[str, dict[str, Any], list[dict[str, Any]]]],
    name: str,
    chosen: str | None,
) -> str | None:
    """The control whose answers are the labels; None where nobody has answered.

    Raises LabelError where there are several, or none that asks for a class or a number.
    """
    results = [
        result
        for _, _, annotations in parsed
        for annotation in annotations
        for result in _list_results(annotation)
    ]
    usable = [each for each in results if each.get("type") in _TYPES]
    if any(each["type"] != _COMMENT for each in usable):
        # A comment beside a choice or a number is no label.
        usable = [
            each for each in usable if each["type"] != _COMMENT or each["from_name"] == chosen
        ]
    if results and not usable:
        kinds = sorted({str(each.get("type")) for each in results})
        raise LabelError(
            f"{name} has no choices, but {shorten_list(kinds)}",
            "labels are one choice, rating or number per item: use a labelling configuration with "
            "such a question",
        )
    answers = ((str(each["from_name"]), _list_values(each)) for each in usable)
    return find_question(answers, chosen, name, "question")


def _list_values(result: Mapping[str, Any]) -> list[Any]:
    """The answers in a result of one of the types that are read."""
    value = result.get("value")
    found = value.get(_TYPES[result["type"]]) if isinstance(value, dict) else None
    return found if isinstance(found, list) else [found]


def _list_results(annotation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answers in an annotation; relations and the like are none."""
    results = annotation.get("result")
    found = results if isinstance(results, list) else []
    return [each for each in found if isinstance(each, dict) and each.get("from_name")]


def _take_answer(annotation: Mapping[str, Any], control: str | None, where: str) -> Any:
    """The answer to one control; None where it was not answered."""
    results = [each for each in _list_results(annotation) if each["from_name"] == control]
    answers = []
    for result in results:
        key = _TYPES.get(str(result.get("type")), "")
        value = check_type(result.get("value"), dict, "the value of an answer", where)
        found = value.get(key)
        answers += found if isinstance(found, list) else [found]
    return take_single(answers, where)


def _name_annotator(annotation: Mapping[str, Any], columns: Mapping[str, str]) -> Any:
    """Who made an annotation: an address, a name or a number; empty where nobody is named."""
    by = annotation.get(columns.get("annotator", "completed_by"))
    if isinstance(by, dict):
        found = (by.get(key) for key in ("email", "username", "id"))
        return next((each for each in found if each not in (None, "")), "")
    return by


def _take_id(
    data: Mapping[str, Any],
    columns: Mapping[str, str],
    where: str,
    hidden: Collection[str] = frozenset(_NO_ANSWERS),
) -> Any:
    """The id of the item. Raises LabelError where there is none."""
    remark = "the 'id' that Label Studio gives to a task is no item of the pool; if another field "
    remark += "holds the ids, "
    return take_id(data, columns, where, usual=(ID,), hidden=hidden, remark=remark)


def _read_rows(
    rows: Sequence[tuple[str, dict[str, Any]]],
    name: str,
    columns: Mapping[str, str],
    *,
    split_cells: bool = False,
) -> Iterator[dict[str, Any]]:
    """The answers of an export with a row per annotation.

    split_cells  lists and objects stand in cells as JSON
    """
    key = columns.get("label", _CONTROL)
    if rows and not any(key in row for _, row in rows):
        known = list(dict.fromkeys(column for _, row in rows for column in row))
        values = sample_rows([row for _, row in rows])
        likely = {each: values[each] for each in known if each in set(values) - _NO_ANSWERS}
        raise ColumnsUnclear(
            f"{name} has no column {key!r}; it has {shorten_list(known)}",
            # Questions stand behind the data of the task.
            hint_column("label", list(likely)[-1]) if likely else "check `columns`",
            {"id": ID} if ID in known else {},
            likely,
            questions=ID in known,
        )
    for place, row in rows:
        where = f"{name}, {place}"
        value = row.get(key)
        if split_cells and isinstance(value, str):
            value = _read_cell(value)
        yield {
            "place": place,
            "id": _take_id(row, columns, f"{where}: the row"),
            "label": take_single(value, where, tuple(_TYPES.values())),
            "annotator": row.get(columns.get("annotator", "annotator")),
        }


def _read_cell(cell: str) -> Any:
    """The answer in a cell: as text, or the list or object that its JSON is."""
    if cell[:1] not in ("[", "{"):
        return cell
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    several = isinstance(found, list) and len(found) > 1
    keys = found[0] if isinstance(found, list) and found else found
    known = isinstance(keys, dict) and bool(set(keys) & set(_TYPES.values()))
    return found if several or known else cell


def _is_export(header: Collection[str]) -> bool:
    return set(_EXPORTED) <= set(header)
