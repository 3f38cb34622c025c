"""A plan for a study: before its first label by the model's confidence, and then by its labels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.estimation.planning import (
    expect_half_widths,
    measure_spread,
    plan_half_width,
    spread_later,
)
from activetest.estimation.spending import find_nominal_levels
from activetest.estimation.view import build_view
from activetest.estimation.worlds import (
    count_gate_labels,
    count_labels,
    expect_half_width,
    imagine_worlds,
)
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Metric
from activetest.nouns.arguments import read_names
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.plan import HIGH, LOW, Plan, PlannedGate, PlannedWidth, Range
from activetest.nouns.rows import Array
from activetest.reporting.requirements import Requirement, parse_requirement
from activetest.reporting.rows import HEADLINE, find_variance_of_items
from activetest.study.stored import StoredStudy

if TYPE_CHECKING:
    from activetest.cache.cache import Cache

# Labels in all of which a plan names the width; distances of the truth from a threshold; powers.
_LABELS = (50, 100, 200, 300, 400, 600, 800, 1000, 1500, 2000)
_POINTS = (0.01, 0.03, 0.05)
_POWERS = (0.8, 0.9)
# The doubt about a model's confidence unless another is named.
DOUBT = 2.0
# Labels of draws from which on a plan rests on them.
_ENOUGH = 30


def plan(
    study: StoredStudy,
    *,
    metric: str | None,
    half_width: float | None,
    require: str | Sequence[str] | None,
    power: float | None,
    budget: int | None,
    doubt: float,
) -> Plan:
    """The plan of a study: see Study.plan, whose arguments these are.

    Raises ChoiceError for what cannot be planned: gates on other metrics or groups, and before the
    first labels a model without probabilities of classes.
    """
    choices, cache = study.choices, study.known_cache()
    if cache.roles.get("price"):
        raise ChoiceError(
            "a plan counts labels, and here they have prices", "leave out the column of prices"
        )
    if not (half_width is None or half_width > 0):
        raise ChoiceError(f"`half_width` is {half_width:g}", "give a number above 0")
    if not (power is None or 0 < power < 1):
        raise ChoiceError(f"`power` is {power:g}", "give a number between 0 and 1")
    if not doubt >= 1:
        raise ChoiceError(f"`doubt` is {doubt:g}", "1 trusts the model's confidence, 2 half of it")
    facts = specification.describe_pool(cache.roles, choices.costs, cache)
    gates = [parse_requirement(each) for each in read_names("require", require or ())]
    named = metric or (gates[0].metric if gates else choices.metric)
    about = specification.find_metric(named, facts)

    def fits(gate: Requirement) -> bool:
        titles = (each.title for each in specification.find_metrics(gate.metric, facts))
        return gate.group is None and [*titles] == [about.title]

    if require is None:
        known = map(parse_requirement, study.reports.require)
        gates = [gate for gate in known if fits(gate)]
    for gate in gates:
        if not fits(gate):
            raise ChoiceError(
                f"gate {gate.text!r} is not about {about.title} of the whole pool",
                "plan the gates of one metric at a time",
            )
    budget = budget or (None if choices.budget is None else int(choices.budget))
    log = study.log(cache)
    outlook: _Outlook
    if int((log.status[~log.deterministic] == LABELLED).sum()) >= _ENOUGH:
        outlook = _look_from_labels(study, cache, log, about)
    else:
        outlook = _look_from_confidence(cache, about, choices, doubt)
    counts = sorted({*_LABELS, *([budget] if budget else [])})
    counts = [each for each in counts if outlook.labels < each < cache.size]
    widths = outlook.expect(counts)
    return Plan(
        metric=about.title,
        n_pool=cache.size,
        n_labeled=outlook.labels,
        level=choices.level,
        doubt=outlook.doubt,
        expected=outlook.expected,
        widths=tuple(map(PlannedWidth, counts, widths)),
        half_width=half_width,
        needed=None if half_width is None else outlook.count(half_width),
        gates=tuple(_plan_gates(gates, outlook, choices, power)),
        budget=budget,
    )


def describe_gates(texts: Sequence[str], cache: "Cache", choices: Choices) -> tuple[str, ...]:
    """A sentence for each gate that can be planned before labels: when it is decided.

    Raises ChoiceError for a gate whose metric or group is not there.
    """
    facts = specification.describe_pool(cache.roles, choices.costs, cache)
    sentences = []
    for gate in map(parse_requirement, texts):
        metric = specification.find_metric(gate.metric, facts)
        if gate.group or metric.models or cache.roles.get("price"):
            continue
        try:
            outlook = _look_from_confidence(cache, metric, choices, DOUBT)
        except ChoiceError:
            continue
        far = [
            each
            for each in _plan_gates([gate], outlook, choices, _POWERS[0])
            if abs(each.margin) == _POINTS[-1]
        ]
        least, most = min(each.labels.low for each in far), max(each.labels.high for each in far)
        text = (
            f"{gate.text}: {least:,.0f} to {most:,.0f} labels decide it with {_POWERS[0]:.0%} if "
            f"the truth is {100 * _POINTS[-1]:.0f} points away, see `study.plan()`"
        )
        if choices.budget is not None and least > choices.budget:
            text += f"; the budget of {choices.budget:,.0f} is unlikely to"
        sentences.append(text)
    return tuple(sentences)


@dataclass(frozen=True)
class _Outlook:
    """The worth of labels, as far as it is known.

    labels     that it rests on; expected and doubt as in Plan
    expect     (counts) -> half-widths after so many labels
    count      (half-width) -> labels that it needs
    find_variances  (value) -> (K,) variances of one draw, and that of a random one, at that value
    bounds, size    range of the metric, and items
    """

    labels: int
    expected: tuple[float, float]
    doubt: float | None
    expect: Callable[[Sequence[int]], list[Range]]
    count: Callable[[float], Range]
    find_variances: Callable[[float], tuple[Array, float]]
    bounds: tuple[float, float]
    size: int


def _look_from_confidence(
    cache: "Cache", metric: Metric, choices: Choices, doubt: float
) -> _Outlook:
    """The outlook before the first labels. Raises ChoiceError where nothing says how sure it is."""
    if cache.take([0]).outputs.probs is None or metric.refine or metric.interval:
        what = metric.title if metric.refine or metric.interval else "a pool without probabilities"
        raise ChoiceError(
            f"nothing can be planned for {what} before the first labels",
            f"plan again once {_ENOUGH} items are labelled: `study.next({_ENOUGH})`",
        )
    floor = 1.0 if choices.acquisition == "uniform" else choices.floor
    worlds = imagine_worlds(cache, metric, floor=floor, doubt=doubt)
    about: dict[str, Any] = {"size": worlds.size, "level": choices.level, "bounds": worlds.bounds}
    likely = [pair for each in worlds.single for pair in worlds.list_likely(each)]
    random = worlds.list_likely(worlds.random)[1]

    def expect(counts: Sequence[int]) -> list[Range]:
        found = [expect_half_width(*pair, np.array(counts), **about) for pair in likely]
        alone = expect_half_width(*random, np.array(counts), **about)
        ends = np.min(found, axis=0), np.max(found, axis=0), alone
        return [Range(*map(float, each)) for each in zip(*ends, strict=True)]

    def count(half_width: float) -> Range:
        found = [count_labels(*pair, half_width=half_width, **about) for pair in likely]
        return Range(min(found), max(found), count_labels(*random, half_width=half_width, **about))

    values = [value for value, _ in likely]
    ends = min(values), max(values)
    return _Outlook(
        0, ends, doubt, expect, count, worlds.find_variances, worlds.bounds, worlds.size
    )


def _look_from_labels(study: StoredStudy, cache: "Cache", log: Log, metric: Metric) -> _Outlook:
    """The outlook from the labels of draws so far. Raises NotEstimable."""
    choices = study.choices
    view = build_view(log, cache, choices, [metric], seed=study.seed, own_view=False)
    value = view.value(metric, HEADLINE)
    found = view.interval(value, choices.level)
    ends, slope, size = found.find_ends(), abs(value.slope), cache.size
    used, bounds = len(value.estimate.terms), (metric.lower, metric.upper)
    now: dict[str, Any] = {
        "half_width": (ends[1] - ends[0]) / 2 / slope,
        "size": size,
        "level": choices.level,
    }
    random: dict[str, Any] = {"size": size, "level": choices.level, "bounds": bounds}
    single = find_variance_of_items(value, found) * slope**2

    def expect(counts: Sequence[int]) -> list[Range]:
        widths = [
            slope * expect_half_widths(value.estimate, counts, quantile=each, **now)
            for each in (LOW, HIGH)
        ]
        widths.append(expect_half_width(value.value, single, np.array(counts), **random))
        return [Range(*map(float, each)) for each in zip(*widths, strict=True)]

    def count(half_width: float) -> Range:
        goal = half_width / slope
        low, high = (
            used + plan_half_width(value.estimate, goal=goal, quantile=each, **now)
            for each in (LOW, HIGH)
        )
        return Range(low, high, count_labels(value.value, single, half_width=half_width, **random))

    # The variance of a draw now, and of later ones.
    spread = measure_spread(value.estimate, size)
    variances = np.array([spread_later(spread, each) for each in (LOW, HIGH)]) * slope**2

    def find_variances(truth: float) -> tuple[Array, float]:
        low, high = bounds
        change = 1.0
        if np.isfinite(bounds).all() and low < value.value < high:
            change = (truth - low) * (high - truth) / ((value.value - low) * (high - value.value))
        return variances * change, single * change

    return _Outlook(used, ends, None, expect, count, find_variances, bounds, size)


def _plan_gates(
    gates: Sequence[Requirement], outlook: _Outlook, choices: Choices, power: float | None
) -> Iterator[PlannedGate]:
    """Labels that decide each gate, at truths on either side of its threshold that can be."""
    looks = choices.looks
    times = [each / looks for each in range(1, looks + 1)]
    low, high = outlook.bounds
    for gate in gates:
        alpha = float(
            find_nominal_levels(times, gate.find_alpha(choices.level), choices.spending)[-1]
        )
        better = 1 if gate.op == ">=" else -1
        for margin in (*_POINTS, *(-each for each in _POINTS)):
            truth = gate.threshold + better * margin
            if not low < truth < high:
                continue
            variances, random = outlook.find_variances(truth)
            for aim in _POWERS if power is None else (power,):
                counts = [
                    count_gate_labels(
                        *(gate.threshold, truth, float(each)),
                        power=aim,
                        alpha=alpha,
                        size=outlook.size,
                        bounds=outlook.bounds,
                    )
                    for each in (*variances, random)
                ]
                labels = Range(min(counts[:-1]), max(counts[:-1]), counts[-1])
                yield PlannedGate(gate.text, truth, margin, aim, labels)
