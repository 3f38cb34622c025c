"""What to know before believing a number, in plain sentences."""

from collections.abc import Sequence

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.planning import plan_half_width
from activetest.estimation.view import FIXED, OWN_VIEW, POSTERIOR, View, is_model_based
from activetest.item_statistics.losses import LOG_LOSS_FLOOR
from activetest.item_statistics.metric import Metric
from activetest.labels import annotators
from activetest.ledger.ledger import Answer
from activetest.nouns.estimate import RARE
from activetest.nouns.log import DECLINED, LABELLED, Log
from activetest.nouns.report import EstimateRow, Gate
from activetest.reporting.rows import HEADLINE

# Fewer labels of the rarer outcome than this, or a larger share of the weights, are worth a note.
_FEW_MINORITY, _HEAVY = 5, 0.25


def write_notes(
    view: View, rows: Sequence[EstimateRow], metric: Metric, answers: Sequence[Answer]
) -> list[str]:
    """About the log, its answers, the headline's metric, and rows that contradict each other."""
    evidence, method = view.evidence, view.choices.annotators
    log, used = evidence.log, evidence.used
    agreement = annotators.describe_agreement(answers, method, values=not view.cache.classes)
    sentences = [agreement] if agreement else []
    waiting = int((log.status[used:] == LABELLED).sum())
    if waiting:
        sentences.append(
            f"Labels of unfinished rounds: {waiting}. The surrogate learns from them, but the "
            "estimates do not use them yet: they use all rounds before the first unfinished one."
        )
    if used and not evidence.whole:
        sentences.append(
            "The first round is not complete: the interval holds only if the order of labelling "
            "did not depend on the labels."
        )
    headline = next(row for row in rows if row.headline)
    if headline.method != "exact":
        sentences += _describe_deterministic(log, len(evidence.steps))
    supplied = int((log.supplied_status == LABELLED).sum())
    fixed = headline.method not in ("exact", "betting")
    if supplied and fixed:
        sentences.append(
            f"Labels that you supplied for items that were not drawn: {supplied}. The estimates "
            "stay unbiased, but if you stop because of what these labels showed, a fixed interval "
            "is too narrow."
        )
    declined = int((log.status == DECLINED).sum() + (log.supplied_status == DECLINED).sum())
    if declined:
        sentences.append(
            f"Items declined: {declined}. Every estimate is about the items that can be answered."
        )
    if fixed and headline.estimate is not None and not is_model_based(headline.estimator):
        between = catalog.fact("acquisition", view.choices.acquisition, "CHOOSES_GROUPS")
        sentences += _describe_doubts(headline, _count_minority(view, metric), between=between)
    sentences += _describe_unreliable(rows)
    sentences += _describe_disagreements(rows)
    if any(row.metric == "log-loss" for row in rows):
        sentences.append(
            f"Log-loss is in nats; probabilities below {LOG_LOSS_FLOOR:g} count as "
            f"{LOG_LOSS_FLOOR:g}."
        )
    return sentences


def note_changed_labels(
    replaced: int, records: Sequence[EstimateRow | Gate], *, several_annotators: bool
) -> list[str]:
    """How changed labels affect anytime-valid intervals and gates, where there are any."""
    sentences: list[str] = []
    if all(record.method != "betting" for record in records):
        return sentences
    if replaced:
        sentences.append(
            f"Labels replaced: {replaced}. Anytime-valid intervals and gates use the labels as "
            "they are now. They are not valid if a label was replaced because of what a report "
            "showed."
        )
    if several_annotators:
        sentences.append(
            "With several annotators, later answers can change a label: anytime-valid intervals "
            "and gates hold for the labels as they are now."
        )
    return sentences


def note_comparisons(
    kind: str, columns: Sequence[str], rows: Sequence[EstimateRow], *, grouped: bool
) -> list[str]:
    """Which columns cannot be compared yet, and which intervals are fixed while others are not.

    rows are differences; grouped says whether there are rows of groups.
    """
    found = {name for row in rows for name in row.group or ()}
    sentences = [
        f"No two groups of {name} have enough labels to be compared yet."
        for name in columns
        if name not in found
    ]
    which = ["groups"] * (grouped and kind == POSTERIOR) + ["differences"] * bool(rows)
    if which and kind != FIXED:
        sentences.append(
            f"The intervals of {' and '.join(which)} are fixed intervals: they hold for one look."
        )
    return sentences


def describe_group_option(group: str, groups: Sequence[str]) -> str:
    """How to add a group column to a study: naming groups replaces those it has."""
    options = " ".join(f"--group '{name}'" for name in (*groups, group))
    return f"activetest init POOL {options} adds it and keeps every label"


def note_labels_needed(view: View, metric: Metric, row: EstimateRow, half_width: float) -> str:
    """How many more labels the headline's interval needs to be that narrow, as a sentence."""
    name = metric.title
    if row.lower is None or row.upper is None or is_model_based(row.estimator):
        return f"How many labels a half-width of {half_width:g} needs cannot be said yet."
    if (row.upper - row.lower) / 2 <= half_width:
        return f"The interval of {name} already has a half-width below {half_width:g}."
    value = view.value(metric, row.estimator)
    # The plan is for the interval of the mean; the metric is a smooth map of it.
    more = plan_half_width(
        value.estimate,
        half_width=(row.upper - row.lower) / 2 / abs(value.slope),
        goal=half_width / abs(value.slope),
        size=view.cache.size,
        level=row.level,
    )
    labels = f"{more:,} more label" + "s" * (more != 1)
    return f"The interval of {name} needs about {labels} for a half-width of {half_width:g}."


def _describe_deterministic(log: Log, drawn: int) -> list[str]:
    """How items without a probability are used, beside `drawn` ones that estimates use."""
    between = sum(len(each.rows) for each in log.history if each.deterministic and each.allocation)
    top = int(log.deterministic.sum()) - between
    sentences = []
    if top:
        remedy = "--selection draw draws items instead"
        sentences.append(
            f"Items chosen by the largest score, not drawn: {top}. The surrogate learns from them, "
            f"and their labels count as known; {_describe_rest(drawn, 'drawn items', remedy)}"
        )
    if between:
        remedy = "--floor 0.1 gives every item a chance"
        sentences.append(
            f"Items drawn between groups without a floor: {between}. They are used for the values "
            "of their groups, the surrogate learns from them, and their labels count as known; "
            f"{_describe_rest(drawn, 'other items', remedy)}"
        )
    return sentences


def _describe_rest(drawn: int, others: str, remedy: str) -> str:
    """Which items estimates use, or how to get some that they can use."""
    if drawn >= 2:
        return f"the estimates use the {drawn} {others}."
    return (
        f"estimates need at least 2 {others} with labels. Until then there is only the surrogate's "
        f"own view (ase), which is only as good as the surrogate; activetest init POOL {remedy}."
    )


def _count_minority(view: View, metric: Metric) -> float:
    """Effective number of labels behind the headline on the side that has fewer."""
    try:
        return view.value(metric, HEADLINE).estimate.minority_count
    except NotEstimable:
        return 0.0


def _name_metric(row: EstimateRow) -> str:
    return row.metric if row.class_name is None else f"{row.metric}[{row.class_name}]"


def _describe_unreliable(rows: Sequence[EstimateRow]) -> list[str]:
    """Metrics whose interval is not reliable yet: losses not sampled yet may change everything."""
    titles = dict.fromkeys(
        _name_metric(row) for row in rows if not row.reliable and row.estimate is not None
    )
    if not titles:
        return []
    what = "interval" if len(titles) == 1 else "intervals"
    return [
        f"Not reliable yet: the {what} of {', '.join(titles)}. Rare large losses may not have been "
        "sampled yet, so the true value may lie outside. Label more items."
    ]


def _describe_doubts(row: EstimateRow, minority_count: float, *, between: bool) -> list[str]:
    """Reasons to be careful with the headline's interval, or with the way items are drawn.

    between says whether draws choose between groups.
    """
    sentences = []
    if row.method == "korn-graubard" and minority_count < _FEW_MINORITY:
        sentences.append(_describe_minority(row, round(minority_count)))
    if minority_count >= RARE and row.quantity.saved is not None and row.quantity.saved < 1:
        labels = f"{row.n_labeled} labels are as good as {row.n_eff:.0f} random ones"
        sentences.append(
            f"The draws are made for the groups: for the whole pool {labels}."
            if between
            else f"Active draws have not saved labels so far: {labels}. This can change with more "
            "labels; activetest init POOL --floor 1 draws at random."
        )
    if row.max_weight_share is not None and row.max_weight_share > _HEAVY:
        sentences.append(
            f"One draw has {row.max_weight_share:.0%} of the weight: the estimate may still change "
            "a lot. A higher --floor prevents this."
        )
    return sentences


def _describe_minority(row: EstimateRow, count: int) -> str:
    """Why the interval of a share is wide: few errors, or few of whatever is rarer."""
    kind, kinds = "label of the rarer outcome", "labels of the rarer outcome"
    if row.metric in ("error", "accuracy") and row.estimate is not None:
        mostly_right = (row.estimate > 0.5) == (row.metric == "accuracy")
        kind = "error" if mostly_right else "right prediction"
        kinds = f"{kind}s"
    number = f"Only {count} {kind if count == 1 else kinds}" if count else f"No {kind}"
    return f"{number} found so far, so the interval is deliberately wide."


def _describe_disagreements(rows: Sequence[EstimateRow]) -> list[str]:
    """Metrics whose estimate by the surrogate lies outside the interval that does not need it."""
    estimated = {
        (row.metric, row.class_name, row.estimator): row
        for row in rows
        if row.estimate is not None and row.lower is not None
    }
    outside = []
    for (metric, class_name, estimator), row in estimated.items():
        own = estimated.get((metric, class_name, OWN_VIEW))
        if estimator == HEADLINE and own is not None and not _contains(row, own.estimate):
            outside.append(f"{_name_metric(row)} ({own.estimate:.3g})")
    if not outside:
        return []
    return [
        f"The surrogate's own view (ase) lies outside the interval for {', '.join(outside)}: "
        "the surrogate does not fit this pool yet. Use the doubly robust estimate."
    ]


def _contains(row: EstimateRow, value: float | None) -> bool:
    """Whether the row's interval holds the value."""
    if row.lower is None or row.upper is None or value is None:
        return False
    return row.lower <= value <= row.upper
