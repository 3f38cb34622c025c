"""Pools on object stores: reads by range, failures with a reason, and no secret that is shown."""

import io
import re
import shutil
import socket
import subprocess
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from activetest.cli.app import main
from activetest.errors import PoolError
from activetest.pool import remote
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from tests.pool.object_store import Store, serve_objects

COLUMNS = ["id", "prob_a"]


def write_pool(*, seed: int = 0, rows: int = 400, swapped: bool = False) -> bytes:
    """A pool with many columns of text that nobody uses, in two row groups; of one size swapped."""
    generator = np.random.default_rng(seed)
    share = generator.random(rows)
    numbers = {"prob_a": 1 - share if swapped else share}
    numbers["prob_b"] = 1 - numbers["prob_a"]
    texts = {f"note_{k}": [str(each) for each in generator.random(rows)] for k in range(30)}
    table = pa.table({"id": [f"i{row}" for row in range(rows)], **texts, **numbers})
    with io.BytesIO() as file:
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        pq.write_table(table, file, row_group_size=rows // 2, **plain)
        return file.getvalue()


@pytest.fixture
def store(monkeypatch) -> Iterator[Store]:
    """A store with a pool, for which credentials are at hand."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HF_TOKEN", "hidden")
    monkeypatch.setenv(remote.TIMEOUT, "30")
    with serve_objects() as store:
        monkeypatch.setenv("HF_ENDPOINT", f"http://{store.host}")
        store.objects["bucket/set/pool.parquet"] = write_pool()
        yield store


def locate(store: Store, scheme: str) -> str:
    if scheme in remote._PACKAGES:
        pytest.importorskip(remote._PACKAGES[scheme][0])
    return store.locate(scheme, "bucket/set/pool.parquet")


def scan(address: str) -> list[dict]:
    files = Files(address)
    return [row for _, batch in files.scan(COLUMNS) for row in batch.to_pylist()]


@pytest.mark.parametrize("scheme", ["s3", "http", "hf"])
def test_of_a_wide_pool_only_the_columns_that_are_used_are_fetched(store, scheme):
    content = store.objects["bucket/set/pool.parquet"]
    rows = pq.read_table(io.BytesIO(content), columns=COLUMNS).to_pylist()
    same = scan(locate(store, scheme)) == rows
    assert same
    # The end of the file, which holds its footer, and the columns.
    footer = pq.read_metadata(io.BytesIO(content))
    columns = [footer.row_group(group).column(at) for group in range(2) for at in (0, 31)]
    assert {each.path_in_schema for each in columns} == {*COLUMNS}
    least = sum(each.total_compressed_size for each in columns)
    assert least < store.sent < least + 2**16 + 1_000 < len(content) / 2
    assert len(store.served) < 15


@pytest.mark.parametrize("scheme", ["s3", "hf"])
def test_a_folder_of_files_is_a_pool(store, scheme):
    content = store.objects.pop("bucket/set/pool.parquet")
    store.objects |= {f"bucket/set/part-{part}.parquet": content for part in range(2)}
    address = locate(store, scheme).replace("/pool.parquet", "")
    assert len(Files(address).paths) == 2
    assert len(scan(address)) == 800


REFUSED = "access is refused (403"
FAILS = "its host fails (503"
BROKEN = "its host broke the connection off"
SILENT = "did not answer within"
GONE = "it is not there (404"
PARTS = "serves no parts of a file"


@pytest.mark.parametrize(
    ("scheme", "fault", "after", "reason"),
    [
        ("http", "401", 0, "access is refused (401"),
        ("http", "403", 0, REFUSED),
        ("http", "403", 3, REFUSED),
        ("http", "404", 0, "there is no file or folder"),
        ("http", "404", 3, GONE),
        ("http", "503", 0, FAILS),
        ("http", "503", 3, FAILS),
        ("http", "refuse", 0, BROKEN),
        ("http", "cut", 1, BROKEN),
        ("http", "cut", 3, BROKEN),
        ("http", "silent", 0, SILENT),
        ("http", "stall", 3, SILENT),
        ("http", "whole", 3, PARTS),
        ("s3", "403", 0, REFUSED),
        ("s3", "404", 0, "there is no file or folder"),
        ("s3", "404", 4, GONE),
        ("s3", "503", 5, FAILS),
        ("s3", "cut", 5, BROKEN),
        ("hf", "403", 0, REFUSED),
        ("hf", "403", 5, REFUSED),
        ("hf", "404", 5, GONE),
    ],
)
def test_a_host_that_fails_is_an_error_with_a_reason(
    store, monkeypatch, scheme, fault, after, reason
):
    address = locate(store, scheme)
    monkeypatch.setenv(remote.TIMEOUT, "1" if fault in ("silent", "stall") else "5")
    store.fail(fault, after=after)
    started = time.monotonic()
    with pytest.raises(PoolError) as caught:
        scan(address)
    assert reason in caught.value.problem and caught.value.hint
    assert "hidden" not in f"{caught.value} {caught.value.hint}"
    assert time.monotonic() - started < 15
    assert len(store.served) < 25
    store.fail("", 0)
    monkeypatch.setenv(remote.TIMEOUT, "20")
    assert len(scan(address)) == 400


@pytest.mark.parametrize("scheme", ["s3", "http"])
@pytest.mark.parametrize("fault", ["503", "refuse", "cut"])
def test_a_failure_that_passes_is_not_noticed(store, scheme, fault):
    address = locate(store, scheme)
    store.fail(fault, 1, after=5 if scheme == "s3" else 3)
    assert len(scan(address)) == 400
    assert not store.left


def test_failures_are_tried_again_twice_and_answers_are_not(store):
    address = locate(store, "http")
    for fault, requests in (("503", 3), ("403", 1)):
        files = Files(address)
        store.forget()
        store.fail(fault)
        with pytest.raises(PoolError):
            assert files.rows
        # Both ends of the file are fetched at once.
        assert requests <= len(store.served) <= 2 * requests
        store.fail("", 0)


@pytest.mark.parametrize("scheme", ["s3", "http"])
@pytest.mark.parametrize("swapped", [True, False])
def test_an_object_that_changes_while_it_is_read_is_an_error(
    store, scheme, swapped, folder, capsys
):
    """Whether or not its parts still fit the footer that was read."""
    address = locate(store, scheme)
    later = write_pool(swapped=True) if swapped else write_pool(rows=300)
    assert (len(later) == len(store.objects["bucket/set/pool.parquet"])) == swapped
    store.later["bucket/set/pool.parquet"] = later
    store.fail("swap", 1, after=5)
    assert main(["init", address]) == 2
    error = capsys.readouterr().err
    assert "changed while it was read" in error or "is not there" in error
    assert not [*folder.iterdir()]
    assert main(["init", address]) == 0


# --- a study of such a pool


def run(capsys, *words: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    code = main([*words])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def answer(folder: Path) -> None:
    """Write labels.csv with a label for each row of batch.csv."""
    ids = [line.split(",")[0] for line in (folder / "batch.csv").read_text().splitlines()[1:]]
    lines = ["id,label", *(f"{id},a" for id in ids)]
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def created(store, folder, capsys) -> Store:
    """A store whose pool has a study in the working directory, with a labelled round."""
    assert run(capsys, "init", locate(store, "http"), "--seed", "1")[0] == 0
    assert run(capsys, "next", "-n", "10", "-o", "batch.csv")[1].startswith("round 1: 10 items")
    answer(folder)
    assert run(capsys, "ingest", "labels.csv")[0] == 0
    store.forget()
    return store


@pytest.mark.parametrize(
    ("words", "heads", "gets"),
    [
        (["status"], 0, 0),
        (["report"], 2, 2),
        (["next", "-n", "5", "-o", "batch.csv"], 1, 2),
        (["ingest", "labels.csv"], 2, 0),
    ],
)
def test_a_study_asks_only_whether_its_pool_is_the_same(created, capsys, words, heads, gets):
    """The cache holds all else: no row of the pool is read."""
    assert run(capsys, *words)[0] == 0
    methods = [method for method, _ in created.served]
    # The end of the file is read where its columns may have other models' outputs.
    assert methods.count("HEAD") == heads and methods.count("GET") == gets
    assert created.sent < 2**16 + 10


def read_files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but for temporary ones."""
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".tmp", ".lock")
    }


@pytest.mark.parametrize("fault", ["refuse", "503", "403", "silent"])
def test_while_the_host_is_away_reports_go_on_and_nothing_changes(
    created, folder, capsys, monkeypatch, fault
):
    monkeypatch.setenv(remote.TIMEOUT, "1")
    known = run(capsys, "report", "--format", "json")[1]
    before = read_files(folder)
    created.fail(fault)
    for words in (["next", "-n", "5", "-o", "batch.csv"], ["ingest", "labels.csv"]):
        code, text = run(capsys, *words)
        assert code == 2 and "127.0.0.1" in text and "hint:" in text
        assert read_files(folder) == before
    assert run(capsys, "status")[0] == 0
    code, text = run(capsys, "report", "--format", "json")
    assert code == 0 and "The pool is not at hand" in text
    estimates = [re.findall(r'"(?:estimate|low|high)": [^,\n]+', each) for each in (known, text)]
    assert estimates[0] == estimates[1] != []
    created.fail("", 0)
    assert run(capsys, "next", "-n", "5", "-o", "batch.csv")[0] == 0
    # A round that waits for its labels is at hand.
    created.fail(fault)
    assert run(capsys, "next", "-o", "batch.csv")[0] == 0


def test_a_study_notices_that_its_pool_changed(created, capsys):
    created.objects["bucket/set/pool.parquet"] = write_pool(seed=1)
    code, text = run(capsys, "report")
    assert code == 2 and "is not the pool this study was made for" in text


# --- what is refused


@pytest.mark.parametrize(("scheme", "extra"), [(k, v[1]) for k, v in remote._PACKAGES.items()])
def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, scheme, extra):
    def fail(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(remote.importlib, "import_module", fail)
    with pytest.raises(PoolError, match=f"{scheme}:// needs the package") as caught:
        Files(f"{scheme}://bucket/pool.parquet")
    assert f"pip install 'activetest[{extra}]'" in caught.value.hint
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    package = remote._PACKAGES[scheme][0]
    assert any(each.startswith(package) for each in extras[extra])


@pytest.mark.parametrize("name", ["pool.csv", "pool.jsonl", "pool"])
def test_other_formats_are_to_be_downloaded_and_are_then_read(store, folder, capsys, name):
    content = b"id,pred\n" + b"".join(b"i%d,%s\n" % (k, b"ab"[k % 2 :][:1]) for k in range(60))
    store.objects[f"bucket/set/{name}"] = content
    code, text = run(capsys, "init", locate(store, "http").replace("pool.parquet", name))
    assert code == 2 and "only Parquet is read at an address" in text
    assert "download" in text
    (folder / name).write_bytes(content)
    if name != "pool.jsonl":
        assert run(capsys, "init", name)[0] == 0


def test_a_host_that_serves_no_parts_is_named_before_a_file_is_read(store, monkeypatch):
    address = locate(store, "http")
    store.fail("whole")
    with pytest.raises(PoolError, match=PARTS) as caught:
        scan(address)
    assert "download the file" in caught.value.hint


def test_a_host_that_refuses_connections_is_named():
    pytest.importorskip("aiohttp")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(PoolError, match="refuses connections") as caught:
        Files(f"http://127.0.0.1:{port}/pool.parquet")
    assert caught.value.hint == "check the address and the network"


# --- secrets

SECRET = "HIDDEN2WORD"


@pytest.mark.parametrize(
    "address",
    [
        f"https://user:{SECRET}@host/a.parquet",
        f"https://{SECRET}@host/a.parquet",
        f"https://host/a.parquet?X-Amz-Signature={SECRET}&X-Amz-Credential={SECRET}",
        f"https://host/a.parquet?sv=1&sig={SECRET}",
        f"https://host/a.parquet#access_token={SECRET}",
        f"s3://KEY:{SECRET}@bucket/a.parquet",
        f"s3://bucket/a.parquet?session_token={SECRET}",
        f"gs://{SECRET}@bucket/a.parquet",
        f"gs://bucket/a.parquet?access_token={SECRET}",
        f"az://container/a.parquet?sig={SECRET}",
        f"abfs://account:{SECRET}@container/a.parquet",
        f"abfs://container@account.dfs.core.windows.net/a?sas_token={SECRET}",
        f"hf://datasets/a/b/c.parquet?token={SECRET}",
        f"hdfs://user:{SECRET}@host/a.parquet",
    ],
)
def test_a_secret_in_any_address_is_refused_and_not_shown(address, folder, capsys):
    for verb in ("init", "inspect"):
        code, text = run(capsys, verb, address)
        assert code == 2 and "holds a secret" in text and SECRET not in text
        assert "hint:" in text
    assert not [*folder.iterdir()]
    # Errors about an address that was written into study.toml.
    assert SECRET not in str(remote.describe_network_error(OSError("curlCode: 7"), "x", address))


@pytest.mark.parametrize("fault", ["", "403", "503", "cut", "refuse", "silent", "whole"])
def test_a_stored_signature_opens_its_pool_and_is_never_shown(
    created, folder, capsys, monkeypatch, fault
):
    """Whatever the packages say about the address."""
    monkeypatch.setenv(remote.TIMEOUT, "1")
    config = folder / ".activetest" / "study.toml"
    text = config.read_text()
    config.write_text(text.replace("pool.parquet", f"pool.parquet?X-Amz-Signature={SECRET}"))
    # Of a new size, so that it is read again.
    shutil.rmtree(folder / ".activetest" / "cache")
    created.fail(fault or "503", 1e9 if fault else 0, after=1)
    verbs = (["next", "-n", "5", "-o", "b.csv"], ["report", "-v"], ["status"], ["verify"])
    for words in (*verbs, ["ingest", "labels.csv"], ["report", "--format", "json"]):
        code, text = run(capsys, *words)
        assert code in (0, 2) and SECRET not in text
    for path, content in read_files(folder).items():
        assert SECRET.encode() not in content or path.endswith("study.toml"), path


def test_a_traceback_hides_secrets(monkeypatch, capsys):
    from activetest.cli import app

    try:
        raise RuntimeError(f"https://host/a?sig={SECRET}")
    except RuntimeError:
        app._report_bug()
    text = capsys.readouterr().err
    assert "sig=***" in text and SECRET not in text


# --- the parts of it


def test_a_file_of_ranges_reads_as_the_object_does():
    content = bytes(range(256)) * 40
    fetched = []

    def fetch(start: int, stop: int) -> bytes:
        fetched.append((start, stop))
        return content[start:stop]

    file = remote._RangeFile(len(content), fetch)
    file.fetch_ahead([(100, 200), (210, 300), (9_990, 10_000)])
    # Two of them are near each other.
    assert sorted(fetched) == [(100, 300), (9_990, 10_000)] or len(fetched) == 1
    assert file.seek(150) == 150 and file.read(100) == content[150:250]
    assert file.read(100) == content[250:350] and file.tell() == 350
    assert file.seek(-10, 2) == len(content) - 10 and file.read() == content[-10:]
    assert file.read(5) == b""
    file.seek(0)
    assert file.read() == content


def test_a_part_that_is_too_short_is_an_error():
    with pytest.raises(EOFError, match="3 of 5 bytes"):
        remote._fetch(lambda start, stop: b"abc", 10, 15)


def test_large_ranges_are_fetched_in_strides(monkeypatch):
    monkeypatch.setattr(remote, "_STRIDE", 10)
    content, fetched = bytes(range(200)), []
    file = remote._RangeFile(200, lambda *ends: fetched.append(ends) or content[slice(*ends)])
    file.fetch_ahead([(5, 30)])
    assert sorted(fetched) == [(5, 15), (15, 25), (25, 30)]
    file.seek(7)
    assert file.read(40) == content[7:47]


def test_the_ranges_of_columns_are_those_of_the_footer():
    content = write_pool()
    footer = pq.read_metadata(io.BytesIO(content))
    for group in range(2):
        chunk = footer.row_group(group).column(31)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        [found] = remote.find_ranges(footer, group, ["prob_a"])
        assert found == (start, start + chunk.total_compressed_size)
    assert [*remote.find_ranges(footer, 0, ["none"])] == []


def test_reading_from_a_store_without_limits_of_its_own_ends_in_time(tmp_path, monkeypatch):
    """As from Google, Azure and HDFS."""
    path = tmp_path / "pool.parquet"
    path.write_bytes(write_pool())
    guarded = remote.GuardedStore(fs.LocalFileSystem(), "gs://bucket/pool.parquet")
    assert guarded.get_file_info(fs.FileSelector(str(tmp_path)))[0].path == str(path)
    assert guarded.open_object(str(path), [(4, 9)]).read() == path.read_bytes()

    monkeypatch.setenv(remote.TIMEOUT, "0.2")
    monkeypatch.setattr(guarded, "find_object", lambda path: (10, lambda *ends: time.sleep(2)))
    with pytest.raises(PoolError, match=r"bucket did not answer within 0\.2 s"):
        guarded.open_object(str(path)).read()


# --- a server of S3 that others wrote


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """The host of moto's server, where that is installed."""
    program = shutil.which("moto_server")
    if (
        program is None
        or subprocess.run([program, "--help"], capture_output=True, check=False).returncode
    ):
        pytest.skip("moto is not installed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    process = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL
    )
    host = f"127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://{host}/moto-api/").close()
                break
            except OSError:
                time.sleep(0.1)
        yield host
    finally:
        process.terminate()
        process.wait()


def test_a_pool_in_a_folder_of_s3_is_read_as_one_on_this_machine(moto, store, folder, capsys):
    content = {f"country=DE/part-{part}.parquet": write_pool(seed=part) for part in range(2)}
    server = fs.S3FileSystem(
        region="us-east-1", scheme="http", endpoint_override=moto, allow_bucket_creation=True
    )
    server.create_dir("bucket")
    for key, body in content.items():
        place = f"http://{moto}/bucket/pool/{key}"
        kind = {"Content-Type": "application/octet-stream"}
        request = urllib.request.Request(place, body, kind, method="PUT")
        urllib.request.urlopen(request, timeout=30).close()
    options = f"region=us-east-1&scheme=http&endpoint_override={moto}"
    rows = scan(f"s3://bucket/pool?{options}")
    here = [
        pq.read_table(io.BytesIO(body), columns=COLUMNS).to_pylist() for body in content.values()
    ]
    assert rows == [row for table in here for row in table]
    address = f"s3://bucket/pool/country%3DDE/part-0.parquet?{options}"
    assert Pool.open(address).rows == 400
    assert run(capsys, "init", address, "--seed", "1")[0] == 0
    with pytest.raises(PoolError, match="there is no file or folder"):
        Files(f"s3://bucket/none.parquet?{options}")
