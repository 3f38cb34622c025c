"""Reports as Markdown, for pull requests and job summaries."""

import re
from collections.abc import Sequence

from activetest.render import _words as words
from activetest.report import Counts, Line, Report


def render(report: Report) -> str:
    """The headline, a table of estimates, a table of groups, and the notes."""
    line = words.headline(report)
    parts = [f"## {_escape(report.metric)} of {_escape(words.pool(report))}", _headline(line)]
    parts.append(_bullets(words.facts(report, line)))
    overall, groups = words.overall_and_groups(report)
    if overall:
        parts.append(_table(*words.estimates(overall)))
    if groups:
        parts += ["### Groups", _table(*words.groups(groups))]
    if report.notes:
        parts += ["### Notes", "\n".join(f"- {_escape(note)}" for note in report.notes)]
    parts.append(f"<sub>{_escape(words.made_by(report))}</sub>")
    return "\n\n".join(parts) + "\n"


def status(counts: Counts, coming: str = "") -> str:
    """Where a study stands; coming says what `next` would do."""
    parts = [_table(("", ""), words.standing(counts))] + ([_escape(coming)] if coming else [])
    return "\n\n".join(parts) + "\n"


def simulation(results: Sequence[dict]) -> str:
    """One row per strategy, metric and budget."""
    return _table(*words.strategies(results)) + "\n"


def _headline(line: Line | None) -> str:
    if line is None or line.estimate is None:
        reason = "" if line is None or not line.reason else f": {_escape(line.reason)}"
        return f"**Not estimable yet**{reason}"
    return f"**{words.estimate(line)}** ({words.certainty(line)})"


def _bullets(facts: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {_escape(value)}" for name, value in facts)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(_escape(cell) for cell in line) + " |" for line in lines)


def _escape(text: str) -> str:
    """Nothing in a name may open a cell, a tag, an emphasis or a link."""
    return re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", words.plain(text))
