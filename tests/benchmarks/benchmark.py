"""Shared by the scripts: one thread each, their options, kept results, and tables on the page.

Import it before NumPy, whose libraries count their threads when they are loaded.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "README.md"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_SET = [name for name in _THREADS if name not in os.environ]
os.environ |= dict.fromkeys(_SET, "1")
sys.path.insert(0, str(Path(__file__).parents[2]))


def free_threads() -> None:
    """Let commands that are timed, each a process of its own, have all threads."""
    for name in _SET:
        os.environ.pop(name, None)


def read_options(
    about: str, *positional: str | tuple[str, dict[str, Any]], **options: Any
) -> argparse.Namespace:
    """The command line of a script.

    about       the script's docstring, whose first line --help prints
    positional  names of paths, or (name, what add_argument is told)
    options     {name: default}: --name has the type of its default; False is a switch, a type has
                no default, and a dictionary is what add_argument is told
    """
    parser = argparse.ArgumentParser(description=about.strip().splitlines()[0])
    for each in positional:
        name, told = (each, {"type": Path}) if isinstance(each, str) else each
        parser.add_argument(name, **told)
    for name, default in options.items():
        if isinstance(default, dict):
            told = default
        elif isinstance(default, type):
            told = {"type": default}
        elif default is False:
            told = {"action": "store_true"}
        else:
            told = {"type": type(default), "default": default}
        parser.add_argument(f"--{name.replace('_', '-')}", **told)
    parser.add_argument("--page", metavar="SECTION", help="fill the tables of this section")
    return parser.parse_args()


def find_pools(folder: Path, names: str = "") -> list[Path]:
    """NAME.parquet of every pool with an answer key NAME.labels.csv, or of those named."""
    keys = sorted(key.name.removesuffix(".labels.csv") for key in folder.glob("*.labels.csv"))
    chosen = names.split(",") if names else keys
    return [folder / f"{name}.parquet" for name in keys if name in chosen]


def buy_labels(
    log: Any, cache: Any, choices: Any, truth: Any, *, labels: int, batch: int, seed: int
) -> Any:
    """The log of a study after rounds of so many draws, until it has so many labels."""
    from activetest.sampling.plan import plan_round
    from activetest.simulation.simulate import answered

    while len(log.rows) < labels:
        count = min(batch, labels - len(log.rows))
        drawn = plan_round(log, cache, choices, seed=seed, count=count)
        log = answered(log, drawn, truth)
    return log


class Table:
    """A Markdown table, printed row by row; with --page each row also goes to the page."""

    def __init__(self, options: argparse.Namespace | None, *columns: object):
        """Without options the page does not show the table.

        Columns, and cells of a row, may be joined: "pool | metric" are two.
        """
        self.section, self.columns = options and options.page, _split(columns)
        print(f"\n| {' | '.join(self.columns)} |\n{'|---' * len(self.columns)}|", flush=True)

    def add(self, *cells: object) -> None:
        """Print a row, and fill in the row of the page that is about the same."""
        row = _split(cells)
        values = dict(zip(self.columns, row, strict=True))
        print(f"| {' | '.join(row)} |", flush=True)
        if self.section:
            text = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(fill_page(text, self.section, values), encoding="utf-8")


def _split(cells: Iterable[object]) -> list[str]:
    return " | ".join(map(str, cells)).replace("+-", "±").split(" | ")


def fill_page(text: str, section: str, values: dict[str, str]) -> str:
    """The page with {column: cell} filled in, where a table of the section has the row.

    Above a table stands `<!-- by COLUMN, COLUMN -->`: the row is the one with the same cells there.
    The page decides which rows and columns it shows; others are printed and no more. Raises
    ValueError where there is no such section.
    """
    lines = text.splitlines()
    start = next(
        (n for n, line in enumerate(lines) if line.startswith("#") and anchor(line) == section),
        None,
    )
    if start is None:
        raise ValueError(f"the page has no section {section!r}")
    keys: list[str] = []
    columns: list[str] = []
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.startswith("#"):
            break
        if found := re.fullmatch(r"<!-- by (.*) -->", line):
            keys = found[1].split(", ")
        elif not line.startswith("|"):
            keys, columns = [], []
        elif not columns:
            columns = read_cells(line)
        elif keys and set(keys) <= set(values):
            row = dict(zip(columns, read_cells(line), strict=True))
            if all(row[key] == values[key] for key in keys):
                row |= {column: values[column] for column in columns if column in values}
                lines[number] = f"| {' | '.join(row.values())} |"
    return "\n".join(lines) + "\n"


def read_cells(line: str) -> list[str]:
    """The cells of a row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def anchor(heading: str) -> str:
    """The link to a heading, as code hosts make it."""
    return re.sub(r"[^\w -]", "", heading.strip("# ").lower()).replace(" ", "-")


class KeptCells:
    """Results that an earlier run of a script computed, in a file of JSON Lines.

    Without a file nothing is kept. A cell is computed once for everything that it follows from.
    """

    def __init__(self, path: Path | None):
        self.path = path
        lines = read_lines(path) if path else []
        self.found = {_write_key(line["from"]): line["cell"] for line in lines}

    def compute(self, origin: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """The result of compute() for this origin, now or in an earlier run; both JSON-ready."""
        key = _write_key(origin)
        if key not in self.found:
            self.found[key] = compute()
            if self.path is not None:
                append_lines(self.path, [{"from": origin, "cell": self.found[key]}])
        return self.found[key]


def read_lines(path: Path) -> list[Any]:
    """The values of a file of JSON Lines; one that was not written to its end is not read."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def append_lines(path: Path, values: Iterable[Any]) -> None:
    """Add values to a file of JSON Lines, in place of a line that was not written to its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        file.seek(0)
        complete = file.read().rpartition("\n")
        file.truncate(len("".join(complete[:2]).encode()))
        file.writelines(json.dumps(value, separators=(",", ":")) + "\n" for value in values)


def _write_key(origin: dict[str, Any]) -> str:
    return json.dumps(origin, sort_keys=True)
