"""Who may import whom, where tests stand, and what a command may not load."""

import ast
import graphlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from activetest.study.study import Study

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "activetest"
SAMPLE = ROOT / "sample_data"

# The floors of the house: a room sees only rooms on the floors below its own.
FLOORS = [
    # Nobody imports a wing: the catalogue finds its methods.
    {
        "cli",
        "wings/best",
        "wings/curves",
        "wings/groups",
        "wings/judges",
        "wings/neural",
        "wings/surfaces",
    },
    {"study"},
    {"reporting", "simulation"},
    {"sampling", "estimation"},
    {"rounds", "cache", "surrogates", "metrics"},
    {"pool", "item_statistics", "labels", "ledger", "render"}
    | {"acquisition", "estimators", "intervals"},
    {"formats"},
    {"nouns", "catalog", "system"},
    {"errors", "wings"},
]

# Rooms that each room sees: a new arrow is an edit here, which a reader sees.
ARROWS = {
    "cli": "study simulation labels pool render catalog nouns system errors",
    "wings/best": (
        "study reporting simulation estimation sampling rounds acquisition "
        "item_statistics render catalog nouns system errors"
    ),
    "wings/curves": (
        "study reporting estimation rounds item_statistics render catalog nouns system errors"
    ),
    "wings/groups": (
        "study reporting simulation estimation sampling cache rounds intervals "
        "item_statistics pool render catalog nouns system errors"
    ),
    "wings/judges": "study reporting estimation rounds item_statistics pool render nouns",
    "wings/neural": "surrogates nouns system errors",
    "wings/surfaces": (
        "study reporting simulation estimation sampling cache rounds item_statistics "
        "labels pool render catalog nouns system errors"
    ),
    "study": (
        "reporting estimation sampling cache rounds item_statistics labels ledger pool "
        "render formats catalog nouns system errors"
    ),
    "reporting": (
        "estimation sampling rounds intervals item_statistics labels ledger pool catalog "
        "nouns system errors"
    ),
    "simulation": (
        "estimation sampling cache rounds item_statistics labels pool render catalog "
        "nouns system errors"
    ),
    "estimation": "rounds intervals item_statistics labels catalog nouns system errors",
    "sampling": (
        "cache rounds intervals item_statistics labels pool formats catalog nouns system errors"
    ),
    "cache": "item_statistics labels pool catalog nouns system errors",
    "metrics": "item_statistics nouns errors",
    "rounds": "item_statistics pool catalog nouns system errors",
    "surrogates": "item_statistics catalog nouns system errors",
    "acquisition": "nouns",
    "estimators": "nouns errors",
    "intervals": "nouns",
    "item_statistics": "catalog nouns errors",
    "labels": "formats catalog nouns errors",
    "ledger": "nouns system errors",
    "pool": "formats catalog nouns system errors",
    "render": "catalog nouns system errors",
    "formats": "catalog nouns system errors",
    "catalog": "errors",
    "nouns": "errors wings",
    "system": "errors",
}

# Types of wings that signatures of the public face name.
NAMED = {
    ("activetest.study.study", "activetest.wings.curves.study_curve.StudyCurve"),
    ("activetest.study.study", "activetest.wings.groups.choices.QuestionChoices"),
    ("activetest.study.study", "activetest.wings.surfaces.choices.SurfaceChoices"),
    ("activetest.study.study", "activetest.wings.surfaces.study_surface.StudySurface"),
}

# The modules that may lie loose at the top of the package.
LOOSE = {"__init__", "__main__", "errors", "catalog"}

# Folders of tests that are no room: what holds across rooms, and programs that measure it.
NO_ROOMS = {"benchmarks", "guarantees", "journeys", "mutate", "reliability"}

# Tests of several files of their room, by what they are about.
ABOUT = {
    "wings/surfaces/attribute_models/test_methods": "every model of uncertain attributes",
    "estimation/test_top_scores": "estimates where the top scores were labelled",
    "formats/test_journeys": "the way from every log to a report",
    "formats/test_notes": "what readers say of files",
    "formats/test_published": "files that other programs published",
    "metrics/test_against_scikit_learn": "the values of metrics that scikit-learn has",
    "metrics/test_calibration": "metrics of calibration",
    "metrics/test_classification": "metrics of classes",
    "metrics/test_curves": "areas under curves",
    "metrics/test_kappa_of_judges": "agreement and bias of a judge",
    "metrics/test_precision_at_k": "precision among the highest scores",
    "metrics/test_rates": "metrics that are rates",
    "metrics/test_regression": "metrics of numbers",
    "render/page/test_accessibility": "the page in a browser",
    "render/page/test_example": "the example of a page in sample_data",
    "render/test_formats": "every format",
    "render/test_schema": "the schema of every JSON document",
    "reporting/test_limits": "the limits at which reports say something else",
    "simulation/test_undefined": "metrics that are about few items of the pool, or about none",
    "study/test_leftovers": "files that a killed command left",
    "study/test_several_annotators": "studies whose labels are corrected for annotators' errors",
    "study/test_top_scores": "studies of the top scores",
    "wings/surfaces/surfaces/test_methods": "every surface",
    "wings/neural/test_neural": "every neural network",
}

# Imports of the command line from the rooms whose verbs it runs, and other permitted imports.
FACE = {
    "activetest.study.study.Study",
    "activetest.study.inspect.inspect",
    "activetest.study.labelling.LabellingSession",
    "activetest.simulation.simulate.simulate",
}
BEHIND_THE_FACE = {
    # A shell waits for the names of columns: nothing but the folder of the study is looked at.
    ("activetest.cli.completion", "activetest.study.folder"),
    # The truth that the demo ends with is nothing that a study can tell.
    ("activetest.cli.demo", "activetest.study.stored"),
}

# The only rooms that may import a library.
HOMES = {
    "typer": {"cli"},
    "rich": {"render", "cli"},
    "sqlite3": {"ledger"},
    "pyarrow": {"pool", "cache", "formats"},
    "sklearn": {"cache", "surrogates", "wings/surfaces"},
    "torch": {"wings/neural", "wings/surfaces"},
    "matplotlib": {"render"},
}


def room(module: str) -> str:
    """The room of activetest.room.file; the entry points belong to the command line."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else "__init__"
    if name == "wings" and len(parts) > 2:
        return "/".join(parts[1:3])
    return "cli" if name == "__main__" else name


@cache
def imports() -> list[tuple[str, str]]:
    """(module, imported module) for every import statement in the package, wherever it stands."""
    pairs = []
    for file in sorted(PACKAGE.rglob("*.py")):
        if "sample_data" in file.parts:
            continue
        inside = file.relative_to(ROOT).with_suffix("")
        module = ".".join(inside.parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                pairs += [(module, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{module} has a relative import"
                pairs += [(module, f"{node.module}.{alias.name}") for alias in node.names]
    return pairs


def between_rooms() -> list[tuple[str, str]]:
    """(module, imported module) where both are of this package, and not of the same room."""
    return [
        (module, imported)
        for module, imported in imports()
        if imported.split(".")[0] == "activetest"
        and imported != "activetest.__version__"
        and room(module) not in (room(imported), "__init__")
        and (module, imported) not in NAMED
    ]


def floor(name: str) -> int:
    """The floor on which a room stands; the cellar is 0."""
    found = [number for number, rooms in enumerate(reversed(FLOORS)) if name in rooms]
    assert found, f"activetest/{name} stands on no floor: add it to FLOORS"
    return found[0]


def test_every_room_sees_only_the_rooms_below_it():
    wrong = [
        f"{module} imports {imported}"
        for module, imported in between_rooms()
        if floor(room(module)) <= floor(room(imported))
    ]
    assert not wrong, "\n".join(wrong)


def find_arrows() -> dict[str, set[str]]:
    """{room: the rooms that its files import}."""
    arrows: dict[str, set[str]] = {}
    for module, imported in between_rooms():
        arrows.setdefault(room(module), set()).add(room(imported))
    return arrows


def test_there_are_at_most_nine_floors_and_no_circle():
    assert len(FLOORS) <= 9
    graphlib.TopologicalSorter(find_arrows()).prepare()


def test_the_arrows_between_rooms_are_those_of_the_table():
    assert find_arrows() == {name: set(seen.split()) for name, seen in ARROWS.items()}


def test_the_command_line_runs_every_verb_through_the_public_face():
    verbs = {"study", "simulation", "reporting"}
    found = {
        (module, imported)
        for module, imported in between_rooms()
        if room(module) == "cli" and room(imported) in verbs and imported not in FACE
    }
    assert {(module, imported.rpartition(".")[0]) for module, imported in found} == BEHIND_THE_FACE


def test_every_room_stands_on_a_floor_and_every_floor_has_its_rooms():
    folders = [*PACKAGE.glob("*/__init__.py"), *PACKAGE.glob("wings/*/__init__.py")]
    rooms = {
        room(".".join(("activetest", *each.parent.relative_to(PACKAGE).parts))) for each in folders
    }
    assert rooms - {"sample_data"} | LOOSE - {"__init__", "__main__"} == set().union(*FLOORS)


def test_nothing_else_lies_loose_at_the_top():
    assert {file.stem for file in PACKAGE.glob("*.py")} == LOOSE


def extends_a_family(module: str, imported: str) -> bool:
    """Whether a wing brings methods to the family whose files these are: those are no methods."""
    family = imported.partition("._")[0].rpartition(".")[2]
    wing = PACKAGE / room(module)
    return wing.parent.name == "wings" and (wing / family).is_dir()


def test_what_begins_with_an_underscore_stays_in_its_folder():
    wrong = [
        f"{module} imports {imported}"
        for module, imported in imports()
        if imported.startswith("activetest.")
        and any(
            part.startswith("_") and not part.startswith("__") for part in imported.split(".")[2:]
        )
        and not module.startswith(imported.partition("._")[0] + ".")
        and not extends_a_family(module, imported)
    ]
    assert not wrong, "\n".join(wrong)


def test_folders_of_tests_are_rooms():
    """Their names are those of the package's folders, also below a room."""
    wrong = [
        str(file.parent.relative_to(ROOT))
        for file in (ROOT / "tests").glob("*/**/test_*.py")
        if file.relative_to(ROOT / "tests").parts[0] not in NO_ROOMS
        and not (PACKAGE / file.parent.relative_to(ROOT / "tests") / "__init__.py").is_file()
    ]
    assert not wrong, "\n".join(wrong)


def names_a_file(test: Path) -> bool:
    """Whether test_NAME.py or test_NAME_more.py is in the folder of NAME.py or _NAME.py."""
    name = test.stem.removeprefix("test_")
    folder = PACKAGE / test.parent.relative_to(ROOT / "tests")
    files = {file.stem.lstrip("_") for file in folder.glob("*.py")} - {"init__"}
    return any(name == file or name.startswith(f"{file}_") for file in files)


def test_a_file_of_tests_is_called_like_the_file_it_tests():
    tests = ROOT / "tests"
    loose = {
        "test_adversarial",
        "test_benchmarks_page",
        "test_benchmarks_run",
        "test_ci",
        "test_doctests",
        "test_layers",
        "test_notebook",
        "test_pages",
        "test_readme",
        "test_recipes",
        "test_release",
        "test_reproduce_active_testing",
        "test_reproduce_alt_mas",
        "test_style",
        "test_wings",
        "test_words",
        "test_workflows",
    }
    wrong = [
        str(file.relative_to(ROOT))
        for file in tests.rglob("test_*.py")
        if file.relative_to(tests).parts[0] not in NO_ROOMS
        and str(file.relative_to(tests).with_suffix("")) not in loose | set(ABOUT)
        and not names_a_file(file)
    ]
    assert not wrong, "\n".join(wrong)
    gone = [each for each in ABOUT if not (tests / f"{each}.py").is_file()]
    assert not gone, gone


@pytest.mark.parametrize("library", HOMES)
def test_every_library_has_its_home(library):
    wrong = [
        f"{module} imports {imported}"
        for module, imported in imports()
        if imported.split(".")[0] == library and room(module) not in HOMES[library]
    ]
    assert not wrong, "\n".join(wrong)


def loaded(code: str, *, folder: Path | None = None) -> set[str]:
    """The modules that a fresh interpreter holds after running code."""
    ending = "\nimport sys; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}{ending}",
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def command(*words: str) -> str:
    """Code that runs a command and insists on its success."""
    return f"from activetest.cli.app import main\nassert main({list(words)!r}) == 0"


def test_the_nouns_and_the_package_itself_load_nothing():
    """Types can be named without waiting for arrays."""
    assert "numpy" not in loaded("import activetest.nouns")
    assert loaded("import activetest") - loaded("pass") == {"activetest"}


def test_naming_the_study_or_an_error_waits_for_no_arrays():
    modules = loaded("import activetest as at; at.Study; at.Batch; at.Report; at.PoolError")
    assert "activetest.study.study" in modules
    assert not modules & {"numpy", "pyarrow", "rich", "typer", "activetest.study.stored"}


def test_public_names_are_imported_when_they_are_used():
    import activetest

    names = set(activetest.__all__)
    assert set(dir(activetest)) == names and sorted(names) == activetest.__all__
    for name in names - {"__version__"}:
        assert getattr(activetest, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Studi'"):
        _ = activetest.Studi  # type: ignore[attr-defined]
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize(
    "words", [("--help",), ("next", "--help"), ("--version",), ("help",), ("help", "pools")]
)
def test_help_starts_without_anything_heavy(words):
    modules = loaded(command(*words))
    assert not modules & {"numpy", "pyarrow", "scipy", "sklearn", "torch"}
    assert len(modules) <= 2 * len(loaded("import typer"))


@pytest.mark.parametrize("words", [("--version",), ("nxt",)])
def test_the_version_and_a_mistyped_command_start_like_help(words):
    code = f"from activetest.cli.app import main\nassert main({list(words)!r}) in (0, 2)"
    assert "pydantic" not in loaded(code)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of the digits with one pending batch of ten in batch.csv."""
    folder = tmp_path_factory.mktemp("study")
    study = Study.create(SAMPLE / "digits.parquet", folder / ".activetest", groups="ink")
    study.next(10, path=folder / "batch.csv")
    key = dict(line.split(",") for line in (SAMPLE / "digits.labels.csv").read_text().split())
    ids = [line.split(",")[0] for line in (folder / "batch.csv").read_text().split()[1:]]
    answers = "".join(f"{item},{key[item]}\n" for item in ids)
    (folder / "answers.csv").write_text("id,label\n" + answers)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("init", str(SAMPLE / "digits.parquet"), "--group", "ink"),
        ("next", "--n", "10"),
        ("next", "--new", "--n", "10"),
        ("ingest", "answers.csv"),
        ("report",),
        ("status",),
    ],
)
def test_the_verbs_of_the_loop_load_nothing_that_starts_slowly(study, words):
    modules = loaded(command(*words), folder=study)
    assert not modules & {"sklearn", "scipy.stats", "torch", "pandas", "openpyxl"}


def test_status_of_a_study_reads_no_pool(study):
    modules = loaded(command("status"), folder=study)
    assert not modules & {"pyarrow", "scipy", "activetest.cache.cache", "activetest.pool.pool"}
