"""Maps, and lists of objects with a name and a number, are records of a number for each name."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.pool import convert, named_numbers

PAIRS = [{"A": 0.75, "B": 0.25}, {"B": 1.0}, {"A": 0.5, "B": 0.5}]
RECORDS = [{"A": 0.75, "B": 0.25}, {"A": None, "B": 1.0}, {"A": 0.5, "B": 0.5}]
LISTS = [[{"label": name, "score": value} for name, value in each.items()] for each in PAIRS]
MAPS = pa.array([list(each.items()) for each in PAIRS], pa.map_(pa.string(), pa.float64()))
OTHER_ORDER = [[{"score": each["score"], "label": each["label"]} for each in row] for row in LISTS]


def read(table: pa.Table, size: int = 2) -> pa.Table:
    batches = [pa.Table.from_batches([each]) for each in table.to_batches(max_chunksize=size)]
    parts = list(named_numbers.read_named(lambda: iter([table.slice(0, 0), *batches])))
    assert all(each.schema.equals(parts[0].schema, check_metadata=True) for each in parts)
    return pa.concat_tables(parts)


@pytest.mark.parametrize("values", [LISTS, MAPS, OTHER_ORDER])
@pytest.mark.parametrize("size", [1, 3])
def test_probabilities_by_name_are_a_record_that_is_called_prob(values, size):
    table = read(pa.table({"id": ["a", "b", "c"], "scores": values}), size)
    assert table.to_pydict() == {"id": ["a", "b", "c"], "prob": RECORDS}
    note = json.loads(table.schema.metadata[b"activetest"])["notes"]
    assert note == ["scores gives numbers to 2 names, the probabilities of classes"]


@pytest.mark.parametrize("columns", [("labels", "scores"), ("displayNames", "confidences")])
@pytest.mark.parametrize("inside", [False, True])
def test_names_may_stand_in_a_list_beside_the_numbers(columns, inside):
    values = {
        columns[0]: [list(each) for each in PAIRS],
        columns[1]: [list(each.values()) for each in PAIRS],
    }
    rows = {"prediction": pa.table(values).to_pylist()} if inside else values
    table = read(pa.table({"id": ["a", "b", "c"], **rows}))
    assert table["prob"].to_pylist() == RECORDS and columns[0] not in table.column_names
    # Of lists that differ in length, none is read as that of another.
    values[columns[1]] = [[1.0], [1.0], [1.0]]
    assert "prob" not in read(pa.table(values)).column_names


def test_names_may_be_codes():
    codes = [[{"label": code, "prob": 0.5} for code in (1, 0)]] * 3
    assert read(pa.table({"probs": codes}))["prob"].to_pylist() == [{"1": 0.5, "0": 0.5}] * 3


def test_other_numbers_keep_the_name_of_their_column():
    counts = [[{"label": "x", "n": 2}], [], None]
    table = read(pa.table({"counts": counts, "scores": LISTS, "prob_x": [1.0] * 3}))
    assert table["counts"].to_pylist() == [{"x": 2.0}, {"x": None}, None]
    assert table.column_names == ["counts", "scores", "prob_x"]


@pytest.mark.parametrize(
    "values",
    [
        [[{"label": "x", "score": 1.0}, {"label": "x", "score": 0.0}]],
        [[{"label": None, "score": 1.0}]],
        [[{"label": f"x{number}", "score": 1.0} for number in range(1001)]],
        [[{"label": "x", "text": "y"}]],
        [[{"label": "x", "score": 1.0, "more": 2.0}]],
        [["x"]],
    ],
)
def test_what_fits_no_record_stays_as_it_is(values):
    table = pa.table({"x": values})
    assert read(table).to_pydict() == table.to_pydict()


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "lists.parquet"])
def test_a_study_of_such_a_file_has_the_classes(tmp_path, ending):
    path = tmp_path / f"p.{ending}"
    ids = ["a", "b", "c"]
    if ending == "lists.parquet":
        lists = {"classes": [list(row) for row in PAIRS], "scores": [[*r.values()] for r in PAIRS]}
        pq.write_table(pa.table({"id": ids, **lists}), path)
    elif ending == "parquet":
        pq.write_table(pa.table({"id": ids, "predictions": MAPS}), path)
    else:
        rows = ({"id": id, "predictions": row} for id, row in zip(ids, LISTS, strict=True))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = at.inspect(path)
    assert found.classes == ("A", "B") and "log-loss" in found.metrics


def test_parquet_with_outputs_of_another_kind_is_not_copied(tmp_path):
    path = str(tmp_path / "p.parquet")
    for other in ({"pred": ["a", "b", "c"]}, {"prob_a": [1.0] * 3}):
        pq.write_table(pa.table({"scores": MAPS, **other}), path)
        assert not convert.needs_conversion(path)
    pq.write_table(pa.table({"tags": MAPS, "y_hat": ["a", "b", "c"]}), path)
    assert not convert.needs_conversion(path)
