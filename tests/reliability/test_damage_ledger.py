"""A ledger that is damaged gives the numbers it gave, or says that it is damaged and where."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import activetest as at
from activetest.errors import StudyError
from tests import makers

BASE = 20261  # of the seeds of the trials
LABELS = ("cat", "dog", "owl")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> at.Study:
    """Six rounds, labels of two annotators, of items that were never drawn, replaced, undone."""
    folder = tmp_path_factory.mktemp("whole")
    makers.write_pool(folder / "pool.parquet", 120)
    study = at.Study.create(folder / "pool.parquet", folder / "study", seed=1, groups="place")
    rng = np.random.default_rng(0)

    def answer(ids, **more):
        rows = [{"id": id, "label": str(rng.choice(LABELS)), **more} for id in ids]
        study.ingest(rows, replace=True)

    for _ in range(6):
        ids = study.next(4).ids
        answer(ids)
        answer(ids[:2], annotator="ann")
    answer(ids[:3])
    drawn = {row.id for row in study.export()}
    others = [f"item-{row}" for row in range(120) if f"item-{row}" not in drawn]
    answer(others[:1])
    study.ingest([{"id": others[1], "label": "", "status": "declined"}])
    answer(ids[:1])
    study.undo()
    study.next(3)
    return study


def tell(study: at.Study) -> dict[str, object]:
    """Results of each verb on a study: its numbers, or the error that it raises."""

    def ingest() -> str:
        return str(study.ingest({"item-7": "cat", "item-11": "dog"}, replace=True, dry_run=True))

    verbs = {
        "status": lambda: str(study.status()),
        "report": lambda: json.loads(study.report(require="error<=0.5").to_json()),
        "export": lambda: study.export().to_csv(),
        "ingest": ingest,
        "pending": lambda: study.next().rows,
        "next": lambda: study.next(3, new=True).rows,
    }
    return {name: attempt(verb) for name, verb in verbs.items()}


def attempt(verb) -> object:
    """The result of a verb, or the StudyError that it raises. No other error is let through."""
    try:
        return verb()
    except StudyError as error:
        assert error.hint
        return error


def harm(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with a bit flipped, a stretch of zeros, or the end cut off."""
    damaged, place = bytearray(content), int(rng.integers(len(content)))
    kind = rng.choice(["flip", "flip", "zeros", "cut"])
    if kind == "flip":
        damaged[place] ^= 1 << int(rng.integers(8))
    elif kind == "zeros":
        length = int(rng.choice([1, 16, 512, 4096]))
        damaged[place : place + length] = bytes(len(damaged[place : place + length]))
    else:
        del damaged[place:]
    return bytes(damaged)


def open_copy(whole: at.Study, folder: Path, content: bytes) -> at.Study:
    """The study with another content of its ledger."""
    for file in folder.glob("ledger.db*"):
        file.unlink()
    (folder / "ledger.db").write_bytes(content)
    return at.Study.open(folder, damaged=True)


@pytest.mark.parametrize(
    "trials", [range(16), pytest.param(range(16, 1016), marks=pytest.mark.slow)], ids=str
)
def test_no_damage_gives_other_numbers_or_a_traceback(whole, tmp_path, trials, count_trials):
    content = (whole.folder / "ledger.db").read_bytes()
    # The pool is looked for beside the study.
    shutil.copytree(whole.folder.parent, tmp_path / "copy")
    folder = tmp_path / "copy" / "study"
    expected = tell(open_copy(whole, folder, content))
    assert not any(isinstance(told, StudyError) for told in expected.values())
    refused = 0
    for trial in trials:
        damaged = harm(content, np.random.default_rng([BASE, trial]))
        study = open_copy(whole, folder, damaged)
        for name, told in tell(study).items():
            assert isinstance(told, StudyError) or told == expected[name], (trial, name)
            refused += isinstance(told, StudyError)
        study = open_copy(whole, folder, damaged)
        verified = study.verify()
        assert str(verified)
        if isinstance(attempt(study.status), StudyError):
            assert not verified.passed
        log = attempt(lambda: study.export(rescue=True))  # noqa: B023
        assert isinstance(log, StudyError) or log.to_csv()
    count_trials("damaged ledgers, all verbs each", len(trials))
    # Six verbs each; what is in no use is not met.
    assert refused > len(trials)
