"""The demo shows the loop, leaves nothing behind, and its sample data are what the script makes."""

import csv
import os
import re
import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.cli.demo import demo, sample_folder

SAMPLE = Path(__file__).parents[2] / "sample_data"


def test_the_demo_shows_every_command_and_what_came_back(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACTIVETEST_STUDY", "/nowhere")
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    shown = re.findall(r"^\$ activetest (\w+)", printed, flags=re.MULTILINE)
    assert set(shown) == {"init", "next", "ingest", "report", "status"}
    assert "id,label,ink" in printed
    assert re.search(
        r"^The model is wrong on [\d.]+ % of items \(95 % confidence: [\d.]+ % to [\d.]+ %\)\.$",
        printed,
        re.MULTILINE,
    )
    assert "By all 1,497 answers, the model is wrong on 6.55 % of items." in printed
    assert list(tmp_path.iterdir()) == []
    assert os.environ["ACTIVETEST_STUDY"] == "/nowhere"


def test_the_demo_is_the_same_every_time(capsys):
    main(["demo"])
    first = capsys.readouterr().out
    main(["demo"])
    assert capsys.readouterr().out == first


def test_the_demo_stops_at_the_first_command_that_fails():
    lines, ran = [], []

    def fail(words: list[str]) -> int:
        ran.append(words[0])
        return 2

    assert demo(fail, echo=lines.append) == 2
    assert ran == ["init"]


def test_the_sample_data_of_a_checkout_are_beside_the_package():
    assert sample_folder() == SAMPLE


def answers(name: str) -> dict[str, str]:
    """The answer key of a sample pool."""
    with open(SAMPLE / f"{name}.labels.csv", newline="", encoding="utf-8") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", ["digits", "diabetes"])
def test_the_script_makes_the_sample_data_again(name, tmp_path):
    script = runpy.run_path(str(SAMPLE / "make.py"))
    script["write"](tmp_path)
    key = f"{name}.labels.csv"
    assert (tmp_path / key).read_bytes() == (SAMPLE / key).read_bytes()
    made = pq.read_table(tmp_path / f"{name}.parquet")
    kept = pq.read_table(SAMPLE / f"{name}.parquet")
    assert made.schema == kept.schema
    for column in kept.column_names:
        # Another version of the solver may stop a hair earlier.
        if pa.types.is_floating(kept[column].type):
            np.testing.assert_allclose(made[column], kept[column], rtol=1e-2, atol=1e-3)
        else:
            assert made[column].equals(kept[column])


@pytest.mark.parametrize("name", ["digits", "diabetes"])
def test_every_item_of_a_sample_pool_has_an_answer(name):
    ids = pq.read_table(SAMPLE / f"{name}.parquet", columns=["id"])["id"].to_pylist()
    assert sorted(answers(name)) == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_the_digits_have_64_features_probabilities_and_an_ink_group():
    table = pq.read_table(SAMPLE / "digits.parquet")
    assert sum(name.startswith("pixel_") for name in table.column_names) == 64
    probs = np.column_stack([table[f"prob_{digit}"] for digit in range(10)])
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-5)
    assert set(table["ink"].to_pylist()) == {"little", "some", "much"}


def test_the_demo_ends_with_what_to_type_next(capsys):
    assert main(["demo"]) == 0
    ending = capsys.readouterr().out.partition("By all 1,497 answers")[2]
    assert f"The sample files are in {SAMPLE}." in ending
    assert f"activetest init {SAMPLE / 'digits.parquet'} --group ink" in ending
