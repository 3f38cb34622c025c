"""Labels that contradict how a column of scores is read: the hint says how to read it otherwise."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main

ROWS = 40


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with answers.parquet (id and score), and labels of two sorts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    rng = np.random.default_rng(2)
    score = rng.random(ROWS).round(2)
    pq.write_table(pa.table({"id": range(ROWS), "score": score}), "answers.parquet")
    given = np.clip(score + 0.1 * rng.standard_normal(ROWS), 0, 1).round(3)
    verdicts = np.where(rng.random(ROWS) < score, "pass", "fail")
    for name, labels in (("values", given), ("verdicts", verdicts)):
        lines = [f"{row},{label}" for row, label in enumerate(labels)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,label", *lines]))
    return {"values": given.mean(), "verdicts": (verdicts == "pass").mean()}


@pytest.fixture
def run(capsys):
    """run(*words) is the exit code of the program, and what it says."""

    def call(*words: str) -> tuple[int, str]:
        code = main(words)
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


def obey(said: str) -> list[str]:
    """The command of a hint, for the pool and the folder at hand."""
    (hint,) = [line for line in said.splitlines() if "activetest init" in line]
    words = hint.partition("activetest ")[2].partition(", with")[0].split()
    return [{"POOL": "answers.parquet", "DIR": "other"}.get(word, word) for word in words]


@pytest.mark.parametrize(
    ("first", "labels", "metric"),
    [
        (("--metric", "mean"), "verdicts", "rate[pass]"),
        (("--classes", "fail,pass", "--metric", "rate[pass]"), "values", "mean"),
    ],
)
def test_a_hint_about_labels_of_the_other_sort_works_when_it_is_obeyed(
    run, place, first, labels, metric
):
    assert run("init", "answers.parquet", *first, "--study", "one")[0] == 0
    code, said = run("ingest", f"{labels}.csv", "--study", "one")
    assert code == 2
    code, _ = run(*obey(said))
    assert code == 0
    assert run("ingest", f"{labels}.csv", "--study", "other")[0] == 0
    code, said = run("report", "--study", "other", "--metric", metric, "--format", "json")
    assert code == 0
    (row,) = json.loads(said)["estimates"][:1]
    assert row["estimate"] == pytest.approx(place[labels])
    assert row["method"] == "exact"


def test_numbers_that_are_no_scores_get_no_such_hint(run, place):
    run("init", "answers.parquet", "--classes", "fail,pass", "--study", "one")
    Path("wrong.csv").write_text("id,label\n1,3\n2,7\n")
    code, said = run("ingest", "wrong.csv", "--study", "one")
    assert code == 2
    assert "the classes are fail, pass" in said
    assert "activetest init" not in said


@pytest.mark.parametrize(
    ("settings", "metric", "labels", "method"),
    [
        # A mean of values between 0 and 1 is no share: its variance is far below mean (1 - mean).
        (("--metric", "mean"), "mean[0,1]", "values", "gamma"),
        (("--classes", "fail,pass"), "rate[pass]", "verdicts", "korn-graubard"),
    ],
)
def test_a_mean_on_a_scale_has_another_interval_than_a_rate(
    run, place, settings, metric, labels, method
):
    run("init", "answers.parquet", *settings, "--seed", "1")
    run("next", "--n", "20", "-o", "batch.csv")
    drawn = {line.split(",")[0] for line in Path("batch.csv").read_text().splitlines()[1:]}
    lines = Path(f"{labels}.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if line.split(",")[0] in drawn]
    Path("some.csv").write_text("\n".join([lines[0], *kept]))
    run("ingest", "some.csv")
    code, said = run("report", "--metric", metric, "--format", "json")
    assert code == 0
    (row,) = json.loads(said)["estimates"][:1]
    assert (row["method"], row["n_labeled"]) == (method, 20)
    assert row["lower"] <= place[labels] <= row["upper"]
