import pytest

from activetest.errors import PoolError
from activetest.formats import openai_evals
from activetest.nouns.file_head import FileHead
from tests.formats import logs

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]


@pytest.fixture
def write(tmp_path):
    return lambda *events: logs.write_lines(
        tmp_path / "run.jsonl", [logs.EVALS_SPEC, *events, {"final_report": {"accuracy": 0.5}}]
    )


def test_events_of_a_sample_are_one_row_wherever_they_stand(write):
    path = write(
        logs.evals_event("t.0", "sampling", 0, prompt=CHAT, sampled=["4"]),
        logs.evals_event("t.1", "sampling", 1, prompt="Capital?", sampled="Rome"),
        logs.evals_event("t.1", "match", 2, correct=False, expected="Paris", picked=None),
        logs.evals_event("t.0", "match", 3, correct=True, expected="4", picked="4", sampled="4"),
    )
    assert logs.find(path) == "openai-evals"
    assert logs.read_rows(path) == [
        {
            "id": "t.0",
            "input": "system: Be brief.\n\nuser: 2 + 2?",
            "output": "4",
            "target": "4",
            "score": 1.0,
        },
        {"id": "t.1", "input": "Capital?", "output": "Rome", "target": "Paris", "score": 0.0},
    ]
    assert logs.read_document(path) == {
        "format": "openai-evals",
        "labels": [],
        "notes": ["score is the metric correct"],
        "judge": "score",
    }


def test_the_report_may_stand_before_the_events(tmp_path):
    lines = [logs.EVALS_SPEC, {"final_report": {}}, logs.evals_event("a", "match", correct=True)]
    assert logs.read_rows(logs.write_lines(tmp_path / "run.jsonl", lines)) == [
        {"id": "a", "score": 1.0}
    ]


def test_several_matches_of_a_sample_are_their_mean(write):
    path = write(*[logs.evals_event("a", "match", correct=right) for right in (True, False)])
    assert [row["score"] for row in logs.read_rows(path)] == [0.5]
    assert "1 of 1 item has several repetitions" in logs.read_notes(path)[-1]


def test_model_graded_evals_have_a_score_and_a_choice(write):
    """The first answer is the model's, the second the grader's."""
    path = write(
        logs.evals_event("a", "sampling", prompt="Joke?", sampled="Knock knock"),
        logs.evals_event("a", "sampling", prompt="Funny?", sampled="Yes it is"),
        logs.evals_event("a", "metrics", choice="Yes", score=1.0, reason="x" * 200),
        logs.evals_event("b", "metrics", choice="__invalid__", score=0.0),
    )
    rows = logs.read_rows(path)
    assert rows == [
        {
            "id": "a",
            "input": "Joke?",
            "output": "Knock knock",
            "score": 1.0,
            "score_choice": "Yes",
        }
    ]
    assert "1 of 2 items has no grade and is left out" in logs.read_notes(path)


def test_a_choice_without_a_score_is_a_prediction(write):
    path = write(logs.evals_event("a", "metrics", choice="Funny", score=None))
    assert [row["pred"] for row in logs.read_rows(path)] == ["Funny"]


def test_errors_are_missing(write):
    path = write(
        logs.evals_event("a", "match", correct=True),
        logs.evals_event("b", "error", message="boom"),
        logs.evals_event("c", "sampling", prompt="x", sampled="y"),
    )
    assert [row["id"] for row in logs.read_rows(path)] == ["a"]
    assert logs.read_notes(path)[0] == (
        "2 of 3 items have no grade and are left out (1 with an error)"
    )


def test_a_torn_line_is_named(write):
    path = write(logs.evals_event("a", "match", correct=True))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(PoolError, match=r"run\.jsonl, line 3: not valid JSON"):
        logs.read_rows(path)


@pytest.mark.parametrize("id", [None, 1.5, [1], True])
def test_ids_that_are_none_are_named(write, id):
    with pytest.raises(PoolError, match=r"run\.jsonl, line 2: sample_id"):
        logs.read_rows(write(logs.evals_event(id, "match", correct=True)))


@pytest.mark.parametrize(
    "event",
    [
        {"sample_id": "b", "type": "match"}, {"sample_id": "b", "type": "match", "data": 3},
        {"sample_id": "b"}, {"sample_id": "b", "type": ["match"], "data": {}}, {"other": 1},
        {"sample_id": "b", "type": "sampling", "data": {"prompt": 3, "sampled": {"a": [1]}}},
        {"sample_id": "b", "type": "metrics", "data": {"score": {"a": 1}}},
    ],
)  # fmt: skip
def test_fields_of_another_type_do_no_harm(write, event):
    path = write(logs.evals_event("a", "match", correct=True), event)
    assert [row["id"] for row in logs.read_rows(path)] == ["a"]


def test_logs_are_known_by_their_content():
    event = b'{"run_id": "r", "event_id": 0, "sample_id": "a", "type": "match", "data": {}}\n'
    assert openai_evals.recognise(FileHead("x", event, len(event)))
    for other in (b'{"spec": {"a": 1}}\n', b'{"sample_id": "a"}\n', b"", b"[1]"):
        assert not openai_evals.recognise(FileHead("a.jsonl", other, len(other)))
