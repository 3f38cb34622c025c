"""Reports as Markdown, for pull requests and job summaries."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch

from activetest.nouns.inspection import Inspection
from activetest.nouns.report import Counts, Report
from activetest.render.document import words
from activetest.render.document.blocks import (
    Block,
    Bullets,
    Code,
    Facts,
    Map,
    Matrix,
    Notes,
    Sentence,
    Table,
    simplify,
)
from activetest.render.document.extent import MORE, Extent
from activetest.render.document.inspection import list_inspection_blocks
from activetest.render.document.outline import outline_report
from activetest.render.document.simulation import list_simulation_blocks
from activetest.system.safe_text import escape_controls

ABRIDGED = True
SUFFIXES = (".md", ".markdown")
HEAD = "<!-- report by activetest -->\n\n"
SIMULATION_HEAD = "<!-- simulation by activetest -->\n\n"

# GitHub refuses the summary of a job's step above 1024 KiB.
MOST_BYTES = 1_000_000

# Signs that Markdown reads as more, unless a backslash is before them: an entity, and what opens
# or closes a title, too.
_SPECIAL = re.compile(r"([\\\x60*_\[\]<>|~]|&(?=#?\w+;)|(?<=\s)#(?=#*$))")
# The opening of a list or a title, at the beginning of a text.
_OPENING = re.compile(r"^(\d*)([-+#.)])(?=[\s#])")
# Signs of GitHub and GitLab in the finished text, where a backslash is of no use: somebody's
# name, an address, the number of an issue, a formula, an emoji. A letter in an element of its own
# is none of them, reads the same, and is copied as the same.
_APART = re.compile(
    r"((?<!\w)@(?=\w)|@(?=[\w.\\-]*\.\w)|:(?=//)|(?<=\bwww)\.|#(?=\d)|\$|:(?=[\w+\\-]+:))",
    re.IGNORECASE,
)
# Without any of these nothing has to stand apart, which most cells of numbers show at once.
_SUSPECT = re.compile(r"[@:#$]|www", re.IGNORECASE)
# Sentences by their style.
_MARKUP = {"title": "## {}", "subtitle": "### {}", "plain": "{}"}
_MARKUP |= dict.fromkeys(("strong", "good", "doubtful"), "**{}**")


@dataclass(frozen=True)
class _Part:
    """A paragraph or the top of a table, and lines of which the last may be left out."""

    head: str
    lines: tuple[str, ...] = ()


def render(report: Report, *, verbose: bool = False, more: str = MORE) -> str:
    """Verdicts, headline, tables and notes; at most MOST_BYTES.

    verbose    all estimates, tables and notes, and how items are chosen
    more       how to see them, for a report that leaves some out

    Excess is left out from the end of the tables: groups before differences before the
    whole pool.
    """
    found = outline_report(report, Extent(verbose=verbose, hints=False, more=more))
    blocks = [Sentence(found.title, style="title"), *found.list_blocks()]
    return _write(blocks)


def status(counts: Counts, coming: str = "") -> str:
    """Where a study stands; coming says what `next` would do."""
    blocks: list[Block] = [Table("", ("", ""), tuple(words.standing(counts)))]
    if coming:
        blocks.append(Sentence(coming, style="plain"))
    return _write(blocks)


def inspection(found: Inspection) -> str:
    """Contents of a file: its columns, what they allow, and how to go on."""
    return _write(list_inspection_blocks(found))


def simulation(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """One row per strategy, metric and budget, below the answers to a question."""
    return _write(list_simulation_blocks(results, answers))


def _write(blocks: Sequence[Block]) -> str:
    """The blocks, small ones last; notes take up to half of the bytes."""
    small = [each.text for each in blocks if isinstance(each, Sentence) and each.style == "small"]
    parts: list[_Part] = []
    end: list[_Part] = []
    for each in simplify(blocks):
        if not (isinstance(each, Sentence) and each.style == "small"):
            (end if isinstance(each, Notes) else parts).extend(_write_block(each))
    marked = any(f"{words.MARK} |" in line for part in parts for line in part.lines)
    lines = [words.LEGEND] * marked + small
    below = [*_shorten(end, MOST_BYTES // 2), *(f"<sub>{_escape(line)}</sub>" for line in lines)]
    room = MOST_BYTES - sum(_size(text) for text in below)
    return "\n\n".join(_shorten(parts, room) + below) + "\n"


@singledispatch
def _write_block(block: Block) -> list[_Part]:
    """The parts of a block; each sort of it has its own."""
    raise NotImplementedError(type(block).__name__)


@_write_block.register
def _(block: Sentence) -> list[_Part]:
    marked = _MARKUP[block.style].format(_escape(block.text))
    return [_Part(marked + _escape(block.rest))]


@_write_block.register
def _(block: Facts) -> list[_Part]:
    return _write_list(f"{name}: {value}" if name else value for name, value in block.rows)


@_write_block.register
def _(block: Bullets) -> list[_Part]:
    return _write_list(block.texts)


@_write_block.register
def _(block: Notes) -> list[_Part]:
    """Cautions and other notes, each under a title, in the order of their weights."""
    parts = []
    for title, cautions in (("### Cautions", True), ("### Notes", False)):
        if texts := [note.text for note in block.notes if note.is_caution == cautions]:
            parts += [_Part(title), *_write_list(texts)]
    return parts


@_write_block.register
def _(block: Code) -> list[_Part]:
    # An indented block, as it is typed.
    return [_Part("\n".join(f"    {escape_controls(line)}" for line in block.line.splitlines()))]


@_write_block.register
def _(block: Map) -> list[_Part]:
    return _write_block(block.table)


@_write_block.register
def _(block: Matrix) -> list[_Part]:
    return _write_block(block.fold())


@_write_block.register
def _(block: Table) -> list[_Part]:
    def write(cells: Sequence[str]) -> str:
        shown = (
            f"**{_escape(cell)}**" if heading == "verdict" else _escape(cell)
            for heading, cell in zip(block.headings, cells, strict=True)
        )
        return f"| {' | '.join(shown)} |"

    title = f"### {_escape(block.title)}\n\n" if block.title else ""
    top = f"| {' | '.join(map(_escape, block.headings))} |"
    head = f"{title}{top}\n|{' --- |' * len(block.headings)}"
    table = _Part(head, tuple(map(write, block.rows)))
    return [table, *([_Part(_escape(block.below))] if block.below else [])]


def _write_list(texts: Iterable[str]) -> list[_Part]:
    """A list; nothing without a text."""
    lines = [f"- {_escape(text)}" for text in texts]
    return [_Part(lines[0], tuple(lines[1:]))] if lines else []


def _shorten(parts: Sequence[_Part], room: int) -> list[str]:
    """The parts as texts, up to the first line for which there is no room, and what is missing."""
    missing = "<sub>{:,} more lines are left out here: JSON has them all.</sub>"
    room -= _size(missing) + 20
    shown, left_out = [], 0
    for part in parts:
        kept = 0
        for line in (part.head, *part.lines):
            # After the first line that is left out, all others are less important.
            if left_out or room < _size(line):
                left_out += 1
            else:
                room -= _size(line)
                kept += 1
        if kept:
            shown.append("\n".join((part.head, *part.lines)[:kept]))
    return [*shown, missing.format(left_out)] if left_out else shown


def _size(text: str) -> int:
    """Bytes of a text and the empty line after it."""
    return len(text.encode()) + 2


def _escape(text: str) -> str:
    """Text that reads as it is: no name opens a cell, a tag, an emphasis, a formula or a link."""
    marked = _OPENING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", words.plain(text)))
    return _APART.sub(r"<span>\1</span>", marked) if _SUSPECT.search(marked) else marked
