"""Arguments of a wrong type are errors with a problem and a hint, never a bare TypeError."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import activetest as at
from activetest.nouns.arguments import reading_arguments
from activetest.nouns.choices import DECLARATIONS
from tests import makers


class Odd:
    """An object that pretends to be a number and is none."""

    def __index__(self):
        raise TypeError("no number")

    __float__ = __index__


HUGE = 10**5000
VALUES = [
    3, -1, True, 3.5, float("nan"), float("inf"), 10**400, HUGE, "", "ten", "a\0b", "\ud800",
    b"x", [], [None], [3], [["error"]], ("x", 3), {"a": 1}, {"error"}, iter([object()]), object(),
    np.int64(5), np.float32(0.5), np.array([1, 2]), np.array(["a"]), np.bool_(True), 1j, range(3),
    print, Path("p"), "n" * 300, "n/" * 3000, "error[", "error>=", "error<=1e999", Odd(), Exception,
]  # fmt: skip
REPORT = (
    *("metrics", "groups", "differences", "require", "interval", "simultaneous", "half_width"),
    *("bound", "estimators"),
)
SIMULATE = (
    *("pool", "key", "budgets", "runs", "batch", "seed", "estimators", "metrics", "aim"),
    *("interval", "save", "surrogate", "acquisition", "selection", "power", "costs"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a pool and a study of it, and links that lead to each other."""
    folder = tmp_path_factory.mktemp("place")
    makers.write_pool(folder / "pool.parquet", 12)
    at.Study.create(folder / "pool.parquet", folder / "study", seed=1, groups="place")
    for name, target in (("loop", "other"), ("other", "loop")):
        (folder / name).symlink_to(target)
    return folder


@pytest.fixture
def study(place, monkeypatch) -> at.Study:
    """The study, from the folder that it is in."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    monkeypatch.chdir(place)
    return at.Study.open("study")


def refused(call, *args, **named) -> bool:
    """Whether a call raises an error of the user; any other one fails the test."""
    try:
        call(*args, **named)
    except at.ActivetestError as error:
        assert error.problem and error.hint
        return True
    return False


def try_values(call, name: str, values=VALUES, **others) -> int:
    """How many values of an argument are refused."""
    return sum(refused(call, **(others | {name: value})) for value in values)


@pytest.mark.parametrize(
    "values", [VALUES[::3], pytest.param(VALUES, marks=pytest.mark.ci)], ids=["some", "all"]
)
@pytest.mark.parametrize("name", DECLARATIONS)
def test_settings_of_a_wrong_type_are_errors(study, name, values):
    assert try_values(study.change, name, values, dry_run=True) > len(values) / 2


@pytest.mark.parametrize("name", ["pool", "folder"])
def test_a_pool_and_a_folder_of_a_wrong_type_are_errors(study, name):
    others = {"pool": "nowhere.parquet", "folder": "new"}
    assert try_values(at.Study.check, name, **others) == len(VALUES)
    # The study of an empty name is the nearest one, and there is none.
    assert try_values(at.Study.open, "folder") == len(VALUES)


@pytest.mark.parametrize("name", ["new", "show", "format", "spreadsheet"])
def test_arguments_of_next_of_a_wrong_type_are_errors(study, name):
    assert try_values(study.next, name) > len(VALUES) / 2


def test_numbers_of_items_and_flags_are_nothing_else(study):
    values = [each for each in VALUES if not isinstance(each, int | np.integer) or each is True]
    assert try_values(study.next, "n", values) == len(values)
    flags = [each for each in VALUES if not isinstance(each, bool | np.bool_)]
    for call, name in ((study.ingest, "replace"), (study.report, "simultaneous")):
        others = {"labels": {}} if name == "replace" else {}
        assert try_values(call, name, flags, **others) == len(flags)
    assert refused(study.change, dry_run="no")


@pytest.mark.parametrize("name", REPORT)
def test_arguments_of_reports_of_a_wrong_type_are_errors(study, name):
    assert try_values(study.report, name) > len(VALUES) / 2


@pytest.mark.parametrize("name", SIMULATE)
def test_arguments_of_simulations_of_a_wrong_type_are_errors(study, name):
    others = {"pool": "pool.parquet", "key": {}, "budgets": 3, "runs": 2, "workers": 1}
    assert try_values(at.simulate, name, **others) == len(VALUES)
    # Without labels no simulation goes on: these are refused before they are looked for.
    with pytest.raises(at.ChoiceError, match="progress"):
        at.simulate(**others, progress=3)
    with pytest.raises(at.ChoiceError, match="estimators"):
        at.simulate(**others, estimators=3)


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "n" * 300, "n/" * 3000, "loop", "loop/x", 3])
def test_paths_that_no_file_can_have_are_errors(study, path):
    batch = study.next(2)
    for call in (
        lambda: study.ingest(path),
        lambda: study.ingest({}, map=path),
        lambda: study.next(path=path),
        lambda: batch.to_csv(path),
        lambda: batch.to_jsonl(path),
        lambda: study.change(costs=path),
        lambda: study.change(train=path),
        lambda: study.change(other_models=path),
        lambda: at.Study.create(path),
        lambda: at.Study.create(f"{path}.csv"),
        lambda: at.Study.create("pool.parquet", path),
        lambda: at.Study.open(path),
        lambda: at.simulate("pool.parquet", path),
        lambda: at.simulate(path, {}),
        lambda: at.simulate("pool.parquet", {}, save=path),
    ):
        assert refused(call)


@pytest.mark.parametrize("kind", [3, b"pandas", np.array([1, 2]), ["pandas"], "excel"])
def test_kinds_of_frames_of_a_wrong_type_are_errors(study, kind):
    assert refused(study.next(2).to_frame, kind)


@reading_arguments
def take(
    odd: Callable[[], int],
    n: int = 10,
    *,
    flag: bool = False,
    share: float | None = None,
    names: str | Sequence[str] = (),
    some: str | Sequence[str] | None = None,
    other: Path | int | None = None,
) -> tuple:
    return odd, n, flag, share, names, some, other


def test_arguments_are_read_by_their_annotations_and_others_left_alone():
    assert take(int) == (int, 10, False, None, (), None, None)
    found = take(int, np.int64(3), flag=np.True_, share=1, names="a", some=["b", "c"], other="x")
    assert found == (int, 3, True, 1.0, ("a",), ("b", "c"), "x")
    assert take(int, names=None, some=None)[4:6] == ((), None)
    for named, hint in (
        ({"n": 1.5}, "it must be a whole number, for example 20"),
        ({"n": None}, "it must be a whole number, for example 20"),
        ({"flag": 1}, "it must be True or False"),
        ({"flag": None}, "it must be True or False"),
        ({"share": "0.5"}, "it must be a number"),
        ({"names": [1]}, "it must be a text, or several of them"),
    ):
        with pytest.raises(at.ChoiceError, match=f"^`{next(iter(named))}` is ") as error:
            take(int, **named)
        assert error.value.hint == hint
