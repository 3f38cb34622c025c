"""A pipeline decides a release: gates in study.toml, all files at once, and the exit code."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from activetest.cli import pages
from activetest.cli.app import main
from tests.journeys.people import copy_study

FILES = ["report.html", "junit.xml", "report.json", "summary.md"]
WORDS = [word for name in FILES for word in ("-o", name)]
GATES = {0: "error<=0.5", 1: "error<=0.0005", 3: "error<=0.07"}
VERDICTS = {0: "pass", 1: "fail", 3: "undecided"}


@pytest.fixture
def study(folder) -> Path:
    """A study of the digits with 60 labels, in the working directory."""
    copy_study(folder, "--interval", "anytime")
    return folder / ".activetest"


def write_section(study: Path, gates: list[str], files: list[str]) -> None:
    path = study / "study.toml"
    lines = f"\n[report]\nrequire = {json.dumps(gates)}\noutput = {json.dumps(files)}\n"
    path.write_text(path.read_text(encoding="utf-8") + lines, encoding="utf-8")


def test_one_command_decides_and_writes_everything(study, folder, capsys):
    # An undecided gate beside a failed one does not hide it.
    for code, gates in [
        (0, [GATES[0]]),
        (3, [GATES[0], GATES[3]]),
        (1, [GATES[0], GATES[3], GATES[1]]),
    ]:
        words = [word for gate in gates for word in ("--require", gate)]
        assert main(["report", *words, *WORDS]) == code
        capsys.readouterr()
        written = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        verdicts = [gate["verdict"] for gate in written["gates"]]
        assert VERDICTS[code] in verdicts
        tests = ElementTree.parse(folder / "junit.xml").getroot()
        assert int(tests.get("failures", "")) == len(gates) - verdicts.count("pass")
        summary = (folder / "summary.md").read_text(encoding="utf-8")
        page = (folder / "report.html").read_text(encoding="utf-8")
        for gate, verdict in zip(written["gates"], verdicts, strict=True):
            assert verdict.upper() in summary
            assert gate["requirement"].replace("<", "&lt;") in page
        # All of them are of the same numbers.
        (headline,) = [row for row in written["estimates"] if row["headline"]]
        shown = f"{headline['estimate'] * 100:.1f} %"
        assert shown in summary and shown in page


def test_the_study_says_the_gate_and_a_mistake_is_no_verdict(study, folder, capsys):
    write_section(study, [GATES[0]], FILES)
    assert main(["report"]) == 0
    assert all((folder / name).exists() for name in FILES)
    # A gate of another release takes its place.
    assert main(["report", "--require", GATES[1]]) == 1
    path = study / "study.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(GATES[0], "error<"), encoding="utf-8")
    before = (folder / "report.json").read_bytes()
    assert main(["report"]) == 2
    assert (folder / "report.json").read_bytes() == before
    assert "[report]" in capsys.readouterr().err


def read_workflows() -> dict[str, dict]:
    """{server: workflow} of the page about pipelines."""
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed: pip install '.[test]'")
    text = pages.read_page("pipelines")
    found = {}
    for server in ("GitHub", "GitLab"):
        part = text.split(f"\n## {server}\n")[1].split("\n## ")[0]
        lines = re.findall(r"^(?: {4}.*)?$", part, re.MULTILINE)
        found[server] = yaml.safe_load("\n".join(line[4:] for line in lines))
    return found


def test_the_workflow_for_github_shows_the_report_and_keeps_it(study, folder, capsys):
    write_section(study, [GATES[3]], [])
    workflow = read_workflows()["GitHub"]
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {"contents": "read"}
    for step in job["steps"]:
        if action := step.get("uses"):
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action)
    (gate,) = [step for step in job["steps"] if "activetest report" in step.get("run", "")]
    words = shlex.split(gate["run"])
    # The pipeline has the study alone, and neither pool nor cache.
    (folder / "digits.parquet").unlink()
    shutil.rmtree(study / "cache")
    assert main(words[1:]) == 3
    (show,) = [step for step in job["steps"] if "GITHUB_STEP_SUMMARY" in step.get("run", "")]
    environment = {"GITHUB_STEP_SUMMARY": "shown.md", "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-c", show["run"]], cwd=folder, env=environment, check=True)
    assert "UNDECIDED" in (folder / "shown.md").read_text(encoding="utf-8")
    (keep,) = [step for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
    kept = keep["with"]["path"].split()
    assert "report.html" in kept and all((folder / name).exists() for name in kept)
    # An undecided gate stops the step; both steps after it run all the same.
    assert all("!cancelled()" in step["if"] for step in (show, keep))


def test_the_workflow_for_gitlab_keeps_the_page_and_the_tests(study, folder):
    write_section(study, [GATES[0]], [])
    (job,) = read_workflows()["GitLab"].values()
    (gate,) = [line for line in job["script"] if "activetest report" in line]
    assert main(shlex.split(gate)[1:]) == 0
    kept = [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]
    assert len(kept) == 2 and all((folder / name).exists() for name in kept)
    assert job["artifacts"]["when"] == "always"
