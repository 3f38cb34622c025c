"""What else a column may be, which init says when a study is created."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.pool.pool import Pool

ROWS = 20
SCORE = np.linspace(0, 1, ROWS)
TEXTS = [f"customer {row}" for row in range(ROWS)]


def suggested(folder, columns: dict, **choices) -> str:
    """What is said about a pool with these columns besides what is always said."""
    path = folder / "pool.parquet"
    pq.write_table(pa.table(columns), path)
    plain = Pool.open(path, **choices, suggest=False).notices
    notices = Pool.open(path, **choices).notices
    assert notices[: len(plain)] == plain
    return "\n".join(notices[len(plain) :])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer", TEXTS),
        ("customer", pa.array(TEXTS).dictionary_encode()),
        ("customer", [letter * 64 for letter in "abcdefghijklmnopqrst"]),
        ("customer_id", list(range(ROWS))),
        ("ItemId", list(range(ROWS))),
        ("ID", TEXTS),
        ("uuid", TEXTS),
        ("it's", TEXTS),
    ],
)
def test_a_column_that_is_unique_may_be_the_id_and_serves(tmp_path, name, values):
    sentence = suggested(tmp_path, {"score": SCORE, "text": ["x"] * ROWS, name: values})
    assert sentence == f"column {name!r} is unique: `id={name!r}` uses it"
    assert Pool.open(tmp_path / "pool.parquet", id=name).schema.id == name
    assert not suggested(tmp_path, {"score": SCORE, name: values}, id=name)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer", ["a", *TEXTS[1:-1], "a"]),
        ("customer", [None, *TEXTS[1:]]),
        ("customer", ["", *TEXTS[1:]]),
        ("customer", ["a" * 65, *TEXTS[1:]]),
        ("customer", [f"is this {row} free text" for row in range(ROWS)]),
        ("amount", list(range(ROWS))),
        ("customer_id", [0.5 + row for row in range(ROWS)]),
        ("customer_id", [0] * ROWS),
        ("label", TEXTS),
        ("target_id", list(range(ROWS))),
        ("latin", pa.array([b"\xff%d" % row for row in range(ROWS)]).view(pa.string())),
    ],
)
def test_other_columns_are_not_offered_as_ids(tmp_path, name, values):
    assert not suggested(tmp_path, {"score": SCORE, name: values})


def test_a_column_named_like_an_id_comes_first(tmp_path):
    columns = {"score": SCORE, "customer": TEXTS, "key": TEXTS}
    assert "id='key'" in suggested(tmp_path, columns)
    assert not suggested(tmp_path, columns | {"id": TEXTS})


def test_few_rows_do_not_make_any_text_an_id(tmp_path):
    assert not suggested(tmp_path, {"score": [0.1, 0.2], "name": ["a", "b"]})
    assert "'name_id' is unique" in suggested(
        tmp_path, {"score": [0.1, 0.2], "name_id": ["a", "b"]}
    )


def test_where_not_all_rows_were_looked_at_a_column_only_looks_like_an_id(tmp_path):
    rows = 70_000
    columns = {"score": np.zeros(rows), "customer": [f"c{row}" for row in range(rows)]}
    assert suggested(tmp_path, columns).startswith("column 'customer' looks like an id:")
    columns["customer"][60_000] = "c0"
    assert not suggested(tmp_path, columns)


def test_predicted_values_between_0_and_1_may_be_probabilities(tmp_path):
    columns = {"id": TEXTS, "probability": SCORE}
    sentence = suggested(tmp_path, columns, outputs="probability")
    assert sentence == (
        "'probability' is read as predicted values (regression); "
        'if it is the probability of a class, add `task="classification"`'
    )
    path = tmp_path / "pool.parquet"
    found = Pool.open(path, outputs="probability", task="classification").schema
    assert (found.kind, found.classes) == ("score", ("0", "1"))
    assert not suggested(tmp_path, columns, outputs="probability", task="regression")
    assert "call it score" in suggested(tmp_path, {"id": TEXTS, "pred": SCORE})


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), None])
def test_values_that_are_no_probabilities_are_not_taken_for_them(tmp_path, value):
    assert not suggested(tmp_path, {"id": TEXTS, "pred": [value, *SCORE[1:]]})
