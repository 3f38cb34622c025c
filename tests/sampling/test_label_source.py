"""Labels are read from whatever holds them."""

from pathlib import Path

import pyarrow as pa
import pytest

from activetest.errors import LabelConflict, LabelError
from activetest.sampling.label_source import read_label_source

EXPECTED = [("a", 1, "3"), ("b", 0, "")]


def read(labels) -> tuple[str, list[tuple]]:
    source, rows = read_label_source(labels)
    return source, [(row.id, row.status, row.label) for row in rows]


def in_a_file(folder: Path, path=str):
    (folder / "labels.csv").write_text("id,label\na,3\nb,\n")
    return path(folder / "labels.csv")


def test_a_file_a_frame_a_mapping_and_rows_say_the_same(tmp_path):
    rows = [{"id": "a", "label": 3}, {"id": "b", "label": None}]
    path = str(tmp_path / "labels.csv")
    assert read(in_a_file(tmp_path)) == read(in_a_file(tmp_path, Path)) == (path, EXPECTED)
    assert read(pa.Table.from_pylist(rows)) == ("the frame", EXPECTED)
    assert read({"a": 3, "b": None}) == ("the mapping", EXPECTED)
    assert read(rows) == read(iter(rows)) == ("the rows", EXPECTED)


def test_frames_of_pandas_and_polars_say_it_too():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame({"id": ["a", "b"], "label": [3.0, None]})
    assert read(frame) == read(frame.set_index("id")) == ("the frame", EXPECTED)
    assert read(frame.set_index("id")["label"]) == ("the mapping", EXPECTED)
    assert read(polars.DataFrame({"id": ["a", "b"], "label": [3, None]})) == ("the frame", EXPECTED)


def test_what_was_filled_in_a_batch_may_be_of_several_types():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["a", "b"], "label": pandas.Series(["", ""], dtype=object)})
    frame.loc[0, "label"] = 3
    assert read(frame) == ("the frame", EXPECTED)


@pytest.mark.parametrize("labels", [3, None])
def test_what_holds_no_labels_is_refused(labels):
    with pytest.raises(LabelError, match="labels cannot be a") as error:
        read_label_source(labels)
    assert error.value.hint


def test_errors_of_frames_are_about_labels():
    with pytest.raises(LabelError, match="two columns are called 'id'"):
        read_label_source(pa.table([["a"], ["b"]], names=["id", "id"]))
    with pytest.raises(LabelError, match="the frame has no column 'label'; it has id, other"):
        read_label_source(pa.table({"id": ["a"], "other": [1]}))
    with pytest.raises(LabelConflict, match="in row 0 and labelled 'y' in row 1"):
        read_label_source(pa.table({"id": ["a", "a"], "label": ["x", "y"]}))
