"""Completions of values in the shell: methods, values of choices, and columns of the pool.

Only a column needs the pool, and only its schema is read. Whatever goes wrong, nothing is offered.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import typer

Completer = Callable[[typer.Context, str], list[str]]
# The name that stands for columns, where the name of a family stands for its methods.
COLUMNS = "columns"
# Signs that a shell may run or unquote in a completion: the script for zsh evaluates the text.
_SPECIAL = frozenset("\\`$\"'")
_TABLES = {".csv": ",", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson", ".json")


def make_completer(
    what: str | Callable[[], Iterable[str]], values: Sequence[str] = (), *, more: bool = False
) -> Completer | None:
    """The completer of an option's value; None where nothing completes it.

    what    a family of the catalogue, whose methods are offered; "columns" of the pool on the line,
            or of the study at hand; or a function that finds values
    values  that are offered where nothing else is
    more    several values may be given, separated by commas
    """
    if not what and not values:
        return None

    def find(context: typer.Context) -> Iterable[str]:
        if callable(what):
            return what()
        if what == COLUMNS:
            return _find_columns(context)
        if not what:
            return values
        from activetest import catalog

        return catalog.usable_names(what, simulated=context.command.name == "simulate")

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",") if more else ("", "", incomplete)
        try:
            found = list(find(ctx))
        except Exception:
            # A shell that waits for a word has no use for a traceback.
            return []
        return [
            before + comma + value
            for value in found
            if value.startswith(last) and _is_harmless(value)
        ]

    return complete


def _is_harmless(value: str) -> bool:
    """Whether a shell takes a value as text: names of columns come from other people's files."""
    return value.isprintable() and not set(value) & _SPECIAL


def _find_columns(context: typer.Context) -> list[str]:
    """The columns of the pool; of one that is not on this machine, none."""
    address = _find_pool(context) or _find_address(context.params.get("study"))
    if "://" in address:
        return []
    path = Path(address)
    if path.suffix in _TABLES:
        import csv

        with open(path, encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file, delimiter=_TABLES[path.suffix]))
    if path.suffix in _LINES:
        import json

        with open(path, encoding="utf-8") as file:
            return list(json.loads(file.readline()))
    from activetest.pool.files import Files

    return Files(address).schema.names


def _find_pool(context: typer.Context) -> str | None:
    """The POOL on the line: of a line that ends in an option, arguments are not yet sorted."""
    takes_pool = any(each.name == "pool" for each in context.command.params)
    return context.params.get("pool") or next(iter(context.args if takes_pool else ()), None)


def _find_address(study: str | Path | None) -> str:
    """The address of the pool of the study at hand."""
    import tomllib

    from activetest.study.folder import CONFIG, find_study, resolve_address

    folder = find_study(study)
    parts = tomllib.loads((folder / CONFIG).read_text(encoding="utf-8"))["parts"]
    return resolve_address(parts[0]["address"], folder)
