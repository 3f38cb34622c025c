import json
import math
import tracemalloc

import pytest

from activetest.errors import LabelError, PoolError
from activetest.formats import _json_values, _samples, lm_eval
from activetest.formats._samples import read_grade
from activetest.nouns.file_head import FileHead, read_head
from tests.formats import logs


@pytest.fixture
def write(tmp_path):
    return lambda lines, **changed: logs.write_lines(tmp_path / "samples_t.jsonl", lines, **changed)


def softmax(*values):
    weights = [math.exp(value) for value in values]
    return [weight / sum(weights) for weight in weights]


def test_generated_answers_have_a_score(write):
    path = write(
        [
            logs.lm_eval_line(0, exact_match=1.0, fields={"level": "easy", "answer": "4"}),
            logs.lm_eval_line(
                1, target="5", exact_match=0.0, fields={"level": "hard", "answer": "5"}
            ),
        ]
    )
    assert logs.find(path) == "lm-eval"
    assert logs.read_rows(path) == [
        {
            "id": "0",
            "input": "Q: 0 + 4?\nA:",
            "output": "The answer is 4",
            "target": "4",
            "score": 1.0,
            "doc_question": "What is 0 + 4?",
            "doc_level": "easy",
        },
        {
            "id": "1",
            "input": "Q: 1 + 4?\nA:",
            "output": "The answer is 4",
            "target": "5",
            "score": 0.0,
            "doc_question": "What is 1 + 4?",
            "doc_level": "hard",
        },
    ]
    assert logs.read_document(path) == {
        "format": "lm-eval",
        "labels": [],
        "notes": [
            "score is the metric exact_match",
            "left out as free text, lists, id or target: doc_answer",
        ],
        "judge": "score",
    }


def test_the_first_of_several_filters_counts_and_the_others_are_columns(write):
    path = write(
        [
            logs.lm_eval_line(
                doc, filter=name, filtered=taken, exact_match=float(name == "flexible"), f1=0.5
            )
            for doc in range(3)
            for name, taken in (("strict", "[invalid]"), ("flexible", "4"))
        ]
    )
    rows = logs.read_rows(path)
    assert [row["id"] for row in rows] == ["0", "1", "2"]
    assert {
        name: value for name, value in rows[0].items() if name.startswith(("score", "ans"))
    } == {
        "answer": "[invalid]",
        "score": 0.0,
        "score_f1/strict": 0.5,
        "score_exact_match/flexible": 1.0,
        "score_f1/flexible": 0.5,
    }
    assert logs.read_notes(path) == [
        "score is the metric exact_match/strict; the other metrics are score_f1/strict, "
        "score_exact_match/flexible, score_f1/flexible"
    ]


def test_options_with_likelihoods_have_probabilities(write):
    path = write(
        [
            logs.lm_eval_choice(0, (-1.0, -2.0), target=0, acc=1.0),
            logs.lm_eval_choice(1, (-3.0, -1.0), target=0, acc=0.0, fields={"topic": "sums"}),
        ]
    )
    rows = logs.read_rows(path)
    assert [list(row) for row in rows] == [
        [
            *("id", "input", "choices", "target", "prob_yes", "prob_no", "pred", "label"),
            "doc_question",
            "doc_topic",
        ]
    ] * 2
    assert [(row["pred"], row["label"]) for row in rows] == [("yes", "yes"), ("no", "yes")]
    assert [rows[0]["prob_yes"], rows[0]["prob_no"]] == pytest.approx(softmax(-1, -2))
    assert [rows[1]["prob_yes"], rows[1]["prob_no"]] == pytest.approx(softmax(-3, -1))
    assert rows[0]["choices"] == "A)  yes\nB)  no"
    assert logs.read_document(path) == {
        "format": "lm-eval",
        "labels": ["label"],
        "notes": [
            "probabilities are the softmax of the log-likelihoods of the options, and pred is the "
            "likeliest option",
            "classes are the texts of the options; label is the target, read as the number of an "
            "option",
        ],
    }


def test_options_that_differ_are_numbers_and_missing_ones_have_probability_0(write):
    path = write(
        [
            logs.lm_eval_choice(0, (-1.0, -2.0, -3.0), (" a", " b", " c"), target=0),
            logs.lm_eval_choice(1, (-2.0, -1.0), (" d", " e"), target=1),
        ]
    )
    rows = logs.read_rows(path)
    assert [(row["pred"], row["label"]) for row in rows] == [("0", "0"), ("1", "1")]
    assert rows[0]["prob"] == pytest.approx(softmax(-1, -2, -3))
    assert rows[1]["prob"] == pytest.approx([*softmax(-2, -1), 0])
    assert logs.read_notes(path)[1:] == [
        "the questions have 2 to 3 options: options that a question does not have get "
        "probability 0",
        "classes are the numbers of the options, from 0 up; label is the target, read as the "
        "number of an option",
    ]


def test_files_of_older_versions_hold_numbers_as_text(write):
    lines = [
        logs.lm_eval_choice(0, (-1.0, -2.0), target=0, acc="1.0", old=True),
        logs.lm_eval_choice(1, (-3.0, -1.0), target=0, acc="0.0", old=True),
    ]
    path = write(lines)
    rows = logs.read_rows(path)
    assert [(row["pred"], row["label"]) for row in rows] == [("yes", "yes"), ("no", "yes")]
    assert rows[1]["prob_no"] == pytest.approx(softmax(-3, -1)[1])
    generated = logs.lm_eval_line(0, exact_match="1.0", note="long")
    del generated["metrics"], generated["filter"]
    row = logs.read_rows(write([generated]))[0]
    assert row["score"] == 1.0 and "score_note" not in row


@pytest.mark.parametrize(
    ("targets", "reading"),
    [
        ((0, 0), "number"), (("0", "0"), "number"), (("A", "A"), "letter"),
        (("yes", "yes"), "text"), (([0], [0]), "number"), ((" yes", " yes"), "text"),
    ],
)  # fmt: skip
def test_a_target_is_read_as_number_text_or_letter_of_an_option(write, targets, reading):
    path = write(
        [
            logs.lm_eval_choice(0, (-1.0, -2.0), target=targets[0], acc=1.0),
            logs.lm_eval_choice(1, (-3.0, -1.0), target=targets[1], acc=0.0),
        ]
    )
    assert [row["label"] for row in logs.read_rows(path)] == ["yes", "yes"]
    assert f"read as the {reading}" in logs.read_notes(path)[-1]


def test_what_acc_says_decides_how_a_target_is_read(write):
    """The options are numbers: 1 is the text of the first, and the number of the second."""
    options = (" 1", " 0")
    path = write(
        [
            logs.lm_eval_choice(0, (-1.0, -2.0), options, target="1", acc=1.0),
            logs.lm_eval_choice(1, (-2.0, -1.0), options, target="0", acc=1.0),
        ]
    )
    assert [(row["pred"], row["label"]) for row in logs.read_rows(path)] == [("1", "1"), ("0", "0")]
    assert "read as the text of an option" in logs.read_notes(path)[-1]
    path = write(
        [
            logs.lm_eval_choice(0, (-1.0, -2.0), options, target="1", acc=0.0),
            logs.lm_eval_choice(1, (-2.0, -1.0), options, target="0", acc=0.0),
        ]
    )
    assert [(row["pred"], row["label"]) for row in logs.read_rows(path)] == [("1", "0"), ("0", "1")]


def test_an_accuracy_that_contradicts_the_label_is_pointed_out(write):
    lines = [logs.lm_eval_choice(k, (-1.0, -2.0), target=0, acc=float(k > 0)) for k in range(4)]
    assert logs.read_notes(write(lines))[-1] == (
        "acc says otherwise than pred and label for 1 item"
    )


def test_numbers_beside_a_question_may_be_its_answer_and_are_no_columns(write):
    """A feature that spells the label otherwise would make any surrogate perfect."""
    fields = [{"gold": 1, "level": "hard"}, {"gold": 2, "level": "easy"}]
    lines = [logs.lm_eval_choice(k, target=k, fields=fields[k]) for k in range(2)]
    row = logs.read_rows(write(lines))[0]
    assert "doc_gold" not in row and row["doc_level"] == "hard"


def test_targets_that_are_no_option_are_no_label(write):
    rows = logs.read_rows(write([logs.lm_eval_choice(0, target=[0, 1], acc=1.0)]))
    assert "label" not in rows[0] and rows[0]["pred"] == "yes"
    lines = [logs.lm_eval_choice(0, target=0), logs.lm_eval_choice(1, target=7)]
    assert [row["label"] for row in logs.read_rows(write(lines))] == ["yes", None]


def test_half_of_the_likelihoods_are_of_the_options_alone_with_mutual_information(write):
    line = logs.lm_eval_choice(0, (-1.0, -2.0, -9.0, -8.0), (" a", " b", " a", " b"), target=0)
    row = logs.read_rows(write([line | {"acc_mutual_info": 1.0}]))[0]
    assert [row["prob_a"], row["prob_b"]] == pytest.approx(softmax(-1, -2))


def test_contexts_of_one_continuation_are_options(write):
    """As in Winogrande."""
    line = logs.lm_eval_choice(0, (-1.0, -2.0))
    line["arguments"] = [["Ann slept. Ann", " was tired."], ["Ann slept. Bob", " was tired."]]
    row = logs.read_rows(write([line]))[0]
    assert row["choices"] == "A) Ann slept. Ann\nB) Ann slept. Bob"
    assert json.loads(row["input"]) == {"question": "Is 0 even?"}


@pytest.mark.parametrize("values", [(math.nan, -1.0), (math.inf, -1.0), (-math.inf, -math.inf)])
def test_likelihoods_that_are_none_are_missing(write, values):
    path = write([logs.lm_eval_choice(0), logs.lm_eval_choice(1, values)])
    assert [row["id"] for row in logs.read_rows(path)] == ["0"]
    assert "1 of 2 items has no grade and is left out" in logs.read_notes(path)


def test_an_option_that_is_impossible_has_probability_0(write):
    row = logs.read_rows(write([logs.lm_eval_choice(0, (-1.0, -math.inf))]))[0]
    assert (row["prob_yes"], row["prob_no"]) == (1, 0)


def test_likelihoods_of_long_options_are_as_far_below_0_as_they_like(write):
    row = logs.read_rows(write([logs.lm_eval_choice(0, (-5001.0, -5000.0))]))[0]
    assert [row["prob_yes"], row["prob_no"]] == pytest.approx(softmax(-1, 0))


def test_one_likelihood_is_no_choice_and_its_task_has_a_score(write):
    """As in LAMBADA: the likelihood of the last word, and whether it is the greedy one."""
    line = logs.lm_eval_choice(0, (-4.0,), (" end",), acc=0.0)
    rows = logs.read_rows(write([line | {"perplexity": -4.0, "metrics": ["perplexity", "acc"]}]))
    assert (rows[0]["score"], rows[0]["score_acc"]) == (-4.0, 0.0)


def test_a_metric_of_the_whole_task_is_no_grade(write):
    """Such as F1 of all samples: each has the pair that goes into it."""
    path = write([logs.lm_eval_line(k, f1=["DATE: now", [""]]) for k in range(2)])
    assert "score" not in logs.read_rows(path)[0]
    assert logs.read_notes(path) == ["no sample has a grade: there is no score"]
    path = write([logs.lm_eval_line(k, f1=["DATE: now", [""]], exact=True) for k in range(2)])
    assert [row["score"] for row in logs.read_rows(path)] == [1, 1]
    assert logs.read_notes(path) == ["score is the metric exact"]


@pytest.mark.parametrize("grade", [None, math.nan, math.inf, "", {"a": 1}, "word " * 50])
def test_a_line_without_a_grade_is_missing(write, grade):
    path = write([logs.lm_eval_line(0, f1=0.5), logs.lm_eval_line(1, f1=grade)])
    assert [(row["id"], row["score"]) for row in logs.read_rows(path)] == [("0", 0.5)]
    assert logs.read_notes(path)[0] == "1 of 2 items has no grade and is left out"


def test_a_document_that_stands_there_twice_is_one_row_with_the_mean(write):
    path = write([logs.lm_eval_line(0, f1=0.0), logs.lm_eval_line(0, f1=1.0)])
    assert [row["score"] for row in logs.read_rows(path)] == [0.5]
    again, means = logs.read_notes(path)[-3], logs.read_notes(path)[-1]
    assert again.startswith("1 sample stands in the log before, of the same item and repetition")
    assert "1 of 1 item has several repetitions" in means


def test_a_document_that_comes_again_without_a_filter_is_that_of_the_next(write):
    lines = [
        {name: value for name, value in logs.lm_eval_line(k, f1=grade).items() if name != "filter"}
        for grade in (0.0, 1.0)
        for k in range(2)
    ]
    path = write(lines)
    found = [(row["score"], row["score_f1/filter-2"]) for row in logs.read_rows(path)]
    assert found == [(0.0, 1.0)] * 2
    assert logs.read_notes(path)[0].startswith("documents come up to 2 times without the name")


def test_samples_of_tasks_one_after_another_are_items_of_their_own(write):
    lines = [
        logs.lm_eval_line(k, f1=grade) | {"doc_hash": f"{grade} {k}"}
        for grade in (0.0, 0.5, 1.0)
        for k in range(2)
    ]
    path = write(lines)
    found = {row["id"]: (row["score"], row["task"]) for row in logs.read_rows(path)}
    assert found == {
        f"{task}/{k}": (grade, task)
        for task, grade in (("1", 0.0), ("2", 0.5), ("3", 1.0))
        for k in range(2)
    }
    assert logs.read_notes(path)[0].startswith("the documents begin anew 2 times: the file is read")
    named = write([line | {"task_name": f"t{line['f1']}"} for line in lines])
    assert [row["id"] for row in logs.read_rows(named)][:3] == ["t0.0/0", "t0.0/1", "t0.5/0"]


def test_targets_of_multiple_choice_questions_are_answers(write):
    path = write([logs.lm_eval_choice(0, target=0), logs.lm_eval_choice(1, target=1, acc=0.0)])
    assert logs.read_labels(path) == {"0": "yes", "1": "no"}
    with pytest.raises(LabelError, match=r"samples_t\.jsonl is a log without labels"):
        logs.read_labels(write([logs.lm_eval_line(0, f1=0.5)]))
    path = write([logs.lm_eval_choice(0), {"doc_id": 1.5}])
    with pytest.raises(LabelError, match=rf"{path.name}, line 2: doc_id"):
        logs.read_labels(path)


def test_a_torn_line_is_named(write):
    path = write([logs.lm_eval_line(k, f1=0.0) for k in range(3)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(PoolError, match=r"samples_t\.jsonl, line 3: not valid JSON"):
        logs.read_rows(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1]", "not an object but an array"), ("{", "not valid JSON"),
        ('{"doc_id": 1.5}', "doc_id"), ('{"doc_id": null}', "doc_id"), ('{"doc": {}}', "doc_id"),
        ('{"doc_id": "' + "x" * 2000 + '"}', "2,000 letters"),
        ('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", "nested too deeply"),
        ('{"doc_id": ' + "9" * 5000 + "}", "too many digits"),
    ],
)  # fmt: skip
def test_lines_that_are_no_samples_are_named(write, line, reason):
    path = write([logs.lm_eval_line(0, f1=0.0)])
    with path.open("a") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(PoolError, match=rf"line 3: .*{reason}"):
        logs.read_rows(path)


def test_lines_that_are_no_utf8_are_named(write):
    path = write([logs.lm_eval_line(0, f1=0.0)])
    path.write_bytes(path.read_bytes() + b'{"doc_id": "\xff"}\n')
    with pytest.raises(PoolError, match="line 2: not valid JSON .not UTF-8"):
        logs.read_rows(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"resps": 3}, {"filtered_resps": {"a": 1}}, {"resps": [], "filtered_resps": []},
        {"arguments": 7}, {"arguments": {"gen_args_0": 7}}, {"arguments": [[]]}, {"metrics": "f1"},
        {"metrics": [["f1"]]}, {"filter": 3}, {"doc": [1]}, {"target": {"a": 1}}, {"doc": None},
        {"filtered_resps": [["-1", "maybe"]]}, {"filtered_resps": [[{}, True], [1, True]]},
        {"doc_hash": 3}, {"arguments": [[{"role": "user"}, 3]]}, {"target": 10**400},
    ],
)  # fmt: skip
def test_fields_of_another_type_do_no_harm(write, changed):
    path = write([logs.lm_eval_line(0, f1=0.5), logs.lm_eval_line(1, f1=0.5) | changed])
    assert logs.read_rows(path)[0]["id"] == "0"
    path = write([logs.lm_eval_choice(0), logs.lm_eval_choice(1) | changed])
    assert logs.read_rows(path)[0]["id"] == "0"


def test_the_summary_of_a_run_is_refused_with_what_to_give(tmp_path):
    path = logs.write_json(
        tmp_path / "results.json",
        {"results": {"t": {"alias": "t", "acc,none": 0.5}}, "group_subtasks": {}, "configs": {}},
    )
    assert logs.find(path) == "lm-eval"
    with pytest.raises(PoolError, match="summary of a run") as error:
        logs.read_rows(path)
    assert "samples_TASK.jsonl" in error.value.hint


def test_samples_are_known_by_their_content(write, tmp_path):
    path = write([logs.lm_eval_line(0, f1=0.5)])
    assert lm_eval.recognise(read_head(path.rename(tmp_path / "x.txt")))
    long = logs.lm_eval_line(0, f1=0.5, fields={"text": "x" * 100_000})
    assert lm_eval.recognise(read_head(write([long])))
    for other in (b'{"doc_id": 1, "text": "a"}\n', b'[{"doc_id": 1, "doc": {}}]', b""):
        assert not lm_eval.recognise(FileHead("a.jsonl", other, len(other)))


@pytest.mark.parametrize(("bound", "tables"), [({"_ROWS": 4}, 4), ({"_LETTERS": 80}, 6)])
def test_a_table_holds_only_so_many_rows_and_letters(write, monkeypatch, bound, tables):
    """The first has none. Of 10 rows with 42 letters each, two reach 80."""
    for name, value in bound.items():
        monkeypatch.setattr(_samples, name, value)
    lines = [logs.lm_eval_line(k, response="x" * 10, f1=0.5) for k in range(10)]
    found = [table.num_rows for table in lm_eval.read_pool(write(lines))]
    assert sum(found) == 10 and len(found) == tables and not found[0]


def test_lines_are_read_one_by_one(write):
    """The file is 20 MB, and as Python objects or rows more."""
    lines = [logs.lm_eval_line(k, f1=0.5, request="x" * 10**6) for k in range(20)]
    path = write(lines)
    del lines
    tracemalloc.start()
    assert logs.read_table(path).num_rows == 20
    assert tracemalloc.get_traced_memory()[1] < 8 * 10**6
    tracemalloc.stop()


def test_a_line_beyond_the_bound_is_refused(write, monkeypatch):
    monkeypatch.setattr(_json_values, "LARGEST", 10_000)
    path = write([logs.lm_eval_line(0, f1=0.5), logs.lm_eval_line(1, f1=0.5, x="y" * 10_000)])
    with pytest.raises(PoolError, match="line 2 is larger than"):
        logs.read_rows(path)


def test_digits_with_underscores_are_no_numbers():
    assert read_grade("1_000") == "1_000" and read_grade("1000") == 1000
    assert read_grade("0_1") == "0_1" and read_grade(" 0.1 ") == 0.1
