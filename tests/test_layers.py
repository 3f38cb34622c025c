"""Who may import whom, and what a command may not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "activetest"
SAMPLE = ROOT / "sample_data"

# Each row sees only the rows below it; rooms on one row do not see each other.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"workflow", "render"},
    {"study", "assess", "planning"},
    {"samples"},
    {"rounds", "choices", "supplements"},
    {"cache"},
    {"acquisition", "estimators", "intervals", "surrogates", "pool", "ledger", "convert", "labels"},
    {"arms"},
    {"expectation", "groups", "identities", "components", "sampling", "annotators", "shrinkage"}
    | {"gates", "costs", "specs"},
    {"metrics", "passes", "catalog", "hashing", "report"},
    {"errors", "evidence"},
    {"__init__"},
]

# The only rooms that may import a library.
HOMES = {
    "typer": {"cli"},
    "rich": {"render", "cli"},
    "sqlite3": {"ledger"},
    "pyarrow": {"pool", "convert", "cache", "groups", "supplements"},
    "sklearn": {"surrogates"},
    "torch": {"surrogates"},
    "matplotlib": {"render"},
}


def room(module: str) -> str:
    """The room of activetest.room.file; pool_schema.py and its like belong to the room pool."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else "__init__"
    if name.startswith("__"):
        return "__main__" if name == "__main__" else "__init__"
    return name.split("_")[0]


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
                pairs += [(module, f"{node.module}.{alias.name}") for alias in node.names]
    return pairs


def height(name: str) -> int:
    """How far up a room stands."""
    rows = [number for number, rooms in enumerate(reversed(LAYERS)) if name in rooms]
    assert rows, f"activetest/{name} stands on no layer: add it to LAYERS in {Path(__file__).name}"
    return rows[0]


def test_every_room_sees_only_the_rooms_below_it():
    wrong = [
        f"{module} imports {imported}"
        for module, imported in imports()
        if imported.split(".")[0] == "activetest"
        and room(module) != room(imported)
        and height(room(module)) <= height(room(imported))
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


def test_methods_of_a_family_do_not_depend_on_another_family():
    families = {"acquisition", "estimators", "intervals", "surrogates"}
    wrong = [
        f"{module} imports {imported}"
        for module, imported in imports()
        if room(module) in families and room(imported) in families - {room(module)}
    ]
    assert not wrong, "\n".join(wrong)


def test_no_file_is_too_large_to_be_read_in_one_sitting():
    sizes = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines())
        for folder in (PACKAGE, Path(__file__).parent)
        for file in folder.rglob("*.py")
    }
    assert {name: size for name, size in sizes.items() if size > 300} == {}


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
