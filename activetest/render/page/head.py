"""The head of a page: the verdict and how sure it is, costs, and cautions."""

from collections.abc import Sequence

from activetest.nouns.report import FAIL, PASS, UNDECIDED, Gate, Note, Report
from activetest.render.document import words
from activetest.render.document.blocks import Bullets, Fold, Notes
from activetest.render.document.extent import list_gates
from activetest.render.document.outline import Outline, Section
from activetest.render.page import markup
from activetest.render.page.bars import badge, describe, large


def write_header(found: Outline, report: Report) -> str:
    """The subject, the verdict as a sentence, its bar, and what it cost."""
    first, *leads = found.head
    return "".join(
        (
            f'<p class="kicker">{markup.escape(found.title)}</p>',
            f"<h1>{markup.write_code(first.text)}</h1>",
            _write_verdicts(report.gates),
            *(markup.paragraph(lead.text, "lead") for lead in leads),
            draw_headline(report),
            _write_cost(found.facts.rows),
        )
    )


def draw_bar(report: Report) -> str:
    """The headline's estimate on its interval, with gates on the same number; empty without one."""
    row = words.headline(report)
    if row is None or not words.real(row.estimate) or row.metric == words.CONFUSION:
        return ""
    return large(row, list_gates(report, row), words.name_predictor(report))


def draw_headline(report: Report) -> str:
    """The same with its numbers, which the sentence above it shows, for screen readers."""
    row = words.headline(report)
    if row is None or not (picture := draw_bar(report)):
        return ""
    lines = [(words.metric(row), describe(row))]
    lines += [("gate", words.plain(gate.requirement.strip())) for gate in list_gates(report, row)]
    numbers = markup.write_table("the bar in numbers", ("number", "value"), lines)
    return f'<figure>{picture}<div class="vh">{numbers}</div></figure>'


def list_cautions(report: Report, shown: Sequence[Note]) -> list[Section]:
    """Requested answers and at most three cautions; all other notes can be opened."""
    if not shown:
        return []
    others = [note.text for note in report.notes if note not in shown] + _describe_grounds(report)
    title = "Before you rely on this" if any(note.is_caution for note in shown) else "Notes"
    more = f"{len(others):,} more note{'s' * (len(others) != 1)}"
    return [Section("cautions", title, [Notes(shown), Fold(more, [Bullets(others)])])]


def list_notes(report: Report, shown: Sequence[Note]) -> list[Section]:
    """The notes where there is nothing to be careful about."""
    others = [*report.notes, *map(Note, _describe_grounds(report))]
    return [] if shown or not others else [Section("notes", "Notes", [Notes(others)])]


def _describe_grounds(report: Report) -> list[str]:
    """The inputs of the surrogate, and how well they foretell the answers."""
    return [*filter(None, (words.describe_inputs(report), words.describe_evidence(report)))]


def _write_verdicts(gates: Sequence[Gate]) -> str:
    """How many gates came to which verdict, each verdict with its badge."""
    if not gates:
        return ""
    verdicts = [gate.verdict for gate in gates]
    parts = [
        f"{badge(each)} {verdicts.count(each):,} gate{'s' * (verdicts.count(each) != 1)}"
        for each in (FAIL, UNDECIDED, PASS)
        if each in verdicts
    ]
    return f"<p>{' &#160; '.join(parts)}</p>"


def _write_cost(facts: Sequence[tuple[str, str]]) -> str:
    """The labels bought, and how many random ones would be as good."""
    tiles = []
    for name, value in facts:
        if name == "labels saved":
            text, _, ratio = value.removesuffix(")").rpartition(" (")
            tiles.append((ratio, text) if text else (value, ""))
        elif name.startswith(("labels", "spent")):
            number, _, rest = value.partition(" ")
            tiles.append((number, f"{name}, {rest}" if rest[:1] != "(" else f"{name} {rest}"))
    about = dict(facts).get("about")
    shown = "".join(
        f"<p><b>{markup.escape(number)}</b>{markup.escape(text)}</p>" for number, text in tiles
    )
    scope = markup.paragraph(f"Numbers are about {about}." if about else "", "small")
    return f'<div class="tiles">{shown}</div>{scope}'
