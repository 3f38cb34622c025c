"""An object store on this machine that counts what it serves, and fails as it is told to.

It speaks as much of HTTP, and of the protocols of S3 and Hugging Face, as reading takes, with
the standard library alone.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


def _find_time(content: bytes) -> float:
    """When an object was written, in seconds: another time for each content."""
    return 1.77e9 + int(md5(content).hexdigest()[:4], 16)


def _write_time(content: bytes) -> str:
    return f"{datetime.fromtimestamp(_find_time(content), UTC):%Y-%m-%dT%H:%M:%S.000Z}"


@dataclass
class Store:
    """Objects, the requests for them, and how it fails.

    objects  {"bucket/key": content}
    later    those of another time, which take their place when the fault is "swap"
    served   (method, path) of each request, failed ones included
    sent     bytes of bodies
    fault    "" for none; a status as "503"; "refuse" closes each connection at once, "silent" keeps
             it and says nothing, "cut" closes it in the middle of a body, "stall" stops there, and
             "whole" serves no ranges
    left     requests that still fail
    spared   requests that are served before the first one fails
    """

    port: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    later: dict[str, bytes] = field(default_factory=dict)
    served: list[tuple[str, str]] = field(default_factory=list)
    sent: int = 0
    fault: str = ""
    left: float = 0
    spared: int = 0
    closing: threading.Event = field(default_factory=threading.Event)

    def fail(self, fault: str, times: float = float("inf"), *, after: int = 0) -> None:
        """From the request after so many on, fail so many times."""
        self.fault, self.left, self.spared = fault, times, after

    def take_fault(self) -> str:
        """How the request that has just come is to fail."""
        if self.spared:
            self.spared -= 1
            return ""
        if not self.left:
            return ""
        self.left -= 1
        if self.fault == "swap":
            self.objects.update(self.later)
        return self.fault

    def forget(self) -> None:
        """Count from now on."""
        self.served.clear()
        self.sent = 0

    @property
    def host(self) -> str:
        """Where it is."""
        return f"127.0.0.1:{self.port}"

    def locate(self, scheme: str, key: str) -> str:
        """The address of an object or a folder; of hf, the first two names are of the data set."""
        if scheme == "http":
            return f"http://{self.host}/{key}"
        if scheme == "hf":
            return f"hf://datasets/{key}"
        options = f"scheme=http&endpoint_override={self.host.replace(':', '%3A')}"
        return f"{scheme}://{key}?region=us-east-1&{options}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        key, query = unquote(parts.path).strip("/"), parse_qs(parts.query)
        fault = self.store.take_fault()
        self.store.served.append((self.command, key))
        if fault == "silent":
            self.store.closing.wait()
        if fault in ("silent", "refuse"):
            self.close_connection = True
        elif fault.isdigit():
            self._send(int(fault))
        elif (content := self._describe(key, query)) is not None:
            self._send(200, content)
        else:
            self._send_object(key.removeprefix("datasets/").replace("/resolve/main", ""), fault)

    def _describe(self, key: str, query: dict[str, list[str]]) -> bytes | None:
        """Facts about objects as the protocols give them; None for an object itself."""
        objects = self.store.objects
        if "list-type" in query:
            below = f"{key}/{query['prefix'][0]}"
            found = [each for each in sorted(objects) if each.startswith(below)]
            entries = "".join(
                f"<Contents><Key>{each.partition('/')[2]}</Key><Size>{len(objects[each])}</Size>"
                f"<LastModified>{_write_time(objects[each])}</LastModified></Contents>"
                for each in found
            )
            return (
                '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>'
                f"<KeyCount>{len(found)}</KeyCount>{entries}</ListBucketResult>"
            ).encode()
        if key.startswith("api/datasets/"):
            if "/tree/" not in key:
                return json.dumps({"id": "a/b", "sha": "c" * 40, "siblings": []}).encode()
            return json.dumps(
                [
                    {
                        "type": "file",
                        "oid": md5(content).hexdigest(),
                        "size": len(content),
                        "path": each.split("/", 2)[2],
                    }
                    for each, content in objects.items()
                ]
            ).encode()
        return b"{}" if key.startswith("api/") else None

    def _send_object(self, key: str, fault: str) -> None:
        content = self.store.objects.get(key)
        if content is None:
            self._send(404)
            return
        tag = f'"{md5(content).hexdigest()}"'
        headers = {"ETag": tag, "Last-Modified": formatdate(_find_time(content), usegmt=True)}
        status, ranges = 200, self.headers.get("Range")
        if fault != "whole" and ranges and self.command == "GET":
            first, _, last = ranges.removeprefix("bytes=").partition("-")
            start = int(first) if first else len(content) - int(last)
            stop = min(int(last) + 1 if first and last else len(content), len(content))
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
            status, content = 206, content[start:stop]
        self._send(status, content, headers, cut=fault in ("cut", "stall"))
        if fault == "stall":
            self.store.closing.wait()

    def _send(
        self,
        status: int,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            part = content[: len(content) // 2] if cut else content
            self.close_connection = self.close_connection or cut
            self.wfile.write(part)
            self.wfile.flush()
            self.store.sent += len(part)


@contextmanager
def serve_objects() -> Iterator[Store]:
    """A store without objects, until the context ends."""
    store = Store()
    handler = type("Handler", (_Handler,), {"store": store})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        store.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield store
        finally:
            store.closing.set()
            server.shutdown()
            thread.join()
