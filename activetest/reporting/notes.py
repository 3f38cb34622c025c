"""What to know before believing a number, in plain sentences."""

from collections.abc import Sequence

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.planning import half_width_labels
from activetest.estimation.view import FIXED, OWN_VIEW, POSTERIOR, View
from activetest.item_statistics.losses import LOG_LOSS_FLOOR
from activetest.item_statistics.metric import Metric
from activetest.labels import annotators
from activetest.nouns.estimate import RARE
from activetest.nouns.log import DECLINED, LABELLED, Log
from activetest.nouns.report import EstimateRow, Gate
from activetest.reporting.rows import HEADLINE

_FEW_RARE, _HEAVY = 5, 0.25


def notes(view: View, lines: list[EstimateRow], metric: Metric, answers: Sequence) -> list[str]:
    """About the log, its answers, the headline's metric, and lines that contradict each other."""
    evidence, method = view.evidence, view.choices.annotators
    log, used = evidence.log, evidence.used
    about = annotators.note(answers, method, values=not view.cache.classes)
    said = [about] if about else []
    waiting = int((log.status[used:] == LABELLED).sum())
    if waiting:
        said.append(
            f"Labels of unfinished rounds: {waiting}. They teach the surrogate but do not enter "
            "the estimates yet, which use whole rounds up to the first that is not fully answered."
        )
    if used and not evidence.whole:
        said.append(
            "The first round is not complete: the interval holds only if the order of labelling "
            "did not depend on the labels."
        )
    headline = next(line for line in lines if line.headline)
    if headline.method != "exact":
        said += _picks(log, len(evidence.steps))
    supplied = int((log.supplied_status == LABELLED).sum())
    open_ended = headline.method not in ("exact", "betting")
    if supplied and open_ended:
        said.append(
            f"Labels brought by you, not drawn: {supplied}. The estimates stay unbiased, but if you "
            "stop because of what they showed, a fixed interval is too narrow."
        )
    declined = int((log.status == DECLINED).sum() + (log.supplied_status == DECLINED).sum())
    if declined:
        said.append(
            f"Items declined: {declined}. Every estimate is about the items that can be answered."
        )
    if open_ended and headline.estimate is not None and headline.estimator != OWN_VIEW:
        between = catalog.fact("acquisition", view.choices.acquisition, "CHOOSES_GROUPS")
        said += _doubts(headline, _minority_count(view, metric), between=between)
    said += _too_early(lines)
    said += _disagreements(lines)
    if any(line.metric == "log-loss" for line in lines):
        said.append(
            f"Log-loss is in nats; probabilities below {LOG_LOSS_FLOOR:g} count as "
            f"{LOG_LOSS_FLOOR:g}."
        )
    return said


def bets(replaced: int, told: Sequence[EstimateRow | Gate], *, several: bool) -> list[str]:
    """What labels that change do to anytime-valid intervals and gates, where there are any."""
    said = []
    if all(each.method != "betting" for each in told):
        return said
    if replaced:
        said.append(
            f"Labels replaced: {replaced}. Anytime-valid intervals and gates go by the labels as "
            "they are now; if any was replaced in answer to what a report showed, they promise "
            "nothing."
        )
    if several:
        said.append(
            "Labels of several annotators can change when later answers come: anytime-valid "
            "intervals and gates hold for labels as they are now."
        )
    return said


def compared(
    kind: str, columns: Sequence[str], lines: list[EstimateRow], *, grouped: bool
) -> list[str]:
    """Which columns have nothing to compare yet, and which intervals are of another kind."""
    found = {name for line in lines for name in line.group}
    said = [
        f"No two groups of {name} have labels enough to be compared yet."
        for name in columns
        if name not in found
    ]
    which = ["groups"] * (grouped and kind == POSTERIOR) + ["differences"] * bool(lines)
    if which and kind != FIXED:
        said.append(
            f"The intervals of {' and '.join(which)} are fixed ones: they hold for one look."
        )
    return said


def adding(group: str, groups: Sequence[str]) -> str:
    """How to get a group that a study lacks: naming groups replaces those it has."""
    options = " ".join(f"--group '{name}'" for name in (*groups, group))
    return f"activetest init POOL {options} adds it and keeps every label"


def planned(view: View, metric: Metric, line: EstimateRow, half_width: float) -> str:
    """How many more labels the headline's interval needs to be that narrow, as a sentence."""
    name = metric.title
    if line.lower is None or line.upper is None or line.estimator == OWN_VIEW:
        return f"How many labels a half-width of {half_width:g} needs cannot be said yet."
    if (line.upper - line.lower) / 2 <= half_width:
        return f"The interval of {name} is narrower than +- {half_width:g} already."
    value = view.value(metric, line.estimator)
    # The plan is made for the mean that the interval is made for.
    more = half_width_labels(
        value.inner,
        half_width=(line.upper - line.lower) / 2 / abs(value.slope),
        wanted=half_width / abs(value.slope),
        size=view.cache.size,
        level=line.level,
    )
    labels = f"{more:,} more label" + "s" * (more != 1)
    return f"The interval of {name} needs about {labels} to be +- {half_width:g} wide."


def _picks(log: Log, drawn: int) -> list[str]:
    """What items without a probability are good for, beside `drawn` ones that estimates use."""
    between = sum(len(each.rows) for each in log.history if each.deterministic and each.allocation)
    top = int(log.deterministic.sum()) - between
    said = []
    if top:
        said.append(
            f"Items picked by the largest score, not drawn: {top}. They inform the surrogate and "
            f"count as known; {_rest(drawn, 'drawn ones', '--selection draw gives draws')}"
        )
    if between:
        remedy = "--floor 0.1 gives every item a chance"
        said.append(
            f"Items drawn between groups without a floor: {between}. They speak for their groups, "
            f"inform the surrogate and count as known; {_rest(drawn, 'others', remedy)}"
        )
    return said


def _rest(drawn: int, others: str, remedy: str) -> str:
    """What estimates from draws rest on, or what gives some."""
    if drawn >= 2:
        return f"estimates from draws rest on the {drawn} {others}."
    return (
        f"no estimate from draws exists without at least two {others}. The surrogate's own "
        f"view (ase) is as good as the surrogate; activetest init POOL {remedy}."
    )


def _minority_count(view: View, metric: Metric) -> float:
    """Labels of the rarer kind behind the headline."""
    try:
        return view.value(metric, HEADLINE).inner.minority_count
    except NotEstimable:
        return 0.0


def _too_early(lines: list[EstimateRow]) -> list[str]:
    """Metrics whose interval cannot hold yet: labels not met so far may change everything."""
    early = dict.fromkeys(
        line.metric if line.class_name is None else f"{line.metric}[{line.class_name}]"
        for line in lines
        if not line.reliable and line.estimate is not None
    )
    if not early:
        return []
    return [
        f"Do not trust the intervals of {', '.join(early)} yet: too few labels pull it up, or too "
        f"few down ({RARE} to {2 * RARE} would do). What was not met yet may weigh more than all "
        "that was."
    ]


def _doubts(line: EstimateRow, minority_count: float, *, between: bool) -> list[str]:
    """Reasons to trust the headline's interval, or the way its labels were drawn, a little less.

    between says whether draws choose between groups.
    """
    said = []
    if line.method == "korn-graubard" and minority_count < _FEW_RARE:
        said.append(
            f"Few labels of the rarer kind so far ({minority_count:.0f}): the interval is as wide as random "
            "draws or the surrogate make it, whichever is wider."
        )
    if minority_count >= RARE and line.labels_saved is not None and line.labels_saved < 1:
        value = f"{line.n_labeled} of them are worth {line.n_eff:.0f} random ones"
        said.append(
            f"Draws serve the groups: for the whole pool {value}."
            if between
            else f"So far active draws brought nothing: {value}. This can change with more labels; "
            "activetest init POOL --floor 1 draws at random."
        )
    if line.max_weight_share is not None and line.max_weight_share > _HEAVY:
        said.append(
            f"One draw carries {line.max_weight_share:.0%} of the weight: the estimate may still "
            "jump. A higher --floor prevents this."
        )
    return said


def _disagreements(lines: list[EstimateRow]) -> list[str]:
    """Metrics whose model-based view lies outside the interval that does not need the model."""
    views = {
        (line.metric, line.class_name, line.estimator): line
        for line in lines
        if line.estimate is not None and line.lower is not None
    }
    apart = []
    for (metric, class_name, estimator), line in views.items():
        own = views.get((metric, class_name, OWN_VIEW))
        if (
            estimator == HEADLINE
            and own is not None
            and not line.lower <= own.estimate <= line.upper
        ):
            name = metric if class_name is None else f"{metric}[{class_name}]"
            apart.append(f"{name} ({own.estimate:.3g})")
    if not apart:
        return []
    return [
        f"The surrogate's own view (ase) lies outside the interval for {', '.join(apart)}: "
        "it has not learned this pool. Believe the doubly robust estimate."
    ]
