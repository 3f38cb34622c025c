"""The example in sample_data is what the program makes of the sample data today."""

import csv
import io
import re
import runpy
from pathlib import Path
from urllib.parse import unquote

import pytest

SAMPLE = Path(__file__).parents[3] / "sample_data"
# Times, the hash of the ledger (which holds times), and the version.
CHANGING = (
    r"\d{4}-\d\d-\d\d \d\d:\d\d UTC( to \d{4}-\d\d-\d\d \d\d:\d\d UTC)?",
    r"\b[0-9a-f]{64}\b",
    r"activetest \d+(\.\d+)+\w*",
)
LOG = re.compile(r'href="data:text/csv;charset=utf-8,([^"]*)"')


def split(page: str) -> tuple[str, list[dict[str, str]]]:
    """The page without its log and what changes, and the lines of the log without times."""
    (log,) = LOG.findall(page)
    page = LOG.sub("", page)
    for pattern in CHANGING:
        page = re.sub(pattern, "*", page)
    rows = list(csv.DictReader(io.StringIO(unquote(log))))
    return page, [row | {"time": ""} for row in rows]


def test_the_script_makes_the_example_again(tmp_path):
    script = runpy.run_path(str(SAMPLE / "make_report.py"))
    made, kept = (
        split(file.read_text(encoding="utf-8"))
        for file in (script["write"](tmp_path), SAMPLE / "report.html")
    )
    assert made[0].split("</") == kept[0].split("</")
    assert len(made[1]) == len(kept[1]) == script["ROUNDS"] * script["LABELS_A_ROUND"]
    for new, old in zip(made[1], kept[1], strict=True):
        # Other libraries round the last digits in another way.
        near = pytest.approx(float(old.pop("probability")), rel=1e-6)
        assert float(new.pop("probability")) == near
        assert new == old


def test_the_example_is_small_and_shows_a_gate_of_each_verdict():
    page = (SAMPLE / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) <= 150_000
    assert "1 FAIL, 1 UNDECIDED, 1 PASS" in page


def test_the_picture_is_small():
    picture = SAMPLE.parent / ".github" / "report.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size <= 150_000
