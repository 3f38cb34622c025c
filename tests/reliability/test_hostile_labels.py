"""Whatever stands in a label file: it is taken whole or refused whole, and nothing else happens."""

import csv
import io
import json
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.nouns.log import LABELLED
from tests import exports, makers
from tests.reliability.audit import watching
from tests.reliability.hostile_labels import make_file
from tests.reliability.programs import STUDY, run_here, take_snapshot

IDS = [f"item-{row}" for row in range(90)]
# Values of labels in each kind of pool.
POOLS = {
    "closed classes": ["cat", "dog", "owl"],
    "open classes": ["cat", "dog", "owl"],
    "values": ["0.5", "3", "-2e3", "7.25"],
}
# Characters that a terminal obeys.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def make_study(folder: Path, kind: str) -> Path:
    """A folder with a study of this kind of pool; ten labels are known."""
    folder.mkdir()
    chance = random.Random(1)
    if kind == "closed classes":
        makers.write_pool(folder / "pool.parquet", len(IDS))
    else:
        pred = {"id": IDS, "pred": [chance.choice(POOLS[kind]) for _ in IDS]}
        if kind == "values":
            pred["pred"] = [float(value) for value in pred["pred"]]
        pq.write_table(pa.table(pred), folder / "pool.parquet")
    assert run_here(folder, "init", "pool.parquet", "--seed", "1") == 0
    lines = [f"{id},{POOLS[kind][0]}" for id in IDS[:10]]
    (folder / "first.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    # Twice: whatever is imported late is imported now.
    assert run_here(folder, "ingest", "first.csv") == 0
    assert run_here(folder, "ingest", "first.csv") == 0
    (folder / "first.csv").write_text("id,label\nnobody,cat\n")
    assert run_here(folder, "ingest", "first.csv") == 2
    for name in exports.FORMATS:
        (folder / name).write_bytes(exports.write(name, [("item-1", POOLS[kind][0])]))
        assert run_here(folder, "ingest", name) == 0
        (folder / name).unlink()
    return folder


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def read_rows(content: bytes) -> list[tuple[str, str]]:
    """(id, label) of every row of an accepted file that has a label, by a reader of its own."""
    if content.startswith(b"PAR1"):
        table = pq.read_table(io.BytesIO(content)).to_pylist()
        return [(row["id"], row["label"]) for row in table]
    if content.startswith((b'{"id"', b'[{"id"')):
        lines = content.decode().removeprefix("[").removesuffix("]").replace("}, {", "}\n{")
        lines = map(json.loads, lines.splitlines())
        return [(row["id"], row["label"]) for row in lines]
    csv.field_size_limit(sys.maxsize)
    text = content.decode("utf-8-sig")
    header = next(filter(str.strip, io.StringIO(text, newline=None)))
    reader = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=";" if "," not in header else ","
    )
    rows = [{name.strip(): value for name, value in row.items()} for row in reader]
    return [(row["id"], row["label"].strip()) for row in rows if row["label"].strip()]


def check_file(folder: Path, kind: str, seed: int, capsys) -> str:
    """Ingest the file of this number, and check all that holds; what was hostile about it."""
    made = make_file(seed, IDS, POOLS[kind])
    path = folder / made.name
    path.write_bytes(made.content)
    before, files = take_snapshot(folder)[0], list_files(folder)
    ledger = (folder / STUDY / "ledger.db").read_bytes()
    capsys.readouterr()
    with watching(folder / STUDY) as events:
        code = run_here(folder, "ingest", made.name)
    out, err = capsys.readouterr()
    after = take_snapshot(folder)[0]
    assert events == []
    assert list_files(folder) == files
    assert path.read_bytes() == made.content
    assert not CONTROLS.search(out + err)
    assert code in (0, 2)
    if code == 2:
        assert (folder / STUDY / "ledger.db").read_bytes() == ledger
        assert err.startswith("error: ") and made.answers is None, err
    else:
        known = {(answer.id, answer.label) for answer in after.answers if answer.status == LABELLED}
        if kind != "values" and made.kind != "export":
            assert set(read_rows(made.content)) <= known
        assert set(before.answers) <= set(after.answers)
        # Statements of a file about its own annotator are all there is about it.
        if made.answers is not None:
            assert made.answers == {
                answer.id: answer.label if kind != "values" else made.answers[answer.id]
                for answer in after.answers
                if answer.annotator == made.annotator
            }
    path.unlink()
    return made.kind


@pytest.mark.parametrize("kind", POOLS)
def test_hostile_label_files_are_taken_whole_or_refused_whole(
    tmp_path, kind, capsys, count_trials, monkeypatch
):
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    folder = make_study(tmp_path / "study", kind)
    for seed in range(20):
        check_file(folder, kind, seed, capsys)
        count_trials("hostile label files")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("kind", POOLS)
def test_thousands_of_hostile_label_files_are_taken_whole_or_refused_whole(
    tmp_path, kind, part, capsys, count_trials, monkeypatch
):
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    folder = make_study(tmp_path / "study", kind)
    kinds = set()
    for seed in range(1000 + 220 * part, 1000 + 220 * (part + 1)):
        kinds.add(check_file(folder, kind, seed, capsys))
        count_trials("hostile label files")
    assert len(kinds) == 10


def test_what_is_watched_is_seen(tmp_path):
    """The search above finds pickles, executed texts, programs and files elsewhere."""
    (tmp_path / "study").mkdir()
    with watching(tmp_path / "study") as events:
        (tmp_path / "study" / "mine").write_text("")
        pickle.loads(pickle.dumps(list_files))
        eval("1 + 1")
        (tmp_path / "elsewhere").write_text("")
        (tmp_path / "study" / "mine").rename(tmp_path / "moved")
        subprocess.run([sys.executable, "-c", ""], check=True)
    heads = [event.split()[0] for event in events if "os.posix_spawn" not in event]
    assert heads[:2] == ["pickle.find_class", "a"]
    assert "is written" in events[2] and "os.rename" in events[3]
    assert any(event.startswith("subprocess.Popen") for event in events[4:])
