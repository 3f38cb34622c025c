"""Every verb is a method of Study; what another program changes is seen."""

import inspect
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import activetest as at
from activetest.cli.app import main
from activetest.errors import (
    ChoiceError,
    LabelConflict,
    LabelError,
    PoolChanged,
    PoolError,
    StudyError,
    UnknownMethod,
)
from activetest.nouns.choices import DECLARATIONS
from activetest.study.study import Study, _with_known_names


@pytest.fixture
def face(pool_file) -> Study:
    """A study of 40 items with seed 1, as Python sees it."""
    return Study.create(pool_file, groups="place", seed=1)


def files_of(folder: Path) -> dict[str, bytes]:
    """{path: content} of all files of a study but its cache."""
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "cache" not in path.parts
    }


def test_create_makes_a_study_or_changes_the_settings_of_the_one_there(face, pool_file):
    assert face.setup.outcome == "created" and face.seed == 1
    ids = face.next(3).ids
    again = Study.create(pool_file, floor=0.5)
    assert again.setup.outcome == "updated"
    assert again.choices.floor == 0.5 and again.choices.groups == ("place",)
    assert again.next(3).ids == ids
    assert face.choices.floor == 0.5


def test_what_another_program_changes_is_in_the_setup(face):
    other = Study.open(face.folder)
    assert other.setup.choices.floor == face.setup.choices.floor
    face.change(floor=0.7)
    assert other.setup.choices.floor == 0.7
    assert other.setup is other.setup
    shutil.rmtree(face.folder)
    with pytest.raises(StudyError):
        _ = face.setup


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open ledger cannot be replaced")
def test_labels_go_into_the_ledger_that_is_there(face):
    ids = face.next(3).ids
    ledger, backup = face.folder / "ledger.db", face.folder.parent / "backup.db"
    shutil.copy(ledger, backup)
    face.ingest({ids[0]: "cat"})
    ledger.unlink()
    with pytest.raises(StudyError, match="ledger.db is missing"):
        face.ingest({ids[1]: "cat"})
    backup.rename(ledger)
    assert face.status().counts.labeled == 0
    face.ingest({ids[1]: "cat"})
    assert Study.open(face.folder).status().counts.labeled == 1


def test_the_folder_of_a_study_does_not_move_with_the_working_directory(face, monkeypatch):
    assert face.folder.is_absolute()
    monkeypatch.chdir("/")
    assert len(face.next(2)) == 2


def test_a_study_is_opened_by_its_folder_the_environment_or_from_below(
    pool_file, folder, monkeypatch
):
    Study.create(pool_file, "there", seed=3)
    assert Study.open("there").seed == 3
    with pytest.raises(StudyError):
        Study.open()
    monkeypatch.setenv("ACTIVETEST_STUDY", "there")
    assert Study.open().folder == folder / "there"


def test_a_check_and_a_dry_run_say_what_would_be_and_write_nothing(face, pool_file, folder):
    before = files_of(folder)
    assert Study.check(pool_file, "new", metric="f1").outcome == "checked"
    assert Study.check(pool_file, floor=1).choices.floor == 1
    assert face.change(floor=1, dry_run=True).choices.floor == 1
    assert files_of(folder) == before and not (folder / "new").exists()
    assert face.choices.floor == 0.35


def test_a_change_holds_for_the_rounds_to_come(face):
    face.next(2)
    assert face.change(floor=1, groups=()).outcome == "updated"
    assert (face.choices.floor, face.choices.groups) == (1, ())
    assert face.setup.choices.floor == 1


def test_what_another_program_changes_is_seen(face, folder):
    assert main(["init", "--floor", "0.5", "--metric", "accuracy"]) == 0
    assert (face.choices.floor, face.choices.metric) == (0.5, "accuracy")
    assert face.setup.choices.floor == 0.5 and face.setup.outcome == "opened"
    path = folder / ".activetest" / "study.toml"
    path.write_text(path.read_text().replace("floor = 0.5", "floor = 0.25"))
    assert face.choices.floor == 0.25


def test_a_setting_that_does_not_exist_is_an_error_with_the_nearest_name(pool_file, folder):
    with pytest.raises(ChoiceError, match="'flor'") as caught:
        Study.create(pool_file, flor=0.5)
    assert "floor" in caught.value.hint
    for name in ("dry_run", "given_pool", "study_folder"):
        with pytest.raises(ChoiceError, match=name):
            Study.create(pool_file, **{name: True})
    assert not (folder / ".activetest").exists()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"groups": 3}, "`groups` is 3"),
        ({"groups": ["place", None]}, "`groups` is None"),
        ({"groups": "place,size"}, "'place,size'"),
        ({"metric": "f1,error"}, "'f1,error'"),
        ({"seed": "1"}, "`seed` is '1'"),
        ({"seed": 1.5}, "`seed` is 1.5"),
        ({"threshold": "half"}, "`threshold` is 'half'"),
        ({"id": ["id"]}, r"`id` is \['id'\]"),
        ({"train": {"a": [1]}}, "`train` is of type dict"),
        ({"other_models": 3}, "`other_models` is of type int"),
        ({"costs": [[0, 1], [1, 0]]}, "`costs` is of type list"),
        ({"costs": {"cat": {"cat": 0}}}, "the predicted class 'dog' is missing"),
        ({"floor": "high"}, "floor is 'high'"),
        ({"budget": 2.5}, "budget is 2.5"),
        ({"metric": []}, "`metric` is empty"),
    ],
)
def test_a_setting_of_another_type_is_an_error_and_leaves_nothing(
    pool_file, folder, settings, problem
):
    with pytest.raises(at.ActivetestError, match=problem) as caught:
        Study.create(pool_file, **settings)
    assert caught.value.hint and not (folder / ".activetest").exists()


def test_settings_may_be_numbers_of_numpy_and_lists_of_any_kind(pool_file):
    study = Study.create(
        pool_file, floor=np.float32(0.5), budget=np.int64(30), groups=np.array(["place"]), refit=5
    )
    assert (study.choices.budget, study.choices.groups) == (30, ("place",))
    assert study.choices.floor == 0.5 and study.choices.refit == "5"


@pytest.mark.parametrize("pool", [None, 3, {"id": [1]}, ["pool.parquet"], object()])
def test_what_is_no_pool_is_an_error_and_leaves_nothing(folder, pool):
    for call in (Study.create, Study.check):
        with pytest.raises(PoolError, match="is no pool") as caught:
            call(pool)
        assert "frame" in caught.value.hint
    assert list(folder.iterdir()) == []


def test_next_shows_the_pending_batch_until_it_is_answered(face):
    batch = face.next(3, show="place")
    assert len(batch) == 3 and batch.ids == [row["id"] for row in batch]
    assert {"id", "label", "place"} == set(batch.rows[0])
    again = face.next(5)
    assert again.repeated and again.ids == batch.ids
    assert len(face.next(np.int64(2), new=True)) == 5 - 3


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", True, None])
def test_a_count_that_makes_no_sense_draws_nothing(face, n):
    with pytest.raises(ChoiceError):
        face.next(n)
    assert face.status().counts.drawn == 0


def test_next_writes_its_batch_to_a_file_before_it_is_drawn(face, folder):
    with pytest.raises(at.StorageError):
        face.next(3, path=folder / "no" / "batch.csv")
    with pytest.raises(ChoiceError, match="docx"):
        face.next(3, path="batch.xlsx", format="docx")
    assert face.status().counts.drawn == 0
    batch = face.next(3, path="batch.jsonl", format="jsonl")
    assert (folder / "batch.jsonl").read_text() == batch.to_jsonl()


def test_labels_come_as_file_frame_mapping_or_rows(face, label_file):
    first, second, third, fourth = face.next(4).ids
    assert face.ingest(label_file(f"{first},cat")).source.endswith("labels.csv")
    assert face.ingest({second: "dog"}).source == "the mapping"
    rows = [{"id": third, "label": "owl", "annotator": "a"}, {"id": fourth, "label": None}]
    done = face.ingest(rows)
    assert (done.source, done.new, done.blank, done.pending) == ("the rows", 1, 1, 1)
    assert face.ingest({second: "dog"}).unchanged == 1
    assert repr(done).startswith("<Ingested the rows: 1 new")


def test_labels_that_make_no_sense_name_their_row_and_change_nothing(face):
    ids = face.next(3).ids
    rows = [{"id": ids[0], "label": "cat"}, {"id": ids[1], "label": "horse"}]
    with pytest.raises(LabelError, match="the rows, row 1: label 'horse'"):
        face.ingest(rows)
    with pytest.raises(LabelError, match="the mapping, entry 0: id 'nobody'"):
        face.ingest({"nobody": "cat"})
    for wrong in (3, None, "-", Path("-"), "nowhere.csv", [3], object()):
        with pytest.raises(LabelError):
            face.ingest(wrong)
    assert face.status().counts.pending == 3


def test_a_contradiction_needs_replace_and_undo_takes_it_back(face):
    (id,) = face.next(1).ids
    face.ingest({id: "cat"})
    with pytest.raises(LabelConflict):
        face.ingest({id: "dog"})
    assert face.ingest({id: "dog"}, replace=True, dry_run=True).replaced == 1
    assert face.ingest({id: "dog"}, replace=True).replaced == 1
    assert face.undo().source == "the mapping"
    assert face.ingest({id: "cat"}).unchanged == 1


def test_a_report_takes_one_name_or_several(face):
    face.ingest(dict.fromkeys(face.next(20).ids, "cat"))
    single = face.report(metrics="accuracy", groups="place", estimators="doubly-robust")
    several = face.report(metrics=["accuracy"], groups=("place",), estimators=["doubly-robust"])
    assert single.estimates == several.estimates
    assert {row.metric for row in single.estimates} == {"accuracy"}
    assert face.report(groups=()).estimates[-1].group is None


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ({"metrics": "acuracy"}, ChoiceError, "acuracy"),
        ({"metrics": 3}, ChoiceError, "`metrics` is 3"),
        ({"groups": "colour"}, ChoiceError, "colour"),
        ({"require": "error"}, ChoiceError, "error"),
        ({"require": [None]}, ChoiceError, "`require` is None"),
        ({"interval": "wide"}, ChoiceError, "wide"),
        ({"interval": 3}, ChoiceError, "`interval` is 3"),
        ({"half_width": "small"}, ChoiceError, "`half_width` is 'small'"),
        ({"bound": True}, ChoiceError, "`bound` is True"),
        ({"estimators": "best"}, UnknownMethod, "best"),
    ],
)
def test_what_a_report_cannot_show_is_an_error(face, arguments, error, problem):
    with pytest.raises(error, match=problem):
        face.report(**arguments)


def test_setup_says_the_same_of_a_study_that_was_opened(face):
    opened = Study.open().setup
    created = face.setup
    assert opened.outcome == "opened" and created.outcome == "created"
    for name in ("rows", "schema", "choices", "seed", "fingerprint", "notices"):
        assert getattr(opened, name) == getattr(created, name)
    assert Path(opened.uri) == Path(created.uri).absolute()


def test_a_study_says_in_one_line_what_it_is_also_when_it_is_gone(face, folder):
    face.next(3)
    assert repr(face) == f"<Study in {folder / '.activetest'}: 40 items, 0 labelled, 3 pending>"
    assert "0 labelled" not in face._repr_html_() and "pending" in face._repr_html_()
    shutil.rmtree(folder / ".activetest")
    assert "there is no study" in repr(face) and face._repr_html_() is None
    with pytest.raises(StudyError):
        face.next()


def test_a_pool_that_changes_is_refused(face, write_pool, folder):
    write_pool(folder / "pool.parquet", 40, seed=9)
    with pytest.raises(PoolChanged):
        face.next()


@pytest.mark.parametrize("call", [Study.create, Study.check, Study.change])
def test_signature_and_docstring_name_every_setting(call):
    parameters = inspect.signature(call).parameters
    doc = inspect.getdoc(call)
    for name, declaration in DECLARATIONS.items():
        assert parameters[name].kind == inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is None
        assert f"\n    {name}: {declaration.meaning[:12]}" in doc
    assert "settings" not in parameters and "--" not in doc


def test_the_signature_of_simulate_names_what_it_takes():
    parameters = inspect.signature(at.simulate).parameters
    assert {"surrogate", "power", "floor"} <= set(parameters) and "budget" not in parameters
    assert "Default: optimal and uniform;" in inspect.getdoc(at.simulate)


def test_names_inside_a_method_are_none_of_its_arguments(face):
    """A local variable of a method is as unknown a keyword as any other."""
    for name, local in (("next", "next_items"), ("report", "report"), ("next", "self")):
        method = vars(Study)[name].__wrapped__.__code__
        assert local in method.co_varnames
        with pytest.raises(ChoiceError, match=f"no argument '{local}' of study.{name}"):
            getattr(face, name)(**{local: 1})


def test_a_mistyped_argument_of_a_method_is_answered_with_the_right_one(face):
    for call, wrong, right in (
        (face.report, "metric", "metrics"),
        (face.report, "requires", "require"),
        (face.next, "shows", "show"),
        (face.ingest, "replaced", "replace"),
    ):
        with pytest.raises(ChoiceError, match=f"no argument '{wrong}'") as caught:
            call(**{wrong: "x"})
        assert f"did you mean '{right}'?" in caught.value.hint
    assert str(inspect.signature(at.Study.next)).startswith("(self, n: int = 10, *, new:")


def test_what_was_taken_back_is_one_line(face):
    face.ingest({face.next(1).ids[0]: "cat"})
    undone = face.undo()
    assert str(undone).startswith("taken back: 1 answer of the mapping, which came at 20")
    assert repr(undone) == f"<RetractedFile {undone}>"


def test_a_keyword_that_is_the_name_of_a_variable_inside_is_no_argument():
    class Verbs:
        @_with_known_names
        def tell(self, first, *, second=2):
            inside = first + second
            return inside

    assert Verbs().tell(1) == 3 and Verbs().tell(first=1, second=3) == 4
    for name in ("inside", "self"):
        with pytest.raises(ChoiceError, match=f"no argument '{name}' of study.tell"):
            Verbs().tell(1, **{name: 3})
