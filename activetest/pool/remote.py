"""Pools on other machines: a host that does not answer is an error, and no secret is stored."""

import os
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pyarrow import fs

from activetest.errors import ChoiceError, PoolError
from activetest.system.safe_text import mask_secrets

T = TypeVar("T")

# How long a host may take to answer, in seconds, unless the environment says otherwise.
TIMEOUT = "ACTIVETEST_TIMEOUT"
_USUAL_TIMEOUT = 60.0
# S3 is asked three times, with pauses between: together this takes less than the time there is.
_SHARE = 0.2
# How the clients of S3 and of Google say what went wrong in the network, by curl's number for it.
_CURL = re.compile(r"curlCode: (\d+)|CURL error \[(\d+)\]=")
_UNREACHABLE = {
    5: "the name of its proxy is not known",
    6: "the name of its host is not known",
    7: "its host refuses connections",
}
_TIMED_OUT = 28
_ADDRESS = "check the address and the network"


def open_store(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path in it.

    Requests to S3 end when nothing has come for a fifth of the time that a host may take. Raises
    PoolError when the host does not answer, and whatever pyarrow raises.
    """
    timeout = read_timeout()
    store, path = wait_for(uri, lambda: fs.FileSystem.from_uri(uri))
    if isinstance(store, fs.S3FileSystem):
        _, (settings,) = store.__reduce__()
        limits = {"connect_timeout": _SHARE * timeout, "request_timeout": _SHARE * timeout}
        store = fs.S3FileSystem(**{**settings, **limits})
    return store, path


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
    """The error for a host that cannot be reached or does not answer; None for any other error.

    problem  what could not be done
    uri      an address; where it names no host, the error does not either
    """
    match = _CURL.search(str(error))
    if match is None:
        return None
    code = int(match[1] or match[2])
    if code == _TIMED_OUT:
        return _describe_silence(problem, uri)
    reason = _UNREACHABLE.get(code, f"the connection to its host failed with curl error {code}")
    return PoolError(f"{problem}: {reason} ({_find_host(uri)})", _ADDRESS)


def _describe_silence(problem: str, uri: str) -> PoolError:
    """The error for a host that does not answer in time."""
    timeout = read_timeout()
    return PoolError(
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
            raise ChoiceError(
                f"{shown} holds a secret, which a study would store",
                "leave out what *** stands for, and give it in the environment: for S3 "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, for Google "
                "GOOGLE_APPLICATION_CREDENTIALS; or download the file",
            )


def _find_host(uri: str) -> str:
    """The host of an address: the one it names instead of the usual one, if it does."""
    parts = urlsplit(mask_secrets(uri))
    named = [word.partition("=") for word in parts.query.split("&")]
    override = next((value for name, _, value in named if name == "endpoint_override"), "")
    return override or parts.netloc.rpartition("@")[2] or "the host"
