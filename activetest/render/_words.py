"""How numbers and names are put into words, the same in every format that people read."""

import math

from activetest.nouns.report import Counts, EstimateRow, Gate, Report

# Stands beside intervals that the labels do not carry yet.
MARK = "(!)"
_MOST_DECIMALS = 8
_WITHOUT = "by the largest score, or between groups without a floor"
_LEGEND = f"{MARK} marks what is not to be trusted yet: there are too few labels for it."


def plain(text: object) -> str:
    """A name from the user's own files on one line, without anything a terminal would obey."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in str(text))


def real(value: float | None) -> bool:
    """Whether there is a finite number."""
    return value is not None and math.isfinite(value)


def figure(value: float | None, doubt: float | None = None, beside: float | None = None) -> str:
    """A number to two significant digits of its doubt (half the width of its interval).

    More of them where rounding would move it to another side of the number beside.
    """
    if not real(value):
        return "-"
    # Less doubt than can be written is what rounding left of none.
    if not real(doubt) or doubt < 10**-_MOST_DECIMALS:
        plainly = f"{value:.4g}"
        if beside is not None and not _alike(float(plainly), value, beside):
            return repr(float(value))
        return plainly
    decimals = min(max(1 - math.floor(math.log10(doubt)), 0), _MOST_DECIMALS)
    while beside is not None and decimals < _MOST_DECIMALS:
        if _alike(round(value, decimals), value, beside):
            break
        decimals += 1
    # Adding zero turns -0.0 into 0.0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def count(value: float | None) -> str:
    """A number of items, with separators."""
    return f"{value:,.0f}" if real(value) else "-"


def roughly(value: float) -> str:
    """A number of items to two digits."""
    return count(float(f"{value:.2g}"))


def short(value: float | None) -> str:
    """A number to three digits, whatever its doubt."""
    return f"{value:.3g}" if real(value) else "-"


def times(value: float | None) -> str:
    """A ratio, as 2.9x."""
    if not real(value):
        return "-"
    return f"{value:.1f}x" if value >= 0.95 else f"{value:.2f}x"


def percent(level: float) -> str:
    """A level, as 95 %: to two digits of what is missing to 100 %."""
    missing = 100 * (1 - level)
    decimals = min(max(1 - math.floor(math.log10(missing)), 0), _MOST_DECIMALS) if missing else 0
    written = f"{100 * level:.{decimals}f}"
    return f"{written.rstrip('0').rstrip('.') if '.' in written else written} %"


def doubt(line: EstimateRow | Gate) -> float | None:
    """Half the width of the interval."""
    if not (real(line.lower) and real(line.upper)):
        return None
    return (line.upper - line.lower) / 2


def pool(report: Report) -> str:
    """The pool's file or folder name; its whole address stands in the JSON."""
    return plain(report.pool.rstrip("/").rsplit("/", 1)[-1] or report.pool)


def estimate(line: EstimateRow | Gate) -> str:
    """The estimate, as precise as its interval lets it be."""
    return figure(line.estimate, doubt(line), _beside(line))


def interval(line: EstimateRow | Gate) -> str:
    """Both ends; one that is not there is written out, one that nothing holds up is marked."""
    if line.method == "exact":
        return "exact"
    if line.lower is None and line.upper is None:
        return "-"
    ends = (
        figure(end, doubt(line), _beside(line)) if real(end) else "no limit"
        for end in (line.lower, line.upper)
    )
    return " to ".join(ends) + (f" {MARK}" if doubtful(line) else "")


def interval_or_reason(line: EstimateRow) -> str:
    """The interval, or why there is none."""
    if line.estimate is None or line.lower is None:
        return plain(line.reason or interval(line))
    return interval(line)


def certainty(line: EstimateRow | Gate) -> str:
    """What stands behind a number."""
    if line.method == "exact":
        return "exact: every answer is known"
    if line.lower is None and line.upper is None:
        return "no interval" + (f": {plain(line.reason)}" if line.reason else "")
    return f"{percent(line.level)} interval {interval(line)}"


def doubtful(line: EstimateRow | Gate) -> bool:
    """Whether the labels are too few for the line's interval."""
    return isinstance(line, EstimateRow) and not line.reliable and line.method != "exact"


def differ(line: EstimateRow) -> str:
    """Whether the interval of a difference leaves out zero; if not, nothing is shown either way."""
    if not (real(line.lower) and real(line.upper)):
        return "-"
    return "yes" if line.lower > 0 or line.upper < 0 else "not shown"


def metric(line: EstimateRow | Gate) -> str:
    """The metric, with its class where it has one."""
    return plain(line.metric if line.class_name is None else f"{line.metric}[{line.class_name}]")


def group(line: EstimateRow) -> str:
    """The group as column=value, several joined by a comma; for a difference, both of them."""
    one, other = line.group or {}, line.against
    if other is None:
        return named(one)
    if list(one) == list(other):
        return plain(f"{', '.join(one)}: ") + " minus ".join(map(_values, (one, other)))
    return " minus ".join(named(each) or "all items" for each in (one, other))


def named(group: dict[str, str]) -> str:
    """A group as column=value, several joined by a comma."""
    return plain(", ".join(f"{name}={value}" for name, value in group.items()))


def headline(report: Report) -> EstimateRow | None:
    """The line to read first."""
    marked = [line for line in report.estimates if line.headline]
    return marked[0] if marked else None


def title(report: Report) -> str:
    """What the headline is about: its own metric, which need not be the one that draws aim at."""
    line = headline(report)
    return f"{plain(report.metric) if line is None else metric(line)} of {pool(report)}"


def facts(report: Report, line: EstimateRow | None) -> list[tuple[str, str]]:
    """What stands under the headline: what was spent, and what it was worth."""
    counts = report.counts
    if line is None:
        return [("labels", f"{count(counts.labelled)} of {count(counts.n_pool)} items")]
    used = count(line.n_labeled)
    # Estimates from draws do not use them; the surrogate's own view does, and counts them itself.
    if (deterministic := min(counts.deterministic, counts.labelled - line.n_labeled)) > 0:
        used = f"{used} with a known chance, {count(deterministic)} without,"
    rows = [("labels used", f"{used} of {count(line.n_pool)} items")]
    if real(line.n_eff):
        value = f"{count(line.n_eff)} (random labels that would be as good)"
        rows.append(("effective sample size", value))
    if real(line.labels_saved):
        least = "at least " if line.variance_inflated else ""
        saved = f"{least}{times(line.labels_saved)} against random labelling"
        rows.append(("labels saved", saved))
    return rows


def notes(report: Report) -> list[str]:
    """What to know before believing a number, and what the mark means where it stands."""
    marked = any(doubtful(line) for line in report.estimates)
    return [plain(note) for note in report.notes] + [_LEGEND] * marked


def made_by(report: Report) -> str:
    """One sentence on how items are chosen."""
    how = f"floor {report.floor:g}" if report.selection == "draw" else "the largest scores picked"
    note = f" ({report.surrogate_note})" if report.surrogate_note else ""
    power = f" to the power {report.power:g}" if report.power != 1 else ""
    return plain(
        f"surrogate {report.surrogate}{note}, acquisition {report.acquisition}{power} for "
        f"{report.metric}, {how}, seed {report.seed}"
    )


def drawing(result: dict) -> str:
    """How a simulated strategy chooses items: optimal, optimal ^4 (a power), or optimal top."""
    how = " top" if result["selection"] == "top" else ""
    # Equal scores have no power, and the order of scores has none.
    power = "" if how or result["power"] == 1 else f" ^{result['power']:g}"
    return f"{result['acquisition']}{how}{power}"


def standing(counts: Counts) -> list[tuple[str, str]]:
    """Where a study stands, one fact per row."""
    rows = [
        ("pool", f"{count(counts.n_pool)} items"),
        ("rounds", count(counts.rounds)),
        ("drawn", count(counts.drawn)),
        *(
            [("picked", f"{count(counts.deterministic)} ({_WITHOUT})")]
            if counts.deterministic
            else []
        ),
        ("labelled", count(counts.labelled)),
        ("pending", count(counts.pending)),
        ("declined", count(counts.declined)),
        ("brought", f"{count(counts.supplied)} (labels of items that were never drawn)"),
    ]
    if counts.budget is not None:
        left = max(counts.budget - counts.labelled, 0)
        rows.append(("budget", f"{count(counts.budget)} labels, {count(left)} left"))
    return rows


def _alike(rounded: float, value: float, beside: float) -> bool:
    """Whether both lie on the same side of a number, or both on it."""
    return (rounded > beside, rounded < beside) == (value > beside, value < beside)


def _beside(line: EstimateRow | Gate) -> float | None:
    """The number that decides what a line means: rounding must not hide on which side it is."""
    if isinstance(line, Gate):
        return line.threshold
    return None if line.against is None else 0.0


def _values(group: dict[str, str]) -> str:
    return plain(", ".join(group.values()))
