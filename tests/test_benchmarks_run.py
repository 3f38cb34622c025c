"""Every script of the benchmarks runs to its last line, on the sample pool and tiny budgets."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "benchmarks"

# Options of each script, of several runs after semicolons; PYTHON is this interpreter, SAMPLE a
# folder with the sample pool, its training rows and outputs of other models, HERE an empty one.
RUNS = {
    "accounting.py": "SAMPLE --pools digits --runs 1 --floors 0.35 --growths 0,0.43 --draws 30,50"
    ";SAMPLE --pools digits --floors 0 --growths 0 --frozen 5 --draws 30,50",
    "adversarial.py": "judge-plus-one --save HERE/a.jsonl --studies 2 --looks 50 --workers 1",
    "again.py": "--runs 2",
    "alt_mas_coverage.py": "--ways default --runs 2 --at 50 --workers 1",
    "checksums.py": "HERE/new --rows 2000 --pairs 2",
    "choice.py": "HERE --rows 2000 --groups 20 --repeats 1 --labels 100",
    "claims.py": "SAMPLE --pools digits --runs 2 --budget 50",
    "coverage.py": "SAMPLE --save HERE --pools digits --runs 25 --budget 30",
    "curves.py": "HERE --runs 3 --pools rare",
    "details.py": "--repeats 1",
    "engines.py": "HERE --rows 5000 --chunk 1000 --repeats 1",
    "evidence_pools.py": "HERE --pools votes",
    "files.py": "--only tabs",
    "floors.py": "SAMPLE --pools digits --rule 0.2 --runs 2",
    "gates.py": "SAMPLE --pools digits --batch 20 --runs 2 --labels 60 --workers 1",
    "groups.py": "--together --runs 2 --workers 1",
    "guard_pools.py": "HERE",
    "hard_pools.py": "HERE",
    "hindsight.py": "--runs 1 --workers 1",
    "house.py": "activetest",
    "imports.py": "HERE --runs 2 --size 300 --budget 50",
    "judge.py": "--save HERE/judge.jsonl --judge verdicts --runs 2",
    "log_limit.py": "SAMPLE --pools digits --saved digits=3",
    "loop.py": "HERE --rows 5000 --repeats 1",
    "models.py": "SAMPLE --runs 2 --labels 40 --workers 1"
    "; SAMPLE --several --runs 2 --labels 40 --batch 20 --workers 1",
    "missing.py": "--runs 2 --size 400 --labels 100",
    "noisy_attributes.py": "--methods beta --labels 500 --seeds 2 --results HERE/n.jsonl",
    "parts.py": "--runs 1 --workers 1 --labels 20; --changes --runs 1 --workers 1 --labels 20",
    "peers.py": "SAMPLE --runs 3 --peers ours --pools digits --budget 20",
    "plan.py": "SAMPLE --pools digits --runs 1 --labels 100 --most 125",
    "population.py": "--runs 2 --sizes 300 --clusters 1 --budget 100",
    "rare_pools.py": "HERE",
    "relevant.py": "SAMPLE --study digits:precision[3] --runs 2 --budget 20",
    "reproduce_active_risk.py": "--runs 2 --workers 1",
    "reproduce_active_testing.py": "--toy gp --runs 2 --workers 1",
    "reproduce_bayesian_comparison.py": "SAMPLE --pools digits --runs 2 --studies 1",
    "reproduce_bayesian_estimation.py": "SAMPLE --pools digits --runs 2 --studies 1",
    "reproduce_bayesian_identification.py": "SAMPLE --pools digits --runs 2",
    "reproduce_ensembles.py": "SAMPLE --members 1 --networks 1x4 --fits 1 --runs 2 --workers 1",
    "reproduce_external.py": "SAMPLE --pool digits --runs 2 --surrogate model --budget 20",
    "reproduce_wilcoxon.py": "SAMPLE --figure 8b --studies 3 --workers 1",
    "reproduce_zero_shot.py": "SAMPLE --pool digits --rows 100 --size 200 --runs 2",
    "rounds.py": "SAMPLE --pools digits --batch 50 --budget 50 --runs 2",
    "same_results.py": "PYTHON PYTHON SAMPLE --only entropy",
    "saved.py": "SAMPLE --pools digits --runs 3 --budget 20",
    "scale.py": "HERE --rows 3000,5000 --labels 200 --repeats 1"
    "; HERE --rows 3000 --models 1,2 --repeats 1",
    "score_pools.py": "HERE",
    "sequential.py": "SAMPLE --save HERE --pools digits --budgets 100,200 --batch 20 --runs 20",
    "speed.py": "HERE --rows 2000 --small 500 --rounds 12 --information 300 --augmented 50",
    "stakes.py": "--runs 2 --size 600 --budget 50",
    "surface_exploration.py": "SAMPLE --pools main --labels 100 --step 100 --seeds 1"
    " --results HERE/e.jsonl",
    "surface_refits.py": "SAMPLE --pools main --labels 200 --growths 1.06 --seeds 1"
    " --results HERE/r.jsonl",
    "surface_scale.py": "--settings notebook --seeds 1 --results HERE/s.jsonl",
    "surfaces.py": "SAMPLE --summary",
    "surrogates.py": "SAMPLE --pools digits --surrogate agreement,auto --runs 2 --budget 20",
    "toys.py": "HERE --toy gp --count 1",
    "verdicts.py": "--pools 5 --runs 1",
    "votes.py": "SAMPLE --runs 2 --labels 0,20",
    "weights.py": "--runs 2 --size 300 --budget 50",
    "worn.py": "--runs 1 --workers 1",
    "wide.py": "HERE --rows 5000 --labels 100 --repeats 1",
}
# Scripts that need more than the sample pool, and the picture: see test_benchmarks_page.
ELSEWHERE = {
    "best.py",
    "picture.py",
    "rates.py",
    "reproduce_alt_mas.py",
    "reproduce_missing7.py",
    "simulations.py",
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The sample pool with its predictions, 100 training rows, and its outputs as other models'."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("sample")
    for name in ("digits.parquet", "digits.labels.csv"):
        shutil.copy(ROOT / "sample_data" / name, folder)
    table = pq.read_table(folder / "digits.parquet")
    with open(folder / "digits.labels.csv", newline="", encoding="utf-8") as file:
        key = {row["id"]: row["label"] for row in csv.DictReader(file)}
    labels = pa.array([key[id] for id in table["id"].to_pylist()])
    pq.write_table(
        table.append_column("label", labels).slice(0, 100), folder / "digits.train.parquet"
    )
    names = [name for name in table.column_names if name.startswith("prob_")]
    likeliest = np.column_stack([table[name].to_numpy() for name in names]).argmax(axis=1)
    # Its classes are the digits themselves.
    pq.write_table(table.append_column("pred", pa.array(likeliest)), folder / "digits.parquet")
    other = table.select(["id", *names])
    renamed = ["id", *(f"surrogate_prob_0_{name.removeprefix('prob_')}" for name in names)]
    pq.write_table(other.rename_columns(renamed), folder / "digits.surrogates.parquet")
    return folder


def test_every_script_is_run():
    scripts = {
        file.name
        for file in FOLDER.glob("*.py")
        if '__name__ == "__main__"' in file.read_text(encoding="utf-8")
    }
    assert scripts == set(RUNS) | ELSEWHERE


@pytest.mark.ci
@pytest.mark.parametrize("script", RUNS)
def test_a_script_runs_to_its_last_line(script, sample, tmp_path):
    words = RUNS[script].replace("SAMPLE", str(sample)).replace("HERE", str(tmp_path))
    for run in words.replace("PYTHON", sys.executable).split(";"):
        done = subprocess.run(
            [sys.executable, str(FOLDER / script), *run.split()],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
