"""An evaluator who already has a sampler: from the log of its draws to a report and a gate.

The sampler is a script of the standard library alone, as an evaluator would have it: it draws
intents that the model is unsure of more often, batch by batch, and asks people.
"""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from activetest.cli.app import main

MAKE_POOL = """
import csv, random
chance = random.Random(7)
pool, truth = csv.writer(open("pool.csv", "w")), csv.writer(open("truth.csv", "w"))
pool.writerow(["id", "text", "channel", "prob_refund", "prob_other"])
for number in range(600):
    score = min(max(chance.betavariate(0.6, 1.0), 0.01), 0.99)
    label = "refund" if chance.random() < score else "other"
    row = [f"m{number}", f"message {number}", chance.choice(["mail", "chat"]), score, 1 - score]
    pool.writerow(row)
    truth.writerow([f"m{number}", label])
"""
SAMPLER = """
import csv, random
truth = dict(csv.reader(open("truth.csv")))
left = {row["id"]: 1.1 - max(float(row["prob_refund"]), float(row["prob_other"]))
        for row in csv.DictReader(open("pool.csv"))}
chance, log = random.Random(3), csv.writer(open("draws.csv", "w"))
log.writerow(["message", "batch", "p", "intent", "model"])
for batch in range(4):
    for _ in range(30):
        drawn = chance.choices(list(left), list(left.values()))[0]
        log.writerow([drawn, batch, left[drawn] / sum(left.values()), truth[drawn], "v7"])
        del left[drawn]
"""
COLUMNS = "id=message,round=batch,probability=p,label=intent"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """run(*words) is the exit code and all that a command prints, beside the evaluator's files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    for script in (MAKE_POOL, SAMPLER):
        subprocess.run([sys.executable, "-I", "-c", script], cwd=tmp_path, check=True)

    def command(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(list(words))
        printed = capsys.readouterr()
        return code, " ".join((printed.out + printed.err).split())

    return command


def label(batch: str, truth: dict[str, str]) -> None:
    """Fill in the labels of a batch."""
    with open(batch, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(batch, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": truth[row["id"]]} for row in rows)


def test_from_the_log_of_another_sampler_to_a_report_and_a_gate(run):
    code, said = run("import", "draws.csv")
    assert code == 2 and "--pool" in said
    code, said = run("import", "draws.csv", "--pool", "pool.csv")
    assert code == 2 and "--columns" in said and not Path(".activetest").exists()
    words = ("--columns", COLUMNS, "--group", "channel", "--seed", "1")
    code, said = run("import", "draws.csv", "--pool", "pool.csv", *words)
    assert code == 0, said
    assert "120 draws of draws.csv in 4 rounds: 120 labelled" in said
    assert re.search(r"their probabilities account for (9|10)\d[\d.]* % of the items", said)
    with open("truth.csv", encoding="utf-8", newline="") as file:
        truth = dict(csv.reader(file))
    with open("pool.csv", encoding="utf-8", newline="") as file:
        pool = list(csv.DictReader(file))
    wrong = [(float(row["prob_refund"]) >= 0.5) != (truth[row["id"]] == "refund") for row in pool]
    error = sum(wrong) / len(wrong)
    code, said = run("report", "--format", "json", "--interval", "fixed", "--require", "error<=0.4")
    report = json.JSONDecoder().raw_decode(said)[0]
    row = report["estimates"][0]
    assert code == 0 and row["lower"] <= error <= row["upper"] and row["upper"] - row["lower"] < 0.2
    assert {str(each["group"]) for each in report["estimates"]} >= {
        "{'channel': 'mail'}", "{'channel': 'chat'}"
    }  # fmt: skip
    assert run("report", "--interval", "fixed", "--require", "error<=0.05")[0] == 1
    # A gate that holds at every look needs draws of the study itself, and then counts on them.
    code, said = run("report", "--require", "error<=0.4")
    assert code == 3 and "in which 120 items had been drawn" in said
    for _ in range(2):
        assert run("next", "--n", "60", "-o", "batch.csv")[0] == 0
        label("batch.csv", truth)
        assert run("ingest", "batch.csv")[0] == 0
    code, said = run("report", "--require", "error<=0.4")
    assert code == 0 and "PASS" in said
    code, said = run("status")
    assert code == 0 and "rounds 6" in said and "labelled 240" in said
    assert run("verify")[0] == 0
    assert run("export", "-o", "log.csv")[0] == 0
    code, said = run("import", "log.csv", "--pool", "pool.csv", "--study", "again")
    assert code == 0 and "240 draws of log.csv in 6 rounds" in said
