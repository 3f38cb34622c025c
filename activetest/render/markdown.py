"""Reports as Markdown, for pull requests and job summaries."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from activetest.nouns.group_report import Assessment
from activetest.nouns.report import Counts, Report, count_verdicts
from activetest.render import _assessment, _gates, _tables
from activetest.render import _words as words

# GitHub refuses the summary of a job's step above 1024 KiB.
MOST_BYTES = 1_000_000
# More classes than this make a table that nobody reads.
_WIDEST_MATRIX = 30


@dataclass(frozen=True)
class _Part:
    """A paragraph or the top of a table, and lines of which the last may be left out."""

    head: str
    lines: tuple[str, ...] = ()


def render(report: Report) -> str:
    """Verdicts, headline, tables and notes; at most MOST_BYTES.

    What is too much is left out from the end of the tables: groups before differences before the
    whole pool.
    """
    row = words.headline(report)
    parts = [_Part(f"## {_escape(words.title(report))}")]
    if report.gates:
        verdicts = f"**{count_verdicts(report.gates)}**"
        if intervals := _gates.evidence(report.gates):
            verdicts += f" (intervals: {intervals})"
        parts.append(_Part(verdicts))
        parts.append(_write_table(_gates.table(report.gates)))
        if remarks := _gates.remarks(report.gates):
            parts.append(_write_list(remarks))
    headline = words.sentence(row) if row else "No estimate yet."
    parts.append(_Part(f"**{_escape(headline)}**"))
    parts.append(_write_list(map(": ".join, words.facts(report, row))))
    if report.assessment:
        parts += _write_answer(report.assessment)
    parts += map(_write_any, _tables.tables(report))
    notes = words.notes(report)
    end = [_Part("### Notes"), _write_list(notes)] if notes else []
    made_by = f"<sub>{_escape(words.made_by(report))}</sub>"
    below = [*_shorten(end, MOST_BYTES // 2), made_by]
    room = MOST_BYTES - sum(_size(text) for text in below)
    return "\n\n".join(_shorten(parts, room) + below) + "\n"


def status(counts: Counts, coming: str = "") -> str:
    """Where a study stands; coming says what `next` would do."""
    standing = _tables.Table("", ("", ""), tuple(words.standing(counts)))
    parts = [_join(_write_table(standing))] + ([_escape(coming)] if coming else [])
    return "\n\n".join(parts) + "\n"


def simulation(results: Sequence[dict]) -> str:
    """One row per strategy, metric and budget."""
    parts = [_write_table(_tables.strategies(results))]
    if remarks := _tables.remarks(results):
        parts.append(_write_list(remarks))
    return "\n\n".join(map(_join, parts)) + "\n"


def _write_answer(answer: Assessment) -> list[_Part]:
    """The answer to the question about groups, and what it rests on."""
    parts = [_Part(f"**{_escape(_assessment.sentence(answer))}**")]
    parts += map(_write_any, _assessment.tables(answer))
    if answer.reliability:
        parts.append(_write_table(_assessment.bins(answer)))
    if remarks := _assessment.remarks(answer):
        parts.append(_write_list(remarks))
    return parts


def _write_any(table: _tables.Table | _tables.Matrix) -> _Part:
    if isinstance(table, _tables.Matrix):
        wide = len(table.classes) > _WIDEST_MATRIX
        table = table.largest() if wide else table.table(intervals=True)
    return _write_table(table)


def _write_list(texts: Iterable[str]) -> _Part:
    first, *others = (f"- {_escape(text)}" for text in texts)
    return _Part(first, tuple(others))


def _write_table(table: _tables.Table) -> _Part:
    def write(cells: Sequence[str]) -> str:
        shown = (
            f"**{_escape(cell)}**" if heading == "verdict" else _escape(cell)
            for heading, cell in zip(table.headings, cells, strict=True)
        )
        return f"| {' | '.join(shown)} |"

    title = f"### {_escape(table.title)}\n\n" if table.title else ""
    top = f"| {' | '.join(map(_escape, table.headings))} |"
    return _Part(f"{title}{top}\n|{' --- |' * len(table.headings)}", tuple(map(write, table.rows)))


def _join(part: _Part) -> str:
    return "\n".join((part.head, *part.lines))


def _shorten(parts: Sequence[_Part], room: int) -> list[str]:
    """The parts as texts, up to the first line for which there is no room, and what is missing."""
    missing = "<sub>{:,} more lines are left out here: --format json has them all.</sub>"
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
    """Text in which no name opens a cell, a tag, an emphasis or a link."""
    return re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", words.plain(text))
