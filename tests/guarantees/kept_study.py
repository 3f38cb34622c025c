"""A small study of each version that later ones open: `python -m tests.guarantees.kept_study`.

It writes the folder studies/VERSION for the version at hand, which is then never changed:

    pool.parquet    the pool
    key.json        {id: label} of every item
    study/          the study, without what can be built again
    expected.json   what was said of it: see describe_study
"""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import activetest as at
from tests.guarantees.recorded_numbers import (
    begin,
    decline,
    label_rounds,
    prune,
    read_report,
    supply,
    write_classes,
)

STUDIES = Path(__file__).with_name("studies")
STUDY, KEY, EXPECTED = "study", "key.json", "expected.json"
# In the folder of a study, what the next command builds again.
REBUILT = ("cache", "pool.summary")
GATES = ["error<=0.6", "recall[cat]@place=barn>=0.1"]


def write_kept_study(folder: Path) -> None:
    """Write all of it into a new folder."""
    folder.mkdir(parents=True)
    with contextlib.chdir(folder):
        key = write_classes(120, 71)
        Path(KEY).write_text(json.dumps(key, indent=0) + "\n", encoding="utf-8")
        make_study(key)
        for name in REBUILT:
            remove(Path(STUDY) / name)
    expected = describe_copy(folder)
    text = json.dumps(expected, indent=1) + "\n"
    (folder / EXPECTED).write_text(text, encoding="utf-8")


def make_study(key: dict[str, str]) -> None:
    """Looks and groups, labels of two people, declined, supplied and taken back, and gates."""
    settings = {"groups": ["place"], "metric": ["error", "recall[cat]"], "budget": 40, "looks": 2}
    study = begin(STUDY, seed=15, **settings)
    supply(study, key, 3)
    ids = study.next(12).ids
    study.ingest([{"id": name, "label": key[name], "annotator": "ann"} for name in ids])
    study.ingest([{"id": name, "label": "owl", "annotator": "bob"} for name in ids[:4]])
    decline(study, key, 9, declined=1)
    study.report(require=GATES)
    study.ingest([{"id": name, "label": "dog", "annotator": "bob"} for name in ids[4:7]])
    study.undo()
    supply(study, key, 2)
    label_rounds(study, key, 8)


def describe_copy(folder: Path) -> dict:
    """What is said of the study in a copy of such a folder, which goes on."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(folder, copy)
        with contextlib.chdir(copy):
            return describe_study(json.loads(Path(KEY).read_text(encoding="utf-8")))


def describe_study(key: dict[str, str]) -> dict:
    """The head of its chain and its numbers; the next draws; its numbers once these have labels."""
    study = at.Study.open(STUDY)
    checked = study.verify()
    assert checked.passed, str(checked)
    before = [
        read_report(study, require=GATES, details=True),
        read_report(study, metrics=["f1[macro]", "brier"], interval="anytime"),
        read_report(study, population=True, differences=["place"]),
    ]
    drawn = study.next(7, new=True)
    probs = {row.id: row.probability for row in study.export() if row.id in drawn.ids}
    study.ingest({name: key[name] for name in drawn.ids})
    found = {
        "head": checked.head,
        "draws": len(list(study.export())),
        "before": before,
        "next": drawn.ids,
        "probabilities": [probs[name] for name in drawn.ids],
        "after": [read_report(study, require=GATES)],
    }
    checked = study.verify(contains=checked.head)
    assert checked.passed, str(checked)
    texts = {name: found[name] for name in ("head", "next")}
    return prune(json.loads(json.dumps(found))) | texts


def remove(path: Path) -> None:
    """Remove a file or a folder, where it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    write_kept_study(STUDIES / at.__version__)
