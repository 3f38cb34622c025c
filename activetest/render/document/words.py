"""How numbers and names are put into words, the same in every format that people read."""

import math
import re
from decimal import Decimal
from typing import TypeGuard

from activetest import catalog
from activetest.nouns.arguments import name_metric
from activetest.nouns.quantity import Measured, Quantity, Saving, SavingKind, write_level
from activetest.nouns.report import Counts, EstimateRow, Gate, Note, Report
from activetest.nouns.rounding import cut_digits
from activetest.system.safe_text import escape_controls

# Stands beside intervals that are not reliable yet.
MARK = "(!)"
# Beside an interval that does not hold at every look, where others do.
ONE_LOOK = "(one look)"
_MOST_DECIMALS = 8
# The meaning of the mark, for tables that hold it.
LEGEND = f"{MARK} marks an interval that is not reliable yet: there are too few labels for it."
CONFUSION = "confusion"
# Acquisitions that a sentence says something of its own about.
_UNIFORM, _OPTIMAL = "uniform", "optimal"
# The method of intervals that are what the surrogate believes.
_CREDIBLE = "credible"
# Averages over classes, as the arguments of metrics name them.
_AVERAGES = ("macro", "micro", "weighted")
# Classes of items that pass, and a judge's words for the same.
_PASSES, _AYES = ("pass", "passed", "passes"), ("1", "true", "t", "yes", "y")
# How the certainty behind a number begins: a line that ends in it is misread.
_CERTAINTY = re.compile(r"\([\d.]+ % (?:confidence|credible)")
# How reasons begin that no further label changes.
_LASTING = ("no plain mean", "no passes", "an interval of")
# Grounds of estimators, for a report that shows several.
_GROUNDS = {
    "doubly-robust": "from the draws",
    "lure": "from the draws, without the surrogate",
    "iid": "the plain mean of the draws",
    "ase": "the surrogate's own view, without a guarantee",
    "alt-mas": "the mean over passes of the surrogate, without a guarantee",
}
# Metrics that are shares of items, and how a sentence about them begins.
_SHARES = {
    "error": "The model is wrong on",
    "accuracy": "The model is right on",
}
# How declined items count.
_DECLINED_AS = {
    "worst": " (count at their least and at their most)",
    "ignore": " (ignored: numbers are about items that can be answered)",
}
# The metric that is the share of items labelled as a class.
_RATE = "rate"


def plain(text: object) -> str:
    """A name from the user's own files on one line, without anything a terminal would obey."""
    return escape_controls(str(text))


def real(value: float | None) -> TypeGuard[float]:
    """Whether there is a finite number."""
    return value is not None and math.isfinite(value)


def figure(value: float | None, doubt: float | None = None, limit: float | None = None) -> str:
    """A number to two significant digits of its doubt (half the width of its interval).

    More of them where rounding would move it to another side of the limit.
    """
    if value is None or not math.isfinite(value):
        return "-"
    value = cut_digits(value)
    # Below what can be written, doubt is a rounding error of none.
    if doubt is None or not math.isfinite(doubt) or doubt < 10**-_MOST_DECIMALS:
        short_form = f"{value:.4g}"
        if limit is not None and not _same_side(float(short_form), value, limit):
            return repr(float(value))
        return short_form
    decimals = min(max(1 - math.floor(math.log10(cut_digits(doubt))), 0), _MOST_DECIMALS)
    while limit is not None and decimals < _MOST_DECIMALS:
        if _same_side(round(value, decimals), value, limit):
            break
        decimals += 1
    # Adding zero turns -0.0 into 0.0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def count(value: float | None) -> str:
    """A number of items, with separators."""
    return f"{cut_digits(value):,.0f}" if real(value) else "-"


def roughly(value: float) -> str:
    """A number of items to two digits."""
    return count(float(f"{cut_digits(value):.2g}"))


def short(value: float | None) -> str:
    """A number to three digits, whatever its doubt."""
    return f"{cut_digits(value):.3g}" if real(value) else "-"


def times(value: float | None) -> str:
    """A ratio, as 2.9x."""
    if not real(value):
        return "-"
    value = cut_digits(value)
    return f"{value:.1f}x" if value >= 0.95 else f"{value:.2f}x"


def half_width(quantity: Quantity) -> float | None:
    """Half the width of the interval; None without one."""
    lower, upper = quantity.lower, quantity.upper
    if lower is None or upper is None or not math.isfinite(upper - lower):
        return None
    return (upper - lower) / 2


def write_measure(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """A number and its interval, as precise as that is wide."""
    doubt = half_width(Quantity(value, low, high, 0.95, "none"))
    if low is None and high is None:
        return figure(value, doubt), "-"
    return figure(value, doubt), f"{figure(low, doubt)} to {figure(high, doubt)}"


def pool(report: Report) -> str:
    """The pool's file or folder name; its whole address stands in the JSON."""
    return plain(report.pool.rstrip("/").rsplit("/", 1)[-1] or report.pool)


def name_predictor(report: Report) -> str:
    """Who gives the outputs that labels are compared with."""
    return "judge" if report.judge else "model"


def estimate(record: Measured) -> str:
    """The estimate, as precise as its interval lets it be."""
    return figure(record.estimate, half_width(record.quantity), _limit(record))


def interval(record: Measured) -> str:
    """Both ends; one that does not exist is written out, and what is not reliable is marked."""
    if record.lower is None and record.upper is None and record.method != "exact":
        return "-"
    if record.method == "exact":
        return f"exact {condition(record)}".rstrip()
    return " ".join([" to ".join(_ends(record)), *marks(record)])


def marks(record: Measured) -> list[str]:
    """Texts behind both ends: the condition, and the marks."""
    found = [MARK] * (not reliable(record)) + [ONE_LOOK] * record.quantity.one_look
    return [condition(record)] * bool(record.assumptions) + found


def condition(record: Measured) -> str:
    """The assumptions that a number rests on: "if ..."; empty without any."""
    return plain(f"if {record.assumptions}") if record.assumptions else ""


def over_all(row: EstimateRow) -> str:
    """The value over all items, with every declined one at its least and at its most."""
    if row.least is None or row.most is None:
        return "-"
    ends = (figure(end, half_width(row.quantity), _limit(row)) for end in (row.least, row.most))
    return " to ".join(ends)


def interval_or_reason(row: EstimateRow) -> str:
    """The interval, or why there is none."""
    if row.estimate is None or row.lower is None:
        return plain(row.reason or interval(row))
    return interval(row)


def shrunk(row: EstimateRow) -> str:
    """The value moved towards what is expected of the group; to two digits without an interval."""
    doubt = half_width(row.quantity)
    return figure(row.shrunk, abs(row.shrunk) if doubt is None and row.shrunk else doubt)


def reliable(record: Measured) -> bool:
    """Whether there are enough labels for the interval."""
    return record.reliable or record.method == "exact"


def sentence(record: EstimateRow | Gate) -> str:
    """The estimate and its interval as a sentence, and what the model says of the same.

    "The model is wrong on 6.4 % of items (95 % confidence: 3.1 % to 11.5 %)." and "Recall of fraud
    is 0.81 (95 % confidence: 0.74 to 0.87)." and "75 % of items pass (95 % confidence: 71 % to
    79 %); the model says 84 %."
    """
    if record.estimate is None:
        reason = plain(record.reason or "")
        if reason.startswith(_LASTING):
            return f"{reason[:1].upper()}{reason[1:]}."
        return f"No estimate yet{f': {reason}' if reason else ''}."
    value, where = with_unit(record, estimate(record)), named(record.group or {})
    items = f"items with {where}" if where else "items"
    about = answerable(record)
    if about and record.metric in (*_SHARES, _RATE):
        items, about = f"the {items} {about}", ""
    if isinstance(record, Gate) and record.against is not None:
        statement = f"{metric_title(record)} is {value} for {group(record)}"
    elif record.metric in _SHARES and not record.models:
        statement = f"{_SHARES[record.metric]} {value} of {items}"
    elif record.metric == _RATE and not record.models:
        statement = f"{value} of {items} {say_class(plain(record.class_name or ''))}"
    elif record.metric == CONFUSION and (cell := _cell_classes(record)):
        truth, predicted = map(name_class, cell)
        statement = f"The share of {items} that are {truth} and predicted as {predicted} is {value}"
    else:
        statement = f"{metric_title(record)}{f' for {where}' if where else ''} is {value}"
    statement += f" over the items {about}" if about else ""
    return f"{statement}{certainty(record)}{_compare_raw(record)}."


def answerable(record: Measured) -> str:
    """The items that an estimate is of where some were declined; empty where none was."""
    if record.answered is None:
        return ""
    # Never "100 %" where an item cannot be answered.
    share = min(cut_digits(100 * record.answered), 99.9)
    return f"that can be answered (about {share:.{1 if share > 99 else 0}f} %)"


def certainty(record: EstimateRow | Gate) -> str:
    """How sure a number is, behind it: in brackets, or over all items where some were declined."""
    declined, found = record.quantity.declined, _certainty(record)
    if declined is None or record.lower is None:
        return f" ({found})"
    if record.least is None or record.most is None:
        why = "are ignored" if declined.ignored else "have no limit to what they could be"
        return f" ({found}; declined items {why})"
    width = half_width(record.quantity)
    ends = [record.least, record.most, record.lower, record.upper]
    low, high, lower, upper = (
        with_unit(record, figure(end, width, _limit(record))) if real(end) else "no limit"
        for end in ends
    )
    if record.quantity.kind == "exact":
        return f"; over all items between {lower} and {upper} (exact: every answer is known)"
    marks = found[found.index(", ") :] if ", " in found else ""
    return (
        f"; over all items between {low} (lower limit {lower}) and {high} (upper limit {upper}), "
        f"with {write_level(record.level)} confidence{marks}"
    )


def describe_left_out(bins: int, shown: int, empty: int) -> str:
    """Bins of a confidence that are not shown, as a sentence behind others; empty where all are.

    empty  those that hold no item; the others lack labels
    """
    parts = [(empty, "hold no item"), (bins - shown - empty, "have too few labels")]
    reasons = [f"{number:,} {what}" for number, what in parts if number]
    return f" Of {bins:,} bins, {' and '.join(reasons)}, and are left out." if reasons else ""


def bind_words(text: str, blank: str) -> str:
    """A sentence with this in place of the blanks that hold "(95 % confidence" together."""
    return _CERTAINTY.sub(lambda found: found.group().replace(" ", blank), text)


def raw(row: EstimateRow) -> str:
    """The value if the model's outputs were the labels; as precise as the estimate."""
    if (doubt := half_width(row.quantity)) is None and row.from_outputs is not None:
        return f"{row.from_outputs:.3g}"
    return figure(row.from_outputs, doubt)


def metric_title(record: EstimateRow | Gate) -> str:
    """The metric in words, with its class: "Recall of fraud", "Macro recall"."""
    name, _, argument = record.metric.removesuffix("]").partition("[")
    title = name.replace("-", " ")
    if name in catalog.names("metrics"):
        title = catalog.fact("metrics", name, "TITLE") or title
    *others, last = argument.split(",")
    average = last if last in _AVERAGES else ""
    argument = ", ".join(others if average else (*others, last))
    if "{}" not in title:
        title += "[ ({})]"
    before, _, optional = title.removesuffix("]").partition("[")
    title = (before + (optional if argument else "")).replace("{}", argument)
    if average:
        # "Macro recall", but "Macro F1" and "Macro AUROC".
        first_word = title[:1].lower() if title[1:2].islower() else title[:1]
        title = f"{average} {first_word}{title[1:]}"
    title = f"{title[:1].upper()}{title[1:]}"
    if record.class_name is not None:
        title = f"{title} of {name_class(record.class_name)}"
    if record.models:
        title = f"{title} ({' minus '.join(record.models)})"
    return plain(title)


def differ(row: EstimateRow) -> str:
    """Whether the interval of a difference leaves out zero, or a rope holds all of it."""
    if row.lower is None or row.upper is None or math.isnan(row.lower + row.upper):
        return "-"
    if row.compared is not None and row.compared.equal:
        return f"equal within {row.compared.rope:g}"
    return "yes" if row.lower > 0 or row.upper < 0 else "no clear difference"


def metric(record: EstimateRow | Gate) -> str:
    """The metric as it is asked for, with its class where it has one."""
    return plain(name_metric(record.metric, record.class_name, record.models))


def group(row: EstimateRow | Gate) -> str:
    """The group as column=value, several joined by a comma; for a difference, both of them."""
    group, against = row.group or {}, row.against
    if against is None:
        return named(group)
    if list(group) == list(against):
        values = (plain(", ".join(each.values())) for each in (group, against))
        return plain(f"{', '.join(group)}: ") + " minus ".join(values)
    return " minus ".join(named(each) or "all items" for each in (group, against))


def named(group: dict[str, str]) -> str:
    """A group as column=value, several joined by a comma."""
    return plain(", ".join(f"{name}={value}" for name, value in group.items()))


def headline(report: Report) -> EstimateRow | None:
    """The row to read first."""
    return next((row for row in report.estimates if row.headline), None)


def left_out(counts: Counts) -> list[tuple[str, str]]:
    """A fact on the items of the pool that are none of the study, where there are any."""
    if not counts.left_out:
        return []
    items = f"{count(counts.left_out)} item{'s' * (counts.left_out != 1)}"
    return [("left out", f"{items} of the pool, which not all models have")]


def facts(report: Report, row: EstimateRow | None) -> list[tuple[str, str]]:
    """Facts under the headline: how many labels were used, and how many that saved."""
    counts = report.counts
    items = f"{count(counts.n_pool if row is None else row.n_pool)} items in {pool(report)}"
    if report.weight is not None:
        items += f", weighted by {plain(report.weight)}"
    if row is None:
        return [("labels", f"{count(counts.labeled)} of {items}")]
    rows = [("labels used", f"{count_bought(row, counts)} of {items}"), *left_out(counts)]
    if counts.spent is not None:
        rows.append(("spent", f"{money(counts.spent)} for labels"))
    if saved := labels_saved(row.quantity.saving):
        rows.append(("labels saved", saved))
    return rows


def scope(report: Report, row: EstimateRow, *, hints: bool) -> str:
    """The scope of numbers: the items of this pool, or what the pool is a sample of.

    Hints name the option that changes it.
    """
    items = f"{count(row.n_pool)} item{'s' * (row.n_pool != 1)}"
    # Intervals hold over all items where these have ends.
    part = answerable(row) if row.least is None else ""
    part = part and f"the items {part} among "
    if not report.population:
        setting = report.population_setting if hints else ""
        others = f" ({plain(setting)}: future ones too)" if setting else ""
        return f"{part}the {items} of this pool{others}"
    sampled = f", by {plain(report.cluster)}" if report.cluster else ""
    return f"{part}the population that the {items} are a sample of{sampled}"


def count_bought(row: EstimateRow, counts: Counts) -> str:
    """The items with an answer, and which of them are no labels of random draws."""
    others = {
        "supplied": counts.supplied,
        # Estimates from draws do not use them; the surrogate's own view does.
        "not drawn at random": min(counts.deterministic, counts.labeled - row.n_labeled),
        "declined": counts.declined,
        "answers": row.n_answers if row.n_answers > row.n_items else 0,
    }
    parts = ", ".join(f"{count(number)} {what}" for what, number in others.items() if number > 0)
    used = count(row.n_items)
    return f"{used} ({parts})" if parts else used


def labels_saved(saving: Saving) -> str:
    """How many random labels would be as good, as text; empty where it is not known."""
    if saving.kind == SavingKind.TOO_EARLY:
        return "too early to say what was saved"
    if saving.kind == SavingKind.NONE:
        return ""
    random = count(saving.random)
    labels = "1 random label" if random == "1" else f"{random} random labels"
    cost = "" if saving.cost is None else f", which cost about {money(saving.cost)}"
    return f"as good as about {labels}{cost} ({times(saving.ratio)})"


def ratio_saved(saving: Saving) -> str:
    """Random labels over the items answered, by money where labels have prices, as a cell."""
    return "too early" if saving.kind == SavingKind.TOO_EARLY else times(saving.ratio)


def label(note: Note) -> str:
    """The first word of a note."""
    return "caution" if note.is_caution else "note"


def describe_inputs(report: Report) -> str:
    """One sentence on what the surrogate learns from; empty where it does not say."""
    return (
        plain(f"The surrogate listens to: {', '.join(report.auxiliary_outputs)}.")
        if (report.auxiliary_outputs)
        else ""
    )


def describe_evidence(report: Report) -> str:
    """How well the pool foretells the model's answers, and what labels made of it; may be empty."""
    found = plain("; ".join(report.counts.evidence))
    return f"{found[0].upper()}{found[1:]}." if found else ""


def made_by(report: Report) -> str:
    """One sentence on how items are chosen."""
    drawn, name = report.selection == "draw", report.acquisition
    note = f": {report.surrogate_note}" if report.surrogate_note else ""
    surrogate = f"the surrogate ({report.surrogate}{note})"
    how = [f"acquisition {name}", f"power {report.power:g}" if report.power != 1 else ""]
    how += [f"floor {report.floor:g}" if drawn else "", f"seed {report.seed}"]
    if not drawn:
        statement = f"Items with the largest scores for {report.metric} by {surrogate} are taken"
    elif name == _UNIFORM or report.floor == 1:
        statement = f"Items are drawn at random; {surrogate} does not choose them"
    elif name == _OPTIMAL:
        statement = f"Items are drawn where {surrogate} expects most to learn about {report.metric}"
    else:
        statement = f"Items are drawn by the scores of {surrogate} for {report.metric}"
    return plain(f"{statement} ({', '.join(filter(None, how))}).")


def describe_estimators(report: Report) -> str:
    """The grounds of each of several estimators; empty where there is one."""
    names = dict.fromkeys(row.estimator for row in report.estimates)
    grounds = {name: _GROUNDS.get(catalog.bare_name(name)) for name in names}
    known = [f"{name}: {ground}" for name, ground in grounds.items() if ground]
    return "; ".join(known) if len(known) > 1 else ""


def drawing(result: dict) -> str:
    """How a simulated strategy chooses items: optimal, optimal ^4 (a power), or optimal top."""
    how = " top" if result["selection"] == "top" else ""
    # Equal scores have no power, and the order of scores has none.
    power = "" if how or result["power"] == 1 else f" ^{result['power']:g}"
    return f"{result['acquisition']}{how}{power}"


def money(amount: float) -> str:
    """An amount in the unit of the prices: 1,250 or 12.5; at most two decimals."""
    return f"{amount:,.2f}".removesuffix("0").removesuffix(".0")


def standing(counts: Counts) -> list[tuple[str, str]]:
    """Where a study stands, one fact per row."""
    rows = [("pool", f"{count(counts.n_pool)} items"), *left_out(counts)]
    rows += [("models", ", ".join(counts.models))] * bool(counts.models)
    rows.append(("rounds", count(counts.rounds)))
    rows.append(("drawn", count(counts.drawn)))
    if counts.deterministic:
        how = "top scores, or selection probabilities equal to 0"
        rows.append(("not drawn at random", f"{count(counts.deterministic)} ({how})"))
    meaning = _DECLINED_AS[counts.declined_as]
    rows += [
        ("labelled", count(counts.labeled)),
        ("pending", count(counts.pending)),
        ("declined", count(counts.declined) + meaning * (counts.declined > 0)),
        ("supplied", f"{count(counts.supplied)} (your labels of items that were never drawn)"),
        *(("evidence", plain(sentence)) for sentence in counts.evidence),
    ]
    if counts.spent is not None:
        rows.append(("spent", f"{money(counts.spent)} for labels"))
    if counts.budget is not None and counts.spent is not None:
        left = money(max(counts.budget - counts.spent, 0))
        rows.append(("budget", f"{money(counts.budget)}, {left} left"))
    elif counts.budget is not None:
        remaining = int(max(counts.budget - counts.labeled, 0))
        rows.append(("budget", f"{count(int(counts.budget))} labels, {count(remaining)} left"))
    return rows


def _ends(record: Measured) -> list[str]:
    """Both ends of the interval."""
    width = half_width(record.quantity)
    return [
        figure(end, width, _limit(record)) if real(end) else "no limit"
        for end in (record.lower, record.upper)
    ]


def _certainty(record: EstimateRow | Gate) -> str:
    """How sure a number is."""
    given = f", {condition(record)}" if record.assumptions else ""
    if record.method == "exact":
        open_items = isinstance(record, EstimateRow) and record.n_labeled < record.n_pool
        known = "no further label can change it" if open_items else "every answer is known"
        return f"exact: {known}{given}"
    if record.lower is None and record.upper is None:
        return "no interval" + (f": {plain(record.reason)}" if record.reason else "")
    ends = " to ".join(with_unit(record, end) for end in _ends(record))
    mark = given + ("" if reliable(record) else ", not reliable yet")
    mark += ", for one look" if record.quantity.one_look else ""
    kind = "credible" if record.method == _CREDIBLE else "confidence"
    return f"{write_level(record.level)} {kind}: {ends}{mark}"


def _cell_classes(record: EstimateRow | Gate) -> tuple[str, str] | None:
    """The true and the predicted class of a cell; None where their names do not say which is which.

    "cat as dog" does, "cat as dog as cat" does not.
    """
    names = plain(record.class_name or "").split(" as ")
    return (names[0], names[1]) if len(names) == 2 else None


def name_class(name: str) -> str:
    """A class in a sentence: "fraud", but "class 1" and "class a"."""
    try:
        float(name)
    except ValueError:
        return f"class {name}" if len(name) == 1 else name
    return f"class {name}"


def say_class(name: str, *, judged: bool = False) -> str:
    """Predicate of items of a class: "are fraud", "are class 1"; of a verdict that passes, "pass".

    judged  the class is the better one of a judge's two verdicts, for which a 1 or a yes may stand
    """
    word = name.casefold()
    return "pass" if word in _PASSES or (judged and word in _AYES) else f"are {name_class(name)}"


def _compare_raw(record: EstimateRow | Gate) -> str:
    """The value that the model says, behind the estimate; empty where there is none."""
    if isinstance(record, Gate) or not real(record.from_outputs):
        return ""
    return f"; the model says {with_unit(record, raw(record))}"


def with_unit(record: EstimateRow | Gate, number: str) -> str:
    """A figure of a share of items in percent; any other as it is."""
    shares = (*_SHARES, _RATE)
    if record.metric not in shares or number in ("-", "no limit"):
        return number
    return f"{Decimal(number).scaleb(2):f} %"


def _same_side(rounded: float, value: float, limit: float) -> bool:
    """Whether both lie on the same side of the limit, or both on it."""
    return (rounded > limit, rounded < limit) == (value > limit, value < limit)


def _limit(record: Measured) -> float | None:
    """The number that decides what a record means: rounding must not hide on which side it is."""
    if isinstance(record, Gate):
        return record.threshold
    apart = isinstance(record, EstimateRow) and (record.against or len(record.models) > 1)
    return 0.0 if apart else None
