"""Whatever happens to the files of a cache, verbs answer as with an undamaged one, or refuse.

Files are damaged at random: bits flip, blocks are zeroed or exchanged, ends are cut off, files
disappear. Then the verbs run and are compared with what they say without damage.
"""

import json
import shutil
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache.cache import Cache
from activetest.cache.store import MANIFEST
from activetest.cli.app import main
from activetest.errors import ActivetestError, CacheDamaged, CacheRebuilt, PoolError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import change_array

ROWS = 700
CLASSES = ("cat", "dog", "owl")


def make_pool(path: Path) -> dict[str, str]:
    """A pool with features, a group and other models' outputs; its answer key."""
    rng = np.random.default_rng(3)
    columns = {"id": [f"item number {row}" for row in range(ROWS)]}
    for prefix in ("prob_", "surrogate_prob_one_"):
        probs = rng.dirichlet([1, 1, 1], ROWS)
        columns |= {f"{prefix}{name}": probs[:, code] for code, name in enumerate(CLASSES)}
    columns |= {f"x{number}": rng.normal(size=ROWS) for number in range(5)}
    columns["place"] = rng.choice(["barn", "tree"], ROWS)
    pq.write_table(pa.table(columns), path)
    return dict(zip(columns["id"], rng.choice(CLASSES, ROWS).tolist(), strict=True))


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Path:
    """A folder with a study whose two rounds used every part of the cache, and answers to come."""
    folder = tmp_path_factory.mktemp("scene")
    key = make_pool(folder / "pool.parquet")
    study = Study.create(
        folder / "pool.parquet", folder / "study", groups="place", surrogate="linear", seed=1
    )
    study.ingest({id: key[id] for id in study.next(20).ids})
    study.change(surrogate="external")
    study.ingest({id: key[id] for id in study.next(10).ids})
    study.change(surrogate="linear")
    pending = study.next(10).ids
    unseen = [id for id in key if id not in pending][:5]
    answers = {id: key[id] for id in [*pending, *unseen]}
    (folder / "answers.json").write_text(json.dumps(answers))
    shutil.copytree(folder / "study", folder / "whole")
    return folder


def restore(scene: Path) -> Study:
    """The study as it was before all damage."""
    shutil.rmtree(scene / "study")
    shutil.copytree(scene / "whole", scene / "study", copy_function=shutil.copy2)
    return Study.open(scene / "study")


def run_verbs(study: Study, answers: dict[str, str], damage: Callable[[], None]) -> list[str]:
    """The results of every verb; the cache is damaged before each."""
    verbs: list[Callable[[], str]] = [
        lambda: study.report(metrics=["error", "f1"], groups="place").to_json(),
        lambda: str(study.ingest(answers)),
        lambda: study.next(15, new=True, show="x1").to_jsonl(),
        lambda: study.report().to_json(),
        lambda: str(study.change(groups=["place", "predicted"], dry_run=True)),
    ]
    said = []
    for verb in verbs:
        damage()
        try:
            said.append(verb())
        except ActivetestError as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


def damage_cache(cache: Path, rng: np.random.Generator) -> None:
    """Damage one file of a cache, if there is any; most of them hold an array."""
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    if not files:
        return
    path = files[rng.integers(len(files))]
    content = bytearray(path.read_bytes())
    place, length = (int(rng.integers(max(len(content), 1))) for _ in range(2))
    kind = rng.choice(["flip", "zero", "noise", "cut", "swap", "grow", "remove"])
    if kind == "remove":
        path.unlink()
        return
    if kind == "flip" and content:
        for bit in rng.integers(8 * len(content), size=rng.integers(1, 4)).tolist():
            content[bit // 8] ^= 1 << bit % 8
    elif kind == "zero":
        content[place : place + length] = bytes(len(content[place : place + length]))
    elif kind == "noise":
        content[place : place + length] = rng.bytes(len(content[place : place + length]))
    elif kind == "cut":
        del content[place:]
    elif kind == "swap":
        half = len(content) // 2
        content = content[half:] + content[:half]
    else:
        content += rng.bytes(100)
    path.write_bytes(content)


def play_trials(scene: Path, seeds: range) -> int:
    """Play trials, one with each seed; how many of them rebuilt a cache."""
    answers = json.loads((scene / "answers.json").read_text())
    expected = run_verbs(restore(scene), answers, lambda: None)
    rebuilt = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 13])
        study = restore(scene)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = run_verbs(study, answers, lambda: damage_cache(study.folder / "cache", rng))  # noqa: B023
        assert found == expected, f"seed {seed}"
        assert all(each.category is CacheRebuilt for each in caught), f"seed {seed}"
        rebuilt += bool(caught)
    return rebuilt


def test_a_damaged_cache_changes_no_answer(scene, count_trials):
    assert play_trials(scene, range(4)) >= 2
    count_trials("damaged caches, five verbs each", 4)


@pytest.mark.slow
def test_hundreds_of_damaged_caches_change_no_answer(scene, count_trials):
    assert play_trials(scene, range(4, 404)) >= 200
    count_trials("damaged caches, five verbs each", 400)


# (part, array).
ARRAYS = [
    *[("", name) for name in ("hashes", "id_letters", "id_ends", "codes", "id_order")],
    *[("", n) for n in ("pred", "design", "probs", "right", "wrong", "spread")],
    ("features", "features"),
    ("external", "external"),
]


def test_a_change_in_any_array_is_found_by_whatever_reads_it(scene):
    cache = scene / "whole" / "cache"
    names = {
        (part, name)
        for part in ("", "features", "external")
        for name in json.loads((cache / part / MANIFEST).read_text())["arrays"]
    }
    assert {"/".join(each) for each in names - set(ARRAYS)} == {
        *("/centre", "/scale", "features/centre", "features/inverse"),
        *(f"/feature_{name}" for name in ("centre", "fill", "weights", "offset")),
    }
    for part, name in ARRAYS:
        restore(scene)
        change_array(scene / "study" / "cache" / part, name)
        cache = Cache(scene / "study" / "cache", ("features", "external"))
        with pytest.raises(CacheDamaged, match=rf"\({name}.npy, piece 0\)"):
            _ = cache.hashes, cache.find(cache.ids(range(ROWS)))
            rows = cache.rows(0, ROWS)
            for each in (rows, rows.outputs):
                _ = [getattr(each, column.name) for column in fields(each)]


def test_no_item_is_found_that_has_another_id(scene):
    """Also where an index without checksums would lead to another item."""
    restore(scene)
    cache = Cache(scene / "study" / "cache")
    whole = cache.find([f"item number {row}" for row in range(ROWS)])
    assert whole.tolist() == list(range(ROWS))
    assert (cache.find(["item number 700", "", "item number"]) == -1).all()


def test_the_command_line_tells_the_user_and_answers_as_ever(scene, capsys):
    folder = restore(scene).folder
    assert main(["report", "--format", "json", "--study", str(folder)]) == 0
    expected = capsys.readouterr()
    change_array(scene / "study" / "cache", "design")
    assert main(["report", "--format", "json", "--study", str(folder)]) == 0
    found = capsys.readouterr()
    assert found.out == expected.out and not expected.err
    assert found.err.startswith("note: the cache ") and "(design.npy, piece 0)" in found.err
    assert main(["report", "--format", "json", "--study", str(folder)]) == 0
    assert capsys.readouterr() == expected


def test_a_thread_that_finds_damage_builds_the_cache_again(scene):
    """As threads that go through a pool of several pieces do."""
    restore(scene)
    study = StoredStudy.open(scene / "study")
    cache = study.cache()
    change_array(scene / "study" / "cache", "design")
    with (
        pytest.warns(CacheRebuilt, match=r"\(design.npy, piece 0\)"),
        ThreadPoolExecutor(1) as threads,
    ):
        found = threads.submit(lambda: np.array(cache.rows(0, ROWS).design)).result()
    expected = Cache(scene / "whole" / "cache").rows(0, ROWS).design
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_recorded_from_a_damaged_cache_that_cannot_be_built_again(scene):
    study = restore(scene)
    before = study.status()
    change_array(scene / "study" / "cache", "design")
    pool = scene / "pool.parquet"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pool.rename(scene / "elsewhere")
        try:
            with pytest.raises(PoolError, match="no file or folder"):
                study.next(5, new=True)
        finally:
            (scene / "elsewhere").rename(pool)
        assert study.status() == before
    with pytest.warns(CacheRebuilt):
        assert len(study.next(5, new=True)) == 5


def test_a_manifest_that_was_edited_is_not_believed(scene):
    restore(scene)
    path = scene / "study" / "cache" / MANIFEST
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "rows": content["rows"] - 1}))
    with pytest.raises(CacheDamaged, match=MANIFEST):
        Cache(scene / "study" / "cache")
    with pytest.warns(CacheRebuilt):
        Study.open(scene / "study").report()
    assert json.loads(path.read_text()) == content


def test_a_cache_of_an_earlier_version_is_built_again_without_a_word(scene):
    study = restore(scene)
    expected = study.report().to_json()
    path = scene / "study" / "cache" / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 1}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert study.report().to_json() == expected
