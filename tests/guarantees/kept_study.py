"""A small study of each version that later ones open: `python -m tests.guarantees.kept_study`.

It writes the folders studies/VERSION/classes and /values for the version at hand, which are then
never changed:

    pool.parquet    the pool
    key.json        {id: label} of every item
    study/          the study, without what can be built again
    expected.json   what was said of it: see describe_study

Beside those of 0.8.0 stands what its surrogate `auto` kept of evidence: see test_evidence.py.
"""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import activetest as at
from tests.guarantees.recorded_numbers import (
    begin,
    decline,
    label_rounds,
    prune,
    read_report,
    supply,
    write_classes,
    write_values,
)

STUDIES = Path(__file__).with_name("studies")
STUDY, KEY, EXPECTED = "study", "key.json", "expected.json"
# In the folder of a study, what the next command builds again.
REBUILT = ("cache", "pool.summary")
GATES = {"classes": ["error<=0.6", "recall[cat]@place=barn>=0.1"], "values": ["mae<=3"]}


def write_kept_study(folder: Path, kind: str) -> None:
    """Write all of it into a new folder; the kind is one of GATES."""
    folder.mkdir(parents=True)
    with contextlib.chdir(folder):
        key = MAKERS[kind]()
        Path(KEY).write_text(json.dumps(key, indent=0) + "\n", encoding="utf-8")
        for name in REBUILT:
            remove(Path(STUDY) / name)
    expected = describe_copy(folder)
    text = json.dumps(expected, indent=1) + "\n"
    (folder / EXPECTED).write_text(text, encoding="utf-8")


def make_classes() -> dict:
    """Looks and groups, labels of two people, declined, supplied and taken back, and gates."""
    key = write_classes(120, 71)
    settings = {"groups": ["place"], "metric": ["error", "recall[cat]"], "budget": 40, "looks": 2}
    study = begin(STUDY, seed=15, **settings)
    supply(study, key, 3)
    ids = study.next(12).ids
    study.ingest([{"id": name, "label": key[name], "annotator": "ann"} for name in ids])
    study.ingest([{"id": name, "label": "owl", "annotator": "bob"} for name in ids[:4]])
    decline(study, key, 9, declined=1)
    study.report(require=GATES["classes"])
    study.ingest([{"id": name, "label": "dog", "annotator": "bob"} for name in ids[4:7]])
    study.undo()
    supply(study, key, 2)
    label_rounds(study, key, 8)
    return key


def make_values() -> dict:
    """Numbers, features, and a surrogate whose parameters are a file of their own.

    It learns by our own code: one of another library would follow that library's versions.
    """
    key = write_values(90, 72)
    rng, table = np.random.default_rng(73), pq.read_table("pool.parquet")
    for name in ("height", "width"):
        table = table.append_column(name, pa.array(rng.normal(size=90)))
    pq.write_table(table, "pool.parquet")
    settings = {"metric": ["mae", "rmse"], "groups": ["place"], "features": ["height", "width"]}
    settings |= {"budget": 36, "looks": 3}
    study = begin(STUDY, seed=16, surrogate="auto", **settings)
    label_rounds(study, key, 14, 10)
    return key


MAKERS: dict[str, Callable[[], dict]] = {"classes": make_classes, "values": make_values}


def describe_copy(folder: Path) -> dict:
    """The description of the study in a copy of such a folder, which goes on."""
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
    kind = "classes" if isinstance(next(iter(key.values())), str) else "values"
    others = {"classes": ["f1[macro]", "brier"], "values": ["bias", "mse"]}[kind]
    gates, interval = GATES[kind], "anytime" if kind == "classes" else "fixed"
    before = [
        read_report(study, require=gates, details=True),
        read_report(study, metrics=others, interval=interval),
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
        "after": [read_report(study, require=gates)],
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
    for each in MAKERS:
        write_kept_study(STUDIES / at.__version__ / each, each)
