"""Simulated studies of a surface: how far all its arms are from the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from activetest.cache.cache import Cache
from activetest.errors import ChoiceError
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.rows import Array
from activetest.nouns.simulated_answer import SimulatedAnswer
from activetest.nouns.surrogate import Surrogate
from activetest.pool.groups import JOIN
from activetest.sampling.question import name_judged
from activetest.simulation.baseline import Baseline, compare_with_uniform
from activetest.wings.surfaces.choices import SurfaceChoices
from activetest.wings.surfaces.fitting import find_true_values, fit_surface
from activetest.wings.surfaces.surface_values import estimate_arms

# In the place of an estimator.
KEY = "surface"
# Of squares of roots.
_ROUNDING = 1e-9
_UNIFORM = "uniform"
# In place of an error of zero on a logarithmic scale.
_SMALLEST_ERROR = 1e-300


def check_compared(acquisitions: Sequence[str]) -> None:
    """Raises ChoiceError where there are no uniform draws to compare a surface's with."""
    if _UNIFORM not in acquisitions:
        raise ChoiceError(
            "surfaces are compared with those of uniform draws",
            f"`acquisition={[*acquisitions, _UNIFORM]!r}`",
        )


def name_answer(choices: Choices) -> str:
    """Name of the estimand, as gates write it: accuracy@sex*race."""
    return f"{name_judged(choices)}@{JOIN.join(choices.attributes)}"


def measure(
    log: Log,
    cache: Cache,
    choices: Choices,
    truth: Array,
    *,
    seed: int,
    surrogate: Surrogate | None = None,
) -> tuple[float, float, float, float]:
    """Root mean squared error, mean error, width and coverage over arms with enough items.

    Labels (N,) are all known. Arms count alike, however many items they have; where the label is an
    attribute, an arm's items are those with that label.
    """
    surface, data = fit_surface(log, cache, choices, seed=seed)
    values = estimate_arms(surface, data, choices.level)
    own = choices.of(SurfaceChoices)
    arms, truth_of_arm = cache.compute_once(
        ("true surface", name_judged(choices), choices.attributes, own.attribute_model),
        lambda: find_true_values(cache, choices, truth),
    )
    place = data.arms.find(arms.codes)
    # An arm that its labels alone reveal may not be known of yet.
    enough = (arms.support >= own.min_support) & (place >= 0)
    place, known = place[enough], truth_of_arm[enough]
    error, lower, upper = (each[place] for each in (values.mean, values.lower, values.upper))
    error = error - known
    inside = (lower <= known + 1e-9) & (known - 1e-9 <= upper)
    return (
        float(np.sqrt((error**2).mean())),
        float(error.mean()),
        float((upper - lower).mean()),
        float(inside.mean()),
    )


def summarise_runs(
    strategies: Sequence[Choices],
    budgets: Sequence[int],
    tables: Mapping[tuple[int, int], Sequence[Sequence[float]]],
) -> tuple[list[SimulatedStrategy], list[SimulatedAnswer]]:
    """One result for every strategy and budget, and no answer: see compare_surfaces."""
    numbers = {key: np.array(table) for key, table in tables.items()}
    return compare_surfaces(strategies, budgets, numbers), []


def compare_surfaces(
    strategies: Sequence[Choices], budgets: Sequence[int], tables: Mapping[tuple[int, int], Array]
) -> list[SimulatedStrategy]:
    """One result for every strategy and budget.

    tables {(strategy, budget): (runs, 4) numbers of measure}. Errors are those of all arms
    together, and uniform draws are the simulated ones with the same surrogate.
    """
    found = []
    for number, choices in enumerate(strategies):
        uniform = next(
            other
            for other, each in enumerate(strategies)
            if (each.acquisition, each.surrogate) == (_UNIFORM, choices.surrogate)
        )
        squares = {budget: tables[uniform, budget][:, 0] ** 2 for budget in budgets}
        baseline = Baseline(
            0.0,
            np.array(budgets),
            np.array([max(each.mean(), _SMALLEST_ERROR) for each in squares.values()]),
            False,
            {budget: float(np.median(each)) for budget, each in squares.items()},
        )
        for budget in budgets:
            table = tables[number, budget]
            nothing = np.zeros(len(table))
            numbers = np.column_stack([table[:, 0], nothing, nothing, nothing + budget])
            result = compare_with_uniform(
                choices, KEY, name_answer(choices), budget, numbers, baseline
            )
            bias, width, coverage = table[:, 1:].mean(axis=0).tolist()
            about = {"bias": bias, "width": width, "coverage": coverage}
            # Uniform draws were simulated with these numbers of labels, and no others.
            reached = result.rmse**2 * np.array([1 + _ROUNDING, 1 - _ROUNDING])
            if not (baseline.errors.min() <= reached[0] and reached[1] <= baseline.errors.max()):
                about["labels_saved"] = np.nan
            found.append(replace(result, **about))
    return found
