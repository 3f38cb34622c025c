"""Stores on other machines that do not answer."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pyarrow import fs

from activetest.errors import ChoiceError, PoolError
from activetest.pool import remote
from activetest.pool.files import Files, _raising_pool_errors


@pytest.fixture
def silent_host(monkeypatch) -> Iterator[str]:
    """A host on this machine that takes connections and says nothing."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv(remote.TIMEOUT, "0.5")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    "address",
    [
        "s3://bucket/pool?region=us-east-1&scheme=http&endpoint_override={}",
        "gs://anonymous@bucket/pool?scheme=http&endpoint_override={}",
    ],
)
def test_a_host_that_does_not_answer_is_named(silent_host, address):
    with pytest.raises(PoolError) as caught:
        Files(address.format(silent_host))
    assert f"{silent_host} did not answer within 0.5 s" in caught.value.problem
    assert f"{remote.TIMEOUT}=1" in caught.value.hint


@pytest.fixture
def forgetful_host(monkeypatch) -> Iterator[str]:
    """A host on this machine that describes objects as Google does, and says no byte of them."""
    monkeypatch.setenv(remote.TIMEOUT, "2")
    ended = threading.Event()
    described = {"name": "pool.parquet", "bucket": "bucket", "generation": "1", "size": "100"}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if "alt=media" in self.path:
                ended.wait()
                return
            items = {"items": [described]} if self.path.split("?")[0].endswith("/o") else described
            content = json.dumps(items).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        ended.set()
        server.shutdown()
        thread.join()


def test_a_host_that_goes_silent_after_its_first_answers_is_named(forgetful_host):
    address = "gs://anonymous@bucket/pool.parquet?scheme=http&endpoint_override={}"
    files = Files(address.format(forgetful_host))
    with pytest.raises(PoolError) as caught:
        files.schema  # noqa: B018
    assert f"{forgetful_host} did not answer within 2 s" in caught.value.problem


@pytest.mark.parametrize("number", ["curlCode: 28, Timeout was reached", "CURL error [28]=Timeout"])
def test_a_client_that_gives_up_first_says_the_same(monkeypatch, number):
    monkeypatch.setenv(remote.TIMEOUT, "2")
    raised = OSError(f"AWS Error NETWORK_CONNECTION: {number}; Details: Operation too slow.")

    def fail(uri: str) -> None:
        raise raised

    monkeypatch.setattr("activetest.pool.files.open_store", fail)
    with pytest.raises(PoolError) as caught:
        Files("s3://b/x?endpoint_override=127.0.0.1:1")
    assert caught.value.problem.endswith("cannot be opened: 127.0.0.1:1 did not answer within 2 s")
    assert f"{remote.TIMEOUT}=4" in caught.value.hint
    with pytest.raises(PoolError) as caught, _raising_pool_errors("b/x", "b/x cannot be read"):
        raise raised
    assert caught.value.problem == "b/x cannot be read: the host did not answer within 2 s"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("curlCode: 6, Could not resolve hostname", "the name of its host is not known (h:1)"),
        ("CURL error [6]=Could not resolve", "the name of its host is not known (h:1)"),
        ("curlCode: 7, Could not connect", "its host refuses connections (h:1)"),
        ("curlCode: 60, SSL", "the connection to its host failed with curl error 60 (h:1)"),
    ],
)
def test_a_host_out_of_reach_is_a_matter_of_the_address(error, reason):
    address = "s3://b/x?endpoint_override=h:1"
    with pytest.raises(PoolError) as caught, _raising_pool_errors(address, "it cannot be opened"):
        raise OSError(f"When getting information: {error}")
    assert caught.value.problem == f"it cannot be opened: {reason}"
    assert caught.value.hint == "check the address and the network"
    with pytest.raises(PoolError, match="no page") as caught, _raising_pool_errors("x", "x"):
        raise OSError("no page")
    assert "write or copy it again" in caught.value.hint


def test_requests_to_s3_end_before_the_time_is_over(monkeypatch):
    """Also those in the middle of a file, for which nobody waits in a thread."""
    monkeypatch.setenv(remote.TIMEOUT, "10")
    address = "s3://bucket/pool?region=us-east-1&scheme=http&endpoint_override=127.0.0.1:9"
    store, path = remote.open_store(address)
    assert isinstance(store, fs.S3FileSystem) and path == "bucket/pool"
    _, (settings,) = store.__reduce__()
    assert settings["request_timeout"] == settings["connect_timeout"] == 2
    assert settings["endpoint_override"] == "127.0.0.1:9" and settings["scheme"] == "http"


def test_what_a_call_returns_or_raises_comes_through(monkeypatch):
    assert remote.wait_for("s3://bucket", lambda: None) is None
    assert remote.wait_for("s3://bucket", lambda: 7) == 7

    def fail() -> None:
        raise PermissionError("no")

    with pytest.raises(PermissionError, match="no"):
        remote.wait_for("s3://bucket", fail)
    monkeypatch.setenv(remote.TIMEOUT, "0.01")
    with pytest.raises(PoolError, match="bucket did not answer within 0.01 s") as caught:
        remote.wait_for("s3://KEY:SECRET@bucket/x", lambda: time.sleep(1))
    assert "SECRET" not in caught.value.problem


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf"])
def test_a_time_that_is_no_time_is_an_error(monkeypatch, text):
    monkeypatch.setenv(remote.TIMEOUT, text)
    with pytest.raises(ChoiceError, match=remote.TIMEOUT):
        remote.read_timeout()


def test_a_minute_is_what_hosts_have(monkeypatch):
    monkeypatch.delenv(remote.TIMEOUT, raising=False)
    assert remote.read_timeout() == 60
    monkeypatch.setenv(remote.TIMEOUT, "")
    assert remote.read_timeout() == 60


@pytest.mark.parametrize(
    "address", ["s3://KEY:SECRET@bucket/a", "https://host/a?sig=SECRET", "s3://b/a?secret_key=S"]
)
def test_an_address_with_a_secret_is_refused(address):
    with pytest.raises(ChoiceError, match="holds a secret") as caught:
        remote.reject_secrets([None, "pool.parquet", address])
    assert "SECRET" not in caught.value.problem + caught.value.hint.replace("SECRET_ACCESS", "")
    remote.reject_secrets([None, "pool.parquet", "s3://bucket/a?region=eu", 3])
