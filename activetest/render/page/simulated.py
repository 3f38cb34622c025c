"""Simulated strategies as a page: their errors and costs by labels, and the table of results."""

from collections.abc import Collection, Sequence

from activetest.render.document import words
from activetest.render.document.blocks import Bullets
from activetest.render.document.simulation import (
    explain_answers,
    explain_strategies,
    has_end,
    tabulate_answers,
    tabulate_strategies,
)
from activetest.render.html import SIMULATION_MARKS
from activetest.render.page import markup
from activetest.render.page.blocks import write_block, write_blocks
from activetest.render.page.document import write_document
from activetest.render.plots.curves import Dashes, curves, heading, keep_labelled
from activetest.render.plots.panels import (
    DOTS,
    MOST_BANDS,
    UNIFORM,
    WAITS,
    draw_line,
    draw_panel,
    draw_waits,
    lay_out_answers,
    lay_out_panels,
)

# Style of its plots, besides the style of all pages.
_SHEET = """
.panels{display:grid;gap:.4rem 1.4rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr))}
.panel{margin:.4rem 0}
@media screen and (prefers-color-scheme:dark){
[stroke="#0072B2"]{stroke:#4c9fdc}[fill="#0072B2"]{fill:#4c9fdc}
[stroke="#7F4F24"]{stroke:#b98a5c}[fill="#7F4F24"]{fill:#b98a5c}}
"""


def build(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """The page of a simulation: the answers to a question, and every metric."""
    drawn = keep_labelled(results)
    titles = list(dict.fromkeys(result["metric"] for result in drawn))
    sections = [
        _write_metric(number, [each for each in drawn if each["metric"] == title])
        for number, title in enumerate(titles)
    ]
    if answers:
        budgets = {result["budget"] for result in results}
        sections.insert(0, _write_answers(answers, budgets))
    if results:
        table, remarks = tabulate_strategies(results), Bullets(explain_strategies(results))
        sections.append(("results", "All results", write_blocks([table, remarks])))
    # Of items that were chosen without probabilities there are answers alone.
    about = heading(results or [each | {"estimator": each["question"]} for each in answers])
    header = (
        '<p class="kicker">Simulated studies</p>'
        f"<h1>What each way to draw and to estimate saves</h1>{markup.paragraph(about)}"
    )
    return write_document(
        "Simulation, by activetest", header, sections, mark=SIMULATION_MARKS[0], sheet=_SHEET
    )


def _write_answers(answers: Sequence[dict], budgets: Collection[int]) -> tuple[str, str, str]:
    """How right and how sure the answers to the question are, and after how many labels."""
    lines, looks, panels = lay_out_answers(answers)
    goal = words.plain(answers[0]["goal"])
    drawn = [(panel.title, draw_panel(panel, lines, looks, goal)) for panel in panels]
    if has_end(answers[0]):
        drawn.append((WAITS, draw_waits(answers, lines)))
    figures = [
        f'<figure class="panel"><figcaption>{markup.escape(title)}</figcaption>{drawing}</figure>'
        for title, drawing in drawn
    ]
    key = "".join(_write_key(curve.name, curve.color, curve.dashes) for curve in lines)
    tables = write_blocks(tabulate_answers(answers, budgets))
    remarks = write_block(Bullets(explain_answers(answers)))
    return (
        "answers",
        f"To {goal}",
        f'<p class="small">{key}</p><div class="panels">{"".join(figures)}</div>{tables}{remarks}',
    )


def _write_metric(number: int, results: Sequence[dict]) -> tuple[str, str, str]:
    """The three plots of a metric, their key, and what bands are."""
    lines = curves(results)
    name = words.plain(results[0]["metric"])
    budgets, panels = lay_out_panels(lines)
    few = len(lines) <= MOST_BANDS
    key = [_write_key(UNIFORM, "currentColor", DOTS)]
    key += [_write_key(curve.name, curve.color, curve.dashes) for curve in lines]
    drawn = [
        f'<figure class="panel"><figcaption>{markup.escape(panel.title)}</figcaption>'
        f"{draw_panel(panel, lines, budgets, name)}</figure>"
        for panel in panels
    ]
    bands = (
        " Bands: one standard error of the mean; the middle half of the errors around the median."
        if few
        else ""
    )
    about = f"By number of labels, both axes logarithmic; lower is better.{bands}"
    return (
        f"metric-{number}",
        name,
        f'<p class="small">{"".join(key)}</p><div class="panels">{"".join(drawn)}</div>'
        f"{markup.paragraph(about, 'small')}",
    )


def _write_key(name: str, color: str, dashes: Dashes) -> str:
    line = draw_line([(0, 6), (26, 6)], color, dashes)
    return f'<span class="key"><svg aria-hidden="true">{line}</svg>{markup.escape(name)}</span>'
