"""Files beside a pool that are lost or edited: what rounds recorded never depends on them."""

import shutil
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolChanged, PoolError
from activetest.nouns.report import Weight
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from tests.makers import init

ROWS = 40
TRAIN, JUDGES = "rows/train.parquet", "rows/judges.parquet"
# No round recorded what it needs.
UNRECORDED = ("f1[dog]",)


@pytest.fixture
def scene(folder, write_pool):
    """A pool, and beside it training rows and what two models say."""
    (folder / "rows").mkdir()
    write_pool(folder / "pool.parquet", ROWS)
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.standard_normal(30) for k in (1, 2)}
    columns |= {"label": rng.choice(["cat", "dog", "owl"], 30)}
    pq.write_table(pa.table(columns), folder / TRAIN)
    write_judges()
    return folder


def write_judges(seed: int = 0, path: str = JUDGES) -> None:
    probs = np.random.default_rng(seed).dirichlet([1, 1, 1], (2, ROWS))
    columns = {"id": [f"item-{row}" for row in range(ROWS)]}
    columns |= {f"surrogate_prob_{k}": list(probs[k]) for k in (0, 1)}
    pq.write_table(pa.table(columns), path)


def start(**settings):
    return init("pool.parquet", seed=1, **settings)


@pytest.fixture
def answered(scene, label_file):
    """answered(**settings) starts a study, or goes on with it, by a round of six answers."""

    def go_on(**settings) -> None:
        if settings:
            start(**settings)
        rows = next_batch(StoredStudy.open(), 6).rows
        kinds = ("cat", "dog", "owl")
        ingest(
            StoredStudy.open(),
            label_file(*(f"{row['id']},{kinds[k % 3]}" for k, row in enumerate(rows))),
        )

    return go_on


def forget_cache() -> None:
    shutil.rmtree(".activetest/cache")


def estimate(**settings) -> float:
    """The headline."""
    return report(StoredStudy.open(), **settings).estimates[0].estimate


def notes() -> str:
    return "\n".join(map(str, report(StoredStudy.open()).notes))


def test_what_is_wrong_with_a_number_stands_before_files_that_are_gone(scene, label_file):
    start(surrogate="forest", train=TRAIN)
    rows = next_batch(StoredStudy.open(), 6).rows
    ingest(StoredStudy.open(), label_file(*(f"{row['id']},cat" for row in rows[:2])))
    (scene / TRAIN).unlink()
    heaviest = [
        note.text for note in report(StoredStudy.open()).notes if note.weight == Weight.INVALID
    ]
    assert heaviest[0].startswith("4 of the 6 items of round 1 have no label yet")
    assert heaviest[-1].startswith(TRAIN)


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        (TRAIN, {"surrogate": "forest", "train": TRAIN}),
        (JUDGES, {"surrogate": "external", "other_models": JUDGES}),
        (JUDGES, {"surrogate": "stack", "other_models": JUDGES}),
    ],
)
def test_a_file_that_is_gone_is_not_missed_while_its_copy_is_there(scene, answered, file, settings):
    answered(**settings)
    before = report(StoredStudy.open())
    unrecorded = report(StoredStudy.open(), metrics=UNRECORDED).estimates
    (scene / file).unlink()
    after = report(StoredStudy.open())
    assert after.estimates == before.estimates
    assert f"{file} cannot be opened any more: the copy" in "\n".join(map(str, after.notes))
    assert report(StoredStudy.open(), metrics=UNRECORDED).estimates == unrecorded
    start(floor=0.5)
    answered()
    assert report(StoredStudy.open()).counts.labeled == 12
    # Another name is no copy of this one.
    key = next(key for key in ("train", "other_models") if key in settings)
    with pytest.raises(PoolError, match="there is no file or folder rows/none.parquet"):
        start(**{key: "rows/none.parquet"})


def test_without_training_rows_and_copy_it_says_how_to_go_on_and_one_can(scene, answered):
    answered(surrogate="forest", train=TRAIN)
    unrecorded = estimate(metrics=UNRECORDED)
    (scene / TRAIN).rename(scene / "moved.parquet")
    forget_cache()
    for act in (lambda: report(StoredStudy.open()), lambda: start(floor=0.5)):
        with pytest.raises(PoolError, match="no file or folder .*rows/train.parquet") as error:
            act()
        assert error.value.hint == (
            "`study.change(train=newpath)`, or `train=''` to go on without it"
        )
    start(surrogate="agreement")
    assert estimate(metrics=UNRECORDED) == unrecorded
    start(surrogate="forest", train="")
    answered()
    start(train="moved.parquet")
    assert len(StoredStudy.open().cache().train.labels) == 30


@pytest.mark.parametrize(
    ("surrogate", "hint", "way"),
    [
        ("external", "surrogate='agreement'", {"surrogate": "agreement"}),
        ("stack", "other_models=''", {"other_models": ""}),
        ("stack", "other_models=''", {"surrogate": "agreement", "other_models": ""}),
    ],
)
def test_without_other_models_and_copy_what_was_recorded_is_reported(
    scene, answered, surrogate, hint, way
):
    answered(surrogate=surrogate, other_models=JUDGES)
    recorded, unrecorded = estimate(), estimate(metrics=UNRECORDED)
    (scene / JUDGES).rename(scene / "moved.parquet")
    forget_cache()
    with pytest.raises(PoolError, match=r"rows/judges.parquet") as error:
        report(StoredStudy.open())
    assert f"`study.change(other_models=newpath)`, or `{hint}` to go on" in error.value.hint
    initialised = start(**way)
    assert any(
        "of those rounds, only what they recorded is used" in notice
        for notice in initialised.notices
    )
    assert estimate() == recorded
    assert "is not there as it was when rounds were drawn" in notes()
    with pytest.raises(PoolChanged, match="is not there as it was") as error:
        estimate(metrics=UNRECORDED)
    assert "restore it" in error.value.hint
    assert next_batch(StoredStudy.open(), 6).round == 2
    start(other_models="moved.parquet")
    assert "is not there" not in notes()
    assert estimate(metrics=UNRECORDED) == unrecorded


def test_other_models_may_not_change_their_minds_once_draws_rest_on_them(scene, answered):
    start(surrogate="external", other_models=JUDGES)
    write_judges(seed=1)
    answered(other_models=JUDGES)
    recorded, unrecorded = estimate(), estimate(metrics=UNRECORDED)
    write_judges(seed=2)
    # Nothing new is drawn or predicted with what they say now.
    refused = (
        lambda: next_batch(StoredStudy.open(), 4),
        lambda: start(floor=0.5),
        lambda: start(surrogate="stack"),
        lambda: estimate(metrics=UNRECORDED),
        lambda: report(StoredStudy.open(), interval="anytime"),
    )
    for act in refused:
        with pytest.raises(PoolChanged, match="rows/judges.parquet is not what it was") as error:
            act()
        assert "restore it" in error.value.hint
    assert estimate() == recorded
    start(surrogate="agreement")
    assert next_batch(StoredStudy.open(), 6).round == 2
    assert "rows/judges.parquet is not what it was when rounds were drawn" in notes()
    with pytest.raises(PoolChanged, match="'external'"):
        estimate(metrics=UNRECORDED)
    write_judges(seed=1, path="copy.parquet")
    start(surrogate="external", other_models="copy.parquet")
    assert "is not what it was" not in notes()
    assert estimate(metrics=UNRECORDED) == unrecorded


def test_a_round_that_rests_on_other_models_keeps_their_fingerprint(scene, answered):
    answered(surrogate="external", other_models=JUDGES)

    def kept() -> str:
        entries = tomllib.loads((scene / ".activetest" / "study.toml").read_text())
        return entries["pool"]["other_models_fingerprint"]

    before = kept()
    write_judges(seed=3, path="others.parquet")
    initialised = start(surrogate="agreement", other_models="others.parquet")
    assert any("others.parquet is not what it was" in notice for notice in initialised.notices)
    start(other_models="")
    assert kept() == before


def test_labels_are_taken_whatever_became_of_the_files(scene, label_file):
    start(surrogate="external", other_models=JUDGES)
    batch = next_batch(StoredStudy.open(), 4)
    (scene / JUDGES).unlink()
    forget_cache()
    assert [row["id"] for row in next_batch(StoredStudy.open(), 4, show=("x1",)).rows] == [
        row["id"] for row in batch.rows
    ]
    assert ingest(StoredStudy.open(), label_file(f"{batch.rows[0]['id']},cat")).new == 1


def test_features_may_not_change_once_a_surrogate_that_sees_them_has_drawn(scene, answered):
    def write(values) -> None:
        table = pq.read_table("pool.parquet")
        place = table.column_names.index("x1")
        pq.write_table(table.set_column(place, "x1", pa.array(values)), "pool.parquet")

    before = pq.read_table("pool.parquet")["x1"].to_numpy()
    start(surrogate="forest")
    write(before + 1)
    answered(surrogate="forest")
    recorded, unrecorded = estimate(), estimate(metrics=UNRECORDED)
    edited = before + 1
    edited[7] = 99.0
    write(edited)
    refused = (lambda: next_batch(StoredStudy.open(), 4), lambda: estimate(metrics=UNRECORDED))
    for act in (*refused, lambda: start(surrogate="linear")):
        with pytest.raises(PoolChanged, match="what the features say in .* drawn with .*'forest'"):
            act()
    assert estimate() == recorded
    start(surrogate="agreement")
    assert next_batch(StoredStudy.open(), 6).round == 2
    write(before + 1)
    assert estimate(metrics=UNRECORDED) == unrecorded


def test_a_report_says_what_a_stack_is_made_of(scene, answered):
    answered(surrogate="stack", other_models=JUDGES)
    # Six labels say nothing about weights.
    assert report(StoredStudy.open()).surrogate_note == "agreement 100 %"
    start(surrogate="agreement")
    assert report(StoredStudy.open()).surrogate_note is None


def test_columns_of_other_models_are_listened_to_and_no_features(scene, answered):
    table = pq.read_table("pool.parquet")
    votes = np.random.default_rng(0).choice(["cat", "dog", "owl"], (2, ROWS))
    for k in (0, 1):
        table = table.append_column(f"net_{k}", pa.array(votes[k]))
    pq.write_table(table, "pool.parquet")
    answered(surrogate="auto", other_columns=["net_0", "net_1"], features=["x1"])
    assert report(StoredStudy.open()).auxiliary_outputs[-1] == "2 other models"
    start(other_columns=[])
    assert "net_0" in StoredStudy.open().pool["ignored"]
