"""An auditor gets one page, and checks by hand what it says."""

import csv
import html
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from tests.journeys.people import copy_study, label_batch

# The head of the ledger's chain, as on the page.
HASH = re.compile(r"[0-9a-f]{64}")


@pytest.fixture
def page(folder, capsys) -> str:
    """The page of a study with 60 labels, as it is attached to a release."""
    copy_study(folder)
    assert main(["report", "--estimator", "lure", "-o", "report.html", "-o", "report.json"]) == 0
    capsys.readouterr()
    return (folder / "report.html").read_text(encoding="utf-8")


def read_draws(page: str) -> list[dict[str, str]]:
    """The log of draws inside a page."""
    (address,) = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)"', page)
    return list(csv.DictReader(io.StringIO(unquote(html.unescape(address)), newline="")))


def test_the_draws_of_the_page_are_those_of_the_study(page, folder, capsys):
    hashes = set(HASH.findall(page))
    assert len(hashes) == 1
    # Work goes on after the page was written: it is still a beginning of the study.
    label_batch(folder, 10)
    assert main(["verify", "--contains", hashes.pop()]) == 0
    assert "is in it" in capsys.readouterr().out
    assert main(["verify", "--contains", "0" * 64]) != 0
    capsys.readouterr()
    assert main(["export"]) == 0
    now = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    then = read_draws(page)
    assert len(then) == 60 and len(now) == 70
    assert all(row in now for row in then)


def test_an_estimate_is_recomputed_from_the_page_by_hand(page, folder):
    """LURE, from the log, the model's predictions, and nothing of this package."""
    predicted = predict(folder / "digits.parquet")
    draws = [row for row in read_draws(page) if row["round"]]
    n, m = len(predicted), len(draws)
    total = 0.0
    for place, row in enumerate(draws, 1):
        left = n - place + 1
        weight = 1 + (n - m) / (n - place) * (1 / (left * float(row["probability"])) - 1)
        total += weight * (predicted[row["id"]] != row["label"])
    written = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (found,) = [
        row["estimate"]
        for row in written["estimates"]
        if (row["estimator"], row["metric"], row["group"]) == ("lure", "error", None)
    ]
    assert found == pytest.approx(total / m, rel=1e-9)
    assert f"{found * 100:.1f} %" in page


def predict(path: Path) -> dict[str, str]:
    """{id: most probable class}."""
    table = pq.read_table(path)
    names = [name for name in table.column_names if name.startswith("prob_")]
    columns = [table[name].to_pylist() for name in names]
    best = [max(range(len(names)), key=row.__getitem__) for row in zip(*columns, strict=True)]
    ids = table["id"].to_pylist()
    return {id: names[at].removeprefix("prob_") for id, at in zip(ids, best, strict=True)}
