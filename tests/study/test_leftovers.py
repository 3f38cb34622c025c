"""Folders of others are no place for a study, and stay as they are beside one."""

import os
import time

import pytest

from activetest.errors import ActivetestError
from tests.makers import init


def leave(folder, *names: str):
    """A folder with files in it, last touched long ago."""
    folder.mkdir(parents=True)
    for name in names or ("part",):
        (folder / name).write_text("half of something")
    then = time.time() - 86400
    os.utime(folder, (then, then))
    return folder


@pytest.mark.parametrize("name", ["cache", ".cache-of-mine", "pool", "notes"])
def test_folders_of_others_are_no_place_for_a_study(folder, write_pool, name):
    write_pool(folder / "pool.parquet", 20)
    leave(folder / "study" / name)
    with pytest.raises(ActivetestError, match="is no study"):
        init("pool.parquet", "study", seed=1)
    assert (folder / "study" / name / "part").read_text() == "half of something"


def test_folders_of_others_beside_a_study_stay(folder, write_pool):
    write_pool(folder / "pool.parquet", 20)
    for name in ("study.results.tmp", "study.0badcafe.tmp", ".study-ab12", "study.tmp"):
        leave(folder / name, "results.csv")
    before = sorted(path.name for path in folder.iterdir())
    init("pool.parquet", "study", seed=1)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "study"])
    assert (folder / "study.results.tmp" / "results.csv").read_text() == "half of something"
