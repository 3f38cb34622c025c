"""Pools on other machines: a host that does not answer is an error, and no secret is stored.

Stores that pyarrow knows are read by it, the others by a package of fsspec's. Either way, only the
bytes that are needed are fetched, what fails for a moment is tried again, and every call ends.
"""

import importlib
import io
import os
import re
import socket
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from activetest.errors import ActivetestError, ChoiceError, PoolError
from activetest.system.safe_text import first_line, mask_secrets

T = TypeVar("T")
# The bytes of an object from start to stop.
Fetch = Callable[[int, int], bytes]

# How long a host may take to answer, in seconds, unless the environment says otherwise.
TIMEOUT = "ACTIVETEST_TIMEOUT"
_USUAL_TIMEOUT = 60.0
# A host is asked three times, with pauses between: together this takes less than the time there is.
_SHARE = 0.2
_PAUSES = (0.02, 0.1)
# Bytes that are fetched within the time there is: slow connections get through, too.
_STRIDE = 2**23
# Bytes between two ranges that are fetched rather than asked about, as pyarrow has it.
_GAP = 2**13
# Requests at once.
_AT_ONCE = 4

# {scheme: package that opens it, the extra that installs it} of what pyarrow does not open.
_PACKAGES = {
    "http": ("aiohttp", "http"),
    "https": ("aiohttp", "http"),
    "hf": ("huggingface_hub", "hf"),
    "az": ("adlfs", "azure"),
}
_ABFS = (
    "for abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH AZURE_STORAGE_ACCOUNT_KEY or "
    "AZURE_STORAGE_SAS_TOKEN"
)
# {scheme: where its credentials are looked for}
_CREDENTIALS = {
    "s3": "for S3 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "for Google GOOGLE_APPLICATION_CREDENTIALS",
    "gcs": "for Google GOOGLE_APPLICATION_CREDENTIALS",
    "az": "for Azure AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or "
    "AZURE_STORAGE_SAS_TOKEN",
    "abfs": _ABFS,
    "abfss": _ABFS,
    "hf": "for Hugging Face HF_TOKEN",
}
_KNOWN_SCHEMES = (
    "addresses begin with s3://, gs://, az://, abfs://, hdfs://, hf://, https:// or file://"
)

# Where another host than that of Hugging Face is named.
_HF_ENDPOINT = "HF_ENDPOINT"
# Settings of pyarrow's store of Azure that the environment may hold.
_AZURE_KEYS = ("account_key", "sas_token")

# How the clients of S3 and of Google say what went wrong in the network, by curl's number for it.
_CURL = re.compile(r"curlCode: (\d+)|CURL error \[(\d+)\]=")
_TIMED_OUT = 28
_UNREACHABLE = {
    5: "the name of its proxy is not known",
    6: "the name of its host is not known",
    7: "its host refuses connections",
    **dict.fromkeys((18, 52, 55, 56), "its host broke the connection off"),
}
# How they say what a host answers, by its number or in their own words.
_ANSWER = re.compile(r"HTTP status(?: code:)? (\d{3})|Azure Error: \[\w*\] (\d{3})")
_ANSWERS = {
    "ACCESS_DENIED|PERMISSION_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH": 403,
    "UNAUTHENTICATED|AuthenticationException|DefaultAzureCredential": 401,
    "RESOURCE_NOT_FOUND|NO_SUCH_BUCKET|NO_SUCH_KEY|NOT_FOUND": 404,
    "SLOW_DOWN|SERVICE_UNAVAILABLE|UNAVAILABLE": 503,
}
# Errors of packages for a connection that broke, by their names: the packages may be missing.
_BROKEN = {"ClientPayloadError", "ServerDisconnectedError", "ClientOSError", "RemoteProtocolError"}
_ADDRESS = "check the address and the network"
_AGAIN = "nothing was changed: run the command again later"
_DOWNLOAD = "download the file, and give its path"
# Marks of an object's contents, in the words of its store.
_VERSION = ("ETag", "etag", "Last-Modified", "last_modified", "blob_id", "Content-MD5")


class HostError(PoolError):
    """A host cannot be reached, does not answer, or refuses."""


def open_store(uri: str) -> "tuple[fs.FileSystem | GuardedStore, str]":
    """The file system of an address, and the path in it, which holds no secret.

    Requests to S3 end when nothing has come for a fifth of the time that a host may take; to others
    within that time. Raises PoolError when the host does not answer, and where the package that
    opens the address is not installed, and whatever pyarrow or that package raises.
    """
    scheme = _find_scheme(uri)
    if scheme in _PACKAGES:
        return wait_for(uri, lambda: _open_with_package(uri, scheme))
    store, path = wait_for(uri, lambda: fs.FileSystem.from_uri(uri))
    if isinstance(store, fs.LocalFileSystem):
        return store, path
    timeout = read_timeout()
    make, (settings, *_) = store.__reduce__()
    if isinstance(store, fs.S3FileSystem):
        limits = {"connect_timeout": _SHARE * timeout, "request_timeout": _SHARE * timeout}
        return fs.S3FileSystem(**{**settings, **limits}), path
    if store.type_name == "gcs":
        limit = settings["retry_time_limit"] or timedelta(seconds=timeout / 2)
        store = make({**settings, "retry_time_limit": limit})
    elif store.type_name == "abfs" and not settings["client_id"]:
        # pyarrow looks for identities alone.
        keys = {name: os.environ.get(f"AZURE_STORAGE_{name.upper()}", "") for name in _AZURE_KEYS}
        store = make({**settings, **{name: key for name, key in keys.items() if key}})
    return GuardedStore(store, uri), path


def _open_with_package(uri: str, scheme: str) -> "tuple[GuardedStore, str]":
    """The file system of fsspec's for an address, and the path in it; see open_store."""
    package, extra = _PACKAGES[scheme]
    try:
        importlib.import_module(package)
        url_to_fs = importlib.import_module("fsspec.core").url_to_fs
    except ImportError as error:
        raise PoolError(
            f"{mask_secrets(uri)} cannot be opened: {scheme}:// needs the package {package}",
            hint=f"install it: pip install 'activetest[{extra}]'; or {_DOWNLOAD}",
        ) from error
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if package == "huggingface_hub":
        options["endpoint"] = os.environ.get(_HF_ENDPOINT)
    if package == "aiohttp":
        silence = _SHARE * read_timeout()
        aiohttp = importlib.import_module(package)
        limits = aiohttp.ClientTimeout(total=None, sock_connect=silence, sock_read=silence)
        # With proxies of the environment, and logins of ~/.netrc.
        options["client_kwargs"] = {"timeout": limits, "trust_env": True}
    store, path = url_to_fs(uri, **options)
    return _PackageStore(store, uri, path), mask_secrets(path)


class GuardedStore:
    """A store of pyarrow's whose calls end in time, and of which the calling thread reads.

    uri       its address
    versions  {path: what tells the contents of an object} of those that were listed
    sizes     {path: bytes} of these
    """

    # pyarrow's stores try again themselves.
    pauses: tuple[float, ...] = ()

    def __init__(self, store: Any, uri: str) -> None:
        self.store, self.uri = store, uri
        self.versions: dict[str, str] = {}
        self.sizes: dict[str, int] = {}

    def get_file_info(self, place: str | fs.FileSelector) -> Any:
        """As pyarrow's file systems have it: of a path, or of all below a folder."""
        found = self.call(partial(self.store.get_file_info, place))
        self.sizes |= {
            each.path: each.size for each in ([found] if isinstance(place, str) else found)
        }
        return found

    def find_object(self, path: str) -> tuple[int, Fetch]:
        """The size of an object, and what fetches its bytes from start to stop."""
        if self.store.type_name == "gcs":
            # The first look at an open file asks for its bytes, while nothing else can run, for two
            # minutes where the host is silent. A stream asks as well, and lets others run.
            self.call(partial(self.store.open_input_stream, path))
        file = self.call(partial(self.store.open_input_file, path))
        # Its own size() may ask the host while nothing else can run, not even the clock.
        return self.sizes[path], lambda start, stop: file.read_at(stop - start, start)

    def open_object(self, path: str, ranges: Iterable[tuple[int, int]] = ()) -> "_RangeFile":
        """An object as a file, of which only what is read is fetched; the ranges now."""
        size, fetch = self.find_object(path)
        file = _RangeFile(size, lambda start, stop: self.call(partial(_fetch, fetch, start, stop)))
        file.fetch_ahead(ranges)
        return file

    def call(self, ask: Callable[[], T]) -> T:
        """The result of `ask()`. Raises HostError where the host fails."""
        problem = f"{mask_secrets(self.uri)} cannot be read"
        try:
            return wait_for(self.uri, partial(_try_again, ask, self.pauses))
        except (ActivetestError, FileNotFoundError):
            raise
        except Exception as error:
            raise describe_network_error(error, problem, self.uri) or HostError(
                f"{problem}: {first_line(error)}", _ADDRESS
            ) from error


class _PackageStore(GuardedStore):
    """A store of fsspec's, whose calls are tried again."""

    pauses = _PAUSES

    def __init__(self, store: Any, uri: str, path: str) -> None:
        super().__init__(store, uri)
        # An address may be all of a path, with a secret.
        self._real = {mask_secrets(path): path}

    def get_file_info(self, place: str | fs.FileSelector) -> Any:
        """As pyarrow's file systems have it: of a path, or of the files below a folder."""
        if isinstance(place, str):
            return self._look_up(place)
        found = self.call(partial(self.store.find, place.base_dir, detail=True))
        return [self._describe(path, info) for path, info in found.items()]

    def _look_up(self, path: str) -> fs.FileInfo:
        """A path's file or folder; none only where the host says so, and not where it fails."""

        def ask() -> dict[str, Any] | None:
            try:
                return dict(self.store.info(self._real.get(path, path)))
            except FileNotFoundError as error:
                if _find_answer(error) in (404, 410):
                    return None
                raise ConnectionError(first_line(error)) from error

        found = self.call(ask)
        if found is None:
            return fs.FileInfo(path, fs.FileType.NotFound)
        if found["type"] == "directory":
            return fs.FileInfo(path, fs.FileType.Directory)
        if found["size"] is None or found.get("partial") is False:
            raise _describe_whole(self.uri)
        return self._describe(path, found)

    def _describe(self, path: str, info: Mapping[str, Any]) -> fs.FileInfo:
        """A file as pyarrow describes one; its size and its version are kept."""
        self.sizes[path] = info["size"]
        if version := next((str(info[key]) for key in _VERSION if info.get(key)), None):
            self.versions[path] = version
        return fs.FileInfo(path, fs.FileType.File, size=info["size"])

    def find_object(self, path: str) -> tuple[int, Fetch]:
        """See GuardedStore."""
        real = self._real.get(path, path)
        # Bytes before and behind those that are asked for would be fetched, too.
        options = {"cache_type": "none"} if "hf" in self.store.protocol else {}

        def fetch(start: int, stop: int) -> bytes:
            content: bytes = self.store.cat_file(real, start, stop, **options)
            if len(content) > stop - start:
                raise _describe_whole(self.uri)
            return content

        return self.sizes[path], fetch


class _Positioned(io.RawIOBase):
    """A file that is read from a position on, where anybody may go.

    size  of the file in bytes
    """

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position, counted from the beginning, from here or from the end."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at


class _RangeFile(_Positioned):
    """An object of a store, of which bytes are fetched as they are read, or ahead.

    fetch  the bytes from start to stop
    """

    def __init__(self, size: int, fetch: Fetch) -> None:
        super().__init__(size)
        self._fetch = fetch
        self._kept: list[tuple[int, bytes]] = []

    def read(self, size: int | None = -1) -> bytes:
        """At most so many bytes, or all that follow."""
        stop = self._size if size is None or size < 0 else min(self._at + size, self._size)
        parts = []
        while self._at < stop:
            parts.append(
                self._read_kept(stop) or self._fetch(self._at, min(self._at + _STRIDE, stop))
            )
            self._at += len(parts[-1])
        return b"".join(parts)

    def _read_kept(self, stop: int) -> bytes:
        """Bytes from here to stop, or fewer or none, of those that were fetched ahead."""
        place = bisect_right(self._kept, self._at, key=lambda kept: kept[0]) - 1
        if place < 0:
            return b""
        start, content = self._kept[place]
        return content[self._at - start : stop - start]

    def fetch_ahead(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetch ranges of bytes, several at once; those that are near each other as one."""
        joined: list[list[int]] = []
        for start, stop in sorted(ranges):
            if joined and start - joined[-1][1] <= _GAP:
                joined[-1][1] = max(joined[-1][1], stop)
            else:
                joined.append([start, stop])
        strides = [
            (at, min(at + _STRIDE, stop))
            for start, stop in joined
            for at in range(start, min(stop, self._size), _STRIDE)
        ]
        if not strides:
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(strides))) as pool:
            found = pool.map(self._fetch, *zip(*strides, strict=True))
            self._kept = [(at, content) for (at, _), content in zip(strides, found, strict=True)]


class _Probe(_Positioned):
    """A file that holds nothing and ends far away; it keeps what was to be read of it."""

    place: tuple[int, int] | None = None

    def __init__(self) -> None:
        super().__init__(sys.maxsize)

    def read(self, size: int | None = -1) -> bytes:
        """Raises EOFError."""
        self.place = self._at, self._at + (size or 0)
        raise EOFError("nothing is here")


def find_ranges(
    footer: pq.FileMetaData, row_group: int, columns: Iterable[str]
) -> Iterator[tuple[int, int]]:
    """Where the bytes of columns begin and end, by trying to read them.

    Of a damaged footer, the entry of a column would end the process; reading it raises, then and
    when it is read in earnest.
    """
    for column in columns:
        probe = _Probe()
        with suppress(pa.ArrowException, OSError, EOFError):
            file = pq.ParquetFile(pa.PythonFile(probe, mode="r"), metadata=footer, buffer_size=0)
            next(file.iter_batches(1, row_groups=[row_group], columns=[column], use_threads=False))
        if probe.place:
            yield probe.place


def open_object(
    store: Any, path: str, find: Callable[[], Iterable[tuple[int, int]]] = tuple
) -> pa.NativeFile:
    """A file of a store; of one that fetches nothing ahead itself, what `find()` says."""
    if isinstance(store, GuardedStore):
        return pa.PythonFile(store.open_object(path, find()), mode="r")
    return store.open_input_file(path)


def find_versions(store: Any) -> dict[str, str]:
    """{path: what tells its contents} of listed objects, where a store has more than a time."""
    return store.versions if isinstance(store, GuardedStore) else {}


def _fetch(fetch: Fetch, start: int, stop: int) -> bytes:
    """The bytes from start to stop. Raises EOFError where fewer come."""
    content = fetch(start, stop)
    if len(content) < stop - start:
        raise EOFError(f"{len(content):,} of {stop - start:,} bytes came")
    return content


def _describe_whole(uri: str) -> PoolError:
    """The error for a host that cannot serve parts of a file."""
    return HostError(
        f"{mask_secrets(uri)} cannot be read: {_find_host(uri)} serves no parts of a file",
        _DOWNLOAD,
    )


def _try_again(ask: Callable[[], T], pauses: Iterable[float]) -> T:
    """The result of `ask()`, tried again after pauses where what it raises may pass."""
    for pause in pauses:
        try:
            return ask()
        except Exception as error:
            if not _may_pass(error):
                raise
        time.sleep(pause * read_timeout())
    return ask()


def _may_pass(error: Exception) -> bool:
    """Whether it may be different next time: a host that is busy, or a connection that broke."""
    if answer := _find_answer(error):
        return answer >= 500 or answer == 429
    lasting = (ActivetestError, FileNotFoundError, PermissionError, ImportError, TypeError)
    return not isinstance(error, (*lasting, ValueError))


def wait_for(uri: str, call: Callable[[], T]) -> T:
    """The result or the error of `call()`; PoolError where its host does not answer in time.

    Most clients try again for minutes before they give up, and some for ever: the call is left
    behind in a thread of its own, which ends with the program.
    """
    timeout = read_timeout()
    outcome: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name=f"asking {_find_host(uri)}")
    thread.start()
    thread.join(timeout)
    if errors:
        raise errors[0]
    if not outcome:
        raise _describe_silence(f"{mask_secrets(uri)} cannot be opened", uri)
    return outcome[0]


def describe_network_error(error: Exception, problem: str, uri: str) -> PoolError | None:
    """The error for a host that cannot be reached, does not answer or refuses; None for any other.

    problem  what could not be done
    uri      an address; where it names no host, the error does not either
    """
    match, host = _CURL.search(str(error)), _find_host(uri)
    remote = "://" in uri
    answer = _find_answer(error) if remote and not match else None
    if answer in (401, 403):
        return HostError(f"{problem}: access is refused ({answer}, {host})", hint_opening(uri))
    if answer in (404, 410):
        return HostError(f"{problem}: it is not there ({answer}, {host})", "check the address")
    if answer is not None and answer >= 400:
        return HostError(f"{problem}: its host fails ({answer}, {host})", _AGAIN)
    code = int(match[1] or match[2]) if match else _find_failure(error) if remote else None
    if code is None:
        return None
    if code == _TIMED_OUT:
        return _describe_silence(problem, uri)
    reason = _UNREACHABLE.get(code, f"the connection to its host failed with curl error {code}")
    return HostError(f"{problem}: {reason} ({host})", _ADDRESS)


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _find_answer(error: BaseException) -> int | None:
    """The number by which a host answers (HTTP), where an error comes from an answer."""
    for cause in _list_causes(error):
        for holder in (cause, getattr(cause, "response", None)):
            for name in ("status", "status_code"):
                if isinstance(answer := getattr(holder, name, None), int):
                    return answer
        if match := _ANSWER.search(str(cause)):
            return int(match[1] or match[2])
        for words, answer in _ANSWERS.items():
            if re.search(words, str(cause)):
                return answer
        if isinstance(cause, FileNotFoundError) and cause.__cause__ is None:
            return 404
    return None


def _find_failure(error: BaseException) -> int | None:
    """The number that curl would have for what a package says of the network; else None."""
    for cause in _list_causes(error):
        if isinstance(cause, TimeoutError):
            return _TIMED_OUT
        if isinstance(cause, socket.gaierror):
            return 6
        if isinstance(cause, ConnectionRefusedError) or "Connect call failed" in str(cause):
            return 7
        if isinstance(cause, EOFError) or type(cause).__name__ in _BROKEN:
            return 18
    return None


def hint_opening(uri: str) -> str:
    """The hint for an address that its store does not open."""
    scheme = _find_scheme(uri)
    if scheme not in {*_CREDENTIALS, *_PACKAGES}:
        return _KNOWN_SCHEMES
    place = _CREDENTIALS.get(scheme, "for https a login for the host in ~/.netrc")
    return f"check the address and the credentials: {place}"


def _describe_silence(problem: str, uri: str) -> PoolError:
    """The error for a host that does not answer in time."""
    timeout = read_timeout()
    return HostError(
        f"{problem}: {_find_host(uri)} did not answer within {timeout:g} s",
        f"{_ADDRESS}; {TIMEOUT}={2 * timeout:g} in the environment waits longer",
    )


def read_timeout() -> float:
    """Seconds that a host may take. Raises ChoiceError where the environment names no number."""
    text = os.environ.get(TIMEOUT, "")
    try:
        timeout = float(text or _USUAL_TIMEOUT)
    except ValueError:
        timeout = 0.0
    if not 0 < timeout <= threading.TIMEOUT_MAX:
        raise ChoiceError(
            f"the environment variable {TIMEOUT} is {text!r}", "give it a number of seconds above 0"
        )
    return timeout


def reject_secrets(addresses: Iterable[Any]) -> None:
    """Raises ChoiceError for an address with a password, key or signature: it would be stored."""
    for address in addresses:
        if isinstance(address, str) and (shown := mask_secrets(address)) != address:
            named = _CREDENTIALS.get(_find_scheme(address))
            place = f"in the environment: {named}" if named else "as a login in ~/.netrc"
            raise ChoiceError(
                f"{shown} holds a secret, which a study would store",
                f"leave out what *** stands for, and give it {place}; or {_DOWNLOAD}",
            )


def _find_scheme(uri: str) -> str:
    return uri.partition("://")[0].lower()


def _find_host(uri: str) -> str:
    """The host of an address: the one it names instead of the usual one, if it does."""
    parts = urlsplit(mask_secrets(uri))
    if parts.scheme == "hf":
        return urlsplit(os.environ.get(_HF_ENDPOINT, "https://huggingface.co")).netloc
    named = [word.partition("=") for word in parts.query.split("&")]
    override = next((value for name, _, value in named if name == "endpoint_override"), "")
    return unquote(override) or parts.netloc.rpartition("@")[2] or "the host"
