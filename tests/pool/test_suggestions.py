"""Other roles that a column may have, named by init when a study is created."""

import ast
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.pool.pool import Pool
from activetest.pool.unclear import Unclear

ROWS = 20
SCORE = np.linspace(0, 1, ROWS)
TEXTS = [f"customer {row}" for row in range(ROWS)]


def suggested(folder, columns: dict, **choices) -> str:
    """Notices about a pool with these columns besides the usual notices."""
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
    with pytest.raises(Unclear, match="runs from 0 to 1: it may be the probability") as caught:
        suggested(tmp_path, columns, outputs="probability")
    assert [each.settings for each in caught.value.readings] == [
        {"task": "regression"},
        {"task": "classification"},
    ]
    path = tmp_path / "pool.parquet"
    found = Pool.open(path, outputs="probability", task="classification").schema
    assert (found.kind, found.classes) == ("score", ("0", "1"))
    assert not suggested(tmp_path, columns, outputs="probability", task="regression")
    with pytest.raises(Unclear) as caught:
        suggested(tmp_path, {"id": TEXTS, "pred": SCORE})
    settings = {"outputs": "pred", "task": "classification"}
    assert caught.value.readings[-1].settings == settings
    assert Pool.open(path, **settings).schema.kind == "score"


def test_zeros_and_ones_that_are_stored_as_floats_may_be_classes(tmp_path):
    columns = {"id": TEXTS, "pred": [float(row % 2) for row in range(len(TEXTS))]}
    with pytest.raises(Unclear, match="2 whole numbers stored as decimals \\(0, 1\\)"):
        suggested(tmp_path, columns)
    found = Pool.open(tmp_path / "pool.parquet", task="classification").schema
    assert (found.kind, found.classes) == ("pred", ("0", "1"))


@pytest.mark.parametrize("value", [-0.01, 1.01])
def test_values_that_are_no_probabilities_are_not_taken_for_them(tmp_path, value):
    assert not suggested(tmp_path, {"id": TEXTS, "pred": [value, *SCORE[1:]]})


def suggested_groups(folder, columns: dict) -> str:
    return suggested(folder, {"id": TEXTS, "pred": ["a", "b"] * (ROWS // 2), **columns})


def test_short_values_that_are_repeated_could_be_groups_and_serve(tmp_path):
    columns = {"sex": ["f", "m"] * (ROWS // 2), "prompt": TEXTS, "region": ["x", None] * 10}
    assert suggested_groups(tmp_path, columns) == (
        "could be a group: sex (`groups=['sex']` reports by it)"
    )
    assert Pool.open(tmp_path / "pool.parquet", groups=["sex"]).schema.groups == ("sex",)
    many = {f"g{k}": ["f", "m"] * (ROWS // 2) for k in range(5)}
    assert suggested_groups(tmp_path, many) == (
        "could be groups: g0, g1, g2 and 2 more (`groups=['g0', 'g1', 'g2']` reports by them)"
    )


@pytest.mark.parametrize(
    "values",
    [
        [f"Which of these {row} is it?" for row in range(ROWS)],
        ["long " * 20, "longer " * 20] * (ROWS // 2),
        [f"answer {row // 2 if row < 12 else row}" for row in range(ROWS)],
        ["all the same"] * ROWS,
        pa.array([b"\xff", b"a"] * (ROWS // 2)).view(pa.string()),
        [None] * ROWS,
    ],
)
def test_free_text_is_never_offered_as_a_group(tmp_path, values):
    assert not suggested_groups(tmp_path, {"text": pa.array(values, pa.string())})


SCORES = {
    "ratings": [1 + row % 10 for row in range(ROWS)],
    "logits": list(np.linspace(-3, 3, ROWS)),
    "percent": list(np.linspace(0, 100, ROWS)),
    "late": [0.5] * (ROWS - 1) + [7.0],
}


@pytest.mark.parametrize("case", SCORES)
@pytest.mark.parametrize("statistics", [True, False])
def test_a_score_that_cannot_be_a_probability_is_a_predicted_value(tmp_path, case, statistics):
    path = tmp_path / "pool.parquet"
    table = pa.table({"id": TEXTS, "score": SCORES[case]})
    pq.write_table(table, path, write_statistics=statistics, row_group_size=7)
    for choices in ({}, {"outputs": "score"}):
        pool = Pool.open(path, **choices)
        assert (pool.schema.task, pool.schema.pred) == ("regression", "score")
        low, high = min(SCORES[case]), max(SCORES[case])
        said = [each for each in pool.notices if "is no probability" in each]
        assert len(said) == 1 and f"'score' runs from {low:g} to {high:g}," in said[0]
        assert ("percentages" in said[0]) == (low >= 0)
    with pytest.raises(PoolError, match="'score' is") as caught:
        read(Pool.open(path, task="classification"))
    assert 'task="regression"' in caught.value.hint
    read(Pool.open(path, task="regression"))


def read(pool: Pool) -> None:
    for strip in pool.strips():
        pool.read_block(strip)


def test_beside_predictions_such_a_score_is_a_feature(tmp_path):
    pq.write_table(
        pa.table({"pred": ["a", "b"] * 10, "score": SCORES["logits"]}), tmp_path / "pool.parquet"
    )
    schema = Pool.open(tmp_path / "pool.parquet").schema
    assert (schema.kind, schema.pred, schema.features) == ("pred", "pred", ("score",))


def test_a_score_of_words_is_a_verdict(tmp_path):
    pq.write_table(pa.table({"id": TEXTS, "score": ["C", "I"] * 10}), tmp_path / "pool.parquet")
    schema = Pool.open(tmp_path / "pool.parquet").schema
    assert (schema.task, schema.kind, schema.classes) == ("classification", "pred", ("C", "I"))


@pytest.mark.parametrize("name", ["score", "scores", "probs", "probabilities", "proba"])
def test_a_list_of_scores_is_refused_with_a_hint_that_works(tmp_path, name):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({name: [[0.2, 0.8]] * ROWS}), path)
    with pytest.raises(PoolError, match="no column holds") as caught:
        Pool.open(path)
    assert f"`outputs={name!r}`" in caught.value.hint
    assert Pool.open(path, outputs=name).schema.kind == "prob-list"


def test_nested_scores_are_no_outputs(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"score": [{"value": 1}] * ROWS}), path)
    with pytest.raises(PoolError, match="no column holds"):
        Pool.open(path)
    pq.write_table(pa.table({"score": [{"value": 1}] * ROWS, "pred": [0, 1] * 10}), path)
    assert Pool.open(path).schema.outputs == ("pred",)


def test_what_reads_a_single_probability_works(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"id": TEXTS, "prob_spam": SCORE}), path)
    with pytest.raises(PoolError, match="'prob_spam' is the only probability") as caught:
        Pool.open(path)
    spans = re.findall("`([^`]*)`", caught.value.hint)
    choices = {name: ast.literal_eval(value) for name, value in (each.split("=") for each in spans)}
    schema = Pool.open(path, **choices).schema
    assert (schema.kind, schema.positive) == ("score", "spam")
    assert schema.classes == ("not spam", "spam")


def test_labels_of_text_are_not_offered_as_features(tmp_path):
    columns = {"id": TEXTS, "pred": [0, 1] * 10, "label": ["a", "b"] * 10}
    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    notices = "\n".join(Pool.open(tmp_path / "pool.parquet").notices)
    assert "by their names: label" in notices and "features=" not in notices
    pq.write_table(pa.table(columns | {"label": [0, 1] * 10}), tmp_path / "pool.parquet")
    notices = "\n".join(Pool.open(tmp_path / "pool.parquet").notices)
    assert "`features=[name]`" in notices
    assert Pool.open(tmp_path / "pool.parquet", features=["label"]).schema.features == ("label",)


def predictions(rows: int = 300) -> dict:
    """A model's classes, those of two that mostly agree with it, and columns of the same values."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=rows)

    def predict(share: float) -> np.ndarray:
        return np.where(rng.random(rows) < share, truth, rng.integers(4, size=rows))

    return {
        "id": [f"i{row}" for row in range(rows)],
        "pred": predict(0.9),
        "net_a": predict(0.8),
        "net_b": predict(0.9),
        "rooms": rng.integers(4, size=rows),
        "lists": [[1.0, 2.0]] * rows,
        "share": predict(0.9) / 4,
        "more": predict(0.9) * 2,
        "label": truth,
    }


def test_columns_of_classes_that_agree_with_the_model_may_be_other_models(tmp_path):
    columns = predictions()
    sentence = suggested(tmp_path, columns)
    low, high = ((columns[name] == columns["pred"]).mean() for name in ("net_a", "net_b"))
    assert sentence == (
        f"columns 'net_a', 'net_b' hold classes, and the model's own in {low:.0%} to {high:.0%} of "
        "the items: if other models predicted them, `other_columns=['net_a', 'net_b']` takes them "
        "as what these say, not as numbers"
    )
    assert not suggested(tmp_path, columns, other_columns=["net_a"])
    assert not suggested(tmp_path, columns, features=["net_a", "net_b", "rooms"])


def test_words_may_be_what_another_model_predicts(tmp_path):
    found = {name: np.array(list("abcd"))[predictions()[name]] for name in ("pred", "net_b")}
    sentence = suggested(tmp_path, {"id": predictions()["id"]} | found)
    assert "column 'net_b' holds classes" in sentence and "not as numbers" not in sentence


def test_values_of_a_regression_are_no_other_models(tmp_path):
    values = predictions()
    pool = {"id": values["id"], "pred": values["pred"] * 1.5, "net": values["pred"]}
    assert "other_columns" not in suggested(tmp_path, pool)
