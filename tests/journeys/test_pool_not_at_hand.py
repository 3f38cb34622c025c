"""The study alone is copied to another machine: it reports there, and draws nothing."""

import json
import shutil
from pathlib import Path

from activetest.cli.app import main
from tests.journeys.people import begin_study, label_batch

GATE = ["--require", "error<=0.2", "--require", "error@ink=much<=0.5"]
NOTE = "The pool is not at hand"


def read_report(folder: Path) -> tuple[int, dict, list[str]]:
    """Exit code, the document without the note, and the note."""
    code = main(["report", *GATE, "-o", "report.json", "-o", "junit.xml", "-o", "report.html"])
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    document.pop("details")
    absent = [note for note in document["notes"] if note.startswith(NOTE)]
    document["notes"] = [note for note in document["notes"] if note not in absent]
    return code, document, absent


def test_the_study_alone_reports_on_another_machine(folder, monkeypatch, capsys):
    home, away = folder / "home", folder / "away"
    for place in (home, away):
        place.mkdir()
    monkeypatch.chdir(home)
    begin_study(home)
    label_batch(home, 40)
    code, at_home, absent = read_report(home)
    assert not absent

    shutil.copytree(home / ".activetest", away / ".activetest")
    shutil.rmtree(away / ".activetest" / "cache")
    (away / "digits.parquet").unlink(missing_ok=True)
    monkeypatch.chdir(away)
    capsys.readouterr()
    same, elsewhere, absent = read_report(away)
    assert same == code
    assert json.dumps(elsewhere) == json.dumps(at_home)
    assert len(absent) == 1
    assert (home / "junit.xml").read_bytes() == (away / "junit.xml").read_bytes()
    page = (away / "report.html").read_text(encoding="utf-8")
    assert NOTE in page
    assert not (away / ".activetest" / "cache").exists()

    # Commands that need the pool say so, and how to go on; nothing is recorded.
    ledger = (away / ".activetest" / "ledger.db").read_bytes()
    for words in (["next"], ["ingest", "report.json"], ["export", "--curve", "reliability"]):
        capsys.readouterr()
        assert main(words) == 2
        said = capsys.readouterr().err
        assert "pool of this study is missing" in said and "activetest init NEWPATH" in said
    assert (away / ".activetest" / "ledger.db").read_bytes() == ledger

    # Damage of the summary is noticed, and never reported from.
    summary = away / ".activetest" / "pool.summary"
    data = bytearray(summary.read_bytes())
    data[len(data) // 2] ^= 4
    summary.write_bytes(data)
    assert main(["verify"]) != 0
    assert "summary    damaged" in capsys.readouterr().out
    assert main(["report"]) == 2

    # The pool comes back, with the file that the study wrote at home.
    shutil.copy(home / ".activetest" / "pool.summary", summary)
    shutil.copy(home / "digits.parquet", away)
    label_batch(away, 5)
    assert main(["verify"]) == 0
