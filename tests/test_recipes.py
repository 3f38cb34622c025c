"""The README's recipes and its Python, run as they stand there on pools that fit them."""

import csv
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.reliability.forks import Server

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")

# Stands for whoever labels: fills in the batch, or prints the export of a team in Label Studio.
LABEL = f"""#!{sys.executable}
import csv, json, sys
key = {{row["id"]: row["label"] for row in csv.DictReader(open("truth.csv"))}}
if sys.argv[2:]:
    tasks = json.load(open(sys.argv[1]))
    for number, task in enumerate(tasks):
        choice = {{"choices": [key[task["data"]["activetest_id"]]]}}
        result = [{{"type": "choices", "from_name": "label", "to_name": "text", "value": choice}}]
        task["id"] = number
        task["annotations"] = [{{"completed_by": who, "result": result}} for who in sys.argv[2:]]
    print(json.dumps(tasks))
else:
    rows = [row | {{"label": key[row["id"]]}} for row in csv.DictReader(open(sys.argv[1]))]
    writer = csv.DictWriter(open(sys.argv[1], "w"), list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
"""
# Has its words run by this process, which knows where everything is imported.
PROGRAM = f"""#!{sys.executable} -S
import json, sys
with open("asked", "w") as pipe:
    json.dump(sys.argv[1:], pipe)
with open("answer") as pipe:
    code, output, messages = json.load(pipe)
sys.stdout.write(output)
sys.stderr.write(messages)
sys.exit(code)
"""
# The second pipe ends with the shell, whatever ends it.
SHELL = "trap 'echo null > asked' EXIT; eval \"$1\""


def recipes() -> dict[str, str]:
    """{title: commands} of the README's recipes."""
    text = README.split("\n## Recipes\n")[1].split("\n## ")[0]
    found = re.findall(r"^\*\*(.+?)\*\*.*?\n\n((?: {4}[^\n]*\n)+)", text, re.MULTILINE | re.DOTALL)
    return {title: re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for title, block in found}


def score_pool(names: tuple[str, str], shift: float) -> tuple[dict, list[str]]:
    """Columns of a pool with the probability of the second class, and true labels."""
    rng = np.random.default_rng(0)
    score = 1 / (1 + np.exp(-1.5 * rng.normal(size=400) - shift))
    labels = [names[int(right)] for right in rng.random(400) < score]
    return {"id": [f"item-{row}" for row in range(400)], "score": score}, labels


def transactions() -> tuple[dict, list[str]]:
    columns, labels = score_pool(("ok", "fraud"), -3.0)
    shown = {"amount": np.arange(400.0), "merchant": [f"shop {row % 7}" for row in range(400)]}
    return columns | shown, labels


def answers() -> tuple[dict, list[str]]:
    columns, labels = score_pool(("fail", "pass"), 1.0)
    score = columns.pop("score")
    columns["verdict"] = ["pass" if each > 0.4 else "fail" for each in score]
    columns |= {"domain": [("law", "code")[row % 2] for row in range(400)]}
    return columns | {name: [name] * 400 for name in ("question", "answer")}, labels


def tickets() -> tuple[dict, list[str]]:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet((0.4, 0.4, 0.4), 400)
    names = ("billing", "bug", "other")
    labels = [names[rng.choice(3, p=row)] for row in probs]
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(names)}
    columns |= {"id": [f"item-{row}" for row in range(400)], "text": ["a ticket"] * 400}
    columns |= {"region": [("EU", "US")[row % 2] for row in range(400)]}
    return columns | {"team": [f"team {row % 4}" for row in range(400)]}, labels


def houses() -> tuple[dict, list[str]]:
    rng = np.random.default_rng(2)
    pred = rng.normal(100, 20, 400)
    labels = [repr(float(value)) for value in pred + rng.normal(0, 5, 400)]
    return {"id": [f"item-{row}" for row in range(400)], "pred": pred}, labels


POOLS = {"transactions": transactions, "answers": answers, "tickets": tickets, "houses": houses}


@pytest.fixture(scope="module")
def forks():
    """The program that forks processes of activetest."""
    with Server() as server:
        yield server


@pytest.fixture
def workplace(tmp_path):
    """An empty folder with the programs that recipes call, and pipes to this process."""
    os.mkfifo(tmp_path / "asked")
    os.mkfifo(tmp_path / "answer")
    for name, text in (("label", LABEL), ("bin/activetest", PROGRAM)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def write_pool(folder: Path, name: str) -> None:
    """NAME.parquet, its answer key, and the key that ./label reads."""
    columns, labels = POOLS[name]()
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    for file in ("truth.csv", f"{name}.labels.csv"):
        with open(folder / file, "w", encoding="utf-8", newline="") as stream:
            rows = zip(columns["id"], labels, strict=True)
            csv.writer(stream).writerows([("id", "label"), *rows])


@pytest.mark.skipif(
    shutil.which("bash") is None or os.name != "posix", reason="they are for a POSIX shell"
)
@pytest.mark.parametrize("title", recipes())
def test_the_recipe_runs_as_it_stands(title, workplace, forks):
    # Two runs are simulated as many are.
    commands = re.sub(r"--runs \d+", "--runs 2", recipes()[title])
    write_pool(workplace, re.search(r"(\w+)\.parquet", commands)[1])
    path = f"{workplace / 'bin'}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.Popen(
        ["bash", "-c", SHELL, "bash", commands],
        cwd=workplace,
        env={**os.environ, "PATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ran, printed = [], ""
    while (words := json.loads((workplace / "asked").read_text())) is not None:
        answer = forks.run(workplace, *words)
        ran.append((words[0], answer[0]))
        printed += answer[1] + answer[2]
        (workplace / "answer").write_text(json.dumps(answer))
    shell.wait()
    assert len(ran) == len(re.findall(r"\bactivetest ", commands)), printed
    # A gate may fail or be undecided; everything else does what it says.
    allowed = {"report": {0, 1, 3} if "--require" in commands else {0}}
    bad = [(verb, code) for verb, code in ran if code not in allowed.get(verb, {0})]
    assert bad == [], printed


def test_there_are_recipes():
    assert len(recipes()) >= 6


def test_the_python_runs_as_it_stands(tmp_path, monkeypatch):
    pytest.importorskip("pandas", reason="to_frame() makes a pandas frame")
    monkeypatch.chdir(tmp_path)
    columns, labels = transactions()
    columns |= {f"prob_{name}": share for name, share in _both(columns.pop("score")).items()}
    columns |= {"region": ["EU", "US"] * 200, "text": ["a text"] * 400}
    truth = dict(zip(columns["id"], labels, strict=True))
    names = {"frame": pa.table(columns), "ask_a_person": truth.__getitem__}
    code = re.sub(r"^ {4}", "", README.split("\n## In Python\n")[1], flags=re.MULTILINE)
    *statements, last = code[code.index("import ") :].split("\n\n## ")[0].strip().split("\n")
    exec("\n".join(statements), names)
    estimate, passed, frame = eval(last, names)
    assert 0 <= estimate <= 1
    assert passed in (True, False)
    assert len(frame) == len(names["report"].estimates)


def _both(score: np.ndarray) -> dict[str, np.ndarray]:
    return {"ok": 1 - score, "fraud": score}
