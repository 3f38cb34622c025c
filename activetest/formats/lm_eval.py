"""Samples of EleutherAI's lm-evaluation-harness: what its log_samples writes, an object a line.

A document has a line for each filter of its task. Files of versions before 2025 lack `filter` and
`metrics` and hold numbers as text.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from activetest.errors import PoolError
from activetest.formats._json_values import find_keys, read_lines
from activetest.formats._logs import Logs, Opened
from activetest.formats._samples import (
    Sample,
    Terms,
    name_part,
    parse_number,
    prefix_fields,
    read_content,
    read_grade,
    read_id,
    read_messages,
    read_number,
    read_text,
)
from activetest.nouns.file_head import FileHead, read_head

TITLE = "lm-evaluation-harness samples"
SUFFIXES = (".jsonl",)
POOL = True
GRADED = True
ANSWERS = True

# The summary of a run, which has no samples.
_SUMMARY = re.compile(rb'^\s*\{\s*"(results|groups)"\s*:\s*\{')
# Keys of a line besides its metrics, in any version.
_NO_METRICS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash", "task_name", "schema_version", "sample_id"),
    "success",
}
_TRUTHS = {"true", "false", "1", "0", "1.0", "0.0"}
# Names of files of samples: the task, and when it was.
_PART = re.compile(r"samples_(?P<name>.+?)(_\d{4}-\d\d-\d\dT[\d.:-]+)?\.\w+")
# A metric that stands for none.
_BYPASS = "bypass"


def recognise(head: FileHead) -> bool:
    """Whether the first line has the keys of a sample, or the whole is the summary of a run."""
    if not head.beginning.startswith(b"{"):
        return False
    keys = find_keys(head.line, "doc_id", "doc", "resps", "filtered_resps")
    # The responses may stand behind the first 64 KiB of a line.
    cut = len(head.line) == len(head.beginning) and not head.whole
    sample = keys >= {"doc_id", "doc"} and (len(keys) > 2 or cut)
    return sample or _is_summary(head)


def is_part(head: FileHead) -> bool:
    """Whether a file in the folder of a run holds samples, and is not its summary."""
    return not _is_summary(head)


def _is_summary(head: FileHead) -> bool:
    start = head.beginning
    return bool(_SUMMARY.match(start)) and bool(
        find_keys(start, "group_subtasks", "configs", "n-shot", "versions")
    )


def _open(path: Path) -> Opened:
    """The samples of one task, or of several one after another. Raises PoolError for a summary."""
    if _is_summary(read_head(path)):
        raise PoolError(
            f"{path} is the summary of a run, without its samples",
            hint="give samples_TASK.jsonl, which lm-evaluation-harness writes beside it with "
            "log_samples",
        )
    tasks = filters = 1
    for task, count, _, line in _read_tasks(path):
        tasks = task
        filters = max(filters, 1 if "filter" in line else count + 1)
    notes = []
    if tasks > 1:
        notes.append(
            f"the documents begin anew {tasks - 1:,} {'time' if tasks == 2 else 'times'}: the file "
            f"is read as {tasks:,} tasks one after another, whose names the ids and the column "
            "task have"
        )
    if filters > 1:
        notes.append(
            f"documents come up to {filters} times without the name of a filter: each time is read "
            "as one of another filter, and the first is the score"
        )
    return notes, lambda: _read_samples(path, several=tasks > 1)


def _read_samples(path: Path, *, several: bool) -> Iterator[Sample]:
    """The samples; those of several tasks are named by it. Raises PoolError naming the line.

    A document that comes again without the name of a filter is that of the next filter.
    """
    for task, count, sample, line in _read_tasks(path):
        if count and "filter" not in line:
            sample.grades = {
                f"{name}/filter-{count + 1}": grade for name, grade in sample.grades.items()
            }
        named = line.get("task_name")
        name = named if isinstance(named, str) and named else str(task)
        yield name_part(sample, name) if several else sample


def _read_tasks(path: Path) -> Iterator[tuple[int, int, Sample, dict[str, Any]]]:
    """(number of the task from 1 up, times that the document came before, sample, line)."""
    task, seen = 1, dict[str, tuple[str | None, int]]()
    for place, _, line in read_lines(path):
        sample = _read_sample(line, f"{path}, line {place}", f"line {place}")
        identity, count = seen.get(sample.id, (sample.identity, 0))
        if identity != sample.identity:
            task, seen, count = task + 1, {}, 0
        seen[sample.id] = sample.identity, count + 1
        yield task, count, sample, line


def _read_sample(line: Mapping[str, Any], full_place: str, place: str) -> Sample:
    """Raises PoolError for a line that is no sample."""
    name = read_id(line.get("doc_id"))
    if name is None:
        raise PoolError(
            f"{full_place}: doc_id is neither text nor a whole number",
            hint="give a file of samples that lm-evaluation-harness wrote",
        )
    doc, filtered, answers = line.get("doc"), line.get("filtered_resps"), line.get("resps")
    context, options = _read_arguments(line.get("arguments"))
    identity = line.get("doc_hash")
    sample = Sample(
        name,
        place,
        input=context if context is not None else read_text(doc),
        target=read_text(line.get("target")),
        fields=prefix_fields("doc_", doc),
        identity=identity if isinstance(identity, str) else read_text(doc),
    )
    filter_name = line.get("filter")
    sample.repeat = filter_name if isinstance(filter_name, str) else ""
    suffix = f"/{filter_name}" if isinstance(filter_name, str) and filter_name != "none" else ""
    sample.grades = {f"{metric}{suffix}": grade for metric, grade in _read_metrics(line).items()}
    likelihoods = _read_likelihoods(filtered if filtered is not None else answers)
    if likelihoods is None:
        sample.output = _read_answer(answers)
        sample.answer = _read_answer(filtered)
        if sample.output is None:
            sample.output = sample.answer
        return sample
    if "acc_mutual_info" in line and len(likelihoods) % 2 == 0:
        # The second half are the options without the question.
        likelihoods = likelihoods[: len(likelihoods) // 2]
    if len(likelihoods) < 2:
        return sample
    sample.likelihoods = likelihoods
    sample.choices = options[: len(likelihoods)] if len(options) >= len(likelihoods) else None
    sample.targets = _find_targets(line.get("target"), len(likelihoods), sample.choices or ())
    accuracy = read_number(read_grade(line.get("acc")))
    sample.correct = None if accuracy is None else accuracy == 1
    return sample


def _read_metrics(line: Mapping[str, Any]) -> dict[str, float | str | None]:
    """{metric: value of this line}; a metric of the whole task has none of its own."""
    names = line.get("metrics")
    if not isinstance(names, list):
        names = [name for name in line if name not in _NO_METRICS]
        # Any other key of an older file is a metric only where it has a number.
        names = [name for name in names if isinstance(read_grade(line[name]), float)]
    return {
        name: read_grade(line[name])
        for name in names
        if isinstance(name, str) and name in line and name != _BYPASS
    }


def _read_arguments(arguments: Any) -> tuple[str | None, list[str]]:
    """The prompt of the model, and its possible continuations: the options, where several.

    `arguments` is a list of lists, or since 2024 an object of objects.
    """
    if isinstance(arguments, dict):
        arguments = [
            [each.get("arg_0"), each.get("arg_1")]
            for each in arguments.values()
            if isinstance(each, dict)
        ]
    if not isinstance(arguments, list):
        return None, []
    pairs = [each for each in arguments if isinstance(each, list) and each]
    context = pairs[0][0] if pairs else None
    options = [pair[1] for pair in pairs if len(pair) > 1 and isinstance(pair[1], str)]
    if options and len({str(pair[0]) for pair in pairs}) > 1 and len(set(options)) == 1:
        # The options are contexts of one continuation, as in Winogrande.
        options = [pair[0] for pair in pairs if isinstance(pair[0], str)]
        context = None
    return (None if context is None else read_messages(context)), options


def _read_likelihoods(responses: Any) -> list[float] | None:
    """The log-likelihoods of what was not generated; None where responses are text."""
    values = list(map(_read_likelihood, responses)) if isinstance(responses, list) else []
    found = [value for value in values if value is not None]
    return found if found and len(found) == len(values) else None


def _read_likelihood(response: Any) -> float | None:
    """The log-likelihood of one option, which is a number, or one and whether it is the greedy one.

    Versions before 2025 wrote both as text: text alone is an answer.
    """
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    if isinstance(response, list):
        if len(response) != 2 or str(response[1]).lower() not in _TRUTHS:
            return None
        response = response[0]
    elif isinstance(response, str):
        return None
    try:
        return parse_number(response) if isinstance(response, str) else float(response)
    except (TypeError, ValueError, OverflowError):
        return None


def _read_answer(responses: Any) -> str | None:
    """The first of the responses, which are text or lists of them."""
    while isinstance(responses, list) and responses:
        responses = responses[0]
    none = responses is None or isinstance(responses, int | float | list)
    return None if none else read_content(responses)


def _find_targets(target: Any, options: int, choices: Any) -> dict[str, int]:
    """{reading: position among the options} for each way to read the target."""
    found: dict[str, int] = {}
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    if isinstance(target, bool) or not isinstance(target, int | str):
        return found
    word = str(target).strip()
    if word.isdecimal() and len(word) < 5 and int(word) < options:
        found["number"] = int(word)
    texts = [choice.strip() for choice in choices]
    if word in texts:
        found["text"] = texts.index(word)
    if len(word) == 1 and 0 <= ord(word) - ord("A") < options:
        found["letter"] = ord(word) - ord("A")
    return found


_LOGS = Logs(Terms("lm-eval", grader="metric"), _open, _PART)
read_pool, read_folder, read_answers = _LOGS.read_pool, _LOGS.read_folder, _LOGS.read_answers
