"""Results of promptfoo: what `promptfoo eval -o` writes as JSON (version 3), JSON Lines or CSV.

A CSV file has a row for each test: its variables, then for each prompt and provider a column with
the output, `[provider] prompt`, and columns of its grade. Older ones have the grade in the cell of
the output, as in `[PASS] text`.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from activetest.errors import PoolError
from activetest.formats._errors import raising_parse_errors
from activetest.formats._json_values import read_array, read_lines
from activetest.formats._logs import read_logs
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
from activetest.nouns.file_head import FileHead, read_head

TITLE = "promptfoo results"
SUFFIXES = (".json", ".jsonl", ".csv")
POOL = True
GRADED = True
ANSWERS = True

_TERMS = Terms("promptfoo", sample="result", grader="named score", verdict="success")
_BEGINNING = re.compile(rb'^\s*\{\s*"(evalId|results|version)"\s*:')
_RESULTS = re.compile(rb'"results"\s*:\s*\{')
_KEYS = re.compile(rb'"(timestamp|prompts|promptIdx|testIdx)"\s*:')
_RESULT_KEYS = {"testIdx", "promptIdx", "gradingResult", "namedScores", "failureReason", "success"}
# What stands in the header of a CSV file behind each output, and before it.
_GRADE = ("Status", "Score")
_OUTPUT = re.compile(r"\[(?P<provider>[^\]]+)\] (?P<prompt>.*)", re.DOTALL)
_STATUS = re.compile(r"\[(?P<status>PASS|FAIL|ERROR)\] ?(?P<output>.*)", re.DOTALL)
# Behind the reason of a failure stands the output.
_REASON = "\n---\n"
# failureReason of a test that could not be run.
_ERROR = 2
# What promptfoo says of a test that checks nothing; it passes.
_UNCHECKED = "No assertions"


def recognise(head: FileHead) -> bool:
    """Whether results stand in an object `results`, a line is one, or columns are named as its."""
    start = head.start.removeprefix(b"\xef\xbb\xbf")
    if _are_lines(head) or _is_table(head):
        return True
    if not _BEGINNING.match(start) or not _RESULTS.search(start):
        return False
    keys = {found.group(1) for found in _KEYS.finditer(start)}
    return b"timestamp" in keys or {b"promptIdx", b"testIdx"} <= keys


def read_pool(path: Path, *, id: str | None = None, judge: str | None = None) -> Iterator[pa.Table]:
    """A row for each test, prompt and provider. Raises PoolError naming the result."""
    return build_tables(path, lambda: _read_samples(path), _TERMS, judge=judge)


def read_folder(
    files: Sequence[Path], folder: Path, *, judge: str | None = None
) -> Iterator[pa.Table]:
    """The rows of several logs, each of a task of its own. Raises PoolError."""
    return read_logs(files, folder, _read_samples, _TERMS, judge=judge)


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """What people said of results. Raises LabelError."""
    return read_labels(read_pool, content, name)


def _read_samples(path: Path) -> Iterator[Sample]:
    """The results. Raises PoolError naming the result."""
    with raising_parse_errors(path):
        head = read_head(path)
    if _is_table(head):
        yield from _read_table(path)
        return
    results: Iterator[tuple[int, dict[str, Any]]] = read_array(path, ("results", "results"))
    if _are_lines(head):
        results = ((number, result) for number, _, result in read_lines(path))
    for number, result in results:
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


def _are_lines(head: FileHead) -> bool:
    """Whether the first line is a result."""
    line = head.start.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    keys = {key for key in _RESULT_KEYS if f'"{key}"'.encode() in line}
    # Of a long line only the beginning is known.
    enough = 2 if len(line) == len(head.start) and not head.whole else 4
    return line.startswith(b"{") and not _RESULTS.search(line) and len(keys) >= enough


def _is_table(head: FileHead) -> bool:
    """Whether the first row names outputs and their grades, or the second has both in one cell."""
    text = head.text
    if text is None or text.lstrip()[:1] in ("{", "["):
        return False
    try:
        rows = csv.reader(io.StringIO(text, newline=""))
        header, first = next(rows, []), next(rows, [])
    except csv.Error:
        return False
    if any(header[at : at + 2] == [*_GRADE] for at in range(2, len(header))):
        return "Named Scores" in header or "Grader Reason" in header
    return any(map(_OUTPUT.fullmatch, header)) and any(map(_STATUS.fullmatch, first))


def _read_table(path: Path) -> Iterator[Sample]:
    """The outputs of each row of a CSV file."""
    header: list[str] | None = None
    number = 0
    for row in _read_rows(path):
        if header is None:
            header = row
            outputs = [at for at, name in enumerate(header) if _OUTPUT.fullmatch(name)]
            continue
        first = outputs[0] if outputs else len(row)
        variables = {
            name: value
            for name, value in zip(header[:first], row[:first], strict=True)
            if name != "Description"
        }
        for place, at in enumerate(outputs):
            yield _read_output(header, row, at, f"{number}/{place}", f"row {number}", variables)
        number += 1


def _read_rows(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV file, its header the first: names of columns may come several times."""
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    with raising_parse_errors(path):
        # The first row is one of names, so that every column is text.
        found = pyarrow.csv.open_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True, block_size=2**24),
            parse_options=options,
            convert_options=pyarrow.csv.ConvertOptions(null_values=[]),
        )
        for batch in found:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield ["" if value is None else str(value) for value in row]


def _read_output(
    header: Sequence[str],
    row: Sequence[str],
    at: int,
    name: str,
    place: str,
    variables: Mapping[str, str],
) -> Sample:
    """The output in a cell of a CSV file, with the grade behind it or in it."""
    found = _OUTPUT.fullmatch(header[at])
    provider, prompt = (found["provider"], found["prompt"]) if found else ("", header[at])
    output, grades = row[at], {}
    if [*header[at + 1 : at + 3]] == [*_GRADE]:
        status, grades["score"] = row[at + 1], read_grade(row[at + 2])
        if [*header[at + 3 : at + 4]] == ["Named Scores"]:
            grades |= _read_named(row[at + 3])
    else:
        cell = _STATUS.fullmatch(output)
        status, output = (cell["status"], cell["output"]) if cell else ("", output)
        if status != "PASS" and _REASON in output:
            output = output.partition(_REASON)[2]
        grades["score"] = {"PASS": 1.0, "FAIL": 0.0}.get(status)
    failed = status == "ERROR"
    if status in ("PASS", "FAIL"):
        grades["success"] = float(status == "PASS")
    text = prompt
    for variable, value in variables.items():
        text = text.replace(f"{{{{{variable}}}}}", value)
    return Sample(
        f"{name}/{provider}",
        place,
        input=text,
        output=output,
        grades=dict.fromkeys(grades) if failed else grades,
        problem="error" if failed else "",
        fields={"provider": provider, "prompt": prompt, **prefix_fields("vars_", variables)},
    )


def _read_named(text: str) -> dict[str, float | str | None]:
    """{name: grade} of an object of JSON; empty where there is none."""
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return (
        {name: read_grade(value) for name, value in found.items()}
        if isinstance(found, dict)
        else {}
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
