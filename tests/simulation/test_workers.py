"""Runs of a simulation in other processes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """\
import activetest as at

print("begins")
found = at.simulate({pool!r}, {key!r}, budgets=20, runs=2, workers=2, metrics="error")
print(len(found), "results")
"""


def test_a_script_may_simulate_without_a_guard_of_its_main_part(tmp_path):
    """Workers do not run the script again."""
    samples = ROOT / "sample_data"
    pool, key = (str(samples / name) for name in ("digits.parquet", "digits.labels.csv"))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(pool=pool, key=key))
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "begins" and done.stdout.count("begins") == 1
    assert done.stdout.endswith(" results\n")
