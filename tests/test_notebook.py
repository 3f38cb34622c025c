"""A session as in a notebook, with frames in and out: pandas, Polars and Arrow."""

import csv
import importlib
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at

SAMPLES = Path(__file__).parents[1] / "sample_data"
KINDS = ("pyarrow", "pandas", "polars")


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    """The kind of the frames; Arrow is always there."""
    pytest.importorskip(request.param)
    return request.param


def to_kind(table: pa.Table, kind: str):
    """The table as a frame of the kind."""
    if kind == "pandas":
        return table.to_pandas()
    return importlib.import_module("polars").from_arrow(table) if kind == "polars" else table


def with_labels(frame, kind: str, key: dict[str, str]):
    """The frame of a batch with its labels filled in, as its users write that."""
    if kind == "pandas":
        return frame.assign(label=frame["id"].map(key))
    if kind == "polars":
        polars = importlib.import_module("polars")
        return frame.with_columns(polars.col("id").replace_strict(key).alias("label"))
    labels = pa.array([key[id] for id in frame.column("id").to_pylist()])
    return frame.set_column(frame.column_names.index("label"), "label", labels)


def values(frame, column: str) -> list:
    """The values of a column of a frame of any kind, None where they are missing."""
    table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    return table.column(column).to_pylist()


@pytest.fixture
def key() -> dict[str, str]:
    """{id: label} of the digits."""
    with open(SAMPLES / "digits.labels.csv", encoding="utf-8", newline="") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file)}


def test_a_notebook_goes_from_a_frame_to_a_report_and_on(kind, key, folder):
    table = pq.read_table(SAMPLES / "digits.parquet")
    study = at.Study.create(to_kind(table, kind), groups=["ink"], seed=1)
    assert study.setup.outcome == "created" and study.setup.rows == 1497

    for _ in range(3):
        batch = study.next(20, show=["ink"])
        frame = batch.to_frame(kind)
        assert values(frame, "id") == batch.ids and values(frame, "label") == [None] * 20
        ingested = study.ingest(with_labels(frame, kind, key))
        assert (ingested.new, ingested.pending) == (20, 0)

    report = study.report(metrics=["error", "accuracy"], require=["error<=0.2", "error<=0.06"])
    assert report.headline.metric == "error" and report.headline.n_labeled == 60
    assert report.sentence.startswith("The model is wrong on 6.4 % of items")
    assert [gate.verdict for gate in report.gates] == ["pass", "undecided"]
    assert report.passed is False and report.exit_code == 3
    rows = report.to_frame(kind)
    assert values(rows, "estimate") == [row.estimate for row in report.estimates]
    assert "ink=much" in values(rows, "group")
    for shown in (study, batch, report, study.status()):
        assert "<table" in shown._repr_html_() and "\n" not in repr(shown)

    # The next day: the frame is gone, and so is what can be rebuilt.
    del table, study
    shutil.rmtree(".activetest/cache")
    again = at.Study.open()
    assert again.report().sentence == report.sentence
    assert "1,497 items in pool" in str(again.report())
    assert len(again.next(5, show="ink")) == 5

    found = at.simulate(
        to_kind(pq.read_table(SAMPLES / "digits.parquet"), kind),
        key,
        budgets=30,
        runs=2,
        workers=1,
        metrics="error",
        estimators="doubly-robust",
    )
    assert values(found.to_frame(kind), "acquisition") == ["optimal", "uniform"]
    assert "<table" in found._repr_html_()


def test_the_kind_of_the_frame_does_not_matter(folder, key):
    """The same draws and numbers as from the file."""
    found = {}
    for kind in ("file", *KINDS):
        if kind not in ("file", "pyarrow"):
            pytest.importorskip(kind)
        address = SAMPLES / "digits.parquet"
        pool = address if kind == "file" else to_kind(pq.read_table(address), kind)
        study = at.Study.create(pool, kind, seed=1)
        ids = study.next(20).ids
        study.ingest({id: key[id] for id in ids})
        found[kind] = (ids, study.report().estimates, study.setup.fingerprint)
    assert found["file"] == found["pyarrow"] == found["pandas"] == found["polars"]
