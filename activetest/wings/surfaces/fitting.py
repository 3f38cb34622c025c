"""The surface of a study: its arms, the labels it is fitted to, and the fit.

A surface is a function of the log, the choices and the seed, so that a report can be made again
from the ledger alone. A fit begins anew, or, between the refits that `refit` schedules, with the
state of a fit to the labels of the last one, whether it was kept or has to be computed again.
"""

from collections.abc import Mapping, Set

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable, PoolError
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.choices import Choices, Refit, Task
from activetest.nouns.log import (
    DECLINED,
    LABELLED,
    METHODS,
    Allocation,
    ArmAllocation,
    Log,
    weigh_draws,
)
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surface import Arms, Attributes, Surface, SurfaceData
from activetest.pool.allocations import keeps_cells
from activetest.pool.groups import LABEL, columns_of
from activetest.pool.uncertain import list_uncertain
from activetest.rounds.fit import make_generator, observe_statistics
from activetest.sampling.question import name_judged
from activetest.system.parallel import map_reduce, one_blas_thread
from activetest.wings.surfaces.choices import AUTO, SurfaceChoices
from activetest.wings.surfaces.membership import (
    FittedAttributes,
    fit_attributes,
    respread_labelled,
    spread_items,
)

# Arms that a surface may have, and combinations whose numbers are whole numbers of 64 bits.
MOST_ARMS, _MOST_COMBINATIONS = 100_000, 2**62


def has_surface(metric: Metric) -> bool:
    """Whether a metric is the mean of one statistic from 0 to 1, or one minus it."""
    ratio = metric.ratio
    plain = ratio is not None and len(metric.statistics) == 1 and ratio[1] == (1.0, 0.0)
    return plain and metric.lower >= 0 and metric.upper <= 1


def find_surface_metric(name: str, facts: Facts) -> Metric:
    """The metric of a surface: the mean of one statistic from 0 to 1, or one minus it.

    Raises ChoiceError for any other.
    """
    metric = specification.find_metric(name, facts)
    if facts.task == Task.REGRESSION:
        raise ChoiceError(
            "surfaces are about classifiers, and this pool predicts values",
            "`study.report()` has the metrics of every single value of an attribute",
        )
    if not has_surface(metric):
        raise ChoiceError(
            f"a surface is about the mean of a statistic from 0 to 1, and {metric.title} is none",
            '`metric="accuracy"`, or `metric="error"`',
        )
    return metric


def collect_surface_data(log: Log, cache: PoolView, choices: Choices) -> SurfaceData:
    """The labels of a log and what a surface needs of the pool.

    Every label is known, and declined items are left out of the support. Labels that were drawn
    uniformly inside their arm count as one, and so do those that users supplied. Others are
    weighted by one over the probability of their draw, and count as their effective number inside
    the arm, (sum w)^2 / sum w^2 (Kish 1965). Items that were chosen by a score have no probability:
    their labels are known, and say nothing about others. Raises ChoiceError for a metric or
    attributes that no surface can be about, PoolError for too many arms.
    """
    facts = specification.describe_pool(cache.roles, choices.costs, cache)
    metric = find_surface_metric(name_judged(choices), facts)
    positions, status, labels = log.item_rows, log.item_status, log.item_labels
    known = status == LABELLED
    items = positions[known]
    declined = None
    if (status == DECLINED).any():
        declined = np.zeros(cache.size, bool)
        declined[positions[status == DECLINED]] = True
        # One annotator may have declined what another one answered.
        declined[items] = False
    arms = _find_labelled_arms(cache, choices, items, labels[known])
    predicted, confidence = _read_outputs(cache)
    names = {*choices.attributes} - {*list_uncertain(cache, choices.attributes)}
    certain, weights = weigh_draws(log, lambda each: _is_nested(each, names, cache))
    supplied = np.ones(len(log.supplied_rows), bool)
    certain, weights = np.append(certain, supplied), np.append(weights, np.zeros(len(supplied)))
    return SurfaceData(
        arms=arms,
        items=items,
        values=_observe(metric, cache.take(items), labels[known]),
        weights=_count_labels(arms, items, certain[known], weights[known]),
        confidence=confidence,
        predicted=predicted,
        classes=len(cache.classes),
        declined=declined,
        supplied=int((log.supplied_status == LABELLED).sum()),
        doubt=_count_doubtful(log, labels[known], known),
    )


def find_true_values(cache: PoolView, choices: Choices, truth: Array) -> tuple[Arms, Array]:
    """The arms of a pool whose labels (N,) are all known, and (A,) the metric of each."""
    facts = specification.describe_pool(cache.roles, choices.costs, cache)
    metric = find_surface_metric(name_judged(choices), facts)
    arms = _find_labelled_arms(cache, choices, np.arange(cache.size), truth)
    values = [
        _observe(metric, cache.rows(start, stop), truth[start:stop])
        for start, stop in cache.chunks()
    ]
    return arms, np.asarray(arms.membership.T @ np.concatenate(values)) / arms.support


def fit_surface(
    log: Log, cache: PoolView, choices: Choices, *, seed: int
) -> tuple[Surface, SurfaceData]:
    """The chosen surface fitted to every label, and what it was fitted to.

    Deterministic in (log, pool, choices, seed). Raises as collect_surface_data does, and
    UnknownMethod for a surface that does not exist.
    """
    data = collect_surface_data(log, cache, choices)
    specified = choices.of(SurfaceChoices).surface
    name, options = catalog.split_options("surfaces", specified)
    method = catalog.load("surfaces", name)

    def fit_state(first: SurfaceData, count: int) -> Mapping[str, Array]:
        begun: Surface = method.fit(first, rng=make_generator(seed, count, "refit"), **options)
        return begun.state

    rng, earlier = make_generator(seed, len(log.history) + 1, "surface"), None
    with one_blas_thread():
        count = count_refit_labels(choices.refit, len(data.items))
        if 0 < count < len(data.items) and catalog.fact("surfaces", name, "CONTINUES"):
            # By the round that asked for them, or knew them first.
            known = log.item_status == LABELLED
            since = np.concatenate([log.round, log.supplied_round])[known]
            first = data.select(np.argsort(since, kind="stable")[:count])
            origin = [specified, seed, METHODS, first.compute_digest()]
            earlier = cache.compute_stored("surface", origin, lambda: fit_state(first, count))
        surface: Surface = method.fit(data, rng=rng, earlier=earlier, **options)
    return surface, data


def count_refit_labels(refit: str, labels: int) -> int:
    """Of so many labels, those that there were when a surface was last due to be fitted anew.

    A surface has no rounds of its own: it is due at every multiple of a number of labels, or at
    every power of two. It learns from nothing but labels, also where a surrogate never does.
    """
    if refit in (Refit.EVERY, Refit.NEVER):
        return labels
    if refit == Refit.DOUBLING:
        return 1 << (labels.bit_length() - 1) if labels else 0
    return labels - labels % int(refit)


def find_arms(cache: PoolView, attributes: tuple[str, ...], model: str = AUTO) -> Arms:
    """The combinations of these attributes that occur in the pool; found once.

    model  of attributes that are uncertain: items are spread over arms by it

    Raises ChoiceError where there are no attributes or they are none of the study's, PoolError for
    more arms than a surface can have, and as the model's fit does.
    """
    if not attributes:
        raise ChoiceError(
            "a surface is about combinations of attributes, and the study has none",
            "`attributes=[column, column]`",
        )
    for name in attributes:
        if name not in cache.group_names:
            raise ChoiceError(
                f"{name!r} is not an attribute of this study",
                f"`study.change(attributes={[name]})`",
            )
    key = ("arms", attributes, model)
    return cache.compute_once(key, lambda: _find_arms(cache, attributes, model))


def weigh_rows(allocation: ArmAllocation, rows: Rows, cache: PoolView, model: str = AUTO) -> Array:
    """(R,) weight that rows would have in a round with this allocation if they could be drawn.

    model is that of uncertain attributes in the round. Raises NotEstimable where its arms no longer
    exist.
    """
    if not {*allocation.attributes} <= {*cache.group_names}:
        raise _explain_lost_arms(allocation)
    arms = find_arms(cache, allocation.attributes, model)
    values = [{value: code for code, value in enumerate(each)} for each in arms.attributes.values]
    codes = np.array(
        [
            [known.get(value, -1) for known, value in zip(values, arm, strict=True)]
            for arm in allocation.arms
        ],
        np.int64,
    ).reshape(len(allocation.arms), len(values))
    if (codes < 0).any():
        raise _explain_lost_arms(allocation)
    places = arms.find(codes)
    if (places < 0).any():
        raise _explain_lost_arms(allocation)
    weight = np.zeros(len(arms))
    weight[places] = allocation.weight
    return np.asarray(arms.membership[rows.index] @ weight) + allocation.rest


def _explain_lost_arms(allocation: ArmAllocation) -> NotEstimable:
    names = list(allocation.attributes)
    return NotEstimable(
        f"rounds explored combinations of {', '.join(names)}, which are no longer the same",
        hint=f'`study.change(attributes={names!r})`, or use `interval="fixed"`',
    )


def describe_arms(cache: PoolView, choices: Choices) -> tuple[str, ...]:
    """A notice about the combinations that occur; none without attributes. Raises as find_arms."""
    if not choices.attributes:
        return ()
    own = choices.of(SurfaceChoices)
    arms = find_arms(cache, choices.attributes, own.attribute_model)
    enough = int((arms.support >= own.min_support).sum())
    notice = (
        f"combinations of attributes: {arms.attributes.count_combinations():,}, of which "
        f"{len(arms):,} occur and {enough:,} have at least {own.min_support:,} items"
    )
    if not enough:
        notice += ", as they need to be ranked: name fewer attributes, or lower `min_support`"
    return (*_describe_uncertain(cache, choices), notice)


def _describe_uncertain(cache: PoolView, choices: Choices) -> tuple[str, ...]:
    """A notice about the model of uncertain attributes; none where all are certain."""
    uncertain = list_uncertain(cache, choices.attributes)
    if not uncertain:
        return ()
    fitted = _fit_attributes(cache, choices.attributes, choices.of(SurfaceChoices).attribute_model)
    gold = int(fitted.data.gold.sum())
    notice = (
        f"uncertain attributes: {', '.join(uncertain)}, by the model {fitted.name}; "
        f"{gold:,} items have known values"
    )
    enough = catalog.fact("attribute_models", "full", "NEEDS_GOLD")
    if fitted.name == "raw" and gold < enough and uncertain != [LABEL]:
        notice += f", and {enough} are needed to calibrate their probabilities"
    return (notice,)


def find_codes(rows: Rows, cache: PoolView, attributes: tuple[str, ...]) -> Array:
    """(R, K) code of every attribute's value."""
    return rows.codes[:, [cache.group_names.index(name) for name in attributes]]


def _find_arms(cache: PoolView, attributes: tuple[str, ...], model: str) -> Arms:
    if list_uncertain(cache, attributes):
        arms = spread_items(_fit_attributes(cache, attributes, model))
    else:
        arms = Arms.of_items(*_read_codes(cache, attributes))
    if len(arms) > MOST_ARMS:
        raise PoolError(
            f"{len(arms):,} combinations of {', '.join(attributes)} occur, and a surface has at "
            f"most {MOST_ARMS:,}",
            "name fewer `attributes`, or cut them into fewer bins, as age[3]",
        )
    return arms


def _find_labelled_arms(cache: PoolView, choices: Choices, items: Array, labels: Array) -> Arms:
    """The arms where these items (n,) have these labels; they differ where one is an attribute."""
    names, model = choices.attributes, choices.of(SurfaceChoices).attribute_model
    arms = find_arms(cache, names, model)
    if LABEL not in list_uncertain(cache, names):
        return arms
    fitted = _fit_attributes(cache, names, model)
    return respread_labelled(arms, fitted, items, labels.astype(np.int32))


def _fit_attributes(cache: PoolView, attributes: tuple[str, ...], model: str) -> FittedAttributes:
    """Uncertain attributes, and their model; fitted once."""

    def fit() -> FittedAttributes:
        return fit_attributes(cache, *_read_codes(cache, attributes), model)

    return cache.compute_once(("attribute model", attributes, model), fit)


def _read_codes(cache: PoolView, attributes: tuple[str, ...]) -> tuple[Attributes, Array]:
    """The values of attributes, and (N, K) the code of each item's."""
    values = tuple(tuple(cache.group_values[cache.group_names.index(name)]) for name in attributes)
    named = Attributes(attributes, values)
    if named.count_combinations() > _MOST_COMBINATIONS:
        raise PoolError(
            f"{len(attributes)} attributes have more combinations than can be numbered",
            "name fewer `attributes`, or bands of them",
        )

    def read_piece(piece: tuple[int, int]) -> list[Array]:
        return [find_codes(cache.rows(*piece), cache, attributes)]

    return named, np.concatenate(map_reduce(cache.chunks(), read_piece, lambda a, b: a + b))


def _read_outputs(cache: PoolView) -> tuple[Array, Array | None]:
    """(N,) int32 codes of the predicted classes, and (N,) float32 their probabilities, if any."""

    def read_piece(piece: tuple[int, int]) -> list[tuple[Array, Array | None]]:
        outputs = cache.rows(*piece).outputs
        confidence = None if outputs.probs is None else outputs.confidence.astype(np.float32)
        return [(outputs.pred.astype(np.int32), confidence)]

    def read() -> tuple[Array, Array | None]:
        predicted, confidence = zip(
            *map_reduce(cache.chunks(), read_piece, lambda a, b: a + b), strict=True
        )
        return np.concatenate(predicted), (
            None if confidence[0] is None else np.concatenate(confidence)
        )

    return cache.compute_once("outputs of a surface", read)


def _observe(metric: Metric, rows: Rows, labels: Array) -> Array:
    """(n,) the metric of each item alone."""
    if not len(labels):
        return np.empty(0)
    values = observe_statistics(rows, labels, metric.statistics)
    return np.clip(np.asarray(metric.smooth(values), float), 0, 1)


def _count_doubtful(log: Log, labels: Array, known: Array) -> float:
    """How many of the labels (n,) are wrong by the probabilities that annotators give classes."""
    if (soft := log.item_soft) is None:
        return 0.0
    soft = soft[known]
    # The rest to 1 is outside of the classes.
    soft = np.column_stack([soft, 1 - soft.sum(axis=1)])
    return float(np.clip(1 - soft[np.arange(len(labels)), labels.astype(int)], 0, 1).sum())


def _is_nested(allocation: Allocation | ArmAllocation, certain: Set[str], cache: PoolView) -> bool:
    """Whether an allocation weighted all items of an arm alike.

    certain are the attributes that are known of every item: of others one may be in several arms.
    """
    if isinstance(allocation, ArmAllocation):
        nested = {*allocation.attributes} <= certain and allocation.certain
    else:
        nested = {*columns_of(allocation.group)} <= certain and not allocation.strata
    return nested and keeps_cells(allocation, cache)


def _count_labels(arms: Arms, items: Array, certain: Array, weights: Array) -> Array:
    """(n,) how many labels each counts as: 1, or its share of its arm's effective number."""
    inside = arms.membership[items]
    total, squares = (inside.T @ each for each in (weights, weights**2))
    value = np.divide(total, squares, out=np.zeros_like(total), where=squares > 0)
    return np.where(certain, 1.0, weights * (inside @ value))
