"""The archives of a release: what is in them, and that the installed package works by itself."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from importlib.util import find_spec
from pathlib import Path

import pytest

import activetest

for _tool in ("hatchling", "pip"):
    if find_spec(_tool) is None:
        pytest.skip(f"{_tool} is not installed: pip install '.[test]'", allow_module_level=True)

ROOT = Path(__file__).parents[1]
VERSION = activetest.__version__
CHANGELOG = (ROOT / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
# Files that tools and systems leave, and files that no user needs.
UNWANTED = re.compile(
    r"(^|/)(__pycache__|\.(git|venv|hypothesis|activetest|\w+_cache|DS_Store)|build|dist)(/|$)"
    r"|\.(py[cod]|egg-info|orig|rej|tmp|swp|bak|log|db|npy|npz)$|~$"
)
# Studies that every later version opens.
KEPT = "tests/guarantees/studies/"


def run(*words: str | Path, cwd: Path, path: Path | None = None) -> str:
    """The output of Python; it must succeed, and finds the package only at the path given."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"}
    env |= {"PYTHONPATH": str(path)} if path else {}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, source: Path, folder: Path) -> Path:
    """The archive that hatchling makes of a source tree, without the network."""
    code = f"import sys; from hatchling import build; build.build_{kind}(sys.argv[1])"
    run("-c", code, folder, cwd=source)
    [archive] = folder.iterdir()
    return archive


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """{name: content} of the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}


def read_sdist(sdist: Path) -> dict[str, bytes]:
    """{name: content} of the files of a source archive, without the folder that all are in."""
    with tarfile.open(sdist) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        return {
            member.name.partition("/")[2]: archive.extractfile(member).read() for member in files
        }


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_of_sdist(sdist, tmp_path_factory) -> Path:
    """The wheel of the unpacked source archive, as installers make it."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [source] = folder.iterdir()
    return build("wheel", source, tmp_path_factory.mktemp("wheel_of_sdist"))


@pytest.fixture(scope="module")
def installed(wheel_of_sdist, tmp_path_factory) -> Path:
    """A folder with the installed package; what it depends on is in the environment."""
    folder = tmp_path_factory.mktemp("installed")
    run(
        *("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"),
        *("--no-deps", "--no-index", "--target", folder, wheel_of_sdist),
        cwd=folder,
    )
    return folder


def list_package(*suffixes: str) -> set[str]:
    """Files of the package in this tree, with these endings."""
    files = (file for suffix in suffixes for file in (ROOT / "activetest").rglob(f"*{suffix}"))
    return {file.relative_to(ROOT).as_posix() for file in files}


def list_samples() -> set[str]:
    files = (file for file in (ROOT / "sample_data").iterdir() if file.is_file())
    return {f"sample_data/{file.name}" for file in files}


@pytest.mark.ci
def test_the_archives_have_the_version_of_the_package(sdist, wheel):
    assert sdist.name == f"activetest-{VERSION}.tar.gz"
    assert wheel.name == f"activetest-{VERSION}-py3-none-any.whl"


@pytest.mark.ci
def test_the_wheel_holds_code_pages_schema_types_and_sample_data(wheel):
    files = set(read_wheel(wheel))
    assert list_package(".py", ".md", ".json") <= files
    assert {"activetest/py.typed", "activetest/docs/schema.json"} <= files
    assert {f"activetest/{name}" for name in list_samples()} <= files
    others = {name for name in files if not name.startswith("activetest/")}
    assert {name.split("/")[0] for name in others} == {f"activetest-{VERSION}.dist-info"}


@pytest.mark.ci
def test_the_source_archive_holds_what_tests_and_a_build_need(sdist):
    files = set(read_sdist(sdist))
    assert list_package(".py", ".md", ".json", "py.typed") | list_samples() <= files
    tests = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("*.py")}
    assert tests <= files
    assert {"README.md", "LICENSE", "pyproject.toml", ".ci/run", ".github/CHANGELOG.md"} <= files
    assert {"tests/benchmarks/README.md", "tests/benchmarks/savings.svg"} <= files


@pytest.mark.ci
def test_the_wheel_of_the_source_archive_is_the_wheel_of_the_tree(wheel, wheel_of_sdist):
    assert read_wheel(wheel) == read_wheel(wheel_of_sdist)


@pytest.mark.ci
def test_nothing_unwanted_is_in_an_archive(sdist, wheel):
    for files in (read_sdist(sdist), read_wheel(wheel)):
        found = [name for name in files if UNWANTED.search(name)]
        assert [name for name in found if not name.startswith(KEPT)] == []
        assert [name for name, content in files.items() if str(ROOT).encode() in content] == []
        kept = {name for name in files if name.startswith(KEPT)}
        # One study more for each version that is kept.
        assert sum(len(files[name]) for name in files.keys() - kept) < 11_000_000
        assert sum(len(files[name]) for name in kept) < 600_000 * len(list((ROOT / KEPT).iterdir()))


@pytest.mark.ci
def test_the_description_is_the_readme_and_the_metadata_say_what_is_needed(wheel):
    files = read_wheel(wheel)
    text = files[f"activetest-{VERSION}.dist-info/METADATA"].decode()
    metadata = message_from_string(text)
    assert metadata["Version"] == VERSION
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert text.endswith((ROOT / "README.md").read_text(encoding="utf-8"))
    needed = {re.match(r"[\w-]+", each)[0] for each in metadata.get_all("Requires-Dist")}
    assert {"numpy", "pyarrow", "rich", "scikit-learn", "scipy", "typer"} <= needed
    assert f"activetest-{VERSION}.dist-info/licenses/LICENSE" in files


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["--version"], f"activetest {VERSION}\n"),
        (["demo"], "$ activetest report\nThe model is wrong on "),
        (["help"], "pools"),
        (["help", "pools"], "prob_"),
        (["report", "--help"], "--require"),
    ],
    ids=" ".join,
)
def test_the_installed_commands_work_elsewhere(installed, tmp_path, words, printed):
    assert printed in run("-P", "-m", "activetest", *words, cwd=tmp_path, path=installed)


@pytest.mark.ci
def test_the_installed_package_is_imported_from_where_it_was_installed(installed, tmp_path):
    code = (
        "import activetest as at, activetest.catalog as c\n"
        "at.Study, at.simulate\n"
        "print(at.__file__, at.__version__, len(c.names('metrics')), sep='\\n')"
    )
    file, version, metrics = run("-P", "-c", code, cwd=tmp_path, path=installed).split()
    assert Path(file).resolve() == (installed / "activetest" / "__init__.py").resolve()
    assert version == VERSION and int(metrics) > 20


def test_the_changelog_begins_with_what_is_unreleased_and_then_this_version():
    versions = re.findall(r"^## \[(.*?)\](.*)$", CHANGELOG, flags=re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert versions[1][0] == VERSION
    dates = [date for _, date in versions[1:]]
    assert all(re.fullmatch(r" - \d{4}-\d{2}-\d{2}", date) for date in dates)
    assert dates == sorted(dates, reverse=True)


def test_the_headings_of_the_changelog_are_those_of_keep_a_changelog():
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", CHANGELOG, flags=re.MULTILINE)) <= known


@pytest.mark.parametrize("page", ["CHANGELOG.md", "CONTRIBUTING.md"])
def test_the_files_that_developers_are_sent_to_exist(page):
    text = (ROOT / ".github" / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    named = re.findall(r"`((?:tests|nouns|cli|docs)/[a-z_/]+(?:\.(?:py|md|json)|/))`", text)
    places = [(ROOT / ".github" / link) for link in links]
    for name in named:
        places.append(ROOT / name if name.startswith("tests/") else ROOT / "activetest" / name)
    assert places
    assert [str(place) for place in places if not place.exists()] == []
