"""Pools that are no Parquet: a study reads its own conversion, and notices every edit."""

import gc
import hashlib
import json
import os
import shutil
import time
import warnings
from pathlib import Path

import pytest

from activetest.cli.app import main
from activetest.errors import CacheRebuilt, PoolChanged, PoolError, StorageError
from activetest.pool import convert
from activetest.study import conversion
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from activetest.study.verify import verify
from activetest.system import atomic, locks
from tests.formats.logs import lm_eval_line, write_lines
from tests.makers import init

ROWS = "".join(f"{row:03d},0.{row + 10},{'ab'[row % 2]}\n" for row in range(40))
POOL = "id,score,place\n" + ROWS


@pytest.fixture
def pool(folder) -> Path:
    path = folder / "pool.csv"
    path.write_text(POOL)
    return path


@pytest.fixture
def conversions(monkeypatch) -> list[str]:
    """The sources that were converted."""
    found: list[str] = []
    to_parquet = convert.to_parquet

    def count(source, *rest, **more):
        found.append(Path(source).name)
        return to_parquet(source, *rest, **more)

    monkeypatch.setattr(convert, "to_parquet", count)
    return found


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def kept() -> Path:
    """The one conversion that the study has."""
    folder = StoredStudy.open().folder / "conversion"
    (path,) = folder.glob("*.parquet")
    assert parts(folder) == sorted([path.name, "source.json"])
    return path


def forget_cache() -> None:
    (StoredStudy.open().folder / "cache" / "manifest.json").unlink()


@pytest.mark.parametrize("name", ["pool.csv", "pool.tsv", "pool.jsonl"])
def test_a_conversion_is_inside_the_study_and_nothing_beside_the_pool(folder, name):
    lines = (line.split(",") for line in ROWS.splitlines())
    text = {
        ".csv": POOL,
        ".tsv": POOL.replace(",", "\t"),
        ".jsonl": "".join(f'{{"id": "{a}", "score": {b}}}\n' for a, b, _ in lines),
    }[Path(name).suffix]
    Path(name).write_text(text)
    Path("pool.csv.parquet").write_text("mine")
    tried = init(name, dry_run=True)
    assert parts(folder) == sorted([name, "pool.csv.parquet"])
    done = init(name, seed=1)
    assert done.uri == name and done.fingerprint == tried.fingerprint
    assert "copy of the file as Parquet" in " ".join(done.notices)
    assert parts(folder) == sorted([".activetest", name, "pool.csv.parquet"])
    assert Path("pool.csv.parquet").read_text() == "mine"
    study = StoredStudy.open()
    assert study.pool["uri"] == name and study.pool_name == name
    assert parts(study.folder) == ["cache", "conversion", "ledger.db", "pool.summary", "study.toml"]
    assert study.cache().ids([7]) == ["007"]
    assert kept().parent == study.folder / "conversion"


def test_a_conversion_is_on_the_disk_when_init_returns(pool, synced):
    init("pool.csv", seed=1)
    path = kept()
    assert all(map(synced, (path, path.with_name("source.json"), path.parent, path.parent.parent)))


def test_it_is_made_once_and_not_read_again_while_nobody_touches_the_pool(
    pool, conversions, monkeypatch
):
    init("pool.csv", seed=1)
    assert conversions == ["pool.csv"]
    monkeypatch.setattr(conversion, "hash_file", lambda path: pytest.fail(f"{path} was read"))
    for _ in range(3):
        next_batch(StoredStudy.open(), 2, new=True, show=("place",))
    init("pool.csv", floor=0.5)
    init(budget=5)
    assert conversions == ["pool.csv"]


def test_a_pool_that_was_only_touched_keeps_its_conversion(pool, conversions, monkeypatch):
    init("pool.csv", seed=1)
    before = kept().stat()
    os.utime(pool, (1, 1))
    next_batch(StoredStudy.open(), 2)
    os.utime(pool, (time.time() + 9e5,) * 2)
    next_batch(StoredStudy.open(), 2, new=True)
    assert conversions == ["pool.csv"]
    assert (kept().stat().st_ino, kept().stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    # The new time is remembered.
    monkeypatch.setattr(conversion, "hash_file", lambda path: pytest.fail(f"{path} was read"))
    next_batch(StoredStudy.open(), 2, new=True)


@pytest.mark.parametrize("same_time", [False, True])
def test_an_edit_of_an_output_is_noticed_by_every_verb(pool, same_time, capsys):
    """Also when it keeps the time of the file; its size differs then."""
    init("pool.csv", seed=1)
    before = pool.stat()
    pool.write_text(POOL.replace("0.10", "0.999" if same_time else "0.99"))
    if same_time:
        os.utime(pool, ns=(before.st_atime_ns, before.st_mtime_ns))
    for verb in (["next"], ["report"], ["init", "--floor", "1"], ["init", "pool.csv"]):
        assert main(verb) == 2
        assert "pool.csv is not the pool this study was made for" in capsys.readouterr().err
    assert StoredStudy.open().choices.floor == 0.35
    pool.write_text(POOL)
    assert main(["next"]) == 0 and kept()


def test_a_new_column_is_used_without_init(pool, conversions):
    init("pool.csv", seed=1)
    ids = next_batch(StoredStudy.open(), 3).ids
    wider = [f"{line},{place}" for place, line in enumerate(POOL.splitlines()[1:])]
    pool.write_text("\n".join([POOL.splitlines()[0] + ",text", *wider]))
    shown = next_batch(StoredStudy.open(), 3, show=("text",))
    assert shown.ids == ids and [row["text"] for row in shown.rows] == [int(id) for id in ids]
    assert conversions == ["pool.csv"] * 2 and kept()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.with_name("source.json").unlink(),
        lambda path: path.with_name("source.json").write_text("{"),
        lambda path: path.with_name("source.json").write_text('{"version": 9}'),
        lambda path: path.with_name("source.json").write_text("[" * 100_000),
        lambda path: [each.unlink() for each in (path, path.with_name("source.json"))],
    ],
)
def test_a_conversion_that_is_gone_or_damaged_is_made_again(pool, damage, conversions):
    init("pool.csv", seed=1)
    ids = next_batch(StoredStudy.open(), 3, show=("place",)).ids
    damage(kept())
    assert next_batch(StoredStudy.open(), 3, show=("place",)).ids == ids
    assert conversions == ["pool.csv"] * 2 and kept()


def test_a_flipped_bit_is_found_before_a_cache_is_built_from_it(pool, conversions):
    init("pool.csv", seed=1)
    before = StoredStudy.open().cache().rows(0, 40).outputs
    flip_bit(kept())
    forget_cache()
    after = StoredStudy.open().cache().rows(0, 40).outputs
    assert after.pred.tolist() == before.pred.tolist()
    assert conversions == ["pool.csv"] * 2


def flip_bit(path: Path) -> None:
    """Change a bit, and neither the size nor the time of the file."""
    state, content = path.stat(), bytearray(path.read_bytes())
    content[60] ^= 16
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """{path: content and time} of everything that is stored in the study."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("ledger.db-")
    }


def find_problems() -> dict[str, str]:
    """{part: what verify finds wrong with it}; verify changes nothing."""
    study = StoredStudy.open()
    before = snapshot(study.folder)
    found = verify(study.folder)
    assert snapshot(study.folder) == before
    assert found.passed == (not any(check.problems for check in found.checks))
    return {check.part: " ".join(check.problems) for check in found.checks if check.problems}


def test_verify_reads_the_pool_also_where_size_and_time_are_those_of_before(pool):
    init("pool.csv", seed=1)
    assert find_problems() == {}
    state = pool.stat()
    pool.write_text(POOL.replace("0.10", "0.11", 1))
    os.utime(pool, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert pool.stat().st_size == state.st_size
    assert list(find_problems()) == ["pool"]
    # Text that no output depends on may be edited.
    pool.write_text(POOL.replace("a\n", "c\n", 1))
    assert find_problems() == {}


@pytest.mark.parametrize("verb", [["next"], ["report"], ["init", "--floor", "1"]])
def test_a_damaged_conversion_is_reported_and_its_repair_announced(pool, verb, capsys):
    init("pool.csv", seed=1)
    assert main(["verify"]) == 0
    assert "conversion ok\n" in capsys.readouterr().out
    flip_bit(kept())
    assert list(find_problems()) == ["conversion"]
    assert main(["verify"]) == 2
    assert f"conversion damaged: {kept().name}; it is made again" in capsys.readouterr().out
    forget_cache()
    main(verb)
    assert "note: the conversion of the pool in" in capsys.readouterr().err
    assert find_problems() == {}
    main(verb)
    assert "damaged" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("harm", "damaged"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), True),
        (lambda path: path.with_name("source.json").write_text("{"), True),
        (lambda path: os.utime(path, (1, 1)), False),
        (lambda path: path.unlink(), False),
    ],
)
def test_only_damage_of_a_conversion_is_announced(pool, harm, damaged):
    init("pool.csv", seed=1)
    harm(kept())
    assert list(find_problems()) == ["conversion"] * damaged
    there = any((StoredStudy.open().folder / "conversion").glob("*.parquet"))
    assert there or "none: the next command makes it" in str(verify(StoredStudy.open().folder))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        StoredStudy.open().cache()
    assert [each.category for each in caught] == [CacheRebuilt] * damaged
    assert find_problems() == {} and kept()


def test_source_json_names_no_file_elsewhere(pool, conversions, folder):
    mine = folder / "mine.parquet"
    mine.write_text("mine")
    init("pool.csv", seed=1)
    stated = kept().with_name("source.json")
    written = json.loads(stated.read_text())
    content = hashlib.sha256(b"mine").hexdigest()
    named = ["../../mine.parquet", 4, mine.stat().st_mtime_ns, content]
    stated.write_text(json.dumps(written | {"converted": named}))
    next_batch(StoredStudy.open(), 3)
    assert mine.read_text() == "mine" and conversions == ["pool.csv"] * 2


@pytest.mark.skipif(os.name != "posix", reason="elsewhere links need a permission")
def test_a_folder_of_conversions_that_is_a_link_is_not_followed(pool, folder):
    init("pool.csv", seed=1)
    name, place = kept().name, StoredStudy.open().folder / "conversion"
    place.rename(folder / "elsewhere")
    place.symlink_to(folder / "elsewhere")
    with pytest.raises((StorageError, NotADirectoryError)):
        StoredStudy.open().cache()
    assert parts(folder / "elsewhere") == sorted([name, "source.json"])


def test_a_pool_that_is_gone_is_missing_as_any_other(pool, folder):
    init("pool.csv", seed=1)
    pool.rename("moved.csv")
    with pytest.raises(PoolError, match=r"the pool of this study is missing: .*pool\.csv"):
        next_batch(StoredStudy.open(), 3)
    init("moved.csv")
    assert StoredStudy.open().pool["uri"] == "moved.csv"
    assert next_batch(StoredStudy.open(), 3).round == 1


def test_a_pool_that_cannot_be_parsed_any_more_changes_nothing(pool):
    init("pool.csv", seed=1)
    before = kept().read_bytes()
    pool.write_text("id,score\n1\n")
    for attempt in (lambda: next_batch(StoredStudy.open(), 3), lambda: init("pool.csv", floor=1)):
        with pytest.raises(PoolError, match="cannot be read"):
            attempt()
    assert kept().read_bytes() == before and StoredStudy.open().choices.floor == 0.35


def test_another_pool_leaves_the_conversion_as_it_was(pool, conversions):
    init("pool.csv", seed=1)
    before = kept()
    Path("other.csv").write_text(POOL.replace("0.1", "0.2"))
    with pytest.raises(PoolChanged):
        init("other.csv", floor=1)
    assert kept() == before and parts(StoredStudy.open().folder) == [
        *("cache", "conversion", "ledger.db", "pool.summary", "study.toml")
    ]
    next_batch(StoredStudy.open(), 3)
    assert conversions == ["pool.csv", "other.csv"]


def test_another_column_of_ids_is_another_conversion(pool, conversions):
    pool.write_text(POOL.replace("id,", "key,"))
    init("pool.csv", seed=1)
    init(id="key")
    assert StoredStudy.open().cache().ids([7]) == ["007"] and kept()
    next_batch(StoredStudy.open(), 3)
    assert conversions == ["pool.csv"] * 2


def test_a_study_of_a_converted_file_goes_on_with_the_file_that_it_came_from(pool, conversions):
    convert.to_parquet("pool.csv", "pool.csv.parquet")
    init("pool.csv.parquet", seed=1)
    assert next_batch(StoredStudy.open(), 3).round == 1
    assert parts(StoredStudy.open().folder) == ["cache", "ledger.db", "pool.summary", "study.toml"]
    # Given again by its own name, it is the same pool.
    init("pool.csv")
    assert StoredStudy.open().pool["uri"] == "pool.csv" and kept()
    assert next_batch(StoredStudy.open(), 3).repeated


def test_a_pool_that_changes_while_it_is_read_is_refused(pool, monkeypatch):
    to_parquet = convert.to_parquet

    def write_meanwhile(source, *rest, **more):
        to_parquet(source, *rest, **more)
        with pool.open("a") as file:
            file.write(f"more-{time.time_ns()},0.5,a\n")

    monkeypatch.setattr(convert, "to_parquet", write_meanwhile)
    with pytest.raises(PoolError, match=r"pool\.csv changes while it is read"):
        init("pool.csv", seed=1)
    assert not Path(".activetest").exists()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere open files are not removed at all")
def test_a_conversion_that_a_process_reads_is_not_removed(pool):
    init("pool.csv", seed=1)
    first = kept()
    reader = StoredStudy.open()
    opened = reader.open_pool()
    pool.write_text(POOL.replace("place", "area"))
    StoredStudy.open().cache()
    assert first.exists() and len(opened.show([0], ("place",))["place"]) == 1
    del reader, opened
    gc.collect()
    pool.write_text(POOL)
    StoredStudy.open().cache()
    assert kept() == first


def test_a_conversion_that_goes_before_it_is_held_is_made_again(pool, conversions, monkeypatch):
    init("pool.csv", seed=1)
    hold, seen = locks.hold_file, []

    def be_late(owner, path):
        seen.append(path)
        if len(seen) == 1:
            path.unlink()
        return hold(owner, path)

    monkeypatch.setattr(locks, "hold_file", be_late)
    assert next_batch(StoredStudy.open(), 3, show=("place",)).round == 1
    assert len(seen) >= 2 and conversions == ["pool.csv"] * 2


def test_files_of_training_rows_and_keys_leave_nothing_beside_them(folder, pool, tmp_path_factory):
    Path("train.csv").write_text("score,place,x,label\n" + "0.5,a,1,0\n0.5,a,2,1\n" * 5)
    pool.write_text("id,score,x\n" + "".join(f"{row},0.{row + 10},{row}\n" for row in range(40)))
    key = "id,label\n" + "".join(f"{row},{row % 2}\n" for row in range(40))
    Path("key.csv").write_text(key)
    init("pool.csv", seed=1, train="train.csv", surrogate="linear")
    words = ["simulate", "pool.csv", "--labels", "key.csv", "--budget", "5", "--runs", "2"]
    assert main([*words, "--workers", "1", "--estimator", "iid"]) == 0
    assert parts(folder) == [".activetest", "key.csv", "pool.csv", "train.csv"]


def test_what_is_written_is_on_the_disk(pool, monkeypatch):
    synced = []
    sync = atomic.sync_folder
    monkeypatch.setattr(atomic, "sync_folder", lambda at: (synced.append(Path(at).name), sync(at)))
    init("pool.csv", seed=1)
    assert "conversion" in synced
    synced.clear()
    pool.write_text(POOL.replace("place", "area"))
    next_batch(StoredStudy.open(), 3)
    assert synced.index("conversion") < synced.index(".activetest")


def test_a_study_of_lines_that_were_no_log_yet_goes_on_without_its_conversion(folder, monkeypatch):
    """As those made before there were readers of logs."""
    lines = [lm_eval_line(number) | {"acc": float(number % 3 > 0)} for number in range(12)]
    path = write_lines(folder / "samples.jsonl", lines)
    with monkeypatch.context() as before:
        before.setattr(convert, "list_formats", lambda head: iter(["json-lines"]))
        init(str(path), id="doc_id", outputs=["acc"], task="classification")
    study = StoredStudy.open()
    next_batch(study, 3)
    for part in ("conversion", "cache"):
        shutil.rmtree(study.folder / part)
    assert len(next_batch(StoredStudy.open(), 3, new=True, show=["target"]).rows) == 3
    shutil.rmtree(study.folder / "conversion")
    assert verify(study.folder).passed
