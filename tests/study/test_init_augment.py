"""Studies whose surrogate learns items of the pool with the model's labels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError, StudyError
from activetest.rounds.fit import find_reusable_round, restore_surrogate
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import init


def known_items(study) -> set[int]:
    """Pool positions of the items that were labelled when the last round was drawn."""
    log = study.log(study.cache())
    return set(log.rows[log.round < len(log.history)].tolist())


def write_train(path) -> None:
    rng = np.random.default_rng(3)
    columns = {f"x{k}": rng.standard_normal(30) for k in (1, 2)}
    pq.write_table(pa.table(columns | {"label": rng.choice(["cat", "dog", "owl"], 30)}), path)


@pytest.mark.usefixtures("trained_briefly")
@pytest.mark.parametrize("train", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_study_from_the_command_line_to_its_report(folder, write_pool, capsys, train):
    """As ALT-MAS trains: first nothing is known, then the model is right wherever it was seen."""
    pytest.importorskip("torch")
    write_pool(folder / "pool.parquet", 60, seed=5)
    words = [
        "init",
        "pool.parquet",
        "--seed",
        "1",
        "--metric",
        "accuracy",
        "--metric",
        "recall[dog]",
    ]
    words += ["--surrogate", "mc-dropout", "--augment", "agreement"]
    if train:
        write_train(folder / "train.parquet")
        words += ["--train", "train.parquet"]
    assert main(words) == 0
    assert "surrogate mc-dropout, augmented by agreement\n" in capsys.readouterr().out
    assert main(["next", "--n", "12", "-o", "batch.csv"]) == 0
    study = StoredStudy.open()
    cache, (first,) = study.cache(), study.log(study.cache()).history
    surrogate = restore_surrogate(first, cache)
    assert surrogate.augmented.tolist() == []
    probs = surrogate.members.probs(cache.rows(0, 60))
    assert (probs == np.float32(1 / 3)).all() != train
    ids = [line.split(",")[0] for line in (folder / "batch.csv").read_text().splitlines()[1:]]
    pred = cache.take(cache.find(ids)).outputs.pred
    lines = [f"{id},{cache.classes[code]}" for id, code in zip(ids, pred, strict=True)]
    (folder / "labels.csv").write_text("\n".join(["id,label", *lines]))
    assert main(["ingest", "labels.csv"]) == 0
    assert main(["next", "--n", "3"]) == 0
    study = StoredStudy.open()
    last = study.log(cache).history[-1]
    augmented = restore_surrogate(last, cache).augmented
    assert set(augmented.tolist()) == set(range(60)) - known_items(study)
    assert np.asarray(last.params["augmented"]).nbytes <= 8
    capsys.readouterr()
    assert main(["report"]) == 0
    assert "accuracy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"augment": "agreement"}, "`augment='agreement'` changes nothing for surrogate 'auto"),
        ({"augment": "none", "surrogate": "stack"}, "nothing for surrogate 'stack'"),
        ({"augment": "box", "surrogate": "forest"}, "augment is 'box'"),
    ],
)
def test_an_augmentation_without_an_effect_is_refused(study, wanted, problem):
    before = study.choices
    with pytest.raises(ChoiceError, match=problem) as caught:
        init("pool.parquet", **wanted)
    if "nothing" in problem:
        assert "mc-dropout" in caught.value.hint and "'outputs'" in caught.value.hint
    assert StoredStudy.open().choices == before


def test_another_surrogate_that_takes_no_augmentation_is_refused_until_it_is_left_out(pool_file):
    study = Study.create(pool_file, surrogate="forest", augment="none", seed=1)
    with pytest.raises(ChoiceError, match="surrogate 'agreement'"):
        study.change(surrogate="agreement")
    study.change(surrogate="agreement", augment="outputs")
    assert study.choices.surrogate == "agreement"


@pytest.mark.parametrize("augment", ["agreement", "none"])
def test_without_features_there_is_nothing_to_learn_beside_outputs(
    folder, write_pool, label_file, augment
):
    """Refused where it is chosen; a study that has it all the same opens, and says so."""
    table = pq.read_table(write_pool(folder / "pool.parquet", 40))
    pq.write_table(table.drop_columns(["x1", "x2"]), folder / "pool.parquet")
    about = rf"`augment='{augment}'` is of use only where the pool has features"
    for surrogate in ("mc-dropout", "linear"):
        with pytest.raises(ChoiceError, match=about) as caught:
            Study.create("pool.parquet", surrogate=surrogate, augment=augment)
        assert "`augment='outputs'`" in caught.value.hint
    study = Study.create("pool.parquet", surrogate="linear", seed=1)
    with pytest.raises(ChoiceError, match=about):
        study.change(augment=augment)
    stored = StoredStudy.open()
    stored.update(replace(stored.choices, augment=augment))
    with pytest.raises(ChoiceError, match=about):
        next_batch(StoredStudy.open(), 3)
    Study.open().change(augment="outputs")
    assert len(next_batch(StoredStudy.open(), 3).rows) == 3


def test_values_are_never_just_right(folder):
    rng = np.random.default_rng(1)
    columns = {"pred": rng.normal(size=30), "x": rng.normal(size=30)}
    pq.write_table(pa.table(columns), folder / "values.parquet")
    with pytest.raises(ChoiceError, match="never just right") as caught:
        init("values.parquet", surrogate="linear", augment="agreement")
    assert "`augment='none'`" in caught.value.hint
    init("values.parquet", surrogate="linear", augment="none", seed=1)
    study = StoredStudy.open()
    assert len(next_batch(study, 5).rows) == 5
    assert report(study).headline.estimate is None


def test_a_surrogate_that_never_learns_from_labels_needs_outputs_or_training_rows(
    folder, write_pool
):
    """Also where the file of training rows is taken away later; then nothing changes."""
    write_pool(folder / "pool.parquet", 40)
    write_train(folder / "train.parquet")
    ways = {"surrogate": "forest", "augment": "none", "refit": "never"}
    with pytest.raises(ChoiceError, match="nothing to learn from then") as caught:
        init("pool.parquet", **ways)
    assert "`train`" in caught.value.hint and not Path(".activetest").exists()
    made = init("pool.parquet", **ways, train="train.parquet", seed=1)
    assert "never learning from labels" in str(made)
    study = StoredStudy.open()
    assert len(next_batch(study, 5).rows) == 5
    before = Path(".activetest/study.toml").read_text()
    with pytest.raises(ChoiceError, match="nothing to learn from then"):
        init(train="")
    assert Path(".activetest/study.toml").read_text() == before


def test_another_augmentation_is_learned_at_once(begin_study, label_draws):
    study = begin_study(surrogate="forest", refit="100")
    label_draws(study, 5)
    log = study.log(study.cache())
    assert find_reusable_round(log, study.choices).number == 1
    assert find_reusable_round(log, replace(study.choices, augment="none")) is None


def test_trees_that_saw_a_single_class_agree_and_items_are_drawn_until_they_do_not(
    folder, write_pool, label_file
):
    write_pool(folder / "pool.parquet", 40)
    study = Study.create(
        "pool.parquet", surrogate="forest", augment="none", acquisition="bald", selection="top"
    )
    for name in ("cat", "cat", "dog"):
        batch = study.next(4)
        assert batch.summary().endswith("drawn")
        study.ingest(dict.fromkeys(batch.ids, name))
    assert study.next(4).summary() == "round 4: 4 items with the largest scores"


def test_items_that_the_pool_does_not_have_were_not_learned_from_it(study, monkeypatch):
    init("pool.parquet", surrogate="forest", augment="none")
    study = StoredStudy.open()
    next_batch(study, 2)
    cache = study.cache()
    (first,) = study.log(cache).history
    last = np.zeros(cache.size + 1, bool)
    last[-1] = True
    restored = []
    monkeypatch.setattr("activetest.surrogates._nothing.unpack_positions", restored.append)
    many = np.zeros(-(-cache.size // 8) + 1, np.uint8)
    for packed in (many, many.tolist(), [300], ["a"], [[1], [2, 3]], None):
        damaged = replace(first, params={**first.params, "augmented": packed})
        with pytest.raises(StudyError, match="round 1 learned items that this pool does not have"):
            restore_surrogate(damaged, cache)
    # None of them was unpacked: a bit becomes eight bytes.
    assert not restored
    monkeypatch.undo()
    damaged = replace(first, params={**first.params, "augmented": np.packbits(last)})
    with pytest.raises(StudyError, match="round 1 learned items that this pool does not have"):
        restore_surrogate(damaged, cache)
