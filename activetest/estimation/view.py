"""The view of a log: every value and interval of its metrics, from evidence collected once."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.errors import NotEstimable, PoolChanged, StudyError
from activetest.estimation import estimate, samples
from activetest.estimation.anytime import (
    Bets,
    bet_on_metric,
    reopen_declined,
)
from activetest.estimation.assumptions import Assumed, Assumption, assume, bears_on
from activetest.estimation.beliefs import add_beliefs, check_passes, is_model_based
from activetest.estimation.certain import find_certainty
from activetest.estimation.corrections import Correction
from activetest.estimation.evidence import Evidence, Group, list_groups
from activetest.estimation.missing import (
    Filled,
    bound_with_declined,
    can_fill,
    estimate_with_missing,
    fill_missing,
)
from activetest.estimation.population import Population, generalise_difference, generalise_value
from activetest.estimation.raw import add_raw, add_raw_to_value, give_shares, negate
from activetest.estimation.strata import join_values
from activetest.estimation.value import Value
from activetest.item_statistics.metric import Metric, forget_map
from activetest.nouns.choices import Augmentation, Choices, Selection
from activetest.nouns.estimate import Sample
from activetest.nouns.log import PENDING, Log, Round, truncate_log
from activetest.nouns.name_lists import join_names
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import is_above
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import OF_FITS, get_surrogate, list_labelled, restore_surrogate
from activetest.rounds.objectives import expand_beliefs
from activetest.rounds.part_pool import cut_log, list_part_pools

FIXED, ANYTIME, POSTERIOR = INTERVALS = ("fixed", "anytime", "posterior")
# A kind of gates: the intervals beside them are fixed ones.
SEQUENTIAL = "sequential"
# Draws that an estimate needs at least.
_FEWEST_DRAWN = 2
# The model-based estimators that reports show unless the user names others: see find_own_view.
_OF_BELIEFS, _OF_PASSES = "ase", "alt-mas"


@dataclass(frozen=True)
class View:
    """A log, seen by the choices of a study.

    evidence     collected for the metrics
    own_view     whether the surrogate's beliefs about the rest of the pool are to be had
    metrics      {title: the metric}, curves linearised around what is known of the whole pool, and
                 those that are a raw value minus another metric without the raw value
    population   what the pool is a sample of, where values are about that; None for the pool itself
    assumptions  what fixed intervals of the whole pool rest on where they can
    parts        the views of the parts of the population, where there are several: estimates from
                 draws are joined from theirs
    """

    log: Log
    cache: PoolView
    choices: Choices
    seed: int
    evidence: Evidence
    own_view: bool
    metrics: dict[str, Metric]
    population: Population | None = None
    assumptions: tuple[Assumption, ...] = ()
    parts: tuple["View", ...] = ()

    def value(
        self,
        metric: Metric,
        estimator: str,
        group: Group | None = None,
        *,
        kind: str = FIXED,
        alike: bool = False,
        of_means: bool = False,
    ) -> Value:
        """The metric by the named estimator. Raises NotEstimable, with the reason.

        Where answers are missing they are filled, unless the kind of interval needs whole rounds.
        alike uses the draws that serve the whole pool best, for groups that are compared. of_means
        says that its means are what matters, also where the metric of them is undefined.
        """
        group = group or self.evidence.groups[0]
        if self.parts and not is_model_based(estimator):
            return self._join_parts(metric, estimator, group, kind=kind, alike=alike)
        refined, evidence, own = (
            self.metrics[metric.title],
            self.evidence,
            is_model_based(estimator),
        )
        fixed = kind != ANYTIME and not own
        assumptions = self.find_assumptions(metric, group) if fixed else ()
        filled = self.fill_missing(metric, group, alike=alike) if fixed else None
        if assumptions:
            value = self._assume(assumptions).estimate(refined, estimator)
        elif filled is not None and can_fill(estimator):
            evidence = filled.evidence
            value = estimate_with_missing(filled.of_group(group), estimator)
        else:
            if metric.refine and group.column is not None:
                # A curve has another shape in every group; no round can have predicted it.
                refined = linearise_curve(metric, self.log, self.cache, group)
                evidence = samples.collect_evidence(
                    *(self.log, self.cache, self.choices, [refined]),
                    seed=self.seed,
                    predict_again=False,
                )
            sample = self._build_sample(evidence, refined, group)
            if own:
                sample = self._add_beliefs(sample, metric, refined, group, estimator)
            elif sample.unknown and len(sample.q) < _FEWEST_DRAWN:
                self._refuse_few_draws(refined, len(sample.q))
            found = forget_map(refined) if of_means else refined
            value = estimate.estimate_metric(sample, found, estimator)
        if self.counts_declined and not own:
            same = filled is not None and evidence is filled.evidence
            worst = bound_with_declined(
                *(self.evidence if same else evidence, refined if of_means else value.metric),
                *(group, estimator),
                until=filled.until if filled is not None and same else 0,
                always=alike,
            )
            value = replace(value, declined=worst)
        if self.population is None:
            return add_raw_to_value(value, self.cache, group)
        return generalise_value(value, evidence, group, self.population)

    def _join_parts(
        self, metric: Metric, estimator: str, group: Group, *, kind: str, alike: bool
    ) -> Value:
        """The metric over all parts, from its value in each that has items of the group."""
        refined = self.metrics[metric.title]
        if metric.refine:
            raise NotEstimable(
                f"{metric.title} is the area under one curve, and parts have curves of their own",
                '`study.report(part="NAME")` is about one',
            )
        values = []
        for part, own in self.list_parts(group):
            try:
                about = metric, estimator, own
                values.append(part.value(*about, kind=kind, alike=alike, of_means=True))
            except NotEstimable as error:
                problem = f"in part {''.join(part.cache.part_names)}: {error.problem}"
                raise NotEstimable(problem, error.hint) from error
        whole = self._build_sample(self.evidence, refined, group)
        return add_raw_to_value(join_values(values, whole, refined), self.cache, group)

    def list_parts(self, group: Group) -> list[tuple["View", Group]]:
        """The views of the parts that have items of a group, and what the group is in each."""
        place = self.evidence.find_place(group)
        found = [(each, each.evidence.groups[place]) for each in self.parts]
        return [(view, own) for view, own in found if own.total]

    @property
    def counts_declined(self) -> bool:
        """Whether items were declined that count, at the worst they could be."""
        return self.evidence.counts_declined

    def find_assumptions(self, metric: Metric, group: Group) -> tuple[Assumption, ...]:
        """The assumptions that a fixed interval of a metric rests on: those of the whole pool's."""
        refined = self.metrics.get(metric.title, metric)
        sets = [self.assumptions, *((each,) for each in self.assumptions)]
        bearing = (each for each in sets if bears_on(each, refined, self.evidence))
        return next(bearing, ()) if group.column is None else ()

    def _assume(self, given: tuple[Assumption, ...]) -> Assumed:
        """The assumptions in force, for all metrics that they bear on."""
        known = [each for each in self.metrics.values() if bears_on(given, each, self.evidence)]
        about = given, self.evidence, self.choices, known
        return self.evidence.compute_once(("assumed", given), lambda: assume(*about))

    def _build_sample(self, evidence: Evidence, metric: Metric, group: Group) -> Sample:
        """The sample of a metric in a group, built once: metrics of the same mean share it."""
        shared = len(metric.statistics) == 1 and find_certainty(evidence, metric) is None
        key = "sample", metric.statistics if shared else metric.title, group.name
        return evidence.compute_once(key, lambda: samples.build_sample(evidence, metric, group))

    def _add_beliefs(
        self, sample: Sample, metric: Metric, refined: Metric, group: Group, estimator: str
    ) -> Sample:
        """The sample with what a model-based estimator needs. Raises NotEstimable."""
        if group.column is not None or not self.own_view:
            raise NotEstimable("the surrogate's own view was not computed", "`study.report()`")
        check_passes(metric, estimator, self.cache)
        about = sample, refined, estimator, self.evidence
        return sample.compute_once(("beliefs", estimator), lambda: add_beliefs(*about))

    def difference(
        self,
        first: Value,
        second: Value,
        groups: tuple[Group, Group],
        level: float,
        *,
        decides: bool = False,
    ) -> Quantity:
        """The metric in the first of two groups minus that in the second, with its interval.

        decides as in estimate.build_interval.
        """
        if self.population is None:
            return estimate.estimate_difference(first, second, level, decides=decides)
        evidence = self.evidence_of(first.metric, groups[0], alike=True)
        return generalise_difference(
            first, second, groups, evidence, self.population, level, decides=decides
        )

    def fill_missing(
        self, metric: Metric, group: Group | None = None, *, alike: bool = False
    ) -> Filled | None:
        """The evidence with missing answers filled; None where whole rounds are used: see value."""
        decides = self.evidence.groups[0] if alike or group is None else group
        if not alike and self.find_assumptions(metric, decides):
            return None
        about = self.evidence, self.metrics[metric.title], decides, self.choices.level
        key = "filled", metric.title, decides.name
        return self.evidence.compute_once(key, lambda: fill_missing(*about))

    def evidence_of(self, metric: Metric, group: Group, *, alike: bool = False) -> Evidence:
        """The evidence behind the fixed interval of a metric in a group: see value."""
        filled = self.fill_missing(metric, group, alike=alike)
        return self.evidence if filled is None else filled.evidence

    def _refuse_few_draws(self, metric: Metric, drawn: int) -> None:
        """Raise NotEstimable where items or labels exist, but not of draws that estimates use."""
        log = self.log
        if len(self.evidence.steps) > drawn:
            last = next(each for each in log.history[::-1] if each.left_out)
            if last.among:
                raise NotEstimable(
                    f"items were drawn on which {join_names(last.among)} differ, and "
                    f"{metric.title} needs others, too",
                    "`study.change(floor=0.1)` draws them from now on, and estimates follow",
                )
            names = [last.choices["metric"], *last.choices.get("also", ())]
            raise NotEstimable(
                f"items were drawn for {join_names(names)} alone "
                f"(`study.change(metric={[*names, metric.title]!r})` draws others, too), and those "
                f"that cannot change it but can change {metric.title} were left out",
                "estimates follow once items were drawn for it",
            )
        own_view = find_own_view(self.choices)
        if log.deterministic.any() and any(map(lacked_floor, log.history)):
            raise NotEstimable(
                "items were drawn with some selection probabilities equal to 0, and an estimate "
                f"needs at least 2 that were drawn with known probabilities ({drawn} so far)",
                f"read the groups or {own_view}, or give every item a chance: "
                "`study.change(floor=0.1)`",
            )
        if log.deterministic.any():
            raise NotEstimable(
                "items were chosen by the largest score, and an estimate needs at least 2 that "
                f"were drawn at random ({drawn} so far)",
                f'read {own_view}, or draw: `study.change(selection="draw")`',
            )
        if reason := samples.describe_unfinished(self.evidence):
            raise NotEstimable(reason, "`study.next(10)`")

    def interval(
        self,
        value: Value,
        level: float,
        kind: str = FIXED,
        group: Group | None = None,
        *,
        decides: bool = False,
    ) -> Quantity:
        """A value with its interval, of one of INTERVALS; decides as in estimate.build_interval.

        Raises NotEstimable, with the reason.
        """
        group = group or self.evidence.groups[0]
        if kind == ANYTIME and value.estimate.draws is None:
            found = self.confidence_sequence(value.metric, level, group)
            return replace(found, estimate=value.value)
        return estimate.build_interval(
            value, level, group=group.column is not None, decides=decides
        )

    def confidence_sequence(
        self, metric: Metric, level: float, group: Group | None = None
    ) -> Quantity:
        """The metric's anytime-valid interval; it needs no estimate. Raises NotEstimable."""
        group = group or self.evidence.groups[0]
        low, high = limits = self.possible_range(metric, group)
        if not is_above(high, low):
            return Quantity(None, low, high, level, "exact", variance=0.0)
        if self.parts:
            return self._join_sequences(metric, level, group)
        bets, _ = self.bet_on_metric(metric, group, low, limits)
        return bets.interval(level, limits)

    def _join_sequences(self, metric: Metric, level: float, group: Group) -> Quantity:
        """The confidence sequence over all parts: the sum of theirs, which share the error."""
        found = self.list_parts(group)
        if metric.refine or len(metric.statistics) > 1 or self.log.declined:
            raise NotEstimable(
                f"{metric.title} over several parts has no interval that is valid at every look",
                '`interval="fixed"`, or `part="NAME"` for one part',
            )
        own = 1 - (1 - level) / len(found)
        sizes = np.array([each.total for _, each in found])
        ends = [part.confidence_sequence(metric, own, each).find_ends() for part, each in found]
        low, high = (sizes / sizes.sum() @ np.array(ends)).tolist()
        return Quantity(None, low, high, level, "betting")

    def bet_on_metric(
        self,
        metric: Metric,
        group: Group,
        threshold: float,
        limits: tuple[float, float] | None = None,
    ) -> tuple[Bets, tuple[float, float]]:
        """The bets on the metric, also on it being at least a threshold, within limits.

        These are its possible range now, unless others are given. Raises NotEstimable.
        """
        limits = limits or self.possible_range(metric, group)
        within = self._in_group(metric, group)
        return bet_on_metric(self.evidence, within, group, limits, threshold), limits

    def possible_range(self, metric: Metric, group: Group) -> tuple[float, float]:
        """The range of the metric that what is known leaves possible."""
        within, evidence = self._in_group(metric, group), self.evidence
        if self.counts_declined:
            # Declined items that count could have any label.
            evidence = evidence.compute_once(
                "open", lambda: reopen_declined(self.evidence, PENDING)
            )
        return find_possible_range(samples.build_sample(evidence, within, group), within)

    def _in_group(self, metric: Metric, group: Group) -> Metric:
        """The metric in a group, with what is known there: a raw value, shares of predictions."""
        found = self.metrics.get(metric.title, metric)
        if metric.against is not None:
            return add_raw(found, self.cache, group)
        if metric.given_shares is not None:
            return give_shares(found, self.cache, group)
        return metric

    def as_of(
        self,
        number: int,
        metrics: Sequence[Metric],
        *,
        supplied: int,
        surrogate: Surrogate | None = None,
    ) -> "View":
        """The view of these metrics once round `number` was labelled, and nothing after it.

        supplied   number of the round that knew the labels that were supplied by then
        surrogate  one of that time, for fixed intervals; that of now unless given, for values and
                   bets follow from what rounds recorded
        """
        # A curve was linear around other labels then: what is predicted of it now is of no use.
        log = self.log if any(each.refine for each in metrics) else self.evidence.log
        return build_view(
            truncate_log(log, number, supplied=supplied),
            self.cache,
            self.choices,
            metrics,
            seed=self.seed,
            own_view=False,
            surrogate=surrogate or self.evidence.surrogate,
            population=self.population,
            assumptions=self.assumptions,
        )

    def at_end_of(self, number: int, metrics: Sequence[Metric]) -> "View":
        """The view of these metrics at the end of round `number`, the same ever after.

        It rests on what was known then and on the choices of that round, and on no later one: on
        the labels that the round knew of items that were not drawn, and on a surrogate that knew
        these labels alone.
        """
        then = truncate_log(self.log, number, supplied=number)
        surrogate = self._restore_following(then)
        if surrogate is None:
            of_round = Choices.from_record(then.history[-1].choices)
            kept = {name: getattr(of_round, name) for name in OF_FITS}
            choices = replace(self.choices, **kept)
            surrogate = get_surrogate(then, self.cache, choices, seed=self.seed)
        return self.as_of(number, metrics, supplied=number, surrogate=surrogate)

    def _restore_following(self, then: Log) -> Surrogate | None:
        """The surrogate of the next round, if it knew what was known then and no more, else None.

        It costs no fit, and is what it was, also where another version would fit another one.
        """
        last = then.history[-1]
        following = next(
            (each for each in self.log.history if each.number == last.number + 1), None
        )
        if following is None or not following.objectives:
            return None
        knew = following.fit_round == following.number, following.fit_labels
        same = all(following.choices.get(name) == last.choices.get(name) for name in OF_FITS)
        supplied = (self.log.supplied_round == following.number).any()
        if knew != (True, len(list_labelled(then)[0])) or not same or supplied:
            return None
        with suppress(PoolChanged, StudyError):
            return restore_surrogate(following, self.cache)
        return None


def lacked_floor(record: Round) -> bool:
    """Whether a round drew between groups, and gave some items no chance for want of a floor."""
    top = record.choices.get("selection") == Selection.TOP
    return record.deterministic and record.allocation is not None and not top


def find_own_view(choices: Choices) -> str:
    """The model-based estimator that reports show unless the user names others.

    ase, but for studies that follow ALT-MAS: those whose items are chosen by what they say about
    its estimate, or whose network is trained as it trains it.
    """
    trained = (catalog.bare_name(choices.surrogate), choices.augment) == (
        "mc-dropout",
        Augmentation.AGREEMENT,
    )
    return _OF_PASSES if trained or choices.acquisition == "metric-information" else _OF_BELIEFS


def find_possible_range(sample: Sample, metric: Metric) -> tuple[float, float]:
    """The range of the metric that what is known leaves possible."""
    count = len(metric.statistics)
    if count and sample.unknown == 0:
        answered = sample.total[count:].sum() if len(sample.total) > count else sample.size
        exact = float(metric.smooth(sample.total[:count] / answered)) if answered else np.nan
        if np.isfinite(exact):
            return exact, exact
    if count != 1:
        return sample.possible or (metric.lower, metric.upper)
    ends = [float(metric.smooth(end[:1])) for end in sample.limits]
    return min(ends), max(ends)


def build_view(
    log: Log,
    cache: PoolView,
    choices: Choices,
    metrics: Sequence[Metric],
    *,
    seed: int,
    own_view: bool,
    surrogate: Surrogate | None = None,
    population: Population | None = None,
    assumptions: tuple[Assumption, ...] = (),
    correction: Correction | None = None,
    known: bool | None = None,
) -> View:
    """The view of these metrics; own_view allows for estimates that rest on the surrogate alone.

    surrogate is what rounds.fit.get_surrogate gives, where that is at hand. population is what
    values are about, where that is not this pool. assumptions are those that are in force.
    correction as in samples.collect_evidence. known says whether the raw value of what metrics are
    about is known; None finds it.
    """
    several = len(cache.part_ends) > 1
    # The raw value of the pool is that of no other items, and of no part of them.
    known = (population is None and not log.declined) if known is None else known
    refined = {metric.title: _refine(metric, log, cache, known=known) for metric in metrics}
    # Bets are about other statistics than estimates where shares of predictions are known.
    shared = [each for each in refined.values() if each.given_shares is not None]
    about = [give_shares(each, cache, list_groups(cache)[0]) for each in shared]
    evidence = samples.collect_evidence(
        log,
        cache,
        choices,
        [*refined.values(), *about],
        seed=seed,
        predict_again=not several,
        surrogate=surrogate,
        correction=correction,
    )
    parts = [
        build_view(
            *(cut_log(log, pool), pool, choices, metrics),
            seed=seed,
            own_view=False,
            surrogate=evidence.surrogate,
            known=known,
        )
        for pool in (list_part_pools(cache) if several else ())
    ]
    return View(
        *(log, cache, choices, seed, evidence, own_view, refined),
        population=population,
        assumptions=assumptions,
        parts=tuple(parts),
    )


def _refine(metric: Metric, log: Log, cache: PoolView, *, known: bool) -> Metric:
    """The metric as it is estimated: a curve by its linear form, a difference by its labels.

    known says whether what the outputs make of a metric of labels is known.
    """
    if metric.refine:
        return linearise_curve(metric, log, cache)
    if metric.against is not None and known:
        return negate(metric)
    return metric if known else replace(metric, against=None, given_shares=None)


def linearise_curve(
    metric: Metric, log: Log, cache: PoolView, group: Group | None = None
) -> Metric:
    """A curve's metric as one mean, linear around what the labels say.

    Where all items were deterministic, or draws left some out, their labels say nothing about the
    pool: then around what the surrogate of the last round believes.
    """
    if metric.refine is None:
        raise ValueError(f"{metric.title} is no area under a curve")
    drawn, supplied = cache.take(log.rows), cache.take(log.supplied_rows)
    whole = list_groups(cache)[0]
    rows, labels, weights = samples.known_weights(log, whole.items, group or whole, drawn, supplied)
    if log.given is not None:
        correction = samples.correct_log(log, cache, whole, drawn, supplied, seed=0)
        if (raters := correction.raters) is not None:
            codes = np.where(correction.codes < len(cache.classes), correction.codes, -1)
            labels = np.tile(codes.astype(float), len(rows))
            weights = (weights[:, None] * raters.posterior).ravel()
            rows = np.repeat(rows, len(codes))
    if group is None and not weights.any() and (log.left_out or log.deterministic.any()):
        refined = metric.refine(*expand_beliefs(cache, restore_surrogate(log.history[-1], cache)))
    else:
        refined = metric.refine(cache.take(rows).outputs, labels, weights)
    statistics = tuple(replace(each, name=metric.title) for each in refined.statistics)
    return replace(refined, statistics=statistics)
