"""activetest report: every estimate with its interval, and what to know before believing it."""

import numpy as np

from activetest import assess, catalog, samples
from activetest.errors import NotEstimable
from activetest.evidence import DECLINED, LABELLED, Log
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.metrics._losses import LOG_LOSS_FLOOR
from activetest.metrics._metric import Metric
from activetest.report import Line, Report
from activetest.study import Study
from activetest.workflow.status import status

# The first is the headline. The second is the surrogate's own view.
HEADLINE, OWN_VIEW = "doubly-robust", "ase"
_FEW_RARE, _HEAVY = 5, 0.25


def report(study: Study, *, estimators: tuple[str, ...] = (HEADLINE, OWN_VIEW)) -> Report:
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
    if OWN_VIEW in estimators and _labels(evidence.log):
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
    used = (
        _labels(evidence.log) if estimator == OWN_VIEW else int(_labelled_inside(evidence, sample))
    )
    common = {
        "metric": name,
        "estimator": estimator,
        "level": level,
        "n_labeled": used,
        "n_pool": group.size,
        "group": None if whole else dict([group.name.split("=", 1)]),
        "headline": whole and name == study.choices.metric and estimator == HEADLINE,
    }
    nothing = {"estimate": None, "lower": None, "upper": None, "method": "none"}
    if estimator == OWN_VIEW and imputation is not None:
        sample = assess.told(sample, metric, imputation)
    try:
        made = assess.estimate(sample, estimator)
    except NotEstimable as reason:
        return Line(**common, **nothing, reason=reason.problem)
    if not whole and used < NEEDS_INSIDE and not made.exact:
        return Line(**common, **nothing, reason=f"not enough labels ({used} of {NEEDS_INSIDE})")
    interval = assess.interval(metric, made, level, group=not whole)
    mean = np.clip(made.mean, *made.limits)
    n_eff = saved = None
    if estimator != OWN_VIEW and not made.exact and interval.variance > 0:
        one = assess.one_draw(sample, made, metric)
        n_eff = one / (interval.variance + one / group.size)
        saved = n_eff / used if used and one > 0 else None
    shares = (
        sample.weights * (1 / sample.probs) / max(group.size, 1)
        if whole and len(sample.probs)
        else None
    )
    return Line(
        **common,
        estimate=metric.smooth(mean),
        lower=interval.lower,
        upper=interval.upper,
        method=interval.method,
        n_eff=n_eff if n_eff else None,
        labels_saved=saved,
        max_weight_share=None if shares is None else float(shares.max() / shares.sum()),
    )


def _labels(log: Log) -> int:
    """All labels that are known, drawn or brought."""
    return int((log.status == LABELLED).sum() + (log.brought_status == LABELLED).sum())


def _labelled_inside(evidence: samples.Evidence, sample) -> float:
    """Labelled draws that the estimate uses and that are in its group."""
    return ((evidence.log.status[: evidence.used] == LABELLED) * sample.inside).sum()


def _notes(evidence: samples.Evidence, lines: list[Line], metric: str) -> list[str]:
    """What to know before believing a number, in plain sentences."""
    log, used = evidence.log, evidence.used
    notes = []
    waiting = int((log.status[used:] == LABELLED).sum())
    if waiting:
        notes.append(
            f"{waiting} labels of unfinished rounds teach the surrogate but do not enter the "
            "estimates yet: estimates use whole rounds up to the first that is not fully answered."
        )
    if used and not evidence.whole:
        notes.append(
            "The first round is not complete: the interval holds only if the order of labelling "
            "did not depend on the labels."
        )
    brought = int((log.brought_status == LABELLED).sum())
    if brought:
        notes.append(
            f"{brought} labels were brought by you, not drawn. The estimates stay unbiased, but if "
            "you stop because of what they showed, a fixed interval is too narrow."
        )
    declined = int((log.status == DECLINED).sum() + (log.brought_status == DECLINED).sum())
    if declined:
        notes.append(
            f"{declined} items were declined: every estimate is about the items that can be "
            "answered."
        )
    headline = next((line for line in lines if line.headline), None)
    if headline is not None and headline.estimate is not None and headline.method != "exact":
        notes += _doubts(evidence, headline, metric)
    notes += _disagreements(lines)
    if any(line.metric == "log-loss" for line in lines):
        notes.append(
            f"Log-loss is in nats; probabilities below {LOG_LOSS_FLOOR:g} count as "
            f"{LOG_LOSS_FLOOR:g}."
        )
    return notes


def _doubts(evidence: samples.Evidence, line: Line, metric: str) -> list[str]:
    """Reasons to trust the headline's interval, or the way its labels were drawn, a little less."""
    notes = []
    tally = samples.sample(evidence, catalog.load("metrics", metric).metric()).tally[0]
    if line.method == "korn-graubard" and tally < _FEW_RARE:
        notes.append(
            f"Only {tally} labels of the rarer kind so far: the width of the interval rests on the "
            "surrogate."
        )
    if line.labels_saved is not None and line.labels_saved < 1:
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
