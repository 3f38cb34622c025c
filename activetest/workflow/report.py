"""activetest report: every estimate with its interval, and what to know before believing it."""

import numpy as np

from activetest import assess, catalog, samples
from activetest.errors import NotEstimable
from activetest.evidence import DECLINED, LABELLED, Sample
from activetest.intervals._rare import RARE
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.metrics._losses import LOG_LOSS_FLOOR
from activetest.metrics._metric import Metric
from activetest.report import Line, Report
from activetest.study import Study
from activetest.workflow.status import status

# The first is the headline. The second is the surrogate's own view.
HEADLINE, OWN_VIEW = BOTH_VIEWS = ("doubly-robust", "ase")
_FEW_RARE, _HEAVY = 5, 0.25


def report(study: Study, *, estimators: tuple[str, ...] = BOTH_VIEWS) -> Report:
    """Everything that is known about the model now. Computes, and changes nothing.

    Raises UnknownMethod for an estimator that does not exist; an estimate that does not exist is a
    line with a reason.
    """
    for name in estimators:
        catalog.load("estimators", name)
    cache = study.cache()
    log = study.log(cache)
    evidence = samples.gather(log, cache)
    overall = _overall(study, cache, evidence, estimators)
    grouped = [
        _line(study, evidence, group, study.choices.metric, HEADLINE)
        for group in evidence.groups[1:]
    ]
    counts, _ = status(study)
    choices = study.choices
    return Report(
        pool=study.pool["uri"],
        fingerprint=cache.fingerprint,
        seed=study.seed,
        metric=choices.metric,
        surrogate=choices.surrogate,
        acquisition=choices.acquisition,
        floor=choices.floor,
        counts=counts,
        estimates=tuple(overall + grouped),
        notes=tuple(_notes(evidence, overall, choices.metric)),
    )


def _overall(
    study: Study, cache, evidence: samples.Evidence, estimators: tuple[str, ...]
) -> list[Line]:
    """A line for every metric and estimator, the main metric first."""
    imputation = None
    if OWN_VIEW in estimators and _known_inside(evidence, evidence.groups[0]):
        imputation = assess.impute(evidence.log, cache, study.choices, seed=study.seed)
    metrics = [
        study.choices.metric,
        *(name for name in study.choices.metrics if name != study.choices.metric),
    ]
    whole = evidence.groups[0]
    return [
        _line(study, evidence, whole, metric, estimator, imputation)
        for metric in metrics
        for estimator in estimators
    ]


def _line(
    study: Study, evidence, group: samples.Group, name: str, estimator: str, imputation=None
) -> Line:
    """One estimate, or the reason why there is none."""
    metric: Metric = catalog.load("metrics", name).metric()
    sample = samples.sample(evidence, metric, group)
    level = study.choices.level
    whole = group.column is None
    inside = _known_inside(evidence, group)
    used = inside if estimator == OWN_VIEW else int(_labelled_inside(evidence, sample))
    common = {
        "metric": name,
        "estimator": estimator,
        "level": level,
        "n_labeled": used,
        "n_pool": group.size,
        "group": group.meaning,
        "headline": whole and name == study.choices.metric and estimator == HEADLINE,
    }
    nothing = {"estimate": None, "lower": None, "upper": None, "method": "none"}
    if estimator == OWN_VIEW and imputation is not None:
        sample = assess.told(sample, metric, imputation)
    try:
        made = assess.estimate(sample, estimator)
    except NotEstimable as reason:
        return Line(**common, **nothing, reason=reason.problem)
    if made.exact:
        common["n_labeled"] = inside
    if not whole and used < NEEDS_INSIDE and not made.exact:
        return Line(**common, **nothing, reason=f"not enough labels ({used} of {NEEDS_INSIDE})")
    interval = assess.interval(metric, made, level, group=not whole)
    mean = np.clip(made.mean, *made.limits)
    n_eff = saved = None
    if estimator != OWN_VIEW and not made.exact and interval.variance > 0:
        one = assess.one_draw(sample, made, metric)
        worth = one / (interval.variance + one / group.size)
        if worth >= 1:
            # Below, one draw hardly varies, as with a constant loss: the ratio would be noise.
            n_eff, saved = worth, worth / used
    return Line(
        **common,
        estimate=metric.smooth(mean),
        lower=interval.lower,
        upper=interval.upper,
        method=interval.method,
        n_eff=n_eff,
        labels_saved=saved,
        max_weight_share=_heaviest(sample) if whole and estimator != OWN_VIEW else None,
        held_up=interval.variance > made.variance[0, 0] * (1 + 1e-9),
    )


def _heaviest(sample: Sample) -> float:
    """Share of the draw that weighs most, among the weights of all draws."""
    weights = sample.weights / sample.probs
    return float(weights.max() / weights.sum())


def _known_inside(evidence: samples.Evidence, group: samples.Group) -> int:
    """All labels that are known in a group."""
    drawn = group.holds(evidence.codes)[evidence.log.status == LABELLED]
    brought = group.holds(evidence.brought_codes)[evidence.log.brought_status == LABELLED]
    return int(drawn.sum() + brought.sum())


def _labelled_inside(evidence: samples.Evidence, sample: Sample) -> float:
    """Labelled draws that the estimate uses and that are in its group."""
    return ((evidence.log.status[: evidence.used] == LABELLED) * sample.inside).sum()


def _notes(evidence: samples.Evidence, lines: list[Line], metric: str) -> list[str]:
    """What to know before believing a number, in plain sentences."""
    log, used = evidence.log, evidence.used
    notes = []
    waiting = int((log.status[used:] == LABELLED).sum())
    if waiting:
        notes.append(
            f"Labels of unfinished rounds: {waiting}. They teach the surrogate but do not enter "
            "the estimates yet, which use whole rounds up to the first that is not fully answered."
        )
    if used and not evidence.whole:
        notes.append(
            "The first round is not complete: the interval holds only if the order of labelling "
            "did not depend on the labels."
        )
    brought = int((log.brought_status == LABELLED).sum())
    headline = next((line for line in lines if line.headline), None)
    open_ended = headline is not None and headline.method != "exact"
    if brought and open_ended:
        notes.append(
            f"Labels brought by you, not drawn: {brought}. The estimates stay unbiased, but if you "
            "stop because of what they showed, a fixed interval is too narrow."
        )
    declined = int((log.status == DECLINED).sum() + (log.brought_status == DECLINED).sum())
    if declined:
        notes.append(
            f"Items declined: {declined}. Every estimate is about the items that can be answered."
        )
    tally = samples.sample(evidence, catalog.load("metrics", metric).metric()).tally
    if open_ended and headline.estimate is not None:
        notes += _doubts(headline, tally)
        notes += _too_early(lines, tally)
    notes += _disagreements(lines)
    if any(line.metric == "log-loss" for line in lines):
        notes.append(
            f"Log-loss is in nats; probabilities below {LOG_LOSS_FLOOR:g} count as "
            f"{LOG_LOSS_FLOOR:g}."
        )
    return notes


def _too_early(lines: list[Line], tally: int) -> list[str]:
    """Metrics without a bound on the loss whose interval cannot hold yet.

    The few errors that were seen may be cheap ones, and no draw can tell what the others cost.
    """
    early = dict.fromkeys(line.metric for line in lines if line.method == "shrunk-t")
    if tally >= RARE or not early:
        return []
    return [
        f"Do not trust the intervals of {', '.join(early)} yet: {tally} labels of the rarer kind, "
        f"right or wrong, of the {RARE} they need. One mistake not met yet may cost more than all."
    ]


def _doubts(line: Line, tally: int) -> list[str]:
    """Reasons to trust the headline's interval, or the way its labels were drawn, a little less."""
    notes = []
    if line.method == "korn-graubard" and tally < _FEW_RARE:
        notes.append(
            f"Few labels of the rarer kind so far ({tally}): the interval is as wide as random "
            "draws or the surrogate make it, whichever is wider."
        )
    if tally >= RARE and line.labels_saved is not None and line.labels_saved < 1:
        notes.append(
            f"So far active draws brought nothing: {line.n_labeled} of them are worth "
            f"{line.n_eff:.0f} random ones. This can change with more labels; "
            "activetest init POOL --floor 1 draws at random."
        )
    if line.max_weight_share is not None and line.max_weight_share > _HEAVY:
        notes.append(
            f"One draw carries {line.max_weight_share:.0%} of the weight: the estimate may still "
            "jump. A higher --floor prevents this."
        )
    return notes


def _disagreements(lines: list[Line]) -> list[str]:
    """Metrics whose model-based view lies outside the interval that does not need the model."""
    views = {(line.metric, line.estimator): line for line in lines if line.estimate is not None}
    apart = []
    for (metric, estimator), line in views.items():
        own = views.get((metric, OWN_VIEW))
        if (
            estimator == HEADLINE
            and own is not None
            and not line.lower <= own.estimate <= line.upper
        ):
            apart.append(f"{metric} ({own.estimate:.3g})")
    if not apart:
        return []
    return [
        f"The surrogate's own view (ase) lies outside the interval for {', '.join(apart)}: "
        "it has not learned this pool. Believe the doubly robust estimate."
    ]
