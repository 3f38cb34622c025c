"""Predictions of Stanford's HELM: display_predictions.json, with instances.json beside it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from activetest.errors import PoolError
from activetest.formats._json_values import read_array
from activetest.formats._logs import read_logs
from activetest.formats._samples import (
    Sample,
    Terms,
    build_tables,
    read_grade,
    read_id,
    read_messages,
    read_text,
)
from activetest.nouns.file_head import FileHead

TITLE = "HELM predictions"
SUFFIXES = (".json",)
POOL = True
GRADED = True

_TERMS = Terms(
    "helm",
    sample="prediction",
    grader="statistic",
    prefix="stats_",
    repetition="perturbations or trials",
)
_INSTANCES = "instances.json"
_KEYS = re.compile(rb'"(instance_id|predicted_text|stats|train_trial_index)"\s*:')
# Statistics that say nothing about the quality of an answer.
_NO_GRADE = re.compile(
    r"^(num_|inference_|training_|predicted_index|finish_reason_|batch_size|max_prob|logprob|"
    r"prompt_tokens|output_tokens)"
)
# Statistics of which the first that is there is the score; without any, the first that is a grade.
_GRADES = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")


def recognise(head: FileHead) -> bool:
    """Whether it is an array of predictions of instances."""
    start = head.start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not re.match(rb"\[\s*\{", start):
        return False
    keys = {found.group(1) for found in _KEYS.finditer(start)}
    return b"instance_id" in keys and bool({b"predicted_text", b"stats"} & keys)


def read_pool(path: Path, *, id: str | None = None, judge: str | None = None) -> Iterator[pa.Table]:
    """A row for each instance: perturbations and trials of one are its repetitions.

    Raises PoolError naming the prediction.
    """
    instances = path.parent / _INSTANCES
    notes = []
    if not instances.is_file():
        notes.append(f"{_INSTANCES} is not beside the file: there is neither input nor target")
    return build_tables(path, lambda: _read_samples(path), _TERMS, notes, judge=judge)


def read_folder(
    files: Sequence[Path], folder: Path, *, judge: str | None = None
) -> Iterator[pa.Table]:
    """The rows of several logs, each of a task of its own. Raises PoolError."""
    return read_logs(files, folder, _read_samples, _TERMS, judge=judge)


def _read_samples(path: Path) -> Iterator[Sample]:
    """The predictions, with what the instances beside them say. Raises PoolError."""
    instances = path.parent / _INSTANCES
    known = _read_instances(instances) if instances.is_file() else {}
    later = []
    for number, prediction in read_array(path, ()):
        name = read_id(prediction.get("instance_id"))
        if name is None:
            raise PoolError(
                f"{path}, element {number}: instance_id is neither text nor a whole number",
                hint="give display_predictions.json as HELM wrote it",
            )
        sample = _read_sample(prediction, name, f"element {number}", known.get(name, {}))
        # The answer to the unchanged instance is the one to show.
        if prediction.get("perturbation") is None:
            yield sample
        else:
            later.append((number, name))
    if later:
        numbers = {number for number, _ in later}
        for number, prediction in read_array(path, ()):
            if number in numbers:
                name = str(prediction["instance_id"])
                yield _read_sample(prediction, name, f"element {number}", known.get(name, {}))


def _read_sample(
    prediction: Mapping[str, Any], name: str, place: str, instance: Mapping[str, str | None]
) -> Sample:
    stats = prediction.get("stats")
    output = prediction.get("truncated_predicted_text")
    return Sample(
        name,
        place,
        input=instance.get("input"),
        output=read_text(prediction.get("predicted_text") if output is None else output),
        target=instance.get("target"),
        answer=read_text(prediction.get("mapped_output")),
        grades=_read_grades(stats if isinstance(stats, dict) else {}),
        fields={"split": instance.get("split")},
        identity=name,
        repeat=read_text([prediction.get("train_trial_index"), prediction.get("perturbation")])
        or "",
    )


def _read_grades(stats: Mapping[str, Any]) -> dict[str, float | str | None]:
    """{statistic: value}, that of the score first."""
    names = [name for name in stats if not _NO_GRADE.match(name)]
    names.sort(key=lambda name: _GRADES.index(name) if name in _GRADES else len(_GRADES))
    return {name: read_grade(stats[name]) for name in names}


def _read_instances(path: Path) -> dict[str, dict[str, str | None]]:
    """{id: {input, target, split}} of the instances as they were before any perturbation."""
    found: dict[str, dict[str, str | None]] = {}
    for _, instance in read_array(path, ()):
        name = read_id(instance.get("id"))
        if name is None or (name in found and instance.get("perturbation") is not None):
            continue
        given = instance.get("input")
        split = instance.get("split")
        found[name] = {
            "input": read_messages(given.get("text") if isinstance(given, dict) else given),
            "target": _read_target(instance.get("references")),
            "split": split if isinstance(split, str) else None,
        }
    return found


def _read_target(references: Any) -> str | None:
    """The texts of the correct references."""
    if not isinstance(references, list):
        return None
    texts = []
    for reference in references:
        tags = reference.get("tags") if isinstance(reference, dict) else None
        if isinstance(tags, list) and "correct" in tags:
            output = reference.get("output")
            text = output.get("text") if isinstance(output, dict) else output
            texts.append(read_text(text) or "")
    return ", ".join(texts) if texts else None
