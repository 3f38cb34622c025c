"""Rows and gates about parts of the population, and about one part less another."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.changes import measure_constancy
from activetest.estimation.value import Value
from activetest.estimation.view import ANYTIME, View, build_view
from activetest.item_statistics.metric import Metric
from activetest.nouns.quantity import Quantity, Saving, add_bought, write_level
from activetest.nouns.report import EstimateRow, Note, Weight
from activetest.nouns.rounding import MARGIN
from activetest.nouns.study_lists import count_last
from activetest.reporting.rows import HEADLINE, count_bought, estimate_row, is_reliable, shrink_rows
from activetest.rounds.part_pool import PartPool, cut_log

# Key of parts where groups are written: {"part": "week48"}.
PART = "part"


def find_places(names: Sequence[str], known: Sequence[str]) -> list[int]:
    """The numbers, from 1 on, of parts by their names; "last:4" are the last four.

    Raises ChoiceError, with the nearest name, for a part that is not there.
    """
    found: dict[int, None] = {}
    for name in names:
        if 0 < (last := count_last(name)) <= len(known):
            found |= dict.fromkeys(range(len(known) - last + 1, len(known) + 1))
        elif name in known:
            found[known.index(name) + 1] = None
        else:
            raise ChoiceError(f"the study has no part {name!r}", catalog.nearest(name, known))
    return [*found]


def find_part_view(view: View, name: str, metric: Metric) -> View:
    """The view of a part, or of several: their names with + between them, see find_places.

    The view of several is built, for the metric that they are about.

    Raises ChoiceError, with the nearest name, for a part that is not there.
    """
    numbers = find_places(name.split("+"), view.cache.part_names)
    if not view.parts:
        return view
    if len(numbers) == 1:
        return view.parts[numbers[0] - 1]
    pool = PartPool(view.cache, *sorted(numbers))
    about = cut_log(view.log, pool), pool, view.choices, [metric]
    surrogate = view.evidence.surrogate
    return build_view(*about, seed=view.seed, own_view=False, surrogate=surrogate)


def estimate_parts(view: View, metrics: Sequence[Metric], kind: str) -> list[EstimateRow]:
    """A row for every metric and part, a metric's values shrunk together.

    A part has draws of its own, so that its interval is that of a pool. Shrunk values are moved
    towards the surrogate's expectation of the part, corrected by its error on all parts.
    """
    names = view.cache.part_names
    if not view.parts:
        return []
    found = []
    for metric in metrics:
        rows, values = [], []
        for name, part in zip(names, view.parts, strict=True):
            value, about = _find_value(part, metric, kind), (part, metric, HEADLINE)
            row = estimate_row(*about, level=view.choices.level, kind=kind, value=value)
            rows.append(replace(row, group={PART: name}, parts=(name,)))
            values.append(value)
        found += _shrink(view, metric, rows, values)
    return found


def subtract_part(
    view: View, metrics: Sequence[Metric], reference: str, kind: str
) -> list[EstimateRow]:
    """A row for every metric: the newest part less the reference.

    Raises ChoiceError for a reference that is no part, or is the newest one.
    """
    names = view.cache.part_names
    newest = names[-1]
    if len(names) in find_places(reference.split("+"), names):
        raise ChoiceError(
            f"{reference!r} is the newest part, and is compared with no other"
            if reference == newest
            else f"{reference!r} has the newest part, which is compared with it",
            "name earlier ones as the reference",
        )
    rows = []
    for metric in metrics:
        first, second = (find_part_view(view, each, metric) for each in (newest, reference))
        bought, labels = count_together([first, second])
        row = EstimateRow(
            quantity=Quantity(*(None, None, None, view.choices.level, "none"), saving=bought),
            metric=metric.name,
            models=metric.models,
            class_name=metric.class_name,
            estimator=HEADLINE,
            n_labeled=labels,
            n_pool=first.cache.size + second.cache.size,
            group={PART: newest},
            against={PART: reference},
            parts=(newest, reference),
        )
        try:
            found = measure_apart(first, second, metric, view.choices.level, kind)
        except NotEstimable as error:
            rows.append(replace(row, reason=error.problem))
            continue
        quantity = replace(found, saving=row.quantity.saving)
        rows.append(replace(row, quantity=quantity, n_draws=labels))
    return rows


def note_change(view: View, metric: Metric) -> list[Note]:
    """Whether a metric is the same in all parts, as far as draws say at any look."""
    if len(view.parts) < 2:
        return []
    limit = 1 / (1 - view.choices.level)
    try:
        found = measure_constancy(view.parts, metric)
    except NotEstimable as error:
        return [Note(f"Whether there is a change between parts is not said: {error.problem}.")]
    share = write_level(1 - view.choices.level)
    ever = f"without a change it ever reaches {limit:.3g} in {share} of studies at most"
    means = f"(e-value {found:.2g}; {ever})"
    if found < limit * (1 - MARGIN):
        return [Note(f"No change of {metric.title} between parts is shown {means}.", Weight.ANSWER)]
    return [Note(f"{metric.title} is not the same in all parts {means}.", Weight.ANSWER)]


def count_together(parts: Sequence[View]) -> tuple[Saving, int]:
    """Labels of several parts together: those that were bought, and all that are known."""
    wholes = [(each, each.evidence.groups[0]) for each in parts]
    bought = add_bought(*(count_bought(part, whole) for part, whole in wholes))
    return bought, sum(part.evidence.count_known(whole) for part, whole in wholes)


def measure_apart(
    first: View, second: View, metric: Metric, level: float, kind: str, *, decides: bool = False
) -> Quantity:
    """The metric in one part less that in another, with its interval.

    Draws from one part say nothing about another. For one look the distances from the values to
    their limits add up as squares, each on the side that counts (Zou and Donner 2008); intervals
    that hold at every look share the error. Raises NotEstimable, with the reason.
    """
    values = [each.value(metric, HEADLINE, kind=kind) for each in (first, second)]
    own = 1 - (1 - level) / 2 if kind == ANYTIME else level
    found = [
        part.interval(value, own, kind, decides=decides)
        for part, value in zip((first, second), values, strict=True)
    ]
    reliable = all(
        is_reliable(value, each.method) for value, each in zip(values, found, strict=True)
    )
    apart = values[0].value - values[1].value
    (low, high), (other_low, other_high) = (each.find_ends() for each in found)
    if kind == ANYTIME:
        lower, upper = low - other_high, high - other_low
    else:
        lower = apart - float(np.hypot(values[0].value - low, other_high - values[1].value))
        upper = apart + float(np.hypot(high - values[0].value, values[1].value - other_low))
    methods = {each.method for each in found}
    span = metric.upper - metric.lower
    return replace(
        found[0],
        estimate=float(apart),
        lower=max(lower, -span),
        upper=min(upper, span),
        level=level,
        method="exact" if methods == {"exact"} else next(iter(methods - {"exact"})),
        variance=float(found[0].variance + found[1].variance),
        reliable=reliable,
    )


def _find_value(view: View, metric: Metric, kind: str) -> Value | None:
    try:
        return view.value(metric, HEADLINE, kind=kind)
    except NotEstimable:
        return None


def _shrink(
    view: View, metric: Metric, rows: Sequence[EstimateRow], values: Sequence[Value | None]
) -> list[EstimateRow]:
    """The rows with shrunk values; as they are where there is no value of all parts."""
    try:
        whole = view.value(metric, HEADLINE).value
    except NotEstimable:
        return list(rows)
    predicted = [np.nan if each is None else each.predicted for each in values]
    sizes = np.array([each.cache.size for each in view.parts], float)
    expected = float(sizes @ np.array(predicted) / sizes.sum())
    return shrink_rows(metric, rows, values, whole=whole, expected=expected)
