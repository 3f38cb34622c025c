"""A study folder is found like git finds its own, and errors of the file system are explained."""

import errno
import os
from pathlib import Path

import pytest

from activetest.errors import StorageError, StudyError, raising_storage_errors
from activetest.study.folder import FOLDER, find_study, is_study


def make_study(folder: Path) -> Path:
    """A folder that is taken for a study."""
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text("")
    return folder


def test_a_folder_with_a_study_toml_is_a_study(folder):
    assert is_study(make_study(folder / "study"))
    (folder / "other" / "study.toml").mkdir(parents=True)
    assert not is_study(folder / "other") and not is_study(folder / "nowhere")


def test_what_is_left_of_a_study_is_found_only_where_that_is_wanted(folder, monkeypatch):
    left = folder / FOLDER
    left.mkdir()
    (left / "ledger.db").write_bytes(b"")
    for given in (None, left):
        with pytest.raises(StudyError):
            find_study(given)
        assert find_study(given, damaged=True) == left
    assert not is_study(left) and is_study(left, damaged=True)


def test_the_nearest_study_above_the_working_directory_is_found(folder, monkeypatch):
    outer = make_study(folder / FOLDER)
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_study() == outer
    inner = make_study(folder / "a" / FOLDER)
    assert find_study() == inner


def test_a_path_may_mean_the_study_or_the_folder_that_holds_it(folder, monkeypatch):
    study = make_study(folder / "project" / FOLDER)
    assert find_study(study) == find_study(folder / "project") == study
    monkeypatch.chdir(folder / "project")
    assert find_study("../project") == study.parent / ".." / "project" / FOLDER


def test_the_environment_names_a_study_unless_a_path_does(folder, monkeypatch):
    named, here = make_study(folder / "named"), make_study(folder / "here")
    monkeypatch.setenv("ACTIVETEST_STUDY", str(named))
    assert find_study() == named
    assert find_study(here) == here
    monkeypatch.setenv("ACTIVETEST_STUDY", str(folder / "nowhere"))
    with pytest.raises(StudyError, match="nowhere"):
        find_study()


@pytest.mark.parametrize("path", [None, "nowhere"])
def test_where_there_is_no_study_the_error_says_how_to_start_one(folder, path):
    with pytest.raises(StudyError, match="there is no study in") as error:
        find_study(path)
    assert "`Study.create(pool)`" in error.value.hint


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "space"),
        (errno.EDQUOT, "space"),
        (errno.EFBIG, "space"),
        (errno.EACCES, "`folder`"),
        (errno.EROFS, "`folder`"),
    ],
)
def test_what_the_file_system_refuses_is_a_storage_error(number, hint):
    refused = OSError(number, os.strerror(number))
    with pytest.raises(StorageError) as error, raising_storage_errors(Path("place")):
        raise refused
    assert error.value.problem == f"cannot write place: {os.strerror(number)}"
    assert hint in error.value.hint and error.value.__cause__ is refused


def test_other_errors_pass_through():
    with pytest.raises(ZeroDivisionError), raising_storage_errors(Path("place")):
        raise ZeroDivisionError
