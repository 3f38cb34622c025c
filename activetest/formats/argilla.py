"""Argilla 2: records to log, and the records that its client exports.

`records.to_list(flatten=True)` gives objects with the fields and metadata of a record, and for each
question the lists `Q.responses`, `Q.responses.users` and `Q.responses.status` (submitted, draft or
discarded). `records.to_json(path)` and `to_list()` nest them under `responses` as
`{Q: [{value, user_id}]}` and leave the status out. Metadata and fields take the place of keys of
the same name when they are flattened, `id` among them.

Source: argilla, records/_io/_generic.py, records/_resource.py and settings/_resource.py.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from activetest.errors import LabelError
from activetest.formats._answers import (
    check_type,
    find_question,
    make_pattern,
    read_objects,
    take_id,
    take_single,
)
from activetest.formats._tasks import write_text
from activetest.nouns.answer_fields import ID, ORDER, find_keys
from activetest.nouns.file_head import FileHead

TITLE = "Argilla's records"
SUFFIXES = (".json", ".jsonl")
ANSWERS = True
TASKS = True
CONFIG = True

_QUESTION, _FIELD = "label", "item"
_RESPONSES = ".responses"
_STATUS = {None: "", "": "", "submitted": "", "discarded": "declined"}
_DRAFT = "draft"
_NO_STATUS = (
    "The file does not say which responses are drafts or discarded, and all count as answers: "
    "records.to_list(flatten=True) says it"
)
_FLAT = make_pattern(r'[^"\\]+\.responses'), make_pattern("_server_id")
_NESTED = make_pattern("fields"), make_pattern("responses")
# Fields that a record has as write_tasks writes it, and that are empty.
_EMPTY = ("suggestions", "responses", "vectors")


def recognise(head: FileHead) -> bool:
    """Whether these are records, flat or nested."""
    text = head.text or ""
    if text.lstrip()[:1] not in ("[", "{"):
        return False
    return any(each.search(text) for each in _FLAT) or all(each.search(text) for each in _NESTED)


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A row per response, and one without an answer per record that has none.

    Discarded responses decline. Drafts are no answers, and neither are suggestions. Raises
    LabelError for a record without id, and for more than one answer in a response.
    """
    records = [
        (place, record, _list_responses(record, f"{name}, {place}"))
        for place, record in read_objects(content, name, "record")
    ]
    found = (
        (question, answer["value"])
        for _, _, responses in records
        for question, answers in responses.items()
        for answer in answers or [{"value": None}]
    )
    question = find_question(found, columns.get("label"), name, "question")
    for place, record, responses in records:
        where = f"{name}, {place}"
        id = _take_id(record, columns, where)
        answers = [each for each in responses.get(question or "", []) if each["status"] != _DRAFT]
        if not answers:
            yield {"place": place, "id": id, "label": None}
        for number, answer in enumerate(answers, 1):
            at = f"{place}, response {number}"
            if answer["status"] not in _STATUS:
                raise LabelError(
                    f"{name}, {at}: {answer['status']!r} is no status of a response",
                    "a response is submitted, a draft, or discarded",
                )
            status = _STATUS[answer["status"]]
            label = None if status else take_single(answer["value"], f"{name}, {at}")
            row = {"place": at, "id": id, "label": label, "status": status}
            row["annotator"] = answer["user"]
            yield row if answer["status"] else row | {"note": _NO_STATUS}


def write_tasks(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    orders: Sequence[int],
    classes: Sequence[str],
) -> bytes:
    """Records for `dataset.records.from_json(path)`: no suggestions, which would lead annotators.

    The id of the item is that of the record and stands in the metadata, where nothing replaces it.
    """
    keys = find_keys(columns, lower=True)
    records = [
        {
            "id": row["id"],
            "fields": {key: write_text(row.get(column)) for column, key in keys.items()}
            or {_FIELD: row["id"]},
            "metadata": {ID: row["id"], ORDER: order},
            **{key: {} for key in _EMPTY},
        }
        for row, order in zip(rows, orders, strict=True)
    ]
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{lines}\n]\n".encode()


def write_config(columns: Sequence[str], classes: Sequence[str]) -> str:
    """Settings of a dataset for `rg.Settings.from_json(path)`: the shown columns, one question.

    Without classes the question is a text, for numbers.
    """
    keys = find_keys(columns, lower=True) or {_FIELD: _FIELD}
    text = {"type": "text", "use_markdown": False}
    options = [{"value": name, "text": name} for name in classes]
    ask = {"type": "label_selection", "options": options} if classes else text
    hidden = {"visible_for_annotators": False}
    fields: list[dict[str, Any]] = [
        # Other texts may be empty, and a dataset needs one that is always there.
        {"name": key, "title": column, "required": number == 0, "settings": text}
        for number, (column, key) in enumerate(keys.items())
    ]
    settings = {
        "guidelines": None,
        "questions": [{"name": _QUESTION, "title": "Label", "required": True, "settings": ask}],
        "fields": fields,
        "vectors": [],
        "metadata": [
            {"name": key, "title": key, "settings": {"type": kind, **hidden}, **hidden}
            for key, kind in ((ID, "terms"), (ORDER, "integer"))
        ],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "mapping": None,
    }
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def list_columns(content: bytes, name: str) -> set[str]:
    """The fields of records as write_tasks writes them. Raises LabelError for any other file."""
    keys = {"id", "fields", "metadata", *_EMPTY}
    found: set[str] = set()
    for place, record in read_objects(content, name, "record"):
        metadata, fields = record.get("metadata"), record.get("fields")
        ours = isinstance(metadata, dict) and set(metadata) == {ID, ORDER}
        answers = any(record.get(key) for key in _EMPTY)
        if set(record) != keys or not ours or answers or not isinstance(fields, dict):
            raise LabelError(f"{name}, {place}: this is no record without answers")
        found |= set(fields)
    return found - {_FIELD}


def _list_responses(record: Mapping[str, Any], where: str) -> dict[str, list[dict[str, Any]]]:
    """{question: responses, as value, user and status}. Raises LabelError."""
    nested = record.get("responses")
    if isinstance(nested, dict):
        return {
            question: [
                {
                    "value": response.get("value"),
                    "user": response.get("user_id"),
                    "status": response.get("status"),
                }
                for each in check_type(given, list, "the list of responses", where)
                for response in [check_type(each, dict, "a response", where)]
            ]
            for question, given in nested.items()
        }
    return {
        key.removesuffix(_RESPONSES): _join_lists(record, key, where)
        for key in record
        if key.endswith(_RESPONSES)
    }


def _join_lists(record: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """The responses of which values, users and statuses are lists. Raises LabelError."""
    values, users, statuses = (
        check_type(record.get(each), list, repr(each), where)
        for each in (key, f"{key}.users", f"{key}.status")
    )
    if not len(values) == len(users) == len(statuses):
        raise LabelError(
            f"{where}: {key!r} has {len(values)} values, {len(users)} users and "
            f"{len(statuses)} statuses",
            "export the records again, by to_list(flatten=True)",
        )
    rows = zip(values, users, statuses, strict=True)
    return [{"value": value, "user": user, "status": status} for value, user, status in rows]


def _take_id(record: Mapping[str, Any], columns: Mapping[str, str], where: str) -> Any:
    """The id of the item: of our own metadata, else of the record. Raises LabelError."""
    metadata, fields = (
        each if isinstance(each, dict) else {}
        for each in (record.get("metadata"), record.get("fields"))
    )
    known = fields | metadata | {key: record[key] for key in record if _RESPONSES not in key}
    return take_id(known, columns, f"{where}: it")
