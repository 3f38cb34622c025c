"""Logs of one run in several files are told by the task that names of files or folders say."""

from pathlib import Path

import pytest

from activetest.errors import PoolError
from activetest.formats import inspect_ai, lm_eval, openai_evals
from activetest.formats._logs import name_parts


@pytest.mark.parametrize(
    ("pattern", "names", "parts"),
    [
        (
            lm_eval._PART,
            ["samples_mmlu_law_2025-05-01T10-00-00.123456.jsonl", "samples_arc_easy.jsonl"],
            ["mmlu_law", "arc_easy"],
        ),
        (
            inspect_ai._PART,
            [
                "2025-05-01T10-00-00+00-00_gsm8k_hard_4Uqd8mYQbXyTn9pC3mZr5k.eval",
                "2025-05-01T10-00-00-07-00_arc_4Uqd8mYQbXyTn9pC3mZr5k.json",
                "mine.eval",
            ],
            ["gsm8k_hard", "arc", "mine"],
        ),
        (None, ["a.jsonl", "b.jsonl"], ["a", "b"]),
        (None, ["x/log.json", "y/z/log.json"], ["x", "y/z"]),
        (None, ["x/log.json"], ["log"]),
    ],
)
def test_names_say_the_task(tmp_path, pattern, names, parts):
    assert name_parts([tmp_path / name for name in names], pattern) == parts


def test_two_files_of_one_task_are_an_error():
    files = [Path(f"samples_a_2025-05-0{day}T10-00-00.1.jsonl") for day in (1, 2)]
    with pytest.raises(PoolError, match="05-01.* and .*05-02.* are both of the task 'a'"):
        name_parts(files, lm_eval._PART)


def test_a_place_in_a_message_names_the_file(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"sample_id": 1.5}\n')
    with pytest.raises(PoolError, match=r"a\.jsonl, line 1"):
        list(openai_evals.read_folder([tmp_path / "a.jsonl"], tmp_path))


def test_a_place_among_the_items_of_a_run_names_the_file(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"doc_id": "{"x" * 999}", "doc": {{}}, "resps": [["4"]]}}\n')
    with pytest.raises(PoolError, match=r", a\.jsonl, line 1: an id has 1,001 letters"):
        list(lm_eval.read_folder([file], tmp_path))
