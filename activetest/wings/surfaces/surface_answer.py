"""A study's surface as reports show it: any cell, the extremes, effects of attributes, and maps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from activetest.errors import ChoiceError, NotEstimable
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Metric
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import Quantity, Saving
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.nouns.surface import Arms, Attributes, Surface, SurfaceData, name_columns
from activetest.nouns.surface_report import SurfaceCell, SurfaceMap, SurfaceReport
from activetest.sampling.question import name_judged
from activetest.system.progress import step
from activetest.wings.surfaces.choices import SurfaceChoices
from activetest.wings.surfaces.fitting import find_surface_metric, fit_surface
from activetest.wings.surfaces.surface_cells import check_attribute, find_codes, suggest_map
from activetest.wings.surfaces.surface_values import (
    SurfaceValues,
    estimate_absent,
    estimate_arms,
    estimate_cells,
)

# The method of intervals that a surface gives.
SURFACE = "surface"
# Metrics of surfaces of which more is better.
_BETTER_IF_HIGHER = ("accuracy", "interval-coverage")
# Metrics that are one minus each other.
_OPPOSITE = {"accuracy": "error", "error": "accuracy"}
# Combinations at either end of the ranking.
_EXTREMES = 10
# Values of an attribute that a map can have.
_WIDEST_MAP = 60
# Combinations that a table of all of them can have.
MOST_ROWS = 100_000


@dataclass(frozen=True)
class PoolSurface:
    """A surface and the pool and labels that it is about.

    surface       as it was fitted
    data          what it was fitted to
    metric        its name
    level         of the intervals
    min_support   items that a combination needs to be ranked
    """

    surface: Surface
    data: SurfaceData
    metric: str
    level: float
    min_support: int

    @property
    def arms(self) -> Arms:
        """The combinations that occur."""
        return self.data.arms

    @property
    def attributes(self) -> Attributes:
        """Attributes that arms combine."""
        return self.data.arms.attributes

    @property
    def higher_better(self) -> bool:
        """Whether large values are good."""
        return self.metric in _BETTER_IF_HIGHER

    @cached_property
    def values(self) -> SurfaceValues:
        """(A,) of the combinations that occur."""
        return estimate_arms(self.surface, self.data, self.level)

    @cached_property
    def order(self) -> Array:
        """Positions of the combinations with enough items, the worst first."""
        mean, support = self.values.mean, self.values.support
        enough = np.flatnonzero(np.isfinite(mean) & (support >= self.min_support))
        sign = 1 if self.higher_better else -1
        keys = -level_ties(support[enough]), level_ties(sign * mean[enough])
        return enough[np.lexsort(keys)]

    def write_arm(self, arm: int) -> SurfaceCell:
        """A combination that occurs, by its position."""
        named = self.attributes.name(self.arms.codes[arm])
        return _write_cell(named, self.values, arm, 1, self.level)


def fit_pool_surface(log: Log, cache: PoolView, choices: Choices, *, seed: int) -> PoolSurface:
    """The surface of a study.

    Raises ChoiceError where the study has no attributes, weighs its items, or has a metric without
    a surface, and NotEstimable while there is no label.
    """
    check_attributes(choices)
    if weight := cache.roles.get("weight"):
        raise ChoiceError(
            f"a surface counts every item once, and this study weighs items by {weight!r}",
            "`study.report()` has the weighted number of every single value",
        )
    metric = find_surface_metric(
        name_judged(choices), specification.describe_pool(cache.roles, choices.costs, cache)
    )
    with step("fitting the surface"):
        surface, data = fit_surface(log, cache, choices, seed=seed)
    if not len(data.items):
        raise NotEstimable("no surface yet: there is no label", "`study.next(20)`")
    least = choices.of(SurfaceChoices).min_support
    return PoolSurface(surface, data, metric.title, choices.level, least)


def check_attributes(choices: Choices) -> None:
    """Raises ChoiceError for a study without attributes."""
    if not choices.attributes:
        raise ChoiceError(
            "a surface is about combinations of attributes, and the study has none",
            "`study.change(attributes=[column, column])` names them and keeps every label",
        )


def describe_surface(
    fitted: PoolSurface,
    *,
    cells: Sequence[Mapping[str, str]] = (),
    maps: Sequence[tuple[str, str]] = (),
    detailed: bool = False,
) -> SurfaceReport:
    """Report on a surface.

    cells      {attribute: value} of combinations, complete or not, to show; see find_cell
    maps       pairs of attributes to show a map of
    detailed   whether more than the short answer was requested

    Raises ChoiceError for an attribute or a value that is not there.
    """
    order, arms = fitted.order, fitted.arms
    worst = min(_EXTREMES, (len(order) + 1) // 2)
    best = min(_EXTREMES, len(order) - worst)
    return SurfaceReport(
        metric=fitted.metric,
        higher_better=fitted.higher_better,
        method=fitted.surface.method,
        components={name: float(share) for name, share in fitted.surface.parts.items()},
        level=fitted.level,
        attributes=dict(zip(fitted.attributes.names, fitted.attributes.sizes, strict=True)),
        min_support=fitted.min_support,
        combinations=fitted.attributes.count_combinations(),
        occurring=len(arms),
        ranked=len(order),
        labeled=int((fitted.values.known > 0).sum()),
        worst=tuple(fitted.write_arm(arm) for arm in order[:worst]),
        best=tuple(fitted.write_arm(arm) for arm in order[::-1][:best]),
        effects=tuple(list_effects(fitted)),
        cells=tuple(find_cell(fitted, cell) for cell in cells),
        maps=tuple(draw_map(fitted, *pair) for pair in maps),
        detailed=detailed or bool(cells or maps),
    )


def list_effects(fitted: PoolSurface) -> Iterator[SurfaceCell]:
    """Every value of every attribute, over all values of the others."""
    for place, (name, values) in enumerate(
        zip(fitted.attributes.names, fitted.attributes.values, strict=True)
    ):
        cell_of_arm = fitted.arms.codes[:, place]
        found = _estimate(fitted, cell_of_arm, len(values))
        counts = np.bincount(cell_of_arm, minlength=len(values))
        for code, value in enumerate(values):
            yield _write_cell({name: value}, found, code, int(counts[code]), fitted.level)


def find_cell(
    fitted: PoolSurface, named: Mapping[str, str], level: float | None = None
) -> SurfaceCell:
    """The combinations with these values of attributes.

    level   of the interval; default that of the surface

    A complete combination that does not occur is predicted. Raises ChoiceError for an attribute or
    a value that is not there.
    """
    level = fitted.level if level is None else level
    codes = find_codes(fitted.attributes, named)
    ordered = {name: named[name] for name in fitted.attributes.names if name in named}
    places = [fitted.attributes.names.index(name) for name in ordered]
    target = np.array([codes[name] for name in ordered])
    inside = (fitted.arms.codes[:, places] == target).all(axis=1)
    count = int(inside.sum())
    if count:
        found = _estimate(fitted, np.where(inside, 0, -1), 1, level)
        return _write_cell(ordered, found, 0, count, level)
    if len(ordered) == len(fitted.attributes.names):
        predicted = estimate_absent(fitted.surface, target[None], level)
        return _write_cell(ordered, predicted, 0, 0, level)
    nothing = np.full(1, np.nan)
    values = SurfaceValues(nothing, nothing, nothing, nothing, np.zeros(1), np.zeros(1))
    missing = [name for name in fitted.attributes.names if name not in ordered]
    reason = f"no item of the pool has it: name {', '.join(missing)} as well for a prediction"
    return replace(_write_cell(ordered, values, 0, 0, level), reason=reason)


def draw_map(fitted: PoolSurface, first: str, second: str) -> SurfaceMap:
    """The surface by two attributes.

    Raises ChoiceError for an attribute that is not there, for the same one twice, and for more
    values than a map can show.
    """
    names, values = fitted.attributes.names, fitted.attributes.values
    for name in (first, second):
        check_attribute(name, names)
        if len(values[names.index(name)]) > _WIDEST_MAP:
            raise ChoiceError(
                f"a map has at most {_WIDEST_MAP} values of an attribute, and {name} has "
                f"{len(values[names.index(name)]):,}",
                "`study.surface()` has every combination",
            )
    if first == second:
        raise ChoiceError(f"a map of {first} needs another attribute", suggest_map(names))
    row, column = names.index(first), names.index(second)
    rows, columns = values[row], values[column]
    cell_of_arm = fitted.arms.codes[:, row] * len(columns) + fitted.arms.codes[:, column]
    found = _estimate(fitted, cell_of_arm, len(rows) * len(columns))
    counts = np.bincount(cell_of_arm, minlength=len(rows) * len(columns))

    def write(down: int, across: int) -> SurfaceCell:
        place = down * len(columns) + across
        named = {first: rows[down], second: columns[across]}
        return _write_cell(named, found, place, int(counts[place]), fitted.level)

    cells = tuple(
        tuple(write(down, across) for across in range(len(columns))) for down in range(len(rows))
    )
    return SurfaceMap(fitted.metric, first, second, rows, columns, cells)


def tabulate(fitted: PoolSurface, *, all: bool = False) -> dict[str, Array]:
    """{column: (M,) values}: a row per combination that occurs, in lexicographic order.

    The attributes, estimate, lower, upper, support, labels, and with `all` occurs. An attribute
    with the name of another column is called attribute_NAME.

    all   combinations that do not occur, too, with their predictions

    Raises ChoiceError for more than MOST_ROWS combinations.
    """
    codes, values = fitted.arms.codes, fitted.values
    if all:
        count = fitted.attributes.count_combinations()
        if count > MOST_ROWS:
            raise ChoiceError(
                f"there are {count:,} combinations, and a table of all has at most {MOST_ROWS:,}",
                f"leave out `all`: {len(fitted.arms):,} combinations occur",
            )
        codes = fitted.attributes.decode(np.arange(count))
        values = _add_absent(fitted, codes)
    table: dict[str, Array] = {
        "estimate": values.mean,
        "lower": values.lower,
        "upper": values.upper,
        "support": values.support,
        "labels": values.known,
    }
    if all:
        table["occurs"] = fitted.arms.find(codes) >= 0
    for name in ("support", "labels"):
        if (table[name] == np.round(table[name])).all():
            table[name] = table[name].astype(np.int64)
    columns = name_columns(fitted.attributes.names, tuple(table))
    named = {
        column: np.array(texts, object)[codes[:, place]]
        for place, (column, texts) in enumerate(zip(columns, fitted.attributes.values, strict=True))
    }
    return named | table


def flip(cell: SurfaceCell) -> SurfaceCell:
    """The cell of one minus the statistic."""

    def invert(value: float | None) -> float | None:
        return None if value is None else 1 - value

    quantity = replace(
        cell.quantity,
        estimate=invert(cell.estimate),
        lower=invert(cell.upper),
        upper=invert(cell.lower),
    )
    return replace(cell, quantity=quantity)


def is_opposite(metric: Metric, other: str) -> bool:
    """Whether a metric is one minus another."""
    return _OPPOSITE.get(metric.title) == other


def _estimate(
    fitted: PoolSurface, cell_of_arm: Array, cells: int, level: float | None = None
) -> SurfaceValues:
    level = fitted.level if level is None else level
    return estimate_cells(fitted.surface, fitted.data, cell_of_arm, cells, level)


def _add_absent(fitted: PoolSurface, codes: Array) -> SurfaceValues:
    """The values of combinations (M, K), of which some occur."""
    place = fitted.arms.find(codes)
    there = place >= 0
    absent = estimate_absent(fitted.surface, codes[~there], fitted.level)

    def join(occurring: Array, predicted: Array) -> Array:
        joined = np.empty(len(codes))
        joined[there], joined[~there] = occurring[place[there]], predicted
        return joined

    values = fitted.values
    return SurfaceValues(
        join(values.mean, absent.mean),
        join(values.lower, absent.lower),
        join(values.upper, absent.upper),
        join(values.variance, absent.variance),
        join(values.support, absent.support),
        join(values.known, absent.known),
    )


def _write_cell(
    named: Mapping[str, str], values: SurfaceValues, place: int, arms: int, level: float
) -> SurfaceCell:
    """The cell at a place of the values, which joins so many combinations that occur."""
    support, known = float(values.support[place]), float(values.known[place])
    mean, lower, upper = (float(each[place]) for each in (values.mean, values.lower, values.upper))
    exact = support > 0 and np.isclose(support, known, rtol=1e-6, atol=0)
    if np.isnan(mean):
        reason = "none of its items can be labelled" if arms else "no item of the pool has it"
        quantity = Quantity(None, None, None, level, "none")
    else:
        reason = None
        quantity = Quantity(mean, lower, upper, level, "exact" if exact else SURFACE)
    quantity = replace(quantity, saving=Saving(round(known)))
    return SurfaceCell(
        quantity=quantity,
        attributes=dict(named),
        n_pool=_make_whole(support),
        n_labeled=_make_whole(known),
        n_arms=arms,
        reason=reason,
    )


def _make_whole(value: float) -> float:
    """A whole number where it is one."""
    return round(value) if abs(value - round(value)) < 1e-6 else value
