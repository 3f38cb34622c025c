"""The picture of the README: how many random labels 200 chosen labels are worth.

    python tests/benchmarks/picture.py

Reads the tables of pools, of the error rate and of the surrogate alone in README.md beside this
file, and writes savings.svg beside it. Whiskers are two Monte-Carlo standard errors of the ratio of
squared errors.
The picture brings its own background, in the colours of the reader's light or dark mode.
"""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
PAGE, PICTURE = HERE / "README.md", HERE / "savings.svg"

LABELS = 200
WIDTH, TOP, ROW, BAR = 760, 96, 38, 18
LEFT, PER_LABEL, TICKS = 196, 0.75, (0, 200, 400, 600)

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

    random_labels   how many reach the same error
    whisker         two Monte-Carlo standard errors of it
    alone           how many LABELS random ones are worth that are read with the same surrogate
    """

    pool: str
    error: float
    random_labels: float
    whisker: float
    alone: float


def main() -> None:
    """Write the picture."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    PICTURE.write_text(draw(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def draw(page: str) -> str:
    """The picture as SVG, from the text of the page of benchmarks."""
    rows, runs = sorted(read_savings(page), key=lambda row: -row.random_labels), read_runs(page)
    bottom = TOP + len(rows) * ROW
    title = f"What {LABELS} chosen labels are worth"
    listed = ", ".join(f"{row.pool} {row.random_labels:.0f}" for row in rows)
    alone = ", ".join(f"{row.pool} {row.alone:.0f}" for row in rows)
    description = (
        f"Number of random labels that estimate the error rate as well as {LABELS} labels chosen "
        f"by activetest: {listed}. {LABELS} would be no saving. {LABELS} random labels that are "
        f"read with the same surrogate are worth: {alone}."
    )
    note = f"Means over {runs:,} simulated studies of each pool; whiskers: two standard errors."
    light = f"Light: what {LABELS} random labels are worth with the same surrogate."
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
        write(24, bottom + 70, light, "quiet", 'font-size="12"'),
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
    """The pools of the table of the error rate, without the sample pool.

    The table gives the ratio of squared errors of LABELS random labels and as many chosen ones,
    with its standard error. In a pool of N items m random labels have the squared error
    S^2 (1/m - 1/N), so m has (1 - m/N) times the relative error of the ratio.
    """
    pools = {row[0]: row for row in read_table(page, "| pool | items | classes |")}
    alone = {row[0]: row[1] for row in read_table(page, "| pool | surrogate alone:")}
    savings = []
    for pool, *_, cell in read_table(page, "| pool | M = 50: saved, labels,"):
        if pool not in pools:
            continue
        ratio, deviation, labels = map(
            float, re.match(r"([\d.]+) ± ([\d.]+), ([\d.]+),", cell).groups()
        )
        size, error = int(pools[pool][1].replace(",", "")), float(pools[pool][3])
        equal = LABELS * labels
        whisker = 2 * equal * (1 - equal / size) * deviation / ratio
        labels = float(re.match(r"[\d.]+ ± [\d.]+, ([\d.]+),", alone[pool])[1])
        savings.append(Savings(pool, error, equal, whisker, LABELS * labels))
    return savings


def read_table(page: str, beginning: str) -> list[list[str]]:
    """Cells of the first table whose head begins so, row by row."""
    lines = page[page.index(beginning) :].split("\n\n", maxsplit=1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def read_runs(page: str) -> int:
    """Studies of each pool, as the command of the table has them."""
    return int(re.search(r"saved\.py FOLDER --metric error --runs (\d+)", page)[1])


def draw_tick(labels: int, bottom: int) -> list[str]:
    """A line across all rows, and its number."""
    x = place_of(labels)
    return [
        f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>',
        write(x, bottom + 20, f"{labels}", "quiet", 'text-anchor="middle" font-size="12"'),
    ]


def draw_row(place: int, row: Savings) -> list[str]:
    """The name of a pool, its bar with a whisker, and what the labels are worth."""
    middle = TOP + place * ROW + ROW / 2
    bought, end = min(row.random_labels, LABELS), place_of(row.random_labels)
    alone = place_of(min(max(row.alone, bought), row.random_labels))
    low, high = place_of(row.random_labels - row.whisker), place_of(row.random_labels + row.whisker)
    end_of_name = LEFT - 14
    return [
        write(end_of_name, middle - 1, row.pool, "text", 'text-anchor="end"'),
        write(
            end_of_name,
            middle + 13,
            f"wrong on {100 * row.error:.1f} %",
            "quiet",
            'text-anchor="end" font-size="11"',
        ),
        draw_bar("bought", LEFT, middle, place_of(bought) - LEFT),
        draw_bar("surrogate", place_of(bought), middle, alone - place_of(bought)),
        draw_bar("saved", alone, middle, end - alone),
        f'<path class="whisker" d="M{low} {middle}H{high}M{low} {middle - 4}v8M{high} '
        f'{middle - 4}v8" fill="none" stroke-width="1.25"/>',
        write(
            high + 8,
            middle + 4,
            f"{row.random_labels:.0f} ({row.random_labels / LABELS:.1f}x)",
            "text",
            'font-weight="600"',
        ),
    ]


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
