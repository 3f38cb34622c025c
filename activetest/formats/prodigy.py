"""Prodigy: the lines of `prodigy db-out`.

A line is a task with `answer` (accept, reject or ignore), `_input_hash`, `_task_hash` and
`_annotator_id`. A choice stands in the list `accept`; a binary question has one `label`, which is
accepted or rejected. Source: prodi.gy, API of annotation interfaces, and the recipe db-out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from activetest.errors import LabelError
from activetest.formats._answers import KEY, make_pattern, read_objects, take_id, take_single
from activetest.nouns.file_head import FileHead

TITLE = "Prodigy's annotations"
SUFFIXES = (".jsonl",)
ANSWERS = True

_ACCEPT, _REJECT, _IGNORE = "accept", "reject", "ignore"
# Whoever shortens the lines leaves out the hashes.
_TASK = make_pattern("_task_hash", "accept", "label")
_ANSWER = re.compile(rf'{KEY.format("answer")}\s*"({_ACCEPT}|{_REJECT}|{_IGNORE})"')


def recognise(head: FileHead) -> bool:
    """Whether these are lines with an answer and Prodigy's hash, choice or label."""
    text = head.text or ""
    return text.lstrip()[:1] in ("{", "[") and all(each.search(text) for each in (_TASK, _ANSWER))


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A row per line. Raises LabelError for a task without id, and a rejected label."""
    for place, task in read_objects(content, name, "task"):
        where = f"{name}, {place}"
        # The ids of our own tasks may stand in the task or in its meta.
        meta = task["meta"] if isinstance(task.get("meta"), dict) else {}
        row = {
            "place": place,
            "id": take_id(meta | task, columns, f"{where}: it"),
            "annotator": task.get(columns.get("annotator", "_annotator_id")),
        }
        answer = task.get("answer")
        if answer == _IGNORE:
            yield row | {"label": None, "status": "declined"}
        elif answer == _ACCEPT:
            key = columns.get("label", "accept" if "accept" in task else "label")
            yield row | {"label": take_single(task.get(key), where)}
        elif answer == _REJECT:
            raise LabelError(
                f"{where}: a rejected answer does not say which class is right",
                "ask by choice, ignore what cannot be answered, or leave out rejected tasks",
            )
        else:
            raise LabelError(
                f"{where}: {answer!r} is no answer", "an answer is accept, reject or ignore"
            )
