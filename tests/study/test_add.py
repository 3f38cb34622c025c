"""A further model is added whole or not at all, from any file that a pool can be."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolError, StorageError, StudyError
from activetest.study import add
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool

AIM = "\nitems are drawn for error as before; `draw_for='difference'` compares models"


@pytest.fixture
def current(study) -> Study:
    """A study of 40 items."""
    return Study.open()


@pytest.fixture
def new(folder) -> pd.DataFrame:
    """Outputs of another model about its items."""
    return pq.read_table(write_pool(folder / "new.parquet", 40, seed=1)).to_pandas()


def read_outputs(name: str = "v2") -> dict[str, float]:
    """{id: probability of a cat} as the study keeps it."""
    table = pq.read_table(StoredStudy.open().folder / "models" / f"{name}.parquet")
    return dict(zip(table["id"].to_pylist(), table["prob_cat"].to_pylist(), strict=True))


def list_files() -> list[str]:
    folder = StoredStudy.open().folder
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def label(current: Study, count: int) -> None:
    current.ingest(dict.fromkeys(current.next(count).ids, "cat"))


WRITERS = {
    "new.parquet": lambda frame, path: frame.to_parquet(path),
    "new.csv": lambda frame, path: frame.to_csv(path, index=False),
    "new.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "new.arrow": lambda frame, path: frame.to_feather(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_any_format_of_a_pool_is_taken(current, new, folder, name):
    (folder / "new.parquet").unlink()
    WRITERS[name](new.sample(frac=1, random_state=0), folder / name)
    added = current.add("v2", name)
    assert added.model.name == "v2" and added.notices == ()
    expected = dict(zip(new["id"], new["prob_cat"], strict=True))
    assert read_outputs() == pytest.approx(expected)


def test_a_frame_and_an_open_file_are_taken(current, new):
    current.add("of-pandas", new.set_index("id"))
    current.add("of_arrow", pa.Table.from_pandas(new))
    current.add("of.a.file", io.BytesIO(new.to_csv(index=False).encode()))
    expected = pytest.approx(dict(zip(new["id"], new["prob_cat"], strict=True)))
    for name in ("of-pandas", "of_arrow", "of.a.file"):
        assert read_outputs(name) == expected
    assert list_files() == [
        *sorted(each for each in list_files() if each.startswith("cache")),
        *("ledger.db", "models", "models/of-pandas.parquet", "models/of.a.file.parquet"),
        *("models/of_arrow.parquet", "pool.summary", "study.toml"),
    ]


def test_the_first_report_on_a_model_builds_no_cache_of_it(current, new, monkeypatch):
    current.add("v2", new)
    monkeypatch.setattr("activetest.cache.cache.build_into", lambda *_, **__: pytest.fail("built"))
    assert current.report(model="v2").estimates[0].estimate is None


def test_what_was_added_is_said(current, new):
    assert str(current.add("v2", new)) == (
        "v2 added: there is no label yet, and those to come count for it" + AIM
    )
    label(current, 1)
    added = current.add("v3", new, trained_on_labels=False)
    assert str(added) == (
        "v3 added: the label counts for it, and those to come\n"
        "its outputs are those of v2: both models are the same" + AIM
    )
    assert (added.labels, added.earlier, added.model.rounds) == (1, 0, 1)
    label(current, 2)
    added = current.add("v4", new.assign(prob_cat=0.2, prob_dog=0.3, prob_owl=0.5),
                        trained_on_labels=False)  # fmt: skip
    assert str(added) == "v4 added: all 3 labels count for it, and those to come" + AIM
    added = current.add("v5", new.assign(prob_cat=0.5, prob_dog=0.3, prob_owl=0.2),
                        trained_on_labels=True)  # fmt: skip
    assert str(added) == "v5 added: draws from now on count for it, not the 3 labels so far"
    assert (added.labels, added.earlier) == (0, 3)
    assert repr(added) == "<AddedModel v5: 0 labels count>"


def test_the_outputs_of_the_pool_are_known_again(current):
    notices = current.add("same", "pool.parquet").notices
    assert notices == ("its outputs are those of model: both models are the same",)


def test_rows_of_no_item_are_left_out_and_counted(current, folder):
    write_pool(folder / "more.parquet", 43, seed=1)
    assert current.add("v2", "more.parquet").notices == (
        "3 rows of more.parquet are of no item of the pool, and are left out",
    )
    assert len(read_outputs()) == 40


def test_whether_labels_took_part_has_to_be_said_once_there_are_some(current, new):
    label(current, 2)
    with pytest.raises(ChoiceError, match="did labels of this study take part") as error:
        current.add("v2", new)
    assert "`trained_on_labels=True`" in error.value.hint
    # Also of those that were taken back: somebody has seen them.
    current.undo()
    with pytest.raises(ChoiceError, match="did labels"):
        current.add("v2", new)
    with pytest.raises(ChoiceError, match="trained_on_labels"):
        current.add("v2", new, trained_on_labels="perhaps")
    assert len(StoredStudy.open().list_models()) == 1
    assert current.add("v2", new, trained_on_labels=False).model.trained is False


@pytest.mark.parametrize(
    "name", ["", "../v2", "/tmp/v2", "v/2", "2v", "v 2", "v\n2", "..", "a" * 65, "été", 2, None]
)
def test_a_name_that_is_none_is_refused(current, new, name):
    before = list_files()
    with pytest.raises(ChoiceError) as error:
        current.add(name, new)
    if isinstance(name, str):
        assert "letters" in error.value.hint
    assert list_files() == before


def test_a_class_gives_no_name_to_a_model(current, new):
    with pytest.raises(ChoiceError, match=r"'cat' is a class, and accuracy\(cat\) would be about"):
        current.add("cat", new)


@pytest.mark.parametrize("name", ["model", "v2", "V2"])
def test_a_name_is_given_once(current, new, name):
    current.add("v2", new)
    before = read_outputs()
    with pytest.raises(StudyError, match="has a model .* already") as error:
        current.add(name, new.assign(prob_cat=0.2, prob_dog=0.3, prob_owl=0.5))
    assert error.value.hint == "give this one another name"
    assert read_outputs() == before


def test_items_without_outputs_are_named_and_counted(current, new):
    with pytest.raises(
        PoolError, match="the frame lacks 3 items of the pool, the first .*'item-4'"
    ):
        current.add("v2", new[~new["id"].isin(["item-4", "item-9", "item-30"])])
    with pytest.raises(PoolError, match="lacks 1 item of the pool, the first of which is 'item-0'"):
        current.add("v2", new[1:])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda frame: frame.drop(columns="id"), "no column 'id'"),
        (lambda frame: frame.drop(columns="prob_dog"), "no column 'prob_dog'"),
        (lambda frame: frame.assign(prob_elk=0.0), "'prob_elk', and the pool has no such class"),
        (lambda frame: frame.assign(prob_dog=7.0), "row 0 of the frame"),
        (lambda frame: frame.assign(prob_dog=np.nan), "row 0 of the frame"),
        (lambda frame: frame.assign(prob_dog="much"), "are not like those of the pool"),
        (lambda frame: frame.assign(id=""), "'id' is ''"),
        (lambda frame: frame.assign(id="item-1"), "'item-1' is in the frame twice"),
        (lambda frame: frame[:0], "no rows"),
        (lambda frame: "absent.parquet", "absent.parquet"),
        (lambda frame: 7, "int is no pool"),
    ],
)
def test_outputs_that_cannot_serve_are_refused_and_leave_nothing(current, new, change, problem):
    before = list_files()
    with pytest.raises(PoolError, match=problem) as error:
        current.add("v2", change(new))
    assert error.value.hint
    assert list_files() == before
    assert current.add("v2", new)


def test_a_predicted_class_that_the_study_does_not_know_is_refused(folder):
    frame = pd.DataFrame({"id": range(30), "pred": ["yes", "no"] * 15})
    # Without the names of all classes there may be others, which are said.
    current = Study.create(frame, "open", seed=1)
    added = current.add("v2", frame.assign(pred=["yes", "maybe"] * 15))
    assert added.notices == ("it predicts 1 class that no model before it did: maybe",)
    current = Study.create(frame, "hard", classes=["no", "yes"], seed=1)
    with pytest.raises(PoolError, match="maybe") as error:
        current.add("v2", frame.assign(pred=["yes", "maybe"] * 15))
    assert "the same classes" in error.value.hint and "`" not in error.value.hint
    assert current.add("v2", frame.assign(pred="no"))


def test_a_regression_has_several_models(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(60), "pred": rng.normal(size=60), "x": rng.normal(size=60)})
    current = Study.create(frame, "values", seed=1)
    current.ingest(dict.fromkeys(current.next(10).ids, 0.5))
    other = frame[["id"]].assign(pred=2.0)
    assert current.add("flat", other, trained_on_labels=False).labels == 10
    study = StoredStudy.open("values").of_model("flat")
    cache = study.cache()
    assert set(cache.rows(0, 60).outputs.pred) == {2.0}
    assert set(study.log(cache).labels) == {0.5}


def test_ids_are_texts_whatever_their_type(folder):
    frame = pd.DataFrame({"id": range(30), "score": np.linspace(0, 1, 30)})
    current = Study.create(frame, "whole", seed=1)
    added = current.add("v2", frame.assign(id=frame["id"].astype(str), score=0.25)[::-1])
    assert added.notices == ()


def test_items_without_a_column_of_ids_go_by_their_number(folder):
    frame = pd.DataFrame({"score": np.linspace(0, 1, 30)})
    current = Study.create(frame, "numbers", seed=1)
    with pytest.raises(PoolError, match="29 rows and the pool 30 items"):
        current.add("v2", frame[:29])
    with pytest.raises(PoolError, match="index"):
        current.add("v2", frame[::-1])
    assert current.add("v2", frame.assign(score=0.5))


def test_weights_and_prices_are_those_of_the_pool(folder):
    frame = pd.DataFrame({"id": range(30), "score": 0.25, "weight": np.arange(1.0, 31.0)})
    current = Study.create(frame, "weighted", weight="weight", seed=1)
    current.add("v2", frame[["id"]].assign(score=0.5, weight=9.0))
    cache = StoredStudy.open("weighted").of_model("v2").cache()
    weight = cache.rows(0, 30).weight
    assert (weight / weight[0]).tolist() == pytest.approx(frame["weight"].tolist())


def test_labels_that_come_meanwhile_are_not_overlooked(current, new, monkeypatch):
    """Nobody has said whether the model was trained on them."""
    join = add._join

    def label_and_join(*arguments):
        other = Study.open()
        other.ingest(dict.fromkeys(other.next(2).ids, "cat"))
        return join(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(add, "_join", label_and_join)
        with pytest.raises(StudyError, match="labels were added meanwhile") as error:
            current.add("v2", new)
    assert error.value.hint == "try again"
    with pytest.raises(ChoiceError, match="did labels"):
        current.add("v2", new)
    assert not list(StoredStudy.open().folder.glob("models/*"))


def test_a_file_without_an_entry_is_no_model_and_gives_way_to_the_next(current, new, monkeypatch):
    """As after a crash between the file and the entry of the ledger."""
    keep = add.atomic.keep_file

    def keep_and_stop(*arguments):
        keep(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(add.atomic, "keep_file", keep_and_stop)
        current.add("v2", new.assign(prob_cat=0.2, prob_dog=0.3, prob_owl=0.5))
    assert len(StoredStudy.open().list_models()) == 1
    assert Study.open().verify().passed and Study.open().next(3).ids
    current.add("v2", new)
    assert read_outputs() == pytest.approx(dict(zip(new["id"], new["prob_cat"], strict=True)))
    assert Study.open().verify().passed


def test_a_model_that_study_toml_does_not_have_yet_is_there(current, new, monkeypatch):
    """As after a crash between the ledger and study.toml; the next change writes it."""

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(add.config, "write_config", stop)
        current.add("v2", new)
    study = StoredStudy.open()
    assert [each.name for each in study.list_models()] == ["model", "v2"]
    assert study.of_model("v2").cache().size == 40
    assert (study.folder / "study.toml").read_text().count("[[models]]") == 1
    Study.open().change(metric="accuracy")
    assert (study.folder / "study.toml").read_text().count("[[models]]") == 2


def test_a_file_is_on_the_disk_before_its_model_is_in_the_ledger(current, new, synced, monkeypatch):
    record = StoredStudy.open().ledger.__class__.add_model
    seen = []

    def note(self, model, place, **named):
        def place_and_look():
            place()
            folder = self.path.parent / "models"
            seen.append(synced(folder / "v2.parquet") and synced(folder))

        record(self, model, place_and_look, **named)

    monkeypatch.setattr("activetest.ledger.ledger.Ledger.add_model", note)
    current.add("v2", new)
    assert seen == [True]


def test_a_link_in_the_place_of_the_folder_is_not_followed(current, new, folder):
    place = StoredStudy.open().folder
    (folder / "elsewhere").mkdir()
    (place / "models").symlink_to(folder / "elsewhere")
    with pytest.raises(StorageError, match="link"):
        current.add("v2", new)
    assert not [*(folder / "elsewhere").iterdir()]
    assert len(StoredStudy.open().list_models()) == 1


def test_a_status_names_models_where_there_are_several(current, new):
    assert current.status().counts.models == ()
    assert "models" not in str(current.status())
    current.add("v2", new)
    assert current.status().counts.models == ("model", "v2")
    lines = [line.split() for line in str(current.status()).splitlines()]
    assert ["models", "model,", "v2"] in lines


def test_study_toml_names_the_models(current, new):
    current.add("v2", new)
    text = (StoredStudy.open().folder / "study.toml").read_text()
    assert '[[models]]\nname = "model"\n\n[[models]]\nname = "v2"\n' in text
