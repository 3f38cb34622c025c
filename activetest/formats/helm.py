"""Predictions of Stanford's HELM: display_predictions.json, with instances.json beside it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from activetest.errors import PoolError
from activetest.formats._json_values import find_keys, read_array, take_all
from activetest.formats._logs import Logs, Opened
from activetest.formats._samples import (
    Sample,
    Terms,
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

_INSTANCES = "instances.json"
# Statistics that say nothing about the quality of an answer.
_NO_GRADE = re.compile(
    r"^(num_|inference_|training_|predicted_index|finish_reason_|batch_size|max_prob|logprob|"
    r"prompt_tokens|output_tokens)"
)
# Statistics of which the first that is there is the score; without any, the first that is a grade.
_GRADES = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")


def recognise(head: FileHead) -> bool:
    """Whether it is an array of predictions of instances."""
    keys = find_keys(head.beginning, "instance_id", "predicted_text", "stats")
    return bool(re.match(rb"\[\s*\{", head.beginning)) and "instance_id" in keys and len(keys) > 1


def _open(path: Path) -> Opened:
    missing = not (path.parent / _INSTANCES).is_file()
    note = f"{_INSTANCES} is not beside the file: there is neither input nor target"
    return [note] * missing, lambda: _read_samples(path)


def _read_samples(path: Path) -> Iterator[Sample]:
    """The predictions, with what the instances beside them say. Raises PoolError.

    The answer to the unchanged instance is the one to show: it comes before the others.
    """
    instances = path.parent / _INSTANCES
    known = _read_instances(instances) if instances.is_file() else {}
    changed = False
    for later in (False, True):
        for number, prediction in read_array(path, ()) if changed or not later else ():
            name = read_id(prediction.get("instance_id"))
            if name is None:
                raise PoolError(
                    f"{path}, element {number}: instance_id is neither text nor a whole number",
                    hint="give display_predictions.json as HELM wrote it",
                )
            changed |= prediction.get("perturbation") is not None
            if later == (prediction.get("perturbation") is not None):
                yield _read_sample(prediction, name, f"element {number}", known.get(name, {}))


def _read_sample(
    prediction: Mapping[str, Any], name: str, place: str, instance: Mapping[str, str | None]
) -> Sample:
    output = prediction.get("truncated_predicted_text")
    found = prediction.get("stats")
    stats: dict[str, Any] = found if isinstance(found, dict) else {}
    # Those of the score come first.
    graders = [name for name in stats if not _NO_GRADE.match(name)]
    graders.sort(key=lambda name: _GRADES.index(name) if name in _GRADES else len(_GRADES))
    return Sample(
        name,
        place,
        input=instance.get("input"),
        output=read_text(prediction.get("predicted_text") if output is None else output),
        target=instance.get("target"),
        answer=read_text(prediction.get("mapped_output")),
        grades={each: read_grade(stats[each]) for each in graders},
        fields={"split": instance.get("split")},
        identity=name,
        repeat=read_text([prediction.get("train_trial_index"), prediction.get("perturbation")])
        or "",
    )


def _read_instances(path: Path) -> dict[str, dict[str, str | None]]:
    """{id: {input, target, split}} of the instances as they were before any perturbation."""
    found: dict[str, dict[str, str | None]] = {}
    for _, instance in read_array(path, ()):
        name = read_id(instance.get("id"))
        if name is None or (name in found and instance.get("perturbation") is not None):
            continue
        split = instance.get("split")
        found[name] = {
            "input": read_messages(_read_text_of(instance.get("input"))),
            "target": _read_target(instance),
            "split": split if isinstance(split, str) else None,
        }
    return found


def _read_target(instance: Mapping[str, Any]) -> str | None:
    """The texts of the correct references."""
    texts = [
        read_text(_read_text_of(reference.get("output"))) or ""
        for reference in take_all(instance, "references")
        if isinstance(tags := reference.get("tags"), list) and "correct" in tags
    ]
    return ", ".join(texts) if texts else None


def _read_text_of(value: Any) -> Any:
    """A text, which may stand in an object."""
    return value.get("text") if isinstance(value, dict) else value


_LOGS = Logs(
    Terms(
        "helm",
        sample="prediction",
        grader="statistic",
        prefix="stats_",
        repetition="perturbations or trials",
    ),
    _open,
)
read_pool, read_folder = _LOGS.read_pool, _LOGS.read_folder
