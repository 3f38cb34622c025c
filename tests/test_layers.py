"""Who may import whom, and what a command may not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "activetest"
SAMPLE = ROOT / "sample_data"

# The floors of the house: a room sees only rooms on the floors below its own.
FLOORS = [
    {"cli"},
    {"study"},
    {"reporting", "simulation"},
    {"sampling", "estimation"},
    {"rounds", "bandits", "cache", "surrogates", "metrics"},
    {"pool", "item_statistics", "labels", "ledger", "render"}
    | {"acquisition", "estimators", "intervals"},
    {"nouns", "catalog", "parallel", "atomic"},
    {"errors"},
]

# The modules that may lie loose at the top of the package.
LOOSE = {"__init__", "__main__", "errors", "catalog", "parallel", "atomic"}

# The only rooms that may import a library.
HOMES = {
    "typer": {"cli"},
    "rich": {"render", "cli"},
    "sqlite3": {"ledger"},
    "pyarrow": {"pool", "cache"},
    "sklearn": {"surrogates"},
    "torch": {"surrogates"},
    "matplotlib": {"render"},
}


def room(module: str) -> str:
    """The room of activetest.room.file; the entry points belong to the command line."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else "__init__"
    return "cli" if name == "__main__" else name


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
        and not imported.startswith(("activetest.catalog", "activetest.errors"))
        and room(module) not in (room(imported), "__init__")
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


def test_every_room_stands_on_a_floor_and_every_floor_has_its_rooms():
    rooms = {folder.parent.name for folder in PACKAGE.glob("*/__init__.py")} - {"sample_data"}
    assert rooms | LOOSE - {"__init__", "__main__"} == set().union(*FLOORS)


def test_nothing_else_lies_loose_at_the_top():
    assert {file.stem for file in PACKAGE.glob("*.py")} == LOOSE


def test_what_begins_with_an_underscore_stays_in_its_folder():
    wrong = [
        f"{module} imports {imported}"
        for module, imported in imports()
        if imported.startswith("activetest.")
        and any(
            part.startswith("_") and not part.startswith("__") for part in imported.split(".")[2:]
        )
        and not module.startswith(imported.partition("._")[0] + ".")
    ]
    assert not wrong, "\n".join(wrong)


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


@pytest.mark.parametrize("words", [("--help",), ("next", "--help"), ("--version",)])
def test_help_starts_without_anything_heavy(words):
    modules = loaded(command(*words))
    assert not modules & {"numpy", "pyarrow", "scipy", "sklearn", "torch"}
    assert len(modules) <= 2 * len(loaded("import typer"))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of the digits with one pending batch of ten in batch.csv."""
    folder = tmp_path_factory.mktemp("study")
    pool = str(SAMPLE / "digits.parquet")
    loaded(command("init", pool, "--group", "ink"), folder=folder)
    loaded(command("next", "--n", "10", "-o", "batch.csv"), folder=folder)
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
    assert not modules & {"sklearn", "scipy.stats", "torch", "pandas"}
