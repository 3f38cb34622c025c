import math

import pytest

from activetest.errors import PoolError
from activetest.formats import helm
from activetest.nouns.file_head import FileHead
from tests.formats import logs

TYPOS = {"name": "typos", "robustness": True, "prob": 0.1}


@pytest.fixture
def write(tmp_path):
    def write(predictions, instances=()):
        if instances:
            logs.write_json(tmp_path / "instances.json", list(instances))
        return logs.write_json(tmp_path / "display_predictions.json", list(predictions))

    return write


def test_perturbations_and_trials_of_an_instance_are_one_row(write):
    stats = {
        "num_output_tokens": 3.0,
        "f1_score": 0.5,
        "exact_match": 1.0,
        "inference_runtime": 2.0,
    }
    path = write(
        [
            logs.helm_prediction(
                "id1", text="Pariis", perturbation=TYPOS, stats={"exact_match": 0.0}
            ),
            logs.helm_prediction("id1", stats=stats),
            logs.helm_prediction("id1", trial=1, stats={"exact_match": 1.0, "f1_score": 1.0}),
            logs.helm_prediction("id2", text="Oslo", stats={"exact_match": 0.0}),
        ],
        [
            logs.helm_instance("id1", "Capitl of Frnce?", "Paris", perturbation=TYPOS),
            logs.helm_instance("id1", "Capital of France?", "Paris"),
            logs.helm_instance("id2", "Capital of Peru?", "Lima"),
        ],
    )
    assert logs.find(path) == "helm"
    rows = logs.read_rows(path)
    assert rows == [
        {
            "id": "id1",
            "input": "Capital of France?",
            "output": "Paris",
            "target": "Paris",
            "score": pytest.approx(2 / 3),
            "stats_f1_score": 0.75,
            "split": "test",
        },
        {
            "id": "id2",
            "input": "Capital of Peru?",
            "output": "Oslo",
            "target": "Lima",
            "score": 0.0,
            "stats_f1_score": None,
            "split": "test",
        },
    ]
    assert logs.read_document(path) == {
        "format": "helm",
        "labels": [],
        "notes": [
            "score is the statistic exact_match; the other statistics are stats_f1_score",
            "1 of 2 items has several perturbations or trials: the score is their mean, and the "
            "output is that of the first",
        ],
        "judge": "score",
    }


def test_without_instances_beside_it_there_is_neither_input_nor_target(write):
    path = write([logs.helm_prediction("id1", mapped_output="Paris, France")])
    assert logs.read_rows(path) == [
        {"id": "id1", "output": "Paris", "answer": "Paris, France", "score": 1.0}
    ]
    assert logs.read_notes(path)[0] == (
        "instances.json is not beside the file: there is neither input nor target"
    )


def test_a_truncated_prediction_is_the_output(write):
    path = write([logs.helm_prediction(text="Q: x A: Paris", truncated_predicted_text=" Paris")])
    assert logs.read_rows(path)[0]["output"] == " Paris"


@pytest.mark.parametrize("stats", [{}, {"exact_match": math.nan}, {"exact_match": None}])
def test_a_prediction_without_a_grade_is_missing(write, stats):
    path = write([logs.helm_prediction("a"), logs.helm_prediction("b", stats=stats)])
    assert [row["id"] for row in logs.read_rows(path)] == ["a"]
    assert "1 of 2 items has no grade and is left out" in logs.read_notes(path)


def test_bookkeeping_is_no_grade(write):
    stats = {"num_references": 4.0, "predicted_index": 1.0, "logprob": -3.0}
    path = write([logs.helm_prediction("a", stats=stats)])
    assert "no prediction has a grade: there is no score" in logs.read_notes(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"stats": 3}, {"predicted_text": None}, {"predicted_text": [1]}, {"perturbation": 3},
        {"mapped_output": {"a": 1}}, {"stats": {"a\x1b": 1.0}}, {"train_trial_index": "x"},
    ],
)  # fmt: skip
def test_fields_of_another_type_do_no_harm(write, changed):
    path = write([logs.helm_prediction("a"), logs.helm_prediction("b") | changed])
    assert logs.read_rows(path)[0]["id"] == "a"


@pytest.mark.parametrize(
    "instance",
    [
        {}, {"id": 1.5}, {"id": "a", "input": 3}, {"id": "a", "references": 3},
        {"id": "a", "references": [3, {"tags": 3}, {"tags": ["correct"], "output": None}]},
    ],
)  # fmt: skip
def test_instances_of_another_shape_do_no_harm(write, instance):
    assert logs.read_rows(write([logs.helm_prediction("a")], [instance]))[0]["output"] == "Paris"


def test_damaged_instances_are_named(write, tmp_path):
    path = write([logs.helm_prediction("a")], [logs.helm_instance("a", "x", "y")])
    (tmp_path / "instances.json").write_text('[{"id": "a"')
    with pytest.raises(PoolError, match=r"instances\.json, element 1: not valid JSON"):
        logs.read_rows(path)


@pytest.mark.parametrize("element", [3, None, "x", [1]])
def test_elements_that_are_no_predictions_are_named(write, element):
    path = write([logs.helm_prediction("a"), element])
    with pytest.raises(PoolError, match=r"predictions\.json, element 2: not an object"):
        logs.read_rows(path)


def test_ids_that_are_none_are_named(write):
    with pytest.raises(PoolError, match=r"predictions\.json, element 1: instance_id"):
        logs.read_rows(write([logs.helm_prediction("a") | {"instance_id": 1.5}]))


def test_predictions_are_known_by_their_content():
    for other in (b'[{"instance_id": "a"}]', b"[]", b'{"instance_id": 1, "stats": 2}', b"["):
        assert not helm.recognise(FileHead("display_predictions.json", other, len(other)))
