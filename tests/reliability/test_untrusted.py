"""A study folder or a pool of somebody else: what the page `threats` says of them holds."""

import base64
import json
import os
import pickle
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cli import pages
from activetest.study.stored import StoredStudy
from tests import makers
from tests.reliability.audit import watching
from tests.reliability.hostile_labels import Canary
from tests.reliability.programs import ROOT, STUDY, Started, run_here, take_snapshot

VERBS = (
    ["status"],
    ["report"],
    ["next", "--n", "2", "--new"],
    ["next", "-o", "batch.csv"],
    ["ingest", "labels.csv"],
    ["ingest", "--undo"],
    ["init", "--floor", "0.5"],
)
links = pytest.mark.skipif(os.name == "nt", reason="only some users may make links on Windows")


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A folder with a study that has rounds, arrays and labels."""
    folder = tmp_path_factory.mktemp("template")
    makers.write_pool(folder / "pool.parquet", 60)
    assert run_here(folder, "init", "pool.parquet", "--seed", "1", "--surrogate", "linear") == 0
    for _ in range(2):
        assert run_here(folder, "next", "--n", "4") == 0
        rows = [f"{draw.id},cat" for draw in take_snapshot(folder)[0].draws]
        (folder / "labels.csv").write_text("\n".join(["id,label", *rows]) + "\n")
        assert run_here(folder, "ingest", "labels.csv") == 0
    assert (folder / STUDY / "rounds").is_dir()
    # Late imports are made before anything is watched.
    for words in (["status"], ["report"], ["report", "--format", "json"]):
        assert run_here(folder, *words) == 0
    return folder


@pytest.fixture
def work(template, tmp_path, monkeypatch) -> Path:
    """A copy of that folder, and nothing else in it."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    return shutil.copytree(template, tmp_path / "work")


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    """A folder of the user, with files that have the names of files of a study."""
    folder = tmp_path / "elsewhere"
    (folder / "features").mkdir(parents=True)
    names = (
        "study.toml",
        "ledger.db",
        "ledger.json",
        "manifest.json",
        "features/pred.npy",
        "x.npz",
    )
    for name in (*names, f"{'0' * 32}.parquet", f".x.activetest-{'0' * 8}.tmp"):
        (folder / name).write_text("mine\n")
        os.utime(folder / name, (0, 0))
    return folder


def list_content(folder: Path) -> dict[str, bytes]:
    """{path: content} of all files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


def run_verbs(work: Path) -> list[int]:
    """The exit codes of all verbs; they change nothing outside the working folder."""
    codes = []
    for words in VERBS:
        with watching(work) as events:
            codes.append(run_here(work, *words))
        assert events == [], words
    assert set(codes) <= {0, 2}
    return codes


# --- links


@links
@pytest.mark.parametrize("name", ["cache", "rounds", "pool", "restart", "study.toml", "ledger.db"])
def test_a_link_in_a_study_changes_nothing_where_it_leads(work, elsewhere, name):
    place = work / STUDY / name
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    target = elsewhere / name if "." in name else elsewhere
    place.symlink_to(target)
    before = list_content(elsewhere)
    run_verbs(work)
    frame = pq.read_table(work / "pool.parquet")
    try:
        at.Study.create(frame, work / STUDY)
    except at.ActivetestError as error:
        assert name != "cache", error
    assert list_content(elsewhere) == before


@links
@pytest.mark.parametrize("name", ["models", "models/v2.parquet", "caches", "caches/v2"])
def test_a_link_in_the_place_of_a_further_model_changes_nothing_where_it_leads(
    work, elsewhere, name
):
    """Also where the model's file or its cache has to be written again."""
    makers.write_pool(work / "new.parquet", 60, seed=1)
    add = ["add", "v2=new.parquet", "--trained-on-labels", "no"]
    assert run_here(work, *add) == 0
    place = work / STUDY / name
    target = elsewhere / place.name
    if place.exists():
        shutil.move(place, target)
    else:
        target.mkdir()
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(target)
    before = list_content(elsewhere)
    run_verbs(work)
    run_here(work, "verify")
    run_here(work, "add", "v3=new.parquet", "--trained-on-labels", "no")
    table = pq.read_table(work / "pool.parquet")
    colour = table.append_column("colour", [["red", "blue"] * 30])
    pq.write_table(colour, work / "pool.parquet")
    assert run_here(work, "init", "--group", "colour") == 0
    model = StoredStudy.open(work / STUDY).of_model("v2")
    try:
        assert model.cache().group_names == ("colour",)
    except at.ActivetestError as error:
        assert name in ("models", "caches"), error
    assert list_content(elsewhere) == before


@links
def test_a_cache_that_is_a_link_is_built_again_in_its_place(work, elsewhere, capsys):
    capsys.readouterr()
    assert run_here(work, "report", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    shutil.rmtree(work / STUDY / "cache")
    (work / STUDY / "cache").symlink_to(elsewhere)
    assert run_here(work, "report", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["estimates"] == report["estimates"]
    assert not (work / STUDY / "cache").is_symlink()


@links
def test_arrays_of_rounds_are_not_written_through_a_link(work, elsewhere, capsys):
    shutil.rmtree(work / STUDY / "rounds")
    (work / STUDY / "rounds").symlink_to(elsewhere)
    before = take_snapshot(work)
    assert run_here(work, "next", "--n", "2") == 2
    assert "is a link" in capsys.readouterr().err
    assert take_snapshot(work) == before


@links
def test_a_restart_that_is_a_link_takes_no_file_from_where_it_leads(work, elsewhere):
    ledger = StoredStudy.open(work / STUDY).ledger
    numbers = {"seed": ledger.seed, "fingerprint": ledger.fingerprint}
    (elsewhere / "ledger.json").write_text(json.dumps(numbers))
    (work / STUDY / "restart").symlink_to(elsewhere)
    before = list_content(elsewhere)
    assert set(run_verbs(work)) == {0}
    assert list_content(elsewhere) == before


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "[]", '{"seed": 1}', "\xff"])
def test_a_restart_that_cannot_be_read_is_damage_or_nothing(work, content, capsys):
    (work / STUDY / "restart").mkdir()
    (work / STUDY / "restart" / "ledger.json").write_text(content, encoding="latin-1")
    codes = run_verbs(work)
    expected = 0 if content in ("[]", '{"seed": 1}') else 2
    assert codes[0] == expected
    assert expected == 0 or "ledger.json is damaged" in capsys.readouterr().err


# --- the ledger


def test_a_ledger_with_a_trigger_is_used_by_no_verb(work, capsys):
    ledger = work / STUDY / "ledger.db"
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END")
        db.commit()
    content = ledger.read_bytes()
    assert run_verbs(work) == [2] * len(VERBS)
    assert "no ledger as activetest writes it" in capsys.readouterr().err
    assert ledger.read_bytes() == content


# --- study.toml


def edit_config(work: Path, name: str, value: str) -> None:
    """Set an entry of study.toml to a value, as it stands there."""
    file = work / STUDY / "study.toml"
    text, count = re.subn(
        rf"^{name} = .*$", lambda _: f"{name} = {value}", file.read_text(), flags=re.M
    )
    assert count == 1
    file.write_text(text)


@pytest.mark.parametrize("name", ["antigravity", "../../evil", "os.system", "__import__('os')"])
def test_no_name_in_a_study_imports_anything(work, name, capsys):
    edit_config(work, "surrogate", json.dumps(name))
    assert set(run_verbs(work)) == {2}
    assert "antigravity" not in sys.modules
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("address", ["/etc/passwd", "../../../../../../../../etc/passwd"])
def test_a_file_that_an_address_names_is_not_shown(work, address, capsys):
    edit_config(work, "address", json.dumps(address))
    capsys.readouterr()
    codes = run_verbs(work)
    assert codes[1] == codes[2] == codes[4] == 2
    out, err = capsys.readouterr()
    assert "root:" not in out + err


def entries(value: Any, place: tuple = ()) -> Iterator[tuple]:
    """The place of every entry in nested lists and objects."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*place, key)
            yield from entries(value[key], (*place, key))


ODD = (None, -1, 10**15, 1e308, "x", "../../x", [], {}, [[]], {"x": 1}, True)


def set_entry(value: Any, place: tuple, odd: Any) -> None:
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = odd


def check_manifest(work: Path, name: str, every: int, count_trials, capsys) -> None:
    """Put odd values into every entry of a manifest: the report is always the same."""

    def report() -> dict:
        capsys.readouterr()
        assert run_here(work, "report", "--format", "json") == 0
        return json.loads(capsys.readouterr().out)["estimates"]

    expected = report()
    manifest = work / STUDY / "cache" / name
    whole = manifest.read_text()
    pairs = [(place, odd) for place in entries(json.loads(whole)) for odd in ODD]
    assert len(pairs) > 100
    for place, odd in pairs[::every]:
        changed = json.loads(whole)
        set_entry(changed, place, odd)
        manifest.write_text(json.dumps(changed))
        with watching(work) as events:
            assert report() == expected, (place, odd)
        assert events == []
        count_trials("hostile manifests")


def test_an_odd_value_in_a_manifest_builds_the_cache_again(work, count_trials, capsys):
    check_manifest(work, "manifest.json", 211, count_trials, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["manifest.json", "features/manifest.json"])
def test_no_odd_value_in_a_manifest_changes_a_number(work, name, count_trials, capsys):
    check_manifest(work, name, 1, count_trials, capsys)


# --- pools


# Arrow up to 20 says that it does not.
@pytest.mark.filterwarnings("ignore:pickle-based deserialization:RuntimeWarning")
def test_a_pickle_in_a_pool_is_not_run(work, tmp_path):
    """Parquet can state that a column is of a type of Python, with a pickle that describes it."""
    table = pq.read_table(work / "pool.parquet")
    place = table.schema.get_field_index("x1")
    field = table.schema.field(place).with_metadata(
        {
            "ARROW:extension:name": "arrow.py_extension_type",
            "ARROW:extension:metadata": pickle.dumps(Canary()),
        }
    )
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    table = table.set_column(place, field, table.column(place))
    pq.write_table(table, hostile / "pool.parquet")
    stored = pq.read_metadata(hostile / "pool.parquet").metadata[b"ARROW:schema"]
    assert b"py_extension_type" in base64.b64decode(stored)
    with watching(hostile) as events:
        code = run_here(hostile, "init", "pool.parquet", "--seed", "1")
        if code == 0:
            run_here(hostile, "next", "--n", "2", "--show", "x1")
    assert code in (0, 2) and events == []
    assert not (hostile / "canary").exists() and not Path("canary").exists()


# --- programs


def test_the_command_runs_no_module_of_the_working_folder(tmp_path):
    script = Path(sys.executable).with_name("activetest")
    if not script.exists():
        pytest.skip("the command is not installed beside this Python")
    for name in ("numpy", "json", "random", "pyarrow", "sitecustomize", "activetest"):
        (tmp_path / f"{name}.py").write_text("open('canary', 'w')\n")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [script, "status"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert not (tmp_path / "canary").exists()


# --- the network


@contextmanager
def listening() -> Iterator[tuple[int, list]]:
    """A port of this machine, and those who called it."""
    calls: list = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        done = threading.Event()

        def listen() -> None:
            while not done.is_set():
                try:
                    connection, address = server.accept()
                except TimeoutError:
                    continue
                calls.append(address)
                connection.close()

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield server.getsockname()[1], calls
        finally:
            done.set()
            thread.join()


def test_looking_at_a_study_calls_no_address_that_it_names(work):
    """The addresses are in study.toml: the user can look first."""
    with listening() as (port, calls):
        where = f"s3://k:s@bucket/pool.parquet?endpoint_override=http%3A%2F%2F127.0.0.1%3A{port}"
        edit_config(work, "address", json.dumps(where))
        code, _, messages = Started(work, "status").communicate()
        assert code == 0, messages
        time.sleep(0.3)
        assert calls == []


# --- the page


PAGE = pages.read_page("threats")


def test_the_page_names_every_environment_variable_that_is_read():
    """Those of the program itself; libraries have more."""
    code = "\n".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "activetest").rglob("*.py")
    )
    found = set(re.findall(r"environ(?:\.\w+\(|\[)\"(\w+)\"", code))
    found |= set(re.findall(r"\"(\w+)\" in os\.environ", code))
    found |= set(re.findall(r"= \"(ACTIVETEST_\w+)\"", code))
    assert {"ACTIVETEST_STUDY", "ACTIVETEST_TIMEOUT"} <= found
    assert {name for name in found if f"`{name}`" not in PAGE} == set()


def test_the_tests_that_the_page_names_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)
    assert len(set(named)) > 5
    assert [name for name in named if not (ROOT / name).is_file()] == []
