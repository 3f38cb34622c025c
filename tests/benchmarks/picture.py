"""The picture of the README: how many random labels 200 chosen labels are worth.

Reads the tables of pools, of all the evidence and of predictions alone in README.md beside this
file, and writes savings.svg beside it: a bar for each pool with the model's probabilities, and one
with its predictions alone. Whiskers are two Monte-Carlo standard errors.
The picture brings its own background, in the colours of the reader's light or dark mode.
"""

import argparse
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
PAGE, PICTURE = HERE / "README.md", HERE / "savings.svg"

LABELS = 200
WIDTH, TOP, ROW, BAR = 760, 96, 50, 15
LEFT, PER_LABEL, TICKS = 196, 0.5, (0, 200, 400, 600, 800)
FIGURE = 'font-weight="600" font-size="12"'
# The kinds of bars, and the section with their table.
KINDS = {"with probabilities": "All the evidence", "predictions alone": "Predictions alone"}

STYLE = """
.page { fill: #ffffff; stroke: #d1d9e0 }
.text { fill: #1f2328 }
.quiet { fill: #59636e }
.bought { fill: #afb8c1 }
.surrogate { fill: #80b3f0 }
.saved { fill: #0969da }
.grid { stroke: #d1d9e0 }
.limit, .whisker { stroke: #1f2328 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117; stroke: #3d444d }
.text { fill: #f0f6fc }
.quiet { fill: #9198a1 }
.bought { fill: #59636e }
.surrogate { fill: #316dca }
.saved { fill: #4493f8 }
.grid { stroke: #3d444d }
.limit, .whisker { stroke: #f0f6fc }
}
"""


@dataclass(frozen=True)
class Savings:
    """One pool: its share of wrong predictions, and what the chosen labels are worth on it.

    random_labels   how many reach the same error, for each of KINDS
    whiskers        two Monte-Carlo standard errors of them
    """

    pool: str
    error: float
    random_labels: tuple[float, float]
    whiskers: tuple[float, float]


def main() -> None:
    """Write the picture."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    PICTURE.write_text(draw(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def draw(page: str) -> str:
    """The picture as SVG, from the text of the page of benchmarks."""
    rows = sorted(read_savings(page), key=lambda row: -row.random_labels[0])
    bottom = TOP + len(rows) * ROW
    title = f"What {LABELS} chosen labels are worth"
    listed = (
        f"{kind}: {', '.join(f'{row.pool} {row.random_labels[at]:.0f}' for row in rows)}"
        for at, kind in enumerate(KINDS)
    )
    description = (
        f"Number of random labels that estimate the error rate as well as {LABELS} labels chosen "
        f"by activetest, {'; '.join(listed)}. {LABELS} would be no saving."
    )
    note = "Six pools with features; whiskers: two standard errors of the simulation."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 92}" '
        f'width="{WIDTH}" height="{bottom + 92}" role="img" aria-labelledby="title desc" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        'font-size="13">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(description)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + 91}" rx="8"/>',
        write(24, 34, title, "text", 'font-size="18" font-weight="600"'),
        write(24, 56, "Random labels that estimate the error rate just as well", "quiet"),
        *draw_key(bottom + 70),
        *(part for tick in TICKS for part in draw_tick(tick, bottom)),
        *(part for place, row in enumerate(rows) for part in draw_row(place, row)),
        f'<line class="limit" x1="{place_of(LABELS)}" y1="{TOP - 14}" x2="{place_of(LABELS)}" '
        f'y2="{bottom}" stroke-width="1.5" stroke-dasharray="4 3"/>',
        write(place_of(LABELS) + 6, TOP - 6, "no saving", "quiet", 'font-size="12"'),
        write(24, bottom + 52, note, "quiet", 'font-size="12"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def read_savings(page: str) -> list[Savings]:
    """The pools of the tables of KINDS: what `auto` saves.

    The tables give the ratio of squared errors of LABELS random labels and as many chosen ones,
    with its standard error. In a pool of N items m random labels have the squared error
    S^2 (1/m - 1/N), so m has (1 - m/N) times the relative error of the ratio.
    """
    pools = {row["pool"]: row for row in read_table(page, "What the numbers mean")}
    known, alone = (read_table(page, title) for title in KINDS.values())
    savings = []
    for first, second in zip(known, alone, strict=True):
        pool = first["pool"]
        size, error = int(pools[pool]["items"].replace(",", "")), float(pools[pool]["error"])
        equal, whiskers = [], []
        for cell in (first["auto"], second["auto"]):
            ratio, deviation = map(float, re.search(r"([\d.]+) ± ([\d.]+)", cell).groups())
            equal.append(1 / (1 / size + (1 / LABELS - 1 / size) / ratio))
            whiskers.append(2 * equal[-1] * (1 - equal[-1] / size) * deviation / ratio)
        savings.append(Savings(pool, error, tuple(equal), tuple(whiskers)))
    return savings


def read_table(page: str, title: str) -> list[dict[str, str]]:
    """{column: cell} of each row of the first table below a heading."""
    lines = page[page.index(f"# {title}\n") :].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|"))
    table = takewhile(lambda line: line.startswith("|"), lines[start:])
    columns, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def draw_tick(labels: int, bottom: int) -> list[str]:
    """A line across all rows, and its number."""
    x = place_of(labels)
    return [
        f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>',
        write(x, bottom + 20, f"{labels}", "quiet", 'text-anchor="middle" font-size="12"'),
    ]


def draw_key(y: int) -> list[str]:
    """The key of the bars."""
    parts, x = [], 24
    for kind, style in zip(KINDS, ("saved", "surrogate"), strict=True):
        parts.append(f'<rect class="{style}" x="{x}" y="{y - 9}" width="22" height="10"/>')
        parts.append(write(x + 28, y, kind, "quiet", 'font-size="12"'))
        x += 170
    return parts


def draw_row(place: int, row: Savings) -> list[str]:
    """The name of a pool, its bars with whiskers, and what the labels are worth."""
    middle, end_of_name = TOP + place * ROW + ROW / 2, LEFT - 14
    wrong = f"wrong on {100 * row.error:.1f} %"
    parts = [
        write(end_of_name, middle - 1, row.pool, "text", 'text-anchor="end"'),
        write(end_of_name, middle + 13, wrong, "quiet", 'text-anchor="end" font-size="11"'),
    ]
    for at, style in enumerate(("saved", "surrogate")):
        worth, whisker = row.random_labels[at], row.whiskers[at]
        y, end = middle + (BAR + 1) * (at - 0.5), place_of(worth)
        low, high = place_of(worth - whisker), place_of(worth + whisker)
        bought = place_of(min(worth, LABELS))
        parts += [
            draw_bar("bought", LEFT, y, bought - LEFT),
            draw_bar(style, bought, y, end - bought),
            f'<path class="whisker" d="M{low} {y}H{high}M{low} {y - 3}v6M{high} {y - 3}v6" '
            'fill="none" stroke-width="1.25"/>',
            write(high + 8, y + 4, f"{worth:.0f} ({worth / LABELS:.1f}x)", "text", FIGURE),
        ]
    return parts


def draw_bar(kind: str, x: float, middle: float, width: float) -> str:
    """A part of a bar, around a height."""
    return (
        f'<rect class="{kind}" x="{x}" y="{middle - BAR / 2}" width="{round(width, 1)}" '
        f'height="{BAR}"/>'
    )


def write(x: float, y: float, text: str, kind: str, attributes: str = "") -> str:
    """A line of text."""
    return f'<text class="{kind}" x="{x}" y="{y}" {attributes}>{escape(text)}</text>'


def place_of(labels: float) -> float:
    """Where a number of labels is, from the left."""
    return round(LEFT + PER_LABEL * labels, 1)


if __name__ == "__main__":
    main()
