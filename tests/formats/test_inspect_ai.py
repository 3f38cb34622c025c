import json
import math
import tracemalloc

import pyarrow as pa
import pytest

from activetest.errors import PoolError
from activetest.formats import _archive, inspect_ai
from activetest.nouns.file_head import FileHead, read_head
from tests.formats import logs


@pytest.fixture(params=["deflated", "stored", "zstd", "json"])
def write(request, tmp_path):
    """Writes samples as a log of each shape."""

    def write(samples):
        if request.param == "json":
            return logs.write_eval_json(tmp_path / "log.json", samples)
        method = {"deflated": logs.DEFLATED, "stored": logs.STORED, "zstd": logs.ZSTD}
        return logs.write_eval(tmp_path / "log.eval", samples, method[request.param])

    return write


@pytest.fixture
def eval_log(tmp_path):
    return lambda samples: logs.write_eval(tmp_path / "log.eval", samples)


def test_a_log_of_every_shape_is_the_same_table(write):
    path = write(
        [
            logs.inspect_sample(1, "C", metadata={"topic": "sums", "hard": 0.5}),
            logs.inspect_sample("b", "I", output="No", answer="No", metadata={"topic": "law"}),
        ]
    )
    assert logs.find(path) == "inspect-ai"
    table = logs.read_table(path)
    assert {
        name: str(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)
    } == {
        "id": "string",
        "input": "string",
        "output": "string",
        "target": "string",
        "score": "double",
        "metadata_topic": "string",
        "metadata_hard": "double",
    }
    assert table.to_pylist() == [
        {
            "id": "1",
            "input": "Question 1?",
            "output": "Yes",
            "target": "Yes",
            "score": 1.0,
            "metadata_topic": "sums",
            "metadata_hard": 0.5,
        },
        {
            "id": "b",
            "input": "Question b?",
            "output": "No",
            "target": "Yes",
            "score": 0.0,
            "metadata_topic": "law",
            "metadata_hard": None,
        },
    ]
    assert logs.read_document(path) == {
        "format": "inspect-ai",
        "labels": [],
        "notes": ["score is the scorer match"],
        "judge": "score",
    }


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1), ("I", 0), ("P", 0.5), ("N", 0), ("yes", 1), ("No", 0), ("True", 1),
        (True, 1), (False, 0), ("0.25", 0.25), (7, 7), (-0.5, -0.5),
    ],
)  # fmt: skip
def test_grades_are_the_numbers_that_inspect_takes_them_for(eval_log, value, score):
    assert [row["score"] for row in logs.read_rows(eval_log([logs.inspect_sample(1, value)]))] == [
        score
    ]


@pytest.mark.parametrize("missing", [None, math.nan, math.inf, "", "x" * 101, [], {}])
def test_a_sample_without_a_grade_is_left_out_and_counted(write, missing):
    path = write([logs.inspect_sample(1, "I"), logs.inspect_sample(2, missing)])
    assert [(row["id"], row["score"]) for row in logs.read_rows(path)] == [("1", 0.0)]
    assert "1 of 2 items has no grade and is left out" in logs.read_notes(path)


def test_errors_and_limits_without_a_grade_are_missing_and_not_wrong(write):
    limit = {"type": "token", "limit": 100}
    error = {"message": "boom", "traceback": "", "traceback_ansi": ""}
    path = write(
        [
            logs.inspect_sample(1, "C"),
            logs.inspect_sample(2, None, output=None, error=error),
            logs.inspect_sample(3, None, limit=limit),
            logs.inspect_sample(4, "I", limit=limit),
            logs.inspect_sample(5, None),
        ]
    )
    assert [(row["id"], row["score"]) for row in logs.read_rows(path)] == [("1", 1), ("4", 0)]
    assert logs.read_notes(path)[0] == (
        "3 of 5 items have no grade and are left out (1 with an error, 1 with a limit)"
    )


def test_epochs_of_an_item_are_one_row_with_the_mean_of_their_scores(write):
    path = write(
        [
            logs.inspect_sample(1, "I", epoch=1, output="first"),
            logs.inspect_sample(2, "C", epoch=1),
            logs.inspect_sample(1, "C", epoch=2, output="second"),
            logs.inspect_sample(1, "C", epoch=3),
            logs.inspect_sample(2, None, epoch=2),
        ]
    )
    rows = logs.read_rows(path)
    assert [(row["id"], row["output"]) for row in rows] == [("1", "first"), ("2", "Yes")]
    assert [row["score"] for row in rows] == pytest.approx([2 / 3, 1])
    assert logs.read_notes(path)[-1] == (
        "1 of 2 items has several epochs: the score is their mean, and the output is that of the "
        "first"
    )


def test_of_an_epoch_that_failed_nothing_is_shown(write):
    path = write(
        [
            logs.inspect_sample(1, None, epoch=1, output="half an ans", error={"message": "boom"}),
            logs.inspect_sample(1, "P", epoch=2, output="whole"),
        ]
    )
    assert [(row["output"], row["score"]) for row in logs.read_rows(path)] == [("whole", 0.5)]
    assert logs.read_notes(path) == ["score is the scorer match"]


def test_the_first_of_several_scorers_is_the_score_and_the_others_are_columns(write):
    scores = {
        "exact": {"value": "I"},
        "judge": {"value": {"tone": 4, "style": "P"}},
        "kind": {"value": "refusal"},
    }
    path = write([logs.inspect_sample(1, scores=scores)])
    row = logs.read_rows(path)[0]
    assert {name: value for name, value in row.items() if "score" in name} == {
        "score": 0.0,
        "score_judge/tone": 4.0,
        "score_judge/style": 0.5,
        "score_kind": "refusal",
    }
    assert logs.read_notes(path) == [
        "score is the scorer exact; the other scorers are score_judge/tone, score_judge/style, "
        "score_kind"
    ]


def test_the_first_scorer_is_the_score_also_where_it_gave_no_grade_at_first(write):
    later = {"exact": {"value": "C"}, "judge": {"value": 0.5}}
    path = write(
        [
            logs.inspect_sample(1, scores={"exact": {"value": math.nan}, "judge": {"value": 0.5}}),
            logs.inspect_sample(2, scores=later),
        ]
    )
    assert [(row["id"], row["score"]) for row in logs.read_rows(path)] == [("2", 1)]


def test_the_one_score_of_the_first_version_is_read(write):
    sample = logs.inspect_sample(1) | {"scores": None, "score": {"value": "P"}}
    assert [row["score"] for row in logs.read_rows(write([sample]))] == [0.5]


def test_samples_that_were_invalidated_are_missing(write):
    invalid = {"timestamp": "2026-01-01T00:00:00+00:00", "author": "a", "reason": "wrong prompt"}
    path = write([logs.inspect_sample(1, "C"), logs.inspect_sample(2, "I", invalidation=invalid)])
    assert [row["id"] for row in logs.read_rows(path)] == ["1"]
    assert logs.read_notes(path)[0].endswith("left out (1 with an invalidation)")


def test_a_verdict_in_words_is_a_prediction(write):
    path = write(
        [
            logs.inspect_sample(1, "safe"),
            logs.inspect_sample(2, "harmful", epoch=1),
            logs.inspect_sample(2, "safe", epoch=2),
            logs.inspect_sample(2, "harmful", epoch=3),
        ]
    )
    assert [row["pred"] for row in logs.read_rows(path)] == ["safe", "harmful"]
    document = logs.read_document(path)
    assert document["judge"] == "pred" and "the most frequent grade counts" in document["notes"][1]
    assert "score" not in logs.read_rows(path)[0]


OPTIONS = ["red", "green", "blue"]


def test_letters_of_multiple_choice_questions_are_prediction_and_label(write):
    choice = {"scorer": "choice", "choices": OPTIONS}
    path = write(
        [
            logs.inspect_sample(1, "C", answer="B", target="B", **choice),
            logs.inspect_sample(2, "I", answer="C", target=["A"], **choice),
            logs.inspect_sample(3, "I", answer=None, target="A", **choice),
            logs.inspect_sample(4, None, answer=None, target="A", **choice),
        ]
    )
    rows = logs.read_rows(path)
    assert [(row["pred"], row["label"]) for row in rows] == [
        ("B", "B"),
        ("C", "A"),
        ("[none]", "A"),
    ]
    assert rows[0]["choices"] == "A) red\nB) green\nC) blue"
    assert "score" not in rows[0]
    assert logs.read_document(path) == {
        "format": "inspect-ai",
        "labels": ["label"],
        "notes": [
            "1 of 4 items has no grade and is left out",
            "pred is the letter of the answer, label the letter of the target",
            "1 answer without a letter: pred is [none]",
        ],
    }


def test_targets_of_multiple_choice_questions_are_answers(write):
    choice = {"scorer": "choice", "choices": OPTIONS}
    path = write(
        [
            logs.inspect_sample(1, "C", answer="B", target="B", **choice),
            logs.inspect_sample(2, "I", answer="C", target="A", **choice),
        ]
    )
    assert logs.read_labels(path) == {"1": "B", "2": "A"}


def test_a_scorer_that_contradicts_the_letters_is_pointed_out(write):
    choice = {"scorer": "choice", "choices": OPTIONS, "answer": "B", "target": "B"}
    path = write([logs.inspect_sample(1, "C", **choice), logs.inspect_sample(2, "I", **choice)])
    assert logs.read_notes(path)[-1] == ("choice says otherwise than pred and label for 1 item")


@pytest.mark.parametrize(
    "changed", [{"target": "D"}, {"target": "AB"}, {"choices": None}, {"target": ["A", "B"]}]
)
def test_questions_that_are_no_letters_have_a_score(write, changed):
    choice = {"scorer": "choice", "choices": OPTIONS, "answer": "B", "target": "B"}
    path = write(
        [logs.inspect_sample(1, "C", **choice), logs.inspect_sample(2, "I", **(choice | changed))]
    )
    rows = logs.read_rows(path)
    assert [row["score"] for row in rows] == [1, 0] and "pred" not in rows[0]


def test_epochs_of_multiple_choice_questions_have_a_mean_score(write):
    choice = {"scorer": "choice", "choices": OPTIONS, "target": "B"}
    path = write(
        [
            logs.inspect_sample(1, "C", answer="B", epoch=1, **choice),
            logs.inspect_sample(1, "I", answer="A", epoch=2, **choice),
        ]
    )
    rows = logs.read_rows(path)
    assert [row["score"] for row in rows] == [0.5] and "pred" not in rows[0]


def test_a_log_before_scoring_has_outputs_and_targets_and_no_score(write):
    error = {"message": "boom"}
    path = write(
        [
            logs.inspect_sample(1, None),
            logs.inspect_sample(2, None, output=None, error=error),
        ]
    )
    assert logs.read_rows(path) == [
        {"id": "1", "input": "Question 1?", "output": "Yes", "target": "Yes"}
    ]
    assert logs.read_document(path) == {
        "format": "inspect-ai",
        "labels": [],
        "notes": [
            "1 of 2 items has no output and is left out (1 with an error)",
            "no sample has a grade: there is no score",
        ],
    }


def test_chats_and_parts_of_messages_become_text(write):
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "Look:"},
        {"type": "image", "image": "data:..."},
    ]
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    sample = logs.inspect_sample(1, "C", input=chat)
    sample["output"] = {"choices": [{"message": {"role": "assistant", "content": parts}}]}
    row = logs.read_rows(write([sample]))[0]
    assert row["input"] == "system: Be brief.\n\nuser: Look:\n[image]"
    assert row["output"] == "Look:\n[image]"


def test_attachments_are_resolved(write):
    sample = logs.inspect_sample(1, "C", input="attachment://f00", attachments={"f00": "Long one"})
    assert logs.read_rows(write([sample]))[0]["input"] == "Long one"


def test_several_targets_stand_in_one_line(write):
    path = write([logs.inspect_sample(1, "C", target=["Yes", "Yeah"])])
    assert logs.read_rows(path)[0]["target"] == "Yes, Yeah"


def test_metadata_is_columns_where_it_is_short_and_of_one_value(write):
    fields = {"flag": True, "count": 3, "mixed": 1, "free": "x" * 101, "list": [1], "sum": "Yes"}
    odd = {"flag": False, "count": 2**70, "mixed": "one", "free": "y", "list": [2], "sum": "Yes"}
    path = write(
        [logs.inspect_sample(1, "C", metadata=fields), logs.inspect_sample(2, "C", metadata=odd)]
    )
    table = logs.read_table(path)
    columns = [name for name in table.schema.names if name.startswith("metadata_")]
    kinds = {name: str(table.schema.field(name).type) for name in columns}
    assert kinds == {
        "metadata_flag": "bool",
        "metadata_count": "double",
        "metadata_mixed": "string",
    }
    assert table.column("metadata_mixed").to_pylist() == ["1", "one"]
    assert logs.read_notes(path)[-1] == (
        "left out as free text, lists, id or target: metadata_free, metadata_list, metadata_sum"
    )


def test_at_most_a_hundred_columns_of_metadata_are_read(write):
    path = write([logs.inspect_sample(1, "C", metadata={f"k{k}": k for k in range(300)})])
    table = logs.read_table(path)
    assert sum(name.startswith("metadata_") for name in table.schema.names) == 100
    assert logs.read_notes(path)[-1] == "of the metadata, 100 columns are read"


def test_chunked_samples_of_newer_logs_are_read(tmp_path):
    sample = logs.inspect_sample("a/b", "C")
    del sample["metadata"]
    members = [
        ("_journal/start.json", b"{}"),
        ("samples/a/b_epoch_1/sample.json", json.dumps(sample).encode()),
        ("samples/a/b_epoch_1/metadata.json", b'{"topic": "law"}'),
        ("samples/a/b_epoch_1/messages/0.json", b"[]"),
        ("samples/a/b_epoch_1/events/0.json", b"not even JSON"),
        ("header.json", b"{}"),
    ]
    path = logs.write_zip(tmp_path / "log.eval", members, logs.ZSTD)
    rows = logs.read_rows(path)
    assert [(row["id"], row["score"], row["metadata_topic"]) for row in rows] == [("a/b", 1, "law")]


def test_an_id_that_two_items_have_is_an_error(write):
    other = logs.inspect_sample("1", "C", epoch=2, input="Another?")
    path = write([logs.inspect_sample(1, "C"), other])
    with pytest.raises(PoolError, match=r"another item is called '1' too") as error:
        logs.read_rows(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("id", [None, 1.5, True, [1], "", " ", "x" * 1001])
def test_ids_that_are_none_are_errors_that_name_the_sample(write, id):
    path = write([logs.inspect_sample(1, "C"), logs.inspect_sample(2, "C") | {"id": id}])
    with pytest.raises(PoolError, match=r"log\.(eval, samples/|json, sample 2).*(id|letters)"):
        logs.read_rows(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"scores": 7}, {"scores": {"match": 7}}, {"scores": [1]}, {"output": "text"},
        {"output": {"choices": ["text"]}}, {"output": {"choices": [{"message": 3}]}},
        {"metadata": [1]}, {"choices": "AB"}, {"choices": [1]}, {"target": {"a": 1}},
        {"input": 3}, {"input": [3]}, {"attachments": 3}, {"error": 3}, {"target": None},
        {"input": [{"content": [3, {"type": ["image"]}]}]}, {"metadata": {"\x1b[31m": 1, "": 2}},
        {"scores": {"\x1b[31m": {"value": "C"}}},
    ],
)  # fmt: skip
def test_fields_of_another_type_are_as_if_they_were_not_there(write, changed):
    path = write([logs.inspect_sample(1, "C"), logs.inspect_sample(2, "C") | changed])
    rows = logs.read_rows(path)
    assert rows[0]["id"] == "1" and all(name.isprintable() for name in rows[0])


def test_a_log_without_samples_is_an_error(write):
    with pytest.raises(PoolError, match="holds no samples"):
        logs.read_rows(write([]))


def test_halves_of_characters_and_control_characters_are_taken(write):
    sample = logs.inspect_sample("a\x1b[31m", "C", output="\ud800 \x00 ä")
    row = logs.read_rows(write([sample]))[0]
    assert row["output"] == "? \x00 ä" and row["id"] == "a\x1b[31m"


@pytest.mark.parametrize("method", [logs.DEFLATED, logs.ZSTD])
@pytest.mark.parametrize("says", [None, 100])
def test_a_member_that_unpacks_to_too_much_is_refused_while_it_is_read(
    tmp_path, monkeypatch, method, says
):
    """The bound is lowered here from 256 MiB to one, and the header may lie."""
    monkeypatch.setattr(_archive, "LARGEST", 2**20)
    members = [("_journal/start.json", b"{}"), ("samples/1_epoch_1.json", b" " * 2**24)]
    path = logs.write_zip(tmp_path / "bomb.eval", members, method, unpacked=says)
    del members
    tracemalloc.start()
    with pytest.raises(PoolError, match=r"samples/1_epoch_1\.json is (larger than|damaged)"):
        logs.read_rows(path)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("says", [None, 100])
def test_three_gigabytes_of_blanks_are_refused_within_the_bound(tmp_path, says):
    packed = pa.Codec("zstd").compress(b" " * 2**27, asbytes=True) * 24
    path = logs.write_zip(tmp_path / "bomb.eval", [("samples/1_epoch_1.json", packed)], 0)
    content = path.read_bytes()
    # The member is said to be zstd: 24 frames one behind the other.
    path.write_bytes(content.replace(b"\x14\0\0\0\0\0", b"\x14\0\0\0\x5d\0"))
    tracemalloc.start()
    with pytest.raises(PoolError, match=r"samples/1_epoch_1\.json is larger than 256 MiB"):
        logs.read_rows(path)
    assert tracemalloc.get_traced_memory()[1] < 2**29
    tracemalloc.stop()


def test_members_that_lie_over_each_other_are_refused(tmp_path):
    """Such archives unpack to the square of their size."""
    sample = json.dumps(logs.inspect_sample(1, "C")).encode()
    names = ("samples/1_epoch_1.json", "samples/2_epoch_1.json")
    path = logs.write_zip(tmp_path / "log.eval", [(name, sample) for name in names], logs.STORED)
    content = bytearray(path.read_bytes())
    # The second entry of the directory points at the first member.
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 42 : entry + 46] = bytes(4)
    path.write_bytes(content)
    with pytest.raises(PoolError, match="lies over another member"):
        logs.read_rows(path)


def test_archives_out_of_all_proportion_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_archive, "_ALLOWANCE", 10_000)
    samples = [logs.inspect_sample(k, "C", store={"x": "y" * 10**6}) for k in range(5)]
    path = logs.write_eval(tmp_path / "log.eval", samples, logs.ZSTD)
    with pytest.raises(PoolError, match="out of all proportion"):
        logs.read_rows(path)


def test_encrypted_members_and_other_methods_are_refused(tmp_path):
    members = logs.inspect_members([logs.inspect_sample(1, "C")])
    path = logs.write_zip(tmp_path / "log.eval", members, flags=1)
    with pytest.raises(PoolError, match="is encrypted"):
        logs.read_rows(path)
    path = logs.write_zip(tmp_path / "log.eval", members, 97)
    with pytest.raises(PoolError, match="cannot be unpacked"):
        logs.read_rows(path)


@pytest.mark.parametrize("method", [logs.DEFLATED, logs.STORED, logs.ZSTD])
def test_a_member_whose_checksum_is_wrong_is_damaged(tmp_path, method):
    path = logs.write_eval(tmp_path / "log.eval", [logs.inspect_sample(1, "C")], method)
    content = bytearray(path.read_bytes())
    # The entry of the second member, which is the sample.
    entry = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 4)
    content[entry + 16] ^= 1
    path.write_bytes(content)
    with pytest.raises(PoolError, match=r"samples/1_epoch_1\.json is damaged"):
        logs.read_rows(path)


def test_archives_of_a_newer_version_of_zip_are_refused(tmp_path):
    path = logs.write_eval(tmp_path / "log.eval", [logs.inspect_sample(1, "C")])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 249
    path.write_bytes(content)
    with pytest.raises(PoolError, match="zip file version 24.9"):
        logs.read_rows(path)
    path.write_bytes(b"PK\x03\x04" + bytes(26) + b"other" + bytes(content))
    assert not inspect_ai.recognise(read_head(path))


@pytest.mark.slow
def test_ten_thousand_members_are_read(tmp_path):
    samples = [logs.inspect_sample(k, "C" if k % 4 else "I") for k in range(10_000)]
    table = logs.read_table(logs.write_eval(tmp_path / "log.eval", samples, logs.STORED))
    assert table.num_rows == 10_000 and sum(table.column("score").to_pylist()) == 7500


def test_samples_are_read_one_by_one(tmp_path):
    """Unpacked, these are 20 MB of text, and one is 1 MB."""
    samples = [logs.inspect_sample(k, "C", events="x" * 10**6) for k in range(20)]
    path = logs.write_eval(tmp_path / "log.eval", samples)
    del samples
    tracemalloc.start()
    assert logs.read_table(path).num_rows == 20
    assert tracemalloc.get_traced_memory()[1] < 8 * 10**6
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "C:\\evil", "a\x1b[31m", "a\nb"])
def test_names_of_members_are_never_paths(tmp_path, name):
    sample = logs.inspect_sample(name, "C")
    inside = tmp_path / "inside"
    inside.mkdir()
    path = logs.write_eval(inside / "log.eval", [sample])
    assert [row["id"] for row in logs.read_rows(path)] == [name]
    assert sorted(tmp_path.rglob("*")) == [inside, path]


def test_json_that_is_nested_deeply_is_an_error(tmp_path):
    deep = b'{"id": 1, "epoch": 1, "store": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    members = [("_journal/start.json", b"{}"), ("samples/1_epoch_1.json", deep)]
    path = logs.write_zip(tmp_path / "deep.eval", members)
    with pytest.raises(PoolError, match=r"samples/1_epoch_1\.json: .*nested too deeply"):
        logs.read_rows(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"id": 1', "not valid JSON"), (b"[]", "not an object but an array"), (b"", "not valid"),
        (b'{"id": ' + b"9" * 5000 + b"}", "too many digits"), (b'{"id": "\xff"}', "not UTF-8"),
        (b'"text"', "not an object but text"), (b"null", "not an object but null"),
    ],
)  # fmt: skip
def test_a_damaged_sample_is_named(tmp_path, content, reason):
    members = [("_journal/start.json", b"{}"), ("samples/1_epoch_1.json", content)]
    path = logs.write_zip(tmp_path / "log.eval", members)
    with pytest.raises(PoolError, match=rf"log\.eval, samples/1_epoch_1\.json: .*{reason}"):
        logs.read_rows(path)


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_a_log_that_is_cut_off_is_an_error(write, cut):
    path = write([logs.inspect_sample(k, "C") for k in range(20)])
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * cut)])
    if path.suffix == ".json" and cut > 0.9:
        # Only what stands behind the samples is gone.
        assert len(logs.read_rows(path)) == 20
    else:
        with pytest.raises(PoolError, match="log"):
            logs.read_rows(path)


def test_a_log_that_was_never_finished_is_read(tmp_path):
    """Such a log has no header and no summaries."""
    members = logs.inspect_members([logs.inspect_sample(1, "C")])[:2]
    assert len(logs.read_rows(logs.write_zip(tmp_path / "log.eval", members))) == 1


def test_logs_are_known_by_their_content(tmp_path):
    log = logs.write_eval(tmp_path / "log.eval", [logs.inspect_sample(1, "C")])
    renamed = log.rename(tmp_path / "data.bin")
    assert inspect_ai.recognise(read_head(renamed))
    late = [("a.txt", b"x" * 70_000), *logs.inspect_members([logs.inspect_sample(1, "C")])]
    assert inspect_ai.recognise(read_head(logs.write_zip(tmp_path / "x.eval", late, logs.STORED)))
    other = logs.write_zip(tmp_path / "other.eval", [("xl/workbook.xml", b"<a/>")])
    assert logs.is_zip(other) and not inspect_ai.recognise(read_head(other))
    assert not inspect_ai.recognise(FileHead("a.json", b'{"version": 2, "name": "a"}', 27))
    assert not inspect_ai.recognise(FileHead("a.eval", b"PK\x03\x04", 4))
