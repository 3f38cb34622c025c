"""The script that reproduces ALT-MAS, on tiny pools: what it keeps, and what it says of that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tests" / "benchmarks" / "reproduce_alt_mas.py"
ITEMS, CLASSES, WIDTH = 90, 3, 4
PLAN = ("--first", "20", "--last", "32", "--step", "6")
METHODS = ("alt-mas", "bald", "tradition", "default", "alt-mas-draw")


def write_pool(folder: Path, name: str, seed: int) -> None:
    """A pool of three overlapping classes, training rows of the same, and the answer key."""
    rng = np.random.default_rng(seed)
    centers = 1.5 * rng.standard_normal((CLASSES, WIDTH))
    for suffix in ("", ".train"):
        labels = rng.permutation(np.arange(ITEMS) % CLASSES)
        features = centers[labels] + rng.standard_normal((ITEMS, WIDTH))
        probs = rng.dirichlet(np.ones(CLASSES), ITEMS) + 2 * np.eye(CLASSES)[labels]
        probs = (probs / probs.sum(axis=1, keepdims=True)).astype(np.float32)
        columns = {
            "id": [f"i{row}" for row in range(ITEMS)],
            **{f"f{column}": features[:, column].astype(np.float32) for column in range(WIDTH)},
            "prob": pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), CLASSES),
        }
        if suffix:
            columns["label"] = labels
        else:
            lines = [f"i{row},{label}" for row, label in enumerate(labels)]
            key = "\n".join(["id,label", *lines]) + "\n"
            (folder / f"{name}.labels.csv").write_text(key, encoding="utf-8")
        parquet.write_table(pa.table(columns), folder / f"{name}{suffix}.parquet")


def run_script(folder: Path, *options: str) -> str:
    """The script's output about the pool digits."""
    file = str(folder / "kept.jsonl")
    command = [sys.executable, str(SCRIPT), str(folder), "--pools", "digits", "--results", file]
    done = subprocess.run(
        [*command, "--workers", "1", *PLAN, *options],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    return done.stdout


@pytest.mark.slow
def test_studies_are_kept_and_told(tmp_path):
    for seed, name in enumerate(("digits", "cifar10")):
        write_pool(tmp_path, name, seed)
    some = ("--models", "given,other", "--sets", "precision,all", "--seeds", "2")
    file = tmp_path / "kept.jsonl"

    first = run_script(tmp_path, *some, "--methods", "bald,tradition")
    assert "8 of 8 studies" in first
    assert "| model | metrics | seeds | BALD | Tradition |\n" in first
    text = run_script(tmp_path, *some)
    assert "32 of 32 studies" in text

    # A study that is there is not played again; a study that is cut off is, with the same results.
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    assert run_script(tmp_path, *some) == text
    assert file.read_text(encoding="utf-8").splitlines(keepends=True) == lines
    file.write_text("".join(lines[:-1]) + lines[-1][:-5], encoding="utf-8")
    assert "31 of 32 studies" in run_script(tmp_path, *some, "--summary")
    run_script(tmp_path, *some)
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    # Nothing but the study that was cut off was played twice, with the same figures.
    assert len(records) == 32
    assert {**records[-1], "seconds": 0} == {**json.loads(lines[-1]), "seconds": 0}
    by_method = {method: [r for r in records if r["method"] == method] for method in METHODS}
    assert [len(by_method[method]) for method in METHODS] == [8, 4, 4, 8, 8]
    check_first_sample(records)
    check_networks(by_method)
    check_table(text, by_method["tradition"])


def check_first_sample(records: list[dict]) -> None:
    """All methods of a seed begin with the same labels: so networks of the same choices agree."""
    for seed in (0, 1):
        first = {
            each["method"]: each["errors"]["alt-mas"]["all"][0][1]
            for each in records
            if (each["seed"], each["model"]) == (seed, "given")
            and "all" in each["errors"].get("alt-mas", {})
        }
        assert first["alt-mas"] == first["alt-mas-draw"] != first["bald"]


def check_networks(by_method: dict[str, list[dict]]) -> None:
    """Networks are measured; only those of ALT-MAS learn labels of the model."""
    for method in ("alt-mas", "bald", "alt-mas-draw"):
        shares = [each[name] for each in by_method[method] for name in ("network", "passes")]
        assert all(0 <= share <= 1 for each in shares for share in each)
    assert all(each["augmented"] == [0, None] for each in by_method["bald"])
    assert any(each["augmented"][0] for each in by_method["alt-mas"])
    assert not any("network" in each for each in by_method["default"])


def check_table(text: str, studies: list[dict]) -> None:
    """The relative error of Tradition's precision is the mean of what was kept."""
    title = "digits, 6 labels a refit: relative error, %, at 32 labels\n\n"
    head, _, *rows = text.split(title)[1].split("\n\n", maxsplit=1)[0].splitlines()
    place = head.split(" | ").index("Tradition")
    row = next(row for row in rows if row.startswith("| other | precision |"))
    kept = [each for each in studies if each["model"] == "other"]
    expected = np.mean([each["errors"]["plain"]["precision"][0][3] for each in kept])
    printed = float(row.split(" | ")[place].strip("*|").split(" ± ")[0])
    assert printed == pytest.approx(expected, abs=0.01)


def test_errors_of_a_study_are_those_of_its_looks():
    """Two metrics, of which one is undefined in truth, and three looks; worked by hand."""
    sys.path.insert(0, str(SCRIPT.parent))
    from alt_mas_studies import find_errors

    truth = {"a": 0.5, "b": 0.0, "c": float("nan")}
    estimates = ({"a": 0.6, "b": 0.1, "c": 0.3}, {"a": 0.5, "c": 0.9}, {"b": 0.02})
    looks = [{"estimates": {"plain": each}} for each in estimates]
    relative, absolute = find_errors(looks, "plain", ["a", "b", "c"], truth)
    assert relative == pytest.approx([22, 15, 0, 51])
    assert absolute == pytest.approx([12, 10, 0, 26])
