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

import pyarrow.csv

from activetest.errors import PoolError
from activetest.formats._errors import raising_parse_errors
from activetest.formats._json_values import find_keys, read_array, read_lines, take, take_all
from activetest.formats._logs import Logs
from activetest.formats._samples import (
    Sample,
    Terms,
    prefix_fields,
    read_grade,
    read_id,
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

_BEGINNING = re.compile(rb'\{\s*"(evalId|results|version)"\s*:')
_RESULTS = re.compile(rb'"results"\s*:\s*\{')
_RESULT_KEYS = {"testIdx", "promptIdx", "gradingResult", "namedScores", "failureReason", "success"}
# Text in the header of a CSV file behind each output, and before it.
_GRADE = ("Status", "Score")
_OUTPUT = re.compile(r"\[(?P<provider>[^\]]+)\] (?P<prompt>.*)", re.DOTALL)
_STATUS = re.compile(r"\[(?P<status>PASS|FAIL|ERROR)\] ?(?P<output>.*)", re.DOTALL)
# Behind the reason of a failure stands the output.
_REASON = "\n---\n"
# failureReason of a test that could not be run.
_ERROR = 2
# promptfoo's reason for a test that checks nothing; it passes.
_UNCHECKED = "No assertions"


def recognise(head: FileHead) -> bool:
    """Whether results stand in an object `results`, a line is one, or columns are named as its."""
    if _are_lines(head) or _is_table(head):
        return True
    if not _BEGINNING.match(head.beginning) or not _RESULTS.search(head.beginning):
        return False
    keys = find_keys(head.beginning, "timestamp", "promptIdx", "testIdx")
    return "timestamp" in keys or len(keys) > 1


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
        provider = take(result, "provider", "id") or result.get("provider")
        provider = provider if isinstance(provider, str) and provider else None
        yield _read_sample(
            result, "/".join(filter(None, (test, prompt, provider))), place, provider
        )


def _read_sample(result: Mapping[str, Any], name: str, place: str, provider: str | None) -> Sample:
    given, variables, named = (result.get(key) for key in ("prompt", "vars", "namedScores"))
    prompt = given.get("raw") if isinstance(given, dict) else given
    label = take(given, "label")
    failed = result.get("failureReason") == _ERROR or (
        result.get("response") is None and bool(result.get("error"))
    )
    score, person = _read_score(result)
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
        output=read_text(take(result, "response", "output")),
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
    line = head.line
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
    named = found.items() if isinstance(found, dict) else ()
    return {name: read_grade(value) for name, value in named}


def _read_score(result: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """(score of the assertions, score that a person gave); None where there is none.

    A person's score replaces that of the others in promptfoo; here it is their mean again.
    """
    grading = result.get("gradingResult")
    score = read_number(result.get("score"))
    if score is None:
        score = read_number(result.get("success"))
    parts = take_all(grading, "componentResults")
    # Where a grader failed, there is no verdict.
    broken = any(take(part, "metadata", "graderError") is True for part in (grading, *parts))
    if broken or take(grading, "reason") == _UNCHECKED:
        score = None
    scores: dict[bool, list[float | None]] = {True: [], False: []}
    for part in parts:
        human = take(part, "assertion", "type") == "human"
        scores[human].append(read_number(part.get("score")))
    if not scores[True]:
        return score, None
    numbers = [number for number in scores[False] if number is not None]
    mean = sum(numbers) / len(numbers) if numbers and score is not None else None
    return mean, scores[True][-1]


_LOGS = Logs(
    Terms("promptfoo", sample="result", grader="named score", verdict="success"),
    lambda path: ((), lambda: _read_samples(path)),
)
read_pool, read_folder, read_answers = _LOGS.read_pool, _LOGS.read_folder, _LOGS.read_answers
