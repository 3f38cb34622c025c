"""Logs of Inspect: `.eval`, a zip with a member for each sample, and `.json`, all in one."""

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from activetest.errors import PoolError
from activetest.formats._archive import UNREADABLE, open_archive
from activetest.formats._json_values import find_keys, parse_object, read_array, take
from activetest.formats._logs import Logs
from activetest.formats._samples import (
    Sample,
    Terms,
    prefix_fields,
    read_content,
    read_grade,
    read_id,
    read_messages,
    read_text,
)
from activetest.nouns.file_head import FileHead

TITLE = "Inspect log"
SUFFIXES = (".eval", ".json")
POOL = True
GRADED = True
ANSWERS = True

_ZIP = b"PK\x03\x04"
# Members that logs have, finished or not, and what samples are called.
_HEADER, _JOURNAL = "header.json", "_journal/"
_SAMPLE = re.compile(r"samples/.*_epoch_\d+(\.json|/sample\.json)", re.S)
_JSON = re.compile(rb'\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"')
_EVAL = ("eval", "plan", "results", "stats", "samples", "error")
# Where the name of the first member of a zip file begins.
_FIRST = 30
# Inspect's own reading of grades (value_to_float): correct, incorrect, partial, no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "no": 0.0}
_ATTACHMENT = "attachment://"
# Names of logs: when it was, the task, and the log's own id.
_PART = re.compile(r"\d{4}-\d\d-\d\dT[^_]*_(?P<name>.+)_[A-Za-z0-9]{16,32}\.\w+")


def recognise(head: FileHead) -> bool:
    """Whether it is a zip with the members of a log, or a JSON document with its keys."""
    if not head.start.startswith(_ZIP):
        return bool(_JSON.match(head.beginning) and find_keys(head.beginning, *_EVAL))
    first = head.start[_FIRST:].decode("latin-1")
    if first.startswith((_JOURNAL, _HEADER, "samples/", "summaries.json")):
        return True
    if head.path is None:
        return False
    try:
        with zipfile.ZipFile(head.path) as archive:
            names = archive.NameToInfo
            return _HEADER in names and any(map(_SAMPLE.fullmatch, names))
    except (*UNREADABLE, OSError):
        return False


def _read_samples(path: Path) -> Iterator[Sample]:
    """The samples of a log. Raises PoolError naming the sample."""
    with path.open("rb") as file:
        zipped = file.read(len(_ZIP)) == _ZIP
    if zipped:
        yield from _read_members(path)
    else:
        for number, sample in read_array(path, ("samples",)):
            yield _read_sample(sample, path, f"sample {number}")


def _read_members(path: Path) -> Iterator[Sample]:
    with open_archive(path) as archive:
        for name in archive.names:
            if _SAMPLE.fullmatch(name):
                sample = parse_object(archive.read(name), f"{path}, {name}")
                if name.endswith("/sample.json"):
                    details = name.removesuffix("sample.json") + "metadata.json"
                    if details in archive and "metadata" not in sample:
                        sample["metadata"] = parse_object(
                            archive.read(details), f"{path}, {details}"
                        )
                yield _read_sample(sample, path, name)


def _read_sample(sample: Mapping[str, Any], path: Path, place: str) -> Sample:
    """Raises PoolError for a sample without an id."""
    name = read_id(sample.get("id"))
    if name is None:
        raise PoolError(
            f"{path}, {place}: the id is neither text nor a whole number",
            hint="give a log that Inspect wrote",
        )
    choices, target, scores = sample.get("choices"), sample.get("target"), sample.get("scores")
    if scores is None and isinstance(sample.get("score"), dict):
        # The first version had one score.
        scores = {"score": sample["score"]}
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    grades: dict[str, float | str | None] = {}
    answer = None
    problems = [name for name in ("invalidation", "error", "limit") if sample.get(name)]
    for scorer, score in scores.items() if isinstance(scores, dict) else ():
        if isinstance(score, dict) and "invalidation" not in problems:
            grades |= _read_grades(scorer, score.get("value"))
            answer = read_text(score.get("answer")) if answer is None else answer
    listed = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    return Sample(
        name,
        place,
        input=_resolve(read_messages(sample.get("input")), sample),
        output=_resolve(_read_output(sample.get("output")), sample),
        target=read_text(target),
        grades=grades,
        problem=problems[0] if problems else "",
        answer=answer,
        choices=choices if listed and choices else None,
        letter=True,
        fields=prefix_fields("metadata_", sample.get("metadata")),
        repeat=read_id(sample.get("epoch")) or "",
    )


def _read_grades(scorer: str, value: Any) -> dict[str, float | str | None]:
    """{scorer: grade}; a scorer that gives several is read as several."""
    if isinstance(value, dict):
        return {f"{scorer}/{key}": _read_grade(part) for key, part in value.items()}
    if isinstance(value, list):
        return {f"{scorer}/{code}": _read_grade(part) for code, part in enumerate(value)}
    return {scorer: _read_grade(value)}


def _read_grade(value: Any) -> float | str | None:
    grade = read_grade(value)
    if not isinstance(grade, str):
        return grade
    return _LETTERS.get(grade, _WORDS.get(grade.lower(), grade))


def _read_output(output: Any) -> str | None:
    """The answer of the model; None without any."""
    completion = take(output, "completion")
    if isinstance(completion, str) and completion:
        return completion
    message = take(output, "choices", 0, "message")
    return read_content(message.get("content")) if isinstance(message, dict) else None


def _resolve(text: str | None, sample: Mapping[str, Any]) -> str | None:
    """The text that an attachment of the sample stands for."""
    if text is None or not text.startswith(_ATTACHMENT):
        return text
    found = take(sample, "attachments", text.removeprefix(_ATTACHMENT))
    return found if isinstance(found, str) else text


_LOGS = Logs(
    Terms("inspect-ai", repetition="epochs"), lambda path: ((), lambda: _read_samples(path)), _PART
)
read_pool, read_folder, read_answers = _LOGS.read_pool, _LOGS.read_folder, _LOGS.read_answers
