"""Logs of OpenAI's evals: a line for the run, and one for each event."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from activetest.errors import PoolError
from activetest.formats._json_values import LARGEST, find_keys, parse_object, read_lines
from activetest.formats._logs import Logs
from activetest.formats._samples import (
    Sample,
    Terms,
    read_grade,
    read_id,
    read_messages,
    read_text,
)
from activetest.nouns.file_head import FileHead

TITLE = "OpenAI evals log"
SUFFIXES = (".jsonl",)
POOL = True
GRADED = True

_SPEC = re.compile(rb'\{\s*"spec"\s*:\s*\{')
_SPEC_KEYS = ("completion_fns", "eval_name", "base_eval", "run_id")
_EVENT_KEYS = ("event_id", "sample_id", "type")
# The recorded choice of the grader of a model-graded eval whose answer was no choice.
_INVALID = "__invalid__"


def recognise(head: FileHead) -> bool:
    """Whether the first line is the specification of a run, or an event of one."""
    if _SPEC.match(head.line):
        return bool(find_keys(head.line, *_SPEC_KEYS))
    return head.line.startswith(b"{") and find_keys(head.line, *_EVENT_KEYS) == {*_EVENT_KEYS}


@dataclass(slots=True)
class _Events:
    """Contents of the events of a sample, and where its prompt and its answer stand."""

    number: int
    sampling: int | None = None
    match: int | None = None
    grades: list[dict[str, float | str | None]] = field(default_factory=list)
    problem: str = ""


def _read_samples(path: Path) -> Iterator[Sample]:
    """The events of a sample stand anywhere in the file: they are found first, then read."""
    found: dict[str, _Events] = {}
    for number, position, line in read_lines(path):
        if "sample_id" not in line:
            # The run's specification, or its final report.
            continue
        name, data = read_id(line["sample_id"]), line.get("data")
        if name is None:
            raise PoolError(
                f"{path}, line {number}: sample_id is neither text nor a whole number",
                hint="give a log that OpenAI's evals wrote",
            )
        events = found.setdefault(name, _Events(number))
        kind = line.get("type")
        if kind == "sampling" and events.sampling is None:
            events.sampling = position
        elif kind in ("match", "metrics") and isinstance(data, dict):
            if kind == "match" and events.match is None:
                events.match = position
            events.grades.append(_read_grades(data, kind))
        elif kind == "error":
            events.problem = "error"
    with path.open("rb") as file:
        for name, events in found.items():
            sampling, match = (
                _read_data(file, position, path) for position in (events.sampling, events.match)
            )
            # The model's answer may be a list of one.
            sampled = sampling.get("sampled", match.get("sampled"))
            if isinstance(sampled, list) and len(sampled) == 1:
                sampled = sampled[0]
            for grades in events.grades or [{}]:
                yield Sample(
                    name,
                    f"line {events.number}",
                    input=read_messages(sampling.get("prompt", match.get("prompt"))),
                    output=read_text(sampled),
                    target=read_text(match.get("expected")),
                    grades=grades,
                    problem=events.problem,
                    answer=read_text(match.get("picked")),
                )


def _read_data(file: Any, position: int | None, path: Path) -> dict[str, Any]:
    """The data of the event that begins at a position, of which there may be none."""
    if position is None:
        return {}
    file.seek(position)
    line = file.readline(LARGEST + 1).removeprefix(b"\xef\xbb\xbf")
    data = parse_object(line, str(path)).get("data")
    return data if isinstance(data, dict) else {}


def _read_grades(data: dict[str, Any], kind: str) -> dict[str, float | str | None]:
    """{metric: value} of an event; of a model-graded eval the score comes first."""
    if kind == "match":
        return {"correct": read_grade(data.get("correct"))}
    if data.get("choice") == _INVALID:
        return {}
    names = sorted(data, key=lambda name: name not in ("score", "accuracy"))
    values = {name: read_grade(data[name]) for name in names}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, float) or name == "choice"
    }


_LOGS = Logs(Terms("openai-evals", grader="metric"), lambda path: ((), lambda: _read_samples(path)))
read_pool, read_folder = _LOGS.read_pool, _LOGS.read_folder
