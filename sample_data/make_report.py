"""Makes the example of a report's page beside this file, and the study that it is of.

    python sample_data/make_report.py [FOLDER]

report.html    what `activetest report --format html` writes with the gates below, after six rounds
               of 40 labels of digits.parquet, by the answers in digits.labels.csv

A fixed seed: the same version makes the same page, but for the times in it and the hash of the log.
"""

import contextlib
import csv
import os
import shutil
import sys
import tempfile
from pathlib import Path

import activetest as at
from activetest.cli.spelling import translate_report
from activetest.render import html

HERE = Path(__file__).parent
POOL, KEY = "digits.parquet", "digits.labels.csv"
ROUNDS, LABELS_A_ROUND = 6, 40
GATES = ("error<=0.1", "recall[8]>=0.8", "precision[8]>=0.95")
METRICS = ("error", "balanced-accuracy", "recall[8]", "precision[8]", "log-loss", "ece")


def label() -> at.Study:
    """A study of the sample pool in the working folder, with six rounds of labels."""
    study = at.Study.create(POOL, groups=["ink"], seed=1)
    with open(KEY, encoding="utf-8", newline="") as file:
        key = {row["id"]: row["label"] for row in csv.DictReader(file)}
    for _ in range(ROUNDS):
        study.ingest({item: key[item] for item in study.next(LABELS_A_ROUND).ids})
    return study


def write(folder: Path) -> Path:
    """Write the page into a folder; the study is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="activetest-example-") as work:
        for name in (POOL, KEY):
            shutil.copy(HERE / name, work)
        with contextlib.chdir(work):
            report = label().report(metrics=METRICS, require=GATES, details=True)
    page = folder / "report.html"
    page.write_text(html.render(translate_report(report)), encoding="utf-8")
    return page


if __name__ == "__main__":
    os.environ.pop("ACTIVETEST_STUDY", None)
    print(write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))
