import csv
import math

import pytest

from activetest.errors import PoolError
from activetest.formats import promptfoo
from activetest.nouns.file_head import FileHead
from tests.formats import logs


@pytest.fixture
def write(tmp_path):
    return lambda results: logs.write_promptfoo(tmp_path / "results.json", results)


def test_an_item_is_a_test_a_prompt_and_a_provider(write):
    path = write(
        [
            logs.promptfoo_result(0, 0, variables={"name": "Ada"}, named={"tone": 0.5}),
            logs.promptfoo_result(0, 1, provider="echo", score=0.25, variables={"name": "Ada"}),
            logs.promptfoo_result(1, 0, output={"a": 1}, variables={"name": "Bo"}),
        ]
    )
    assert logs.find(path) == "promptfoo"
    assert logs.read_rows(path) == [
        {
            "id": "0/0/openai:gpt-4o",
            "input": "Greet 0",
            "output": "Hello Ada",
            "score": 1.0,
            "score_success": 1.0,
            "score_tone": 0.5,
            "provider": "openai:gpt-4o",
            "prompt": "Greet {{name}}",
            "vars_name": "Ada",
        },
        {
            "id": "0/1/echo",
            "input": "Greet 0",
            "output": "Hello Ada",
            "score": 0.25,
            "score_success": 0.0,
            "score_tone": None,
            "provider": "echo",
            "prompt": "Greet {{name}}",
            "vars_name": "Ada",
        },
        {
            "id": "1/0/openai:gpt-4o",
            "input": "Greet 1",
            "output": '{"a": 1}',
            "score": 1.0,
            "score_success": 1.0,
            "score_tone": None,
            "provider": "openai:gpt-4o",
            "prompt": "Greet {{name}}",
            "vars_name": "Bo",
        },
    ]
    assert logs.read_document(path) == {
        "format": "promptfoo",
        "labels": [],
        "notes": ["the other named scores are score_success, score_tone"],
        "judge": "score",
    }


def test_whether_all_passed_is_a_column_where_the_score_says_more(write):
    path = write([logs.promptfoo_result(0, score=1), logs.promptfoo_result(1, score=0)])
    assert "score_success" not in logs.read_rows(path)[0]
    path = write([logs.promptfoo_result(0, score=1), logs.promptfoo_result(1, score=0.75)])
    assert [(row["score"], row["score_success"]) for row in logs.read_rows(path)] == [
        (1, 1),
        (0.75, 0),
    ]


def test_errors_are_missing_and_failed_assertions_are_wrong(write):
    path = write(
        [
            logs.promptfoo_result(0, score=1),
            logs.promptfoo_result(1, score=0, reason=1, error="Expected output to contain x"),
            logs.promptfoo_result(2, score=0, reason=2, output=None, error="rate limit"),
        ]
    )
    assert [row["score"] for row in logs.read_rows(path)] == [1, 0]
    assert logs.read_notes(path)[0] == (
        "1 of 3 items has no grade and is left out (1 with an error)"
    )


@pytest.mark.parametrize(
    "grading",
    [
        {"pass": True, "score": 1, "reason": "No assertions"},
        {"pass": False, "score": 0, "reason": "x", "metadata": {"graderError": True}},
        {
            "pass": False,
            "score": 0,
            "reason": "x",
            "componentResults": [{"score": 0, "metadata": {"graderError": True}}],
        },
    ],
)
def test_what_no_grader_judged_has_no_grade(write, grading):
    path = write([logs.promptfoo_result(0), logs.promptfoo_result(1, grading=grading)])
    assert [row["id"] for row in logs.read_rows(path)] == ["0/0/openai:gpt-4o"]


def test_what_a_person_said_is_a_label_and_no_score(write):
    parts = [
        {"pass": True, "score": 1, "reason": "", "assertion": {"type": "llm-rubric"}},
        {"pass": False, "score": 0.5, "reason": "", "assertion": {"type": "icontains"}},
        {"pass": False, "score": 0, "reason": "", "assertion": {"type": "human"}},
    ]
    grading = {"pass": False, "score": 0, "reason": "Manual", "componentResults": parts}
    path = write([logs.promptfoo_result(0, score=0, grading=grading), logs.promptfoo_result(1)])
    assert [(row["score"], row["label"]) for row in logs.read_rows(path)] == [(0.75, 0), (1, None)]
    assert logs.read_labels(path) == {"0/0/openai:gpt-4o": "0"}


@pytest.mark.parametrize("score", [None, math.nan, "high", [1]])
def test_without_a_score_the_verdict_counts(write, score):
    result = logs.promptfoo_result(0) | {"score": score, "success": True}
    assert [row["score"] for row in logs.read_rows(write([result]))] == [1]


@pytest.mark.parametrize(
    "changed",
    [
        {"provider": None}, {"provider": 3}, {"vars": [1]}, {"prompt": "text"}, {"prompt": None},
        {"response": None}, {"response": "text"}, {"gradingResult": 3}, {"namedScores": [1]},
        {"gradingResult": {"componentResults": [3, {"assertion": 3}]}}, {"failureReason": "2"},
        {"namedScores": {"a": "high", "\n": 1}}, {"prompt": {"raw": {"a": 1}}},
    ],
)  # fmt: skip
def test_fields_of_another_type_do_no_harm(write, changed):
    path = write([logs.promptfoo_result(0), logs.promptfoo_result(1) | changed])
    assert logs.read_rows(path)[0]["id"] == "0/0/openai:gpt-4o"


@pytest.mark.parametrize("key", ["testIdx", "promptIdx"])
def test_results_of_older_versions_are_refused(write, key):
    result = logs.promptfoo_result(1)
    del result[key]
    with pytest.raises(
        PoolError, match=r"results\.json, result 2: testIdx or promptIdx is missing"
    ):
        logs.read_rows(write([logs.promptfoo_result(0), result]))


@pytest.mark.parametrize("cut", [0.3, 0.6])
def test_results_that_are_cut_off_are_an_error(write, cut):
    path = write([logs.promptfoo_result(k) for k in range(5)])
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])
    with pytest.raises(PoolError, match=r"results\.json, result \d: not valid JSON"):
        logs.read_rows(path)


def test_results_are_known_by_their_content(tmp_path):
    for other in (b'{"results": {"a": 1}}', b'{"results": [1]}', b"[]", b'{"evalId": "x"}'):
        assert not promptfoo.recognise(FileHead("results.json", other, len(other)))


def test_lines_are_results_too(tmp_path):
    results = [logs.promptfoo_result(test, score=test % 2) for test in range(4)]
    document = logs.write_promptfoo(tmp_path / "p.json", results)
    lines = logs.write_lines(tmp_path / "p.jsonl", results)
    assert logs.find(lines) == "promptfoo"
    assert logs.read_rows(lines) == logs.read_rows(document)


def write_table(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


TONE = '{"tone": 0.5}'
GRADED = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]


def test_a_table_has_a_block_of_columns_for_each_prompt(tmp_path):
    header = ["Description", "place", "[echo] Tide at {{place}}?", *GRADED, "[gpt:4] Ask", *GRADED]
    rows = [
        ["", "Brest, F", "a\nb", "PASS", "1.00", TONE, "", "", "c", "ERROR", "0", *"   "],
        ["", "Ghent", "d", "FAIL", "0.25", "", "", "", "", "PASS", "1", *"   "],
    ]
    path = write_table(tmp_path / "out.csv", header, rows)
    assert logs.find(path) == "promptfoo"
    assert logs.read_rows(path) == [
        {
            "id": "0/0/echo",
            "input": "Tide at Brest, F?",
            "output": "a\nb",
            "score": 1.0,
            "score_success": 1.0,
            "score_tone": 0.5,
            "provider": "echo",
            "prompt": "Tide at {{place}}?",
            "vars_place": "Brest, F",
        },
        {
            "id": "1/0/echo",
            "input": "Tide at Ghent?",
            "output": "d",
            "score": 0.25,
            "score_success": 0.0,
            "score_tone": None,
            "provider": "echo",
            "prompt": "Tide at {{place}}?",
            "vars_place": "Ghent",
        },
        {
            "id": "1/1/gpt:4",
            "input": "Ask",
            "output": "",
            "score": 1.0,
            "score_success": 1.0,
            "score_tone": None,
            "provider": "gpt:4",
            "prompt": "Ask",
            "vars_place": "Ghent",
        },
    ]
    notes = logs.read_notes(path)
    assert "1 of 4 items has no grade and is left out (1 with an error)" in notes


def test_older_tables_have_the_grade_in_the_cell_of_the_output(tmp_path):
    rows = [["x", "[PASS] yes"], ["y", "[FAIL] no match\n---\nnever"], ["z", "[ERROR] 429"]]
    path = write_table(tmp_path / "out.csv", ["q", "[echo] Say {{q}}"], rows)
    found = {row["id"]: (row["output"], row["score"]) for row in logs.read_rows(path)}
    assert found == {"0/0/echo": ("yes", 1.0), "1/0/echo": ("never", 0.0)}


def test_other_tables_and_lines_are_none_of_promptfoo(tmp_path):
    for header in (["id", "Status", "Score"], ["Status", "Score", "pred"], ["id", "[a] b"]):
        path = write_table(tmp_path / "p.csv", header, [["a", "PASS", "1"][: len(header)]] * 2)
        assert logs.find(path) == "csv"
    path = logs.write_lines(tmp_path / "p.jsonl", [{"id": 1, "success": True, "testIdx": 1}])
    assert logs.find(path) == "json-lines"
