"""The examples in docstrings run as they stand, on the sample data and a study of 60 labels."""

import csv
import doctest
import importlib
import inspect
import shutil
from pathlib import Path

import pytest

import activetest as at
from activetest.simulation.results import Simulation
from activetest.study.labelling import LabellingSession
from activetest.wings.curves.study_curve import StudyCurve
from activetest.wings.surfaces.study_surface import StudySurface

SAMPLES = Path(__file__).parents[1] / "sample_data"
FILES = ("digits.parquet", "digits.labels.csv")
MODULES = (
    "activetest",
    "activetest.simulation.results",
    "activetest.simulation.simulate",
    "activetest.wings.curves.study_curve",
    "activetest.study.export",
    "activetest.study.labelling",
    "activetest.study.results",
    "activetest.study.study",
    "activetest.wings.surfaces.study_surface",
)
# The public classes; each of their methods has an example.
CLASSES = (at.Study, at.Batch, at.Report, at.Status, at.Setup)
CLASSES += (LabellingSession, Simulation, StudyCurve, StudySurface)


def find_examples() -> dict[str, doctest.DocTest]:
    """{name: examples} of every docstring that has some."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = map(importlib.import_module, MODULES)
    tests = [test for module in modules for test in finder.find(module)]
    return {test.name: test for test in tests if test.examples}


EXAMPLES = find_examples()


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Path:
    """A folder with the sample data and a study of which 60 items are labelled."""
    folder = tmp_path_factory.mktemp("examples")
    for name in FILES:
        shutil.copy2(SAMPLES / name, folder)
    study = at.Study.create(folder / FILES[0], folder / "study", groups="ink", seed=1)
    for _ in range(3):
        study.ingest({id: read_key(folder)[id] for id in study.next(20).ids})
    return folder


def read_key(folder: Path) -> dict[str, str]:
    """{id: label} of the sample data."""
    with open(folder / FILES[1], encoding="utf-8", newline="") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_does_what_it_shows(name, scene, folder):
    shutil.copytree(scene, folder, dirs_exist_ok=True)
    test = EXAMPLES[name]
    test.globs = {"at": at, "study": at.Study.open("study"), "key": read_key(folder)}
    if name.startswith("activetest.wings.surfaces.study_surface"):
        test.globs["study"].change(attributes=["ink", "predicted"], surface="beta")
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(test, out=printed.append).failed
    assert not failed, "".join(printed)


def test_every_public_method_has_an_example():
    public = [
        f"{cls.__module__}.{cls.__name__}.{name}"
        for cls in CLASSES
        for name, member in vars(cls).items()
        if not name.startswith("_")
        and (callable(member) or isinstance(member, property | classmethod | staticmethod))
    ]
    functions = [at.simulate]
    public += [f"{each.__module__}.{each.__name__}" for each in functions]
    assert len(public) > 20
    assert not [name for name in public if name not in EXAMPLES]


def test_every_public_name_has_a_docstring():
    assert not [name for name in at.__all__ if not name.startswith("_") and not doc_of(name)]


def doc_of(name: str) -> str | None:
    """The docstring of a public name."""
    return inspect.getdoc(getattr(at, name))
