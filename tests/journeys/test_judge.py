"""An evaluator with a log of Inspect, whose grader is a judge: from the file to a verdict.

The log is written by our own maker. Its judge passes most long answers, whatever they say.
"""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from activetest.cli.app import main
from tests.formats import logs

ITEMS, UNGRADED = 300, 4
TOPICS = ("law", "code", "chat")
RANDOM = np.random.default_rng(5)
# Words of each answer, whether people pass it, and whether the judge does.
LENGTHS = np.exp(RANDOM.normal(3, 1, ITEMS)).astype(int) + 1
PEOPLE = RANDOM.random(ITEMS) < 0.6
LONG = np.where(np.median(LENGTHS) < LENGTHS, 0.7, 0.05)
JUDGE = PEOPLE | (RANDOM.random(ITEMS) < LONG)


def write_log(folder: Path) -> None:
    """Every sample has an answer and a topic, and all but four a grade."""
    samples = [
        logs.inspect_sample(
            item,
            "CI"[not JUDGE[item]] if item < ITEMS - UNGRADED else None,
            scorer="model_graded_qa",
            output="word " * int(LENGTHS[item]),
            metadata={"topic": TOPICS[item % 3]},
        )
        for item in range(ITEMS)
    ]
    logs.write_eval(folder / "log.eval", samples, logs.ZSTD)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """run(*words) is the exit code and all that a command prints, in a folder with the log."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path)

    def command(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(list(words))
        printed = capsys.readouterr()
        return code, " ".join((printed.out + printed.err).split())

    return command


def label(batch: Path) -> list[dict[str, str]]:
    """Fill in what people say of the items of a batch; its rows."""
    with open(batch, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        number = int(row["id"])
        assert row["output"].split() == ["word"] * int(LENGTHS[number])
        row["label"] = str(int(PEOPLE[number]))
    with open(batch, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_from_a_log_to_a_verdict_on_the_judge(run):
    code, said = run("inspect", "log.eval")
    assert code == 0
    assert "Inspect" in said and f"{UNGRADED} of {ITEMS}" in said
    assert said.endswith("activetest init log.eval --judge score")
    code, said = run(
        "init", "log.eval", "--judge", "score", "--group", "metadata_topic", "--seed", "1"
    )
    assert code == 0
    assert f"{ITEMS - UNGRADED} items" in said
    assert "the judge's verdicts: column 'score'; '1' is positive" in said
    assert "draws: optimal for rate[1]" in said
    for _ in range(3):
        code, _ = run("next", "--n", "50", "--show", "input,output", "-o", "batch.csv")
        assert code == 0
        assert len(label(Path("batch.csv"))) == 50
        assert run("ingest", "batch.csv")[0] == 0
    code, said = run("report", "--require", "rate[1]>=0.8")
    assert code == 1 and "FAIL" in said
    graded = slice(0, ITEMS - UNGRADED)
    rate, raw = 100 * PEOPLE[graded].mean(), 100 * JUDGE[graded].mean()
    number = r"(-?\d+(?:\.\d+)?)"
    sentence = re.search(
        rf"The judge says that {number} % of items pass; people would say {number} % \(95 % "
        rf"confidence: {number} % to {number} %\): the judge is {number} points too generous "
        rf"\({number} to {number}\)\.",
        said,
    )
    assert sentence, said
    says, people, lower, upper, gap, least, most = map(float, sentence.groups())
    assert abs(says - raw) < 0.6 and lower <= rate <= upper
    assert least <= raw - rate <= most and abs(says - people - gap) < 1.1
    slope = re.search(r"The judge is (\d+\.?\d*) points more generous per standard deviation", said)
    assert slope and float(slope[1]) > 5
    for measure in ("sensitivity", "specificity", "agreement beyond chance", "metadata_topic=law"):
        assert measure in said
    assert run("report", "--require", "bias[1]<=0.05")[0] == 1
    assert run("report", "--require", "bias[1]@metadata_topic=law<=0.9")[0] == 0
    code, said = run("report", "--format", "json")
    judge = json.loads(said)["judge"]
    assert (judge["column"], judge["positive"], judge["outputs"]) == ("score", "1", "verdicts")
    (length,) = [each for each in judge["columns"] if each["column"] == "characters of output"]
    assert length["p_corrected"] < 0.05 and length["slope"] > 0
