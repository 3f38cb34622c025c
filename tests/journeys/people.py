"""Someone who labels digits: the sample data in a folder, batch after batch."""

import csv
import shutil
from pathlib import Path

from activetest.cli.app import main
from tests import makers

SAMPLE = Path(__file__).parents[2] / "sample_data"


def read_key() -> dict[str, str]:
    """{id: true class} of the sample data."""
    with open(SAMPLE / "digits.labels.csv", newline="", encoding="utf-8") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file)}


def begin_study(folder: Path, *options: str) -> None:
    """A study of the digits in a folder, which is the working directory."""
    shutil.copy(SAMPLE / "digits.parquet", folder / "digits.parquet")
    assert main(["init", "digits.parquet", "--group", "ink", "--seed", "4", *options]) == 0


def copy_study(folder: Path, *options: str) -> None:
    """A study of the digits with 60 labels, in a folder; written once for all tests."""
    makers.copy_written(("digits", options), lambda place: _begin_and_label(place, options), folder)


def _begin_and_label(folder: Path, options: tuple[str, ...]) -> None:
    begin_study(folder, *options)
    for _ in range(2):
        label_batch(folder, 30)


def label_batch(folder: Path, count: int) -> None:
    """Draw so many items, label them, and ingest the labels."""
    key = read_key()
    assert main(["next", "-n", str(count), "-o", "batch.csv"]) == 0
    with open(folder / "batch.csv", newline="", encoding="utf-8") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    lines = "".join(f"{id},{key[id]}\n" for id in ids)
    (folder / "batch.csv").write_text(f"id,label\n{lines}", encoding="utf-8")
    assert main(["ingest", "batch.csv"]) == 0
