"""The screen of `label`: which key stands for which class, and what stands on which line."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from activetest.cli.formatter import WIDTH
from activetest.labels.matching import parse_number
from activetest.system.safe_text import escape_controls, make_readable

# {command: its keys}, the first that is free of a class first; the last ones are always free.
COMMANDS = {
    "skip": ("s", " "),
    "decline": ("d", "!"),
    "undo": ("u", "backspace"),
    "more": ("m", "page down", "+"),
    "back": ("b", "page up"),
    "type": ("/",),
    "help": ("?",),
    "quit": ("q", "end"),
}
WORDS = {
    "skip": "skip",
    "decline": "cannot be labelled",
    "undo": "undo",
    "more": "more text",
    "type": "type a class",
    "help": "help",
    "quit": "quit",
}
_KEY_NAMES = {" ": "space", "end": "Ctrl-D"}
_LETTERS = {key for keys in COMMANDS.values() for key in keys if key.isalpha() and len(key) == 1}
# Keys of classes whose name is no key itself.
_DIGITS = "123456789"
_OTHERS = "".join(each for each in "abcdefghijklmnopqrstuvwxyz" if each not in _LETTERS)
# Longer texts are cut, and names of classes.
_LONGEST, _LONGEST_NAME = 500_000, 32
# Lines of text that a low terminal shows at least, and classes that match what is typed.
_FEWEST, _MATCHES = 3, 8
_BOLD, _DIM, _NORMAL = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_CONSOLE = Console()
_CURSOR = f"\x1b[7m {_NORMAL}"


@dataclass(frozen=True)
class View:
    """Contents of the screen.

    head      of the item: how many of how many, who labels
    id        of the item
    values    {column: value}
    classes   {key: class}
    commands  {key: what it does}
    typed     what was typed so far; None where single keys answer
    prompt    what stands before it
    matches   classes that it may become
    message   what was wrong, or what was done last
    page      of the text, from 0
    """

    head: str
    id: str
    values: Mapping[str, Any]
    classes: Mapping[str, str]
    commands: Mapping[str, str]
    typed: str | None = None
    prompt: str = "label"
    matches: Sequence[str] = ()
    message: str = ""
    page: int = 0


def assign_keys(classes: Sequence[str]) -> dict[str, str]:
    """{key: class}; empty where the classes are too many for keys, or are typed as numbers.

    A class whose name is one letter or digit has that key; the others have 1 to 9, or letters where
    digits are names of classes. Classes such as 10 and 1 are typed: a key would answer before the
    second digit.
    """
    if any(len(name) > 1 and name[:1].isdigit() and parse_number(name) for name in classes):
        return {}
    own = {name for name in classes if len(name) == 1 and name.isalnum()}
    taken = {name.casefold() for name in own}
    digits = "" if any(name.isdigit() for name in own) else _DIGITS
    free = iter([key for key in digits + _OTHERS if key not in taken])
    keys = {name if name in own else next(free, ""): name for name in classes}
    return {} if "" in keys else keys


def find_command_keys(classes: Mapping[str, str]) -> dict[str, str]:
    """{key: command} of all keys that stand for no class."""
    taken = {key.casefold() for key in classes}
    return {key: command for command, keys in COMMANDS.items() for key in keys if key not in taken}


def name_keys(commands: Mapping[str, str]) -> dict[str, str]:
    """{command: the name of its first key}."""
    found: dict[str, str] = {}
    for key, command in commands.items():
        found.setdefault(command, _KEY_NAMES.get(key, key))
    return found


def find_matches(text: str, classes: Iterable[str]) -> list[str]:
    """The classes that begin with a text, then those that hold it, in any case."""
    part = text.strip().casefold()
    if not part:
        return []
    first = [name for name in classes if name.casefold().startswith(part)]
    return first + [name for name in classes if part in name.casefold() and name not in first]


def lay_out(view: View, width: int, height: int, *, styled: bool) -> tuple[list[str], int]:
    """The lines of the screen, and the number of pages that the text has.

    width, height  of the terminal
    styled         bold and dim are used
    """
    columns = min(width - 1, WIDTH)
    bold, dim = (_BOLD, _DIM) if styled else ("", "")

    def style(text: str, code: str) -> str:
        return f"{code}{text}{_NORMAL}" if code and text else text

    head = [style(line, bold) for line in wrap(escape_controls(view.head), columns)[:2]]
    if view.id:
        head.append(style(cut(f"id {escape_controls(view.id)}", columns), dim))
    head.append("")
    keys = [f"[{key}] {shorten_name(name)}" for key, name in view.classes.items()]
    legend = flow(keys, columns)
    if view.typed is not None:
        matches = [shorten_name(name) for name in view.matches[:_MATCHES]]
        matches += ["..."] * (len(view.matches) > _MATCHES)
        typed = escape_controls(view.typed)
        while typed and cell_len(typed) > columns - len(view.prompt) - 4:
            typed = typed[1:]
        legend = [
            *(style(line, dim) for line in flow(matches, columns)[:2]),
            style(f"{view.prompt}: {typed}", bold) + (_CURSOR if styled else "_"),
        ]
    else:
        legend = [style(line, bold) for line in legend]
    commands = flow([f"[{key}] {words}" for key, words in view.commands.items()], columns)
    message = wrap(escape_controls(view.message), columns)[:3]
    foot = [*message, *legend, *(style(line, dim) for line in commands)]
    room = height - len(head) - len(foot) - 1
    if room < _FEWEST:
        foot = [*(message if view.message else []), *legend]
        head = head[:1]
        room = max(height - len(head) - len(foot) - 1, 1)
    text = write_values(view.values, columns)
    pages = max(-(-len(text) // room), 1)
    page = view.page % pages
    shown = text[page * room : (page + 1) * room]
    body = [line if kind == "text" else style(line, dim) for kind, line in shown]
    rule = "-" * columns
    if pages > 1:
        rule = cut(f"-- page {page + 1} of {pages} ".ljust(columns, "-"), columns)
    lines = [*head, *body, *[""] * (room - len(body)), style(rule, dim), *foot]
    return lines[-height:], pages


def write_values(values: Mapping[str, Any], width: int) -> list[tuple[str, str]]:
    """(kind, line) of everything that is shown of an item; kind is "name" or "text".

    The text of a single column has no name before it.
    """
    lines: list[tuple[str, str]] = []
    for column, value in values.items():
        text = value if isinstance(value, str) else _write_value(value)
        name = escape_controls(column)
        wrapped = wrap_text(text[:_LONGEST], width)
        if len(text) > _LONGEST:
            wrapped = [*wrapped, f"... {len(text) - _LONGEST:,} more characters"]
        if len(values) == 1:
            lines += [("text", line) for line in wrapped]
        elif len(wrapped) == 1 and cell_len(f"{name}: {wrapped[0]}") <= width:
            lines.append(("text", f"{name}: {wrapped[0]}"))
        else:
            lines += [("text", "")] * (bool(lines) and lines[-1][1] != "")
            lines += [("name", cut(f"{name}:", width)), *(("text", line) for line in wrapped)]
            lines.append(("text", ""))
    while lines and not lines[-1][1]:
        lines.pop()
    return lines


def _write_value(value: Any) -> str:
    """A value that is no text: empty where it is missing, lists and the like as JSON."""
    if value is None:
        return ""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


@lru_cache(maxsize=16)
def wrap_text(text: str, width: int) -> list[str]:
    """The lines of a text for a terminal: see make_readable and wrap."""
    return wrap(make_readable(text), width)


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text, none of which takes more cells than the width; words stay whole."""
    lines: list[str] = []
    for line in text.split("\n"):
        parts = [line]
        if cell_len(line) > width:
            parts = [part.plain for part in Text(line).wrap(_CONSOLE, width, tab_size=1)]
        lines += [part.rstrip() for part in parts]
    return lines


def flow(parts: Sequence[str], width: int) -> list[str]:
    """The parts on as few lines as they take, with blanks between them."""
    lines: list[str] = []
    for part in (cut(each, width) for each in parts):
        if lines and cell_len(lines[-1]) + 3 + cell_len(part) <= width:
            lines[-1] += f"   {part}"
        else:
            lines.append(part)
    return lines


def shorten_name(name: str) -> str:
    """The name of a class as a legend shows it."""
    return cut(escape_controls(name), _LONGEST_NAME)


def cut(text: str, width: int) -> str:
    """The text, or its beginning and three points, in so many cells."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 3)}..."
