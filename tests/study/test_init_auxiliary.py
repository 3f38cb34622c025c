"""Files beside the pool: looked at by init, kept relative, noticed when they change."""

import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest import catalog
from activetest.cli.app import main
from activetest.errors import ChoiceError, PoolChanged, PoolError
from activetest.pool.pool import Pool
from activetest.simulation.simulate import simulate
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from tests.makers import init

ROWS = 40


@pytest.fixture
def scene(folder, write_pool):
    """A pool, training rows and what two models say, in folders of their own."""
    for name in ("pools", "rows"):
        (folder / name).mkdir()
    write_pool(folder / "pools" / "pool.parquet", ROWS)
    write_train(folder)
    write_judges(folder)
    return folder


def write_train(folder, *, seed: int = 0, **changes) -> None:
    rng = np.random.default_rng(seed)
    columns = {f"x{k}": rng.standard_normal(30) for k in (1, 2)}
    columns |= {"label": rng.choice(["cat", "dog", "owl"], 30)} | changes
    pq.write_table(pa.table(columns), folder / "rows" / "train.parquet")


def write_judges(folder, *, seed: int = 0) -> None:
    said = np.random.default_rng(seed).dirichlet([1, 1, 1], (2, ROWS))
    columns = {"id": [f"item-{row}" for row in range(ROWS)]}
    columns |= {f"surrogate_prob_{k}": list(said[k]) for k in (0, 1)}
    pq.write_table(pa.table(columns), folder / "rows" / "judges.parquet")


def start(**wishes):
    return init("pools/pool.parquet", seed=1, **wishes)


FILES = {"train": "rows/train.parquet", "other_models": "rows/judges.parquet"}


def pool_section(folder) -> dict:
    return tomllib.loads((folder / ".activetest" / "study.toml").read_text())["pool"]


def test_addresses_are_kept_relative_and_open_from_anywhere(scene, monkeypatch):
    made = start(surrogate="stack", **FILES)
    entries = pool_section(scene)
    assert {key: entries[key] for key in FILES} == FILES
    assert any(said.startswith("training rows: 30 of rows/train") for said in made.notices)
    assert any(said.startswith("other models: 2 in rows/judges") for said in made.notices)
    monkeypatch.chdir(scene / "rows")
    cache = StoredStudy.open().cache()
    assert cache.train.features.shape == (30, 2) and cache.rows(0, 3).external.shape == (3, 2, 3)
    again = init("../pools/pool.parquet", folder="../.activetest", floor=0.5)
    assert again.outcome == "updated"
    assert {key: pool_section(scene)[key] for key in FILES} == FILES


def test_a_file_is_forgotten_by_an_empty_name(scene):
    start(surrogate="stack", **FILES)
    start(train="")
    assert "train" not in pool_section(scene) and "train_fingerprint" not in pool_section(scene)
    cache = StoredStudy.open().cache()
    assert cache.train is None and cache.rows(0, 1).external is not None


@pytest.mark.parametrize("option", list(FILES))
def test_who_gives_more_gets_the_surrogate_that_listens_to_it(scene, option):
    found = start(**{option: FILES[option]})
    assert found.choices.surrogate == "auto"
    assert not any("waits for a surrogate" in each for each in found.notices)
    # A study keeps what it has.
    assert start(metric="error").choices.surrogate == "auto"
    assert start(**{option: ""}).choices.surrogate == "auto"


def test_a_study_goes_on_with_its_surrogate_when_more_is_given(scene):
    assert start(surrogate="agreement").choices.surrogate == "agreement"
    found = start(**FILES)
    assert found.choices.surrogate == "agreement"
    assert sum("waits for a surrogate" in each for each in found.notices) == 2


def test_files_that_no_surrogate_reads_yet_are_checked_all_the_same(scene):
    made = start(surrogate="agreement", **FILES)
    assert sum("waits for a surrogate" in said for said in made.notices) == 2
    assert StoredStudy.open().cache().parts == ()
    for option, broken in (
        ("train", "rows/judges.parquet"),
        ("other_models", "rows/train.parquet"),
    ):
        with pytest.raises(PoolError, match=broken):
            start(**{option: broken})
    write_train(scene, label=["fish"] * 30)
    with pytest.raises(PoolError, match="no label in rows/train.parquet is a class of the pool"):
        start(train="rows/train.parquet")
    with pytest.raises(PoolError, match="there is no file or folder rows/nothing.parquet"):
        start(train="rows/nothing.parquet")
    assert {key: pool_section(scene)[key] for key in FILES} == FILES


def test_a_file_that_cannot_serve_leaves_no_study(scene):
    write_train(scene, label=["owl", None] * 15)
    with pytest.raises(PoolError, match="row 1 of rows/train.parquet .*'label' is null"):
        start(surrogate="forest", train="rows/train.parquet")
    with pytest.raises(ChoiceError, match="'external' needs what other models say") as caught:
        start(surrogate="external")
    assert "`other_models`" in caught.value.hint
    assert not (scene / ".activetest").exists()


def test_a_dry_run_looks_at_the_files_and_writes_nothing(scene):
    made = start(surrogate="stack", dry_run=True, **FILES)
    assert any(said.startswith("training rows") for said in made.notices)
    assert not (scene / ".activetest").exists()


def test_training_rows_that_change_are_learnt_from_anew_and_said(scene, label_file):
    start(surrogate="forest", train="rows/train.parquet")
    study = StoredStudy.open()
    batch = next_batch(study, 4)
    ingest(study, label_file(*(f"{row['id']},cat" for row in batch.rows)))
    before = study.cache().train.features
    assert not any("training rows" in note.text for note in report(study).notes)
    write_train(scene, seed=1)
    study = StoredStudy.open()
    assert (study.cache().train.features != before).all()
    assert any("rows/train.parquet have changed" in note.text for note in report(study).notes)
    start(train="rows/train.parquet")
    assert not any("training rows" in note.text for note in report(StoredStudy.open()).notes)


def write_features(folder, values) -> None:
    table = pq.read_table(folder / "pools" / "pool.parquet")
    place = table.column_names.index("x1")
    pq.write_table(
        table.set_column(place, "x1", pa.array(values)), folder / "pools" / "pool.parquet"
    )


def test_features_that_no_surrogate_saw_in_full_may_change(scene):
    start(surrogate="agreement")
    next_batch(StoredStudy.open(), 4)
    start(surrogate="forest")
    assert "features_fingerprint" in pool_section(scene)
    write_features(scene, np.arange(float(ROWS)))
    assert StoredStudy.open().cache().rows(0, ROWS).features.shape == (ROWS, 2)


@pytest.mark.parametrize("surrogate", ["agreement", "linear", "forest"])
@pytest.mark.parametrize(
    "wishes", [{"features": ("x1",)}, {"features": ("x2", "x1")}, {"groups": ("band",)}]
)
def test_which_columns_are_features_is_settled_with_the_first_round(scene, surrogate, wishes):
    table = pq.read_table(scene / "pools" / "pool.parquet")
    table = table.append_column("band", pa.array(np.arange(ROWS) % 2))
    pq.write_table(table, scene / "pools" / "pool.parquet")
    assert start(surrogate=surrogate).schema.features == ("x1", "x2", "band")
    next_batch(StoredStudy.open(), 4)
    with pytest.raises(PoolChanged, match="drawn with the features x1, x2, band, not with") as said:
        start(**wishes)
    assert "`features=['x1', 'x2', 'band']`" in said.value.hint
    assert "`Study.create(pool, folder)`" in said.value.hint
    kept = start(features=("x1", "x2", "band"), groups=("band",))
    assert kept.schema.features == ("x1", "x2", "band") and kept.choices.groups == ("band",)
    assert start(floor=0.5).schema == kept.schema
    assert report(StoredStudy.open()).counts.drawn == 4


@pytest.mark.parametrize("surrogate", catalog.having("other_models", "NEEDS_FEATURES"))
def test_surrogates_of_features_are_refused_where_labels_may_be_of_any_class(scene, surrogate):
    columns = {"pred": ["cat", "dog"] * 5, "x1": np.arange(10.0)}
    pq.write_table(pa.table(columns), scene / "hard.parquet")
    with pytest.raises(ChoiceError, match="a class that the model never predicts") as said:
        init("hard.parquet", surrogate=surrogate)
    assert '`surrogate="agreement"`' in said.value.hint and "`classes`" in said.value.hint
    closed = init("hard.parquet", surrogate=surrogate, classes=("cat", "dog", "owl"))
    assert closed.schema.classes == ("cat", "dog", "owl")
    with pytest.raises(ChoiceError, match="a class that the model never predicts"):
        simulate(
            Pool.open("hard.parquet"),
            "no.csv",
            budgets=(4,),
            runs=2,
            surrogate=(surrogate,),
            acquisition=("optimal",),
            estimators=("doubly-robust",),
        )


@pytest.mark.parametrize("line", ["train = 3", 'other_models = ["a"]', "train_fingerprint = true"])
def test_addresses_in_study_toml_are_texts(scene, line):
    start()
    path = scene / ".activetest" / "study.toml"
    path.write_text(path.read_text().replace("[pool]\n", f"[pool]\n{line}\n"))
    with pytest.raises(ChoiceError, match=rf"study.toml: \[pool\] {line.split()[0]} is"):
        StoredStudy.open()


def test_an_address_written_into_study_toml_counts(scene):
    start(surrogate="forest")
    assert StoredStudy.open().cache().train is None
    path = scene / ".activetest" / "study.toml"
    path.write_text(path.read_text().replace("[pool]\n", '[pool]\ntrain = "rows/train.parquet"\n'))
    assert len(StoredStudy.open().cache().train.labels) == 30


def test_the_command_line_takes_the_options_and_shows_what_was_chosen(scene, capsys):
    words = ["init", "pools/pool.parquet", "--seed", "1", "--surrogate", "stack"]
    words += ["--train", FILES["train"], "--other-models", FILES["other_models"]]
    words += ["--refit", "doubling", "--power", "2", "--selection", "draw"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "surrogate stack, refit doubling, scores to the power 2\n" in shown
    choices = StoredStudy.open().choices
    assert (choices.refit, choices.power, choices.selection) == ("doubling", 2, "draw")
    picks = ["--refit", "25", "--selection", "top", "--power", "1"]
    assert main(["init", "pools/pool.parquet", *picks]) == 0
    shown = capsys.readouterr().out
    assert "\npicks: optimal for " in shown and "draws" not in shown
    assert "refit after 25 labels, the top scores, without probabilities" in shown
    assert main(["init", "pools/pool.parquet", "--refit", "often"]) == 2
    assert "refit is 'often'" in capsys.readouterr().err


def test_a_default_study_says_nothing_of_all_this(scene, capsys):
    assert main(["init", "pools/pool.parquet", "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert "draws: optimal for error, surrogate auto\n" in shown
    assert set(pool_section(scene)).isdisjoint({*FILES, "train_fingerprint"})
    # Features are learned from, once.
    assert StoredStudy.open().cache().parts == ("evidence",)


def test_training_rows_are_read_as_the_numbers_written_in_the_pool_are(folder):
    rows = range(ROWS)
    columns = {"x": [f"{row},5 %" for row in rows], "pred": ["cat", "dog"] * (ROWS // 2)}
    ids = [f"i{row}" for row in rows]
    pq.write_table(pa.table({"id": ids, **columns}), folder / "pool.parquet")
    train = {"x": columns["x"], "label": columns["pred"]}
    pq.write_table(pa.table(train), folder / "train.parquet")
    done = init("pool.parquet", seed=1, train="train.parquet")
    assert done.schema.features == ("x",)
    assert any("training rows: 40 of train.parquet" in each for each in done.notices)
    pq.write_table(pa.table(train | {"x": ["1,5"] * ROWS}), folder / "train.parquet")
    with pytest.raises(PoolError, match="'x' of .*train.parquet is '1,5' in row 0"):
        init("pool.parquet", "other", seed=1, train="train.parquet")
