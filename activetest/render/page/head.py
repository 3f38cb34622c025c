"""The head of a page: the verdict and how sure it is, gates, costs, and cautions."""

from collections.abc import Sequence

from activetest.nouns.report import FAIL, PASS, UNDECIDED, EstimateRow, Gate, Report, count_verdicts
from activetest.render import _assessment, _extent, _gates, _judge, _surface, _tables
from activetest.render import _words as words
from activetest.render.page import markup
from activetest.render.page.bars import Row, describe, interval_table, large, split_by_unit
from activetest.render.page.markup import Section

_SIGNS = {PASS: "✓", UNDECIDED: "?", FAIL: "✗"}


def write_header(report: Report) -> str:
    """What is reported on, the verdict as a sentence, its bar, and what it cost."""
    answers = []
    if report.assessment:
        answers.append(_assessment.sentence(report.assessment))
    if report.surface:
        answers.append(_surface.sentence(report.surface))
    if report.judge:
        answers += _judge.sentences(report, report.judge)
    return "".join(
        (
            f'<p class="kicker">{markup.escape(_tables.title(report))}</p>',
            f"<h1>{markup.write_code(_tables.headline(report))}</h1>",
            _write_verdicts(report.gates),
            *(markup.paragraph(line, "lead") for line in answers),
            draw_headline(report),
            _write_cost(report),
        )
    )


def draw_headline(report: Report) -> str:
    """The headline's estimate on its interval, with gates on the same number; empty without one."""
    row = words.headline(report)
    if row is None or not is_one_number(report, row):
        return ""
    gates = list_gates(report, row)
    picture = large(row, gates, "judge" if report.judge else "model")
    lines = [(words.metric(row), describe(row))]
    lines += [("gate", words.plain(gate.requirement.strip())) for gate in gates]
    return f"<figure>{picture}{_hide(lines)}</figure>" if picture else ""


def write_gates(report: Report) -> Section | None:
    """The verdict on each gate, with the number that it was decided by."""
    if not report.gates:
        return None
    counts = count_verdicts(report.gates).partition(": ")[2]
    parts = [markup.paragraph(f"{counts}{_gates.evidence(report.gates)}")]
    parts += [
        interval_table("gates", "gate", panel, more=("labels", "more labels"), titled=False)
        for panel in split_by_unit([_build_row(gate) for gate in report.gates])
    ]
    parts.append(markup.bullets(_gates.remarks(report.gates), "small"))
    return markup.section("gates", "Gates", parts)


def write_cautions(report: Report) -> Section | None:
    """What was requested and at most three cautions; all other notes can be opened."""
    shown = _extent.notes(report, verbose=False)
    if not shown:
        return None
    others = [note.text for note in report.notes if note not in shown]
    others += filter(None, [words.describe_inputs(report), words.describe_evidence(report)])
    cautions = [note.text for note in shown]
    title = "Before you rely on this" if any(note.is_caution for note in shown) else "Notes"
    more = f"{len(others):,} more note{'s' * (len(others) != 1)}"
    rest = markup.folded(more, markup.bullets(others, "small"))
    return markup.section("cautions", title, (markup.bullets(cautions), rest))


def write_notes(report: Report) -> Section | None:
    """The notes where there is nothing to be careful about."""
    if _extent.notes(report, verbose=False):
        return None
    about = (words.describe_inputs(report), words.describe_evidence(report))
    found = [*(note.text for note in report.notes), *about]
    return markup.section("notes", "Notes", [markup.bullets(filter(None, found))])


def badge(verdict: str) -> str:
    """A verdict with its sign."""
    return (
        f'<span class="badge {verdict}"><span aria-hidden="true">{_SIGNS[verdict]} </span>'
        f"{markup.escape(verdict.upper())}</span>"
    )


def list_gates(report: Report, row: EstimateRow) -> list[Gate]:
    """The gates on the same number."""
    number = (row.metric, row.class_name, row.group)
    return [
        gate
        for gate in report.gates
        if row.against is None is gate.against
        and (gate.metric, gate.class_name, gate.group) == number
    ]


def is_one_number(report: Report, row: EstimateRow) -> bool:
    """Whether the headline has a number, and is not a whole confusion matrix."""
    matrix = row.metric == words.CONFUSION and _tables.title(report).startswith(words.CONFUSION)
    return words.real(row.estimate) and not matrix


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


def _write_cost(report: Report) -> str:
    """The labels bought, and how many random ones would be as good."""
    tiles = []
    for name, value in _tables.facts(report, hints=False):
        if name == "labels saved":
            text, _, ratio = value.removesuffix(")").rpartition(" (")
            tiles.append((ratio, text) if text else (value, ""))
        elif name.startswith(("labels", "spent")):
            number, _, rest = value.partition(" ")
            tiles.append((number, f"{name}, {rest}" if rest[:1] != "(" else f"{name} {rest}"))
    about = dict(_tables.facts(report, hints=False)).get("about")
    shown = "".join(
        f"<p><b>{markup.escape(number)}</b>{markup.escape(text)}</p>" for number, text in tiles
    )
    scope = markup.paragraph(f"Numbers are about {about}." if about else "", "small")
    return f'<div class="tiles">{shown}</div>{scope}'


def _build_row(gate: Gate) -> Row:
    more = f"about {words.roughly(gate.more_labels)}" if gate.more_labels is not None else "-"
    return Row(
        name=words.plain(gate.requirement.strip()),
        record=gate,
        badge=badge(gate.verdict),
        limits=(gate.threshold,),
        cells=(words.count(gate.n_labeled), more),
    )


def _hide(lines: Sequence[tuple[str, str]]) -> str:
    """The numbers of a bar, which the sentence above it shows, for screen readers."""
    inside = markup.write_table("the bar in numbers", ("number", "value"), lines)
    return f'<div class="vh">{inside}</div>'
