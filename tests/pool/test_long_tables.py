"""A row for each item and class becomes a row for each item, and nothing else does."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.pool import convert, long_tables

IDS = [f"r{number}" for number in range(6)]
PROBS = np.random.default_rng(1).dirichlet([1, 1, 1], len(IDS))
CLASSES = ["neg", "neu", "pos"]
WIDE = {"id": IDS} | {f"prob_{name}": PROBS[:, code] for code, name in enumerate(CLASSES)}


def make_long(**others) -> pa.Table:
    """Rows of one item after another; others are values of items."""
    columns = {
        "id": np.repeat(IDS, 3),
        "class": CLASSES * len(IDS),
        "prob": PROBS.ravel(),
    } | {name: np.repeat(values, 3) for name, values in others.items()}
    return pa.table(columns)


def widen(table: pa.Table, size: int = 4, id: str | None = None) -> pa.Table:
    batches = [pa.Table.from_batches([each]) for each in table.to_batches(max_chunksize=size)]
    return pa.concat_tables(long_tables.widen(iter([table.schema.empty_table(), *batches]), id))


def check(table: pa.Table, id: str = "id") -> None:
    """This is the wide table, whatever the order of items."""
    found = table.sort_by(id).to_pydict()
    assert found[id] == IDS
    for name in CLASSES:
        assert np.allclose(found[f"prob_{name}"], WIDE[f"prob_{name}"])


def test_rows_by_item_by_class_and_in_any_order_are_read():
    table = make_long()
    check(widen(table))
    assert widen(table).column_names == ["id", *(f"prob_{name}" for name in CLASSES)]
    check(widen(table.sort_by("class")))
    check(widen(table.take(np.random.default_rng(2).permutation(len(table)))))


@pytest.mark.parametrize(
    "names",
    [
        ["item_id", "label", "probability"],
        ["uuid", "variable", "value"],
        ["row", "predicted_class", "score"],
        ["id", "class_id", "p"],
        ["Kennung", "Klasse", "Wahrscheinlichkeit"],
        ["image", "label", "confidence"],
        ["file_path", "class", "score"],
        ["identifiant", "étiquette", "PROBABILITÉ"],
    ],
)
def test_names_that_people_use_are_known(names):
    check(widen(make_long().rename_columns(names)), names[0])


def test_an_id_of_another_name_is_taken_where_it_is_named():
    table = make_long().rename_columns(["customer", "class", "prob"])
    assert len(widen(table)) == 18
    check(widen(table, id="customer"), "customer")


def test_numbers_of_classes_are_in_order():
    table = make_long().set_column(1, "class", pa.array([10, 9, 2] * len(IDS)))
    assert widen(table).column_names == ["id", "prob_2", "prob_9", "prob_10"]


def test_columns_of_the_item_stay_and_those_of_its_rows_are_left_out_and_said():
    table = make_long(text=[f"t{number % 2}" for number in range(6)], gap=[None, 1, 1, 1, 1, 1])
    table = table.append_column("rank", pa.array(range(len(table))))
    table = table.append_column("list", pa.array([[1]] * len(table)))
    wide = widen(table)
    assert wide["text"].to_pylist() == ["t0", "t1"] * 3 and wide["gap"].to_pylist()[0] is None
    note = wide.schema.metadata[b"activetest"].decode()
    assert "18 rows are read as 6 items of 3 classes (columns id, class, prob)" in note
    assert "differ inside of items: rank, list" in note and "rank" not in wide.column_names


def test_a_class_that_is_missing_has_probability_zero():
    table = make_long().filter(pa.array(([True] * 3 + [False, True, True]) * 3))
    assert widen(table).num_rows == len(table)
    scaled = [0.5 if row % 5 > 2 else value for row, value in enumerate(table["prob"].to_pylist())]
    wide = widen(table.set_column(2, "prob", pa.array(scaled)))
    assert wide["prob_neg"].to_pylist()[1::2] == [0, 0, 0]


def test_a_file_is_no_id_beside_what_is_called_one():
    long = make_long().rename_columns(["item_id", "label", "probability"])
    files = pa.array([f"{each}.png" for each in long.column("item_id").to_pylist()])
    check(widen(long.append_column("image", files)).drop_columns("image"), "item_id")


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"id": IDS, "class": CLASSES * 2, "prob": [0.5] * 6}),
        pa.table({"id": IDS, "class": ["a"] * 6, "prob": [0.5] * 6}),
        pa.table({"name": ["a", "a", "b", "b"], "label": ["x", "y"] * 2, "score": [0.9] * 4}),
        pa.table({"id": ["a", "a"], "class": ["x", "x"], "prob": [0.5, 0.5]}),
        pa.table({"id": ["a", None], "class": ["x", "y"], "prob": [0.5, 0.5]}),
        pa.table({"id": ["a", "a"], "class": ["x", "y"], "prob": [0.5, None]}),
        pa.table({"id": ["a", "a"], "class": ["x", "y"], "prob": ["0.5", "0.5"]}),
        pa.table({"id": ["a", "a"], "class": ["x", "y"], "score": [0.5, 0.5], "prob": [0.5, 0.5]}),
        pa.table({"id": pa.array([], pa.string()), "class": [], "prob": []}),
        # One class for each item: items times classes would be many.
        pa.table({"id": [*range(9), 0], "class": list(range(10)), "prob": [1.0] * 10}),
    ],
)
def test_other_tables_stay_as_they_are(table):
    assert widen(table).equals(table)


def test_sums_that_are_not_one_are_an_error_of_any_pool(tmp_path):
    table = make_long()
    path = tmp_path / "long.csv"
    pyarrow.csv.write_csv(table.set_column(2, "prob", pa.array([0.4] * len(table))), path)
    assert "sum to 1.2" in at.inspect(path).problem


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_study_of_a_long_table_is_one_of_its_items(tmp_path, ending):
    path = tmp_path / f"long.{ending}"
    write = pyarrow.csv.write_csv if ending == "csv" else pq.write_table
    write(make_long(), path)
    assert convert.needs_conversion(str(path))
    study = at.Study.create(path, tmp_path / "study", seed=1)
    assert {row["id"] for row in study.next(6).rows} == set(IDS)
    # A table whose ids are unique is read as it is.
    pq.write_table(pa.table(WIDE), tmp_path / "wide.parquet")
    assert not convert.needs_conversion(str(tmp_path / "wide.parquet"))


def test_a_table_that_is_sorted_by_class_is_no_long_one(tmp_path):
    path = tmp_path / "p.parquet"
    rows = 3000
    names = np.repeat(["a", "b"], rows // 2)
    pq.write_table(pa.table({"id": range(rows), "label": names, "score": np.full(rows, 0.5)}), path)
    assert not convert.needs_conversion(str(path))


def test_parts_of_a_long_table_say_how_to_make_it_wide(tmp_path):
    (tmp_path / "parts").mkdir()
    pq.write_table(make_long(), tmp_path / "parts" / "a.parquet")
    with pytest.raises(at.errors.PoolError, match="have the same id") as caught:
        at.Study.create(
            tmp_path / "parts", tmp_path / "study", outputs="prob", task="classification"
        )
    line = caught.value.hint.partition("in pandas ")[2].partition(", in Spark")[0]
    frame = make_long().to_pandas()
    wide = eval(line, {"frame": frame})
    check(pa.Table.from_pandas(wide, preserve_index=False))
    assert "groupBy('id').pivot('class').max('prob')" in caught.value.hint
