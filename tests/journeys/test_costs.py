"""Which team's mistakes cost most? From the file of costs to an answer that is sure."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main

SIZE, CLASSES = 360, ("fault", "fine", "unclear")
TEAMS = ("north", "south", "west")
# Cost of a prediction (row) by the true class: to overlook a fault is expensive.
COSTS = np.array([[0, 1, 1], [20, 0, 1], [8, 1, 0]])


@pytest.fixture
def truth(folder) -> dict[str, str]:
    """A pool of three teams, its file of costs and its labels.

    North makes the most mistakes, and cheap ones; the few of south are faults that it overlooks.
    """
    rng = np.random.default_rng(2)
    team = np.arange(SIZE) % 3
    label = rng.choice(3, SIZE, p=[0.3, 0.6, 0.1])
    pred = label.copy()
    careless = (team == 0) & (label == 1) & (rng.random(SIZE) < 0.7)
    pred[careless] = rng.choice([0, 2], careless.sum())
    pred[(team == 1) & (label == 0) & (rng.random(SIZE) < 0.6)] = 1
    probs = np.full((SIZE, 3), 0.15)
    probs[np.arange(SIZE), pred] = 0.7
    columns = {"id": [f"item-{row}" for row in range(SIZE)]}
    columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(CLASSES)}
    columns["team"] = [TEAMS[each] for each in team]
    pq.write_table(pa.table(columns), "pool.parquet")
    lines = [",".join([name, *map(str, COSTS[code])]) for code, name in enumerate(CLASSES)]
    Path("costs.csv").write_text("\n".join([f"predicted,{','.join(CLASSES)}", *lines, ""]))
    paid = COSTS[pred, label]
    means = [paid[team == each].mean() for each in range(3)]
    assert np.argmax(means) == 1 and (pred != label)[team == 0].sum() > (pred != label).sum() / 2
    return dict(zip(columns["id"], (CLASSES[each] for each in label), strict=True))


def run(capsys, *words: str) -> str:
    assert main([*words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def label(truth: dict[str, str]) -> None:
    """Fill in the column `label` of the batch."""
    with open("batch.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open("batch.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": truth[row["id"]]} for row in rows)


def test_labels_are_bought_until_the_answer_is_sure(truth, capsys):
    words = ["--costs", "costs.csv", "--metric", "cost", "--group", "team"]
    out = run(capsys, "init", "pool.parquet", *words, "--question", "identify", "--seed", "1")
    assert "identify the worst group of team by cost" in out
    labels, report = [0], {"question": {"decided": False}}
    while not report["question"]["decided"]:
        run(capsys, "next", "-n", "20", "-o", "batch.csv")
        label(truth)
        run(capsys, "ingest", "batch.csv")
        report = json.loads(run(capsys, "report", "--format", "json"))
        labels.append(report["counts"]["labeled"])
        assert labels[-1] == labels[-2] + 20
        more = report["question"]["more_labels"]
        assert (more is None) or (more > 0 and not report["question"]["decided"])
    # Twenty labels are not enough, and all 360 are not needed.
    assert 20 < labels[-1] < 200
    assert report["question"]["probability"] >= 0.95
    worst, *others = report["groups"]
    assert worst["group"] == {"team": "south"} and worst["p_worst"] >= 0.95
    assert all(worst["estimate"] > each["estimate"] for each in others)
    # Draws went where the answer was.
    assert worst["n_labeled"] > labels[-1] / 3
    shown = run(capsys, "report")
    assert "team=south" in shown.split("\n\n")[0] and "cost" in shown
