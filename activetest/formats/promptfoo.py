"""Results of promptfoo: the JSON that `promptfoo eval` writes, version 3."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from activetest.errors import PoolError
from activetest.formats._json_values import read_array
from activetest.formats._samples import (
    Sample,
    Terms,
    build_tables,
    prefix_fields,
    read_grade,
    read_id,
    read_labels,
    read_messages,
    read_number,
    read_text,
)
from activetest.nouns.file_head import FileHead

TITLE = "promptfoo results"
SUFFIXES = (".json",)
POOL = True
GRADED = True
ANSWERS = True

_TERMS = Terms("promptfoo", sample="result", grader="named score", verdict="success")
_BEGINNING = re.compile(rb'^\s*\{\s*"(evalId|results|version)"\s*:')
_RESULTS = re.compile(rb'"results"\s*:\s*\{')
_KEYS = re.compile(rb'"(timestamp|prompts|promptIdx|testIdx)"\s*:')
# failureReason of a test that could not be run.
_ERROR = 2
# What promptfoo says of a test that checks nothing; it passes.
_UNCHECKED = "No assertions"


def recognise(head: FileHead) -> bool:
    """Whether results stand in an object `results`."""
    start = head.start.removeprefix(b"\xef\xbb\xbf")
    if not _BEGINNING.match(start) or not _RESULTS.search(start):
        return False
    keys = {found.group(1) for found in _KEYS.finditer(start)}
    return b"timestamp" in keys or {b"promptIdx", b"testIdx"} <= keys


def read_pool(path: Path, *, id: str | None = None, judge: str | None = None) -> Iterator[pa.Table]:
    """A row for each test, prompt and provider. Raises PoolError naming the result."""
    return build_tables(path, lambda: _read_samples(path), _TERMS, judge=judge)


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """What people said of results. Raises LabelError."""
    return read_labels(read_pool, content, name)


def _read_samples(path: Path) -> Iterator[Sample]:
    for number, result in read_array(path, ("results", "results")):
        place = f"result {number}"
        test, prompt = read_id(result.get("testIdx")), read_id(result.get("promptIdx"))
        if test is None or prompt is None:
            raise PoolError(
                f"{path}, {place}: testIdx or promptIdx is missing",
                hint="write the results again with a newer promptfoo",
            )
        provider = _read_provider(result.get("provider"))
        yield _read_sample(
            result, "/".join(filter(None, (test, prompt, provider))), place, provider
        )


def _read_sample(result: Mapping[str, Any], name: str, place: str, provider: str | None) -> Sample:
    prompt: Any = result.get("prompt")
    response, variables = result.get("response"), result.get("vars")
    label: Any = None
    if isinstance(prompt, dict):
        prompt, label = prompt.get("raw"), prompt.get("label")
    output = response.get("output") if isinstance(response, dict) else None
    failed = result.get("failureReason") == _ERROR or (
        response is None and bool(result.get("error"))
    )
    score, person = _read_score(result)
    named = result.get("namedScores")
    grades: dict[str, float | str | None] = {"score": None if failed else score}
    if score is not None and not failed:
        # Whether all assertions passed: the score is a share of them, or the same.
        grades["success"] = read_number(result.get("success"))
    if isinstance(named, dict) and not failed:
        grades |= {key: read_grade(value) for key, value in named.items()}
    return Sample(
        name,
        place,
        input=read_messages(prompt) if prompt is not None else read_text(variables),
        output=read_text(output),
        grades=grades,
        problem="error" if failed else "",
        label=person,
        fields={
            "provider": provider,
            "prompt": label if label != prompt else result.get("promptIdx"),
            **prefix_fields("vars_", variables),
        },
    )


def _read_provider(provider: Any) -> str | None:
    if isinstance(provider, dict):
        provider = provider.get("id")
    return provider if isinstance(provider, str) and provider else None


def _read_score(result: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """(score of the assertions, score that a person gave); None where there is none.

    A person's score replaces that of the others in promptfoo; here it is their mean again.
    """
    grading = result.get("gradingResult")
    score = read_number(result.get("score"))
    if score is None:
        score = read_number(result.get("success"))
    if not isinstance(grading, dict):
        return score, None
    components = grading.get("componentResults")
    parts = (
        [part for part in components if isinstance(part, dict)]
        if isinstance(components, list)
        else []
    )
    if grading.get("reason") == _UNCHECKED or any(map(_is_broken, [grading, *parts])):
        score = None
    people = [part for part in parts if _is_person(part)]
    if not people:
        return score, None
    others = [read_number(part.get("score")) for part in parts if not _is_person(part)]
    numbers = [number for number in others if number is not None]
    mean = sum(numbers) / len(numbers) if numbers and score is not None else None
    return mean, read_number(people[-1].get("score"))


def _is_person(part: Mapping[str, Any]) -> bool:
    assertion = part.get("assertion")
    return isinstance(assertion, dict) and assertion.get("type") == "human"


def _is_broken(part: Mapping[str, Any]) -> bool:
    """Whether the grader failed, so that there is no verdict."""
    metadata = part.get("metadata")
    return isinstance(metadata, dict) and metadata.get("graderError") is True
