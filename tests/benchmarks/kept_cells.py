"""Cells of a table that were computed by an earlier run of a script, in a file of JSON Lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class KeptCells:
    """Finished cells; without a file nothing is kept.

    A cell is computed once for everything that it follows from.
    """

    def __init__(self, path: Path | None):
        self.path = path
        self.found: dict[str, Any] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.found[_write_key(entry["from"])] = entry["cell"]

    def compute(self, origin: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """What compute() returned for this origin, now or in an earlier run; both JSON-ready."""
        key = _write_key(origin)
        if key not in self.found:
            self.found[key] = compute()
            if self.path is not None:
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"from": origin, "cell": self.found[key]}) + "\n")
        return self.found[key]


def _write_key(origin: dict[str, Any]) -> str:
    return json.dumps(origin, sort_keys=True)
