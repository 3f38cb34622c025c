"""Notes to read before believing a number, in plain sentences with weights."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.beliefs import is_model_based, needs_passes
from activetest.estimation.planning import plan_half_width
from activetest.estimation.view import FIXED, POSTERIOR, View, find_own_view, lacked_floor
from activetest.item_statistics.losses import LOG_LOSS_FLOOR
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.specification import suggest_bound, why_not_bettable
from activetest.labels import annotators
from activetest.labels.matching import ClassMatcher, guess_by_spelling, says_no_label
from activetest.ledger.ledger import Answer
from activetest.nouns.choices import Choices, Selection
from activetest.nouns.estimate import RARE
from activetest.nouns.log import DECLINED, LABELLED, Log
from activetest.nouns.name_lists import join_names
from activetest.nouns.plan import HIGH, LOW
from activetest.nouns.pool import PoolView
from activetest.nouns.report import EstimateRow, Gate, Note, Weight
from activetest.nouns.rounding import cut_digits, is_above, is_below
from activetest.pool.groups import LABEL, columns_of
from activetest.pool.uncertain import list_uncertain
from activetest.reporting.missing_notes import note_missing
from activetest.reporting.rows import HEADLINE
from activetest.rounds.fit import list_labelled
from activetest.sampling.question import chooses_between, compares_models

# Fewer labels of the rarer outcome than this, or a larger share of the weights, are worth a note.
_FEW_MINORITY, _HEAVY = 5, 0.25
# Intervals of metrics that count right and wrong predictions, rather than add up losses.
_OF_RATES = ("delta-beta", "group-beta")
# The interval of values without a bound.
_UNBOUNDED = "gamma"
# The method of anytime-valid intervals.
_BETS = "betting"
# Labels that a note names.
_NAMED = 3
# Draws that an estimate needs at least.
_FEWEST_DRAWN = 2
# {METHODS of nouns/log.py: what is new with them, as "which bet other stakes"}.
CHANGES: dict[int, str] = {
    2: "which allowed for mistakes that it had not met in error rates alone",
    3: "which allowed for less in groups, in losses and in areas under curves",
    4: "which predicted the items of a round from labels of earlier rounds alone",
    5: "which learned less from a batch of scores, and was narrower without a range",
    6: "which learned less from a batch of verdicts, and allowed for less in heavy tails",
    7: "which learned training rows, and the values that features foretell, as labels came in",
    8: "which allowed for less where no label contradicted a share, and in squares of heavy tails",
    9: "which claimed more savings in heavy tails and with several annotators",
}
# Changes of surrogates: those of rounds that another one drew change nothing.
_CHANGED_SURROGATES = {7: "auto"}
# Changes that concern values and labels in doubt, and no classes that people agree on.
_WITHOUT_CLASSES = {9}


def write_notes(
    view: View, rows: Sequence[EstimateRow], metric: Metric, answers: Sequence[Answer]
) -> list[Note]:
    """About the log, its answers, the headline's metric, and rows that contradict each other."""
    evidence, method = view.evidence, view.choices.annotators
    log = evidence.log
    agreement = annotators.describe_agreement(answers, method, values=not view.cache.classes)
    notes = [Note(agreement)] if agreement else []
    notes += _describe_unmatched(log, view.cache.classes, answers)
    notes += _describe_outside(log, view.metrics.values())
    notes += _describe_imported(log)
    sure = bool(view.cache.classes) and log.soft is None
    notes += _describe_older_methods(log, sure=sure)
    notes += note_missing(view, rows, metric)
    headline = next(row for row in rows if row.headline)
    if headline.quantity.kind != "exact":
        notes += _describe_deterministic(view, headline)
    if any(is_model_based(row.estimator) and row.estimate is not None for row in rows):
        notes += _describe_unchecked(view)
    supplied = int((log.supplied_status == LABELLED).sum())
    fixed = headline.quantity.kind != "exact" and headline.method != _BETS
    if supplied and fixed:
        text = f"Labels that you supplied for items that were not drawn: {supplied}."
        if not is_model_based(headline.estimator):
            text += (
                " The estimates stay unbiased, but if you stop because of what these labels "
                "showed, a fixed interval is too narrow."
            )
        notes.append(Note(text, Weight.LIMITED))
    if log.declined:
        notes.append(Note(_describe_declined(view, rows), Weight.LIMITED))
    if fixed and headline.estimate is not None and not is_model_based(headline.estimator):
        aim = _name_other_aim(view.choices, headline)
        notes += _describe_doubts(headline, _count_minority(view, metric), aim)
    corrected = evidence.correction is not None and evidence.correction.doubted
    if not corrected and log.doubtful_share is None:
        # Otherwise the reason is another one.
        notes += _describe_unreliable(rows, view.metrics)
    notes += _describe_disagreements(rows, find_own_view(view.choices))
    notes += _describe_passes(view, rows, headline)
    if any(row.metric == "log-loss" for row in rows):
        text = f"Log-loss is in nats; probabilities below {LOG_LOSS_FLOOR:g} count as "
        notes.append(Note(f"{text}{LOG_LOSS_FLOOR:g}."))
    return notes


def note_changed_labels(
    replaced: int, records: Sequence[EstimateRow | Gate], *, several_annotators: bool
) -> Iterator[Note]:
    """How changed labels affect anytime-valid intervals and gates of several looks, if any."""
    if not any(
        record.method == _BETS or (isinstance(record, Gate) and record.looks is not None)
        for record in records
    ):
        return
    if replaced:
        text = (
            f"Labels replaced: {replaced}. Anytime-valid intervals and gates use the labels as "
            "they are now. They are not valid if a label was replaced because of what a report "
            "showed."
        )
        yield Note(text, Weight.INVALID)
    if several_annotators:
        text = (
            "With several annotators, later answers can change a label: anytime-valid intervals "
            "and gates hold for the labels as they are now."
        )
        yield Note(text, Weight.LIMITED)


def note_kinds(kind: str, compared: Sequence[str], rows: Sequence[EstimateRow]) -> Iterator[Note]:
    """Columns that cannot be compared yet, and intervals that are not of the kind of the others.

    kind is that of the report's intervals; rows are all of its rows.
    """
    apart = [row for row in rows if row.against is not None]
    found = {name for row in apart for name in row.group or ()}
    for name in compared:
        if name not in found:
            text = f"No two groups of {name} have enough labels to be compared yet."
            yield Note(text, Weight.ANSWER)
    grouped = any(row.group is not None and row.against is None for row in rows)
    which = ["groups"] * (grouped and kind == POSTERIOR) + ["differences"] * bool(apart)
    if which and kind != FIXED:
        text = f"The intervals of {join_names(which)} are fixed intervals: they hold for one look."
        yield Note(text, Weight.LIMITED)
    own = dict.fromkeys(
        row.estimator for row in rows if row.quantity.one_look and row.quantity.kind == POSTERIOR
    )
    if own:
        text = (
            f"The intervals of {', '.join(own)} hold for one look at best, and only if the "
            "surrogate is right: no model-based interval is anytime-valid."
        )
        yield Note(text)


def note_uncertain_groups(cache: PoolView, rows: Sequence[EstimateRow]) -> Iterator[Note]:
    """In which group an item stands whose value of an attribute is not known."""
    shown = (name for row in rows for group in row.group or () for name in columns_of(group))
    uncertain = list_uncertain(cache, tuple(dict.fromkeys(shown)))
    if LABEL in uncertain:
        uncertain.remove(LABEL)
        text = (
            f"The groups of {LABEL} hold the items for which the model finds a class most "
            "probable, also where the label is known: they are those of its predictions. The "
            "surface (`study.report(surface=True)`) goes by the labels, and so does the recall of "
            "a class."
        )
        yield Note(text)
    if uncertain:
        text = (
            f"The values of {', '.join(uncertain)} are not known for every item: an item is in the "
            "group of its known value, else of its most probable one. The surface "
            "(`study.report(surface=True)`) weighs values by their probability."
        )
        yield Note(text)


def describe_group_option(group: str, groups: Sequence[str]) -> str:
    """How to add a group column to a study: naming groups replaces those it has."""
    return f"`study.change(groups={[*groups, group]!r})` adds it and keeps every label"


def hint_unknown_group(column: str, groups: Sequence[str]) -> str:
    """The group column of a study that was meant, or how to add another to it."""
    return catalog.suggest(column, groups).rstrip() or describe_group_option(column, groups)


def _describe_declined(view: View, rows: Sequence[EstimateRow]) -> str:
    """How many items were declined, what they count as, and which numbers are not about them."""
    log = view.log
    count = int((log.status == DECLINED).sum() + (log.supplied_status == DECLINED).sum())
    text = f"Items declined: {count:,}. "
    if not view.counts_declined:
        return f"{text}They are ignored: every number is about the items that can be answered."
    text += (
        "Estimates are of the items that can be answered. Intervals and verdicts are about all "
        "items: from the lower limit with every declined item at its least to the upper limit with "
        "every one at its most."
    )
    open_ended = [row for row in rows if row.answered is not None and row.least is None]
    names = [row.estimator if is_model_based(row.estimator) else row.title for row in open_ended]
    if names:
        text += (
            f" Those of {', '.join(dict.fromkeys(names))} are of the items that can be answered "
            "alone."
        )
    if view.choices.question:
        text += " The answer to the question leaves declined items out."
    return text


def describe_labels_needed(view: View, metric: Metric, row: EstimateRow, half_width: float) -> str:
    """How many more labels the headline's interval needs to be that narrow, as a sentence."""
    name, named = metric.title, half_width
    if row.lower is None or row.upper is None or is_model_based(row.estimator):
        return f"How many labels a half-width of {half_width:g} needs cannot be said yet."
    if not is_above((row.upper - row.lower) / 2, half_width):
        return f"The interval of {name} already has a half-width below {half_width:g}."
    value = view.value(metric, row.estimator)
    # No further label narrows what declined items leave open.
    half = (row.upper - row.lower) / 2
    if row.least is not None and row.most is not None:
        fixed = (row.most - row.least) / 2
        half, half_width = half - fixed, half_width - fixed
        if not half_width > 0:
            return f"Declined items alone leave {name} a half-width of {fixed:.2g}."
    # The plan is for the interval of the mean; the metric is a smooth map of it.
    few, many = (
        plan_half_width(
            value.estimate,
            half_width=half / abs(value.slope),
            goal=half_width / abs(value.slope),
            size=view.cache.size,
            level=row.level,
            quantile=each,
        )
        for each in (LOW, HIGH)
    )
    labels = f"{many:,} more label" + "s" * (many != 1)
    labels = f"about {labels}" if few == many else f"{few:,} to {labels}"
    return (
        f"The interval of {name} needs {labels} for a half-width of {named:g} "
        f"({100 * LOW:.0f} to {100 * HIGH:.0f} % of what may come)."
    )


def _describe_unmatched(log: Log, classes: Sequence[str], answers: Sequence[Answer]) -> list[Note]:
    """Labels that are none of the pool's classes: another spelling of one, a word, or a new one."""
    codes = [log.labels[log.status == LABELLED]]
    codes.append(log.supplied_labels[log.supplied_status == LABELLED])
    total, count = sum(map(len, codes)), sum(int((each < 0).sum()) for each in codes)
    if not classes or not count:
        return []
    given = {answer.label for answer in answers if answer.status == LABELLED}
    unmatched = sorted(given - set(classes))
    names = ", ".join(map(repr, unmatched[:_NAMED])) + ", ..." * (len(unmatched) > _NAMED)
    find = ClassMatcher(classes).find
    alike = any(map(find, unmatched)) or guess_by_spelling(unmatched, classes) is not None
    text = (
        f"Labels of no class that the model predicts: {count:,} of {total:,} ({names}). They count "
        "as its mistakes."
    )
    if alike or 2 * count >= total:
        text += (
            " If they stand for its classes, take their file back with `study.undo()` (the last "
            "file first) and ingest it again, with `map` to say what they stand for."
        )
        return [Note(text, Weight.INVALID)]
    words = any(map(says_no_label, unmatched))
    return [Note(text, Weight.LIMITED if words else Weight.FACT)]


def _describe_outside(log: Log, metrics: Iterable[Metric]) -> Iterator[Note]:
    """Labels outside the scale of a mean: what is said of people is then of other labels."""
    labels = [*log.labels[log.status == LABELLED]]
    labels += [*log.supplied_labels[log.supplied_status == LABELLED]]
    for metric in metrics:
        if not metric.of_labels or not metric.statistics[0].graded:
            continue
        low, high = metric.statistics[0].lower, metric.statistics[0].upper
        if count := sum(is_below(each, low) or is_above(each, high) for each in labels):
            text = (
                f"Labels outside the scale of {metric.title}: {count:,} of {len(labels):,}. They "
                "count as its nearest end; `metrics` names another scale."
            )
            yield Note(text, Weight.INVALID)


def _describe_imported(log: Log) -> list[Note]:
    """Notes on draws that come from an imported log, and on their consequences."""
    rounds = [each for each in log.history if each.imported]
    if not rounds:
        return []
    items = sum(len(each.rows) for each in rounds)
    what = "1 item" if items == 1 else f"{items:,} items"
    partly = any(each.lacks_weights for each in rounds)
    means = "drawn with the probabilities that it gives" if partly else "as likely as all others"
    text = (
        f"The study was created from a log of draws, in which {what} had been drawn. Estimates are "
        f"right if these were {means}: nothing here can check that."
    )
    if partly:
        text += (
            " Anytime-valid intervals and gates know the labels of the log, and rest on the draws "
            "that this study made itself."
        )
    if log.doubtful_share is None:
        return [Note(text, Weight.LIMITED)]
    doubt = (
        f"The probabilities of the log account for {100 * log.doubtful_share:.3g} % of the items: "
        "at most 1 in 20 logs would do so by chance if all had a chance. If items came after the "
        "draws, no number is about them: every interval is marked that rests on the log, and "
        "gates stay undecided."
    )
    return [Note(text, Weight.LIMITED), Note(doubt, Weight.INVALID)]


def _describe_older_methods(log: Log, *, sure: bool = False) -> list[Note]:
    """Notes that numbers of a study may have changed since an earlier version drew its rounds.

    sure  labels are classes, and none is in doubt
    """
    found = []
    for each in log.history:
        surrogate = catalog.bare_name(each.choices.get("surrogate", ""))
        found += [
            (methods, each.number)
            for methods in CHANGES
            if not (sure and methods in _WITHOUT_CLASSES)
            and each.methods < methods
            and _CHANGED_SURROGATES.get(methods, surrogate) == surrogate
        ]
    if not found:
        return []
    older = sorted({number for _, number in found})
    changes = ", ".join(CHANGES[methods] for methods in sorted({methods for methods, _ in found}))
    which = f"Round {older[0]} was" if len(older) == 1 else f"Rounds 1 to {older[-1]} were"
    text = (
        f"{which} drawn by an earlier version of activetest, {changes}: numbers may differ "
        "from those that it reported."
    )
    return [Note(text, Weight.LIMITED)]


def _describe_deterministic(view: View, headline: EstimateRow) -> list[Note]:
    """How items without a probability are used, beside drawn ones that estimates use."""
    log, drawn = view.log, len(view.evidence.steps)
    between = sum(len(each.rows) for each in log.history if lacked_floor(each))
    top = int(log.deterministic.sum()) - between
    notes = [_describe_picks(view, headline, top, drawn)] if top else []
    if between:
        remedy = "`study.change(floor=0.1)` gives every item a chance"
        text = (
            f"Items drawn with some selection probabilities equal to 0: {between}. They are used "
            "for the values of their groups, the surrogate learns from them, and their labels "
            "count as known; "
            f"{_describe_rest(drawn, 'other items', find_own_view(view.choices), remedy)}"
        )
        notes.append(Note(text, Weight.FACT if drawn >= _FEWEST_DRAWN else Weight.WIDE))
    return notes


def _describe_unchecked(view: View) -> list[Note]:
    """Notes that no label has contradicted the surrogate's beliefs, where there is no label."""
    if len(list_labelled(view.log)[0]):
        return []
    text = (
        "No label has checked these numbers: they are what the surrogate "
        f"({view.choices.surrogate}) believes before any. Where it is wrong they are wrong, and "
        "their intervals leave that out."
    )
    return [Note(text, Weight.INVALID)]


def _describe_picks(view: View, headline: EstimateRow, picks: int, drawn: int) -> Note:
    """How so many items with the largest scores are used, beside the drawn ones."""
    own_view, enough = find_own_view(view.choices), drawn >= _FEWEST_DRAWN
    remedy = '`study.change(selection="draw")` draws items instead'
    text = f"Items chosen by the largest score, not drawn: {picks}. The surrogate learns from them"
    if enough and is_model_based(headline.estimator):
        return Note(f"{text}, and their labels count as known.")
    if enough and view.choices.selection == Selection.TOP:
        text += (
            f". The {headline.estimator} estimate rests on the {drawn} drawn items, and hardly "
            "gets closer as more are chosen: of those it only knows the labels. The surrogate's "
            f"own view ({own_view}) uses every label, and is only as good as the surrogate; "
            f"{remedy}."
        )
        return Note(text, Weight.WIDE)
    rest = _describe_rest(drawn, "drawn items", own_view, remedy)
    text += f", and their labels count as known; {rest}"
    return Note(text, Weight.FACT if enough else Weight.WIDE)


def _describe_rest(drawn: int, others: str, own_view: str, remedy: str) -> str:
    """The items that estimates use, or how to get some that they can use."""
    if drawn >= _FEWEST_DRAWN:
        return f"the estimates use the {drawn} {others}."
    return (
        f"estimates need at least {_FEWEST_DRAWN} {others} with labels. Until then there is only "
        f"the surrogate's own view ({own_view}), which is only as good as the surrogate; {remedy}."
    )


def _count_minority(view: View, metric: Metric) -> float:
    """Effective number of labels behind the headline on the side that has fewer."""
    try:
        return view.value(metric, HEADLINE).estimate.minority_count
    except NotEstimable:
        return 0.0


def _describe_unreliable(rows: Sequence[EstimateRow], metrics: Mapping[str, Metric]) -> list[Note]:
    """Metrics whose interval is not reliable yet, and what would help.

    Items that were not sampled yet may change them. metrics {title: metric} are those of the rows.
    """
    unreliable = [row for row in rows if not row.reliable and row.estimate is not None]
    if not unreliable:
        return []
    titles = dict.fromkeys(row.title for row in unreliable)
    what = "interval" if len(titles) == 1 else "intervals"
    rates = all(row.method in _OF_RATES for row in unreliable)
    without = [metrics[row.title] for row in unreliable if row.method == _UNBOUNDED]
    of_labels = [each for each in without if each.against or each.of_labels]
    missed = "Rare mistakes" if rates else "Rare large losses"
    if len(of_labels) == len(unreliable):
        missed = "Rare large differences"
    until = ", until more labels differ from what was expected of them" if without else ""
    text = (
        f"Not reliable yet: the {what} of {', '.join(titles)}. "
        f"{missed} may not have been sampled yet, so "
        f"the true value may lie outside. Label more items{until}."
    )
    ranges = dict.fromkeys(suggest_bound(each) for each in without if why_not_bettable(each))
    if known := [each for each in ranges if each]:
        text += f" A known range helps, too: {'; '.join(known)}."
    return [Note(text, Weight.INVALID)]


def _name_other_aim(choices: Choices, row: EstimateRow) -> str:
    """The aim of draws where they are for other numbers than the headline; else empty."""
    if chooses_between(choices.acquisition):
        return "comparing groups"
    apart = compares_models(choices.aims) and len(row.models) < 2
    return "comparing models" if apart else ""


def _describe_doubts(row: EstimateRow, minority_count: float, aim: str) -> list[Note]:
    """Reasons to be careful with the headline's interval, or with the way items are drawn.

    aim is as _name_other_aim gives it.
    """
    notes = []
    if row.method == "korn-graubard" and minority_count < _FEW_MINORITY:
        notes.append(Note(_describe_minority(row, round(minority_count)), Weight.WIDE))
    saving = row.quantity.saving
    if minority_count >= RARE and saving.ratio is not None and is_below(saving.ratio, 1):
        labels = f"{saving.items} labels are as good as {saving.random:.0f} random ones"
        if saving.cost is not None and saving.spent:
            labels += f", which cost {saving.cost / saving.spent:.0%} of what was spent"
        notes.append(
            Note(f"Sampling is optimised for {aim}; for the overall estimate, {labels}.")
            if aim
            else Note(
                f"Active draws have not saved labels so far: {labels}. This can change with more "
                "labels; `study.change(floor=1)` draws at random.",
                Weight.LIMITED,
            )
        )
    if row.max_weight_share is not None and is_above(row.max_weight_share, _HEAVY):
        share = cut_digits(row.max_weight_share)
        text = (
            f"One draw has {share:.0%} of the weight: the estimate may still change "
            "a lot. A higher `floor` prevents this."
        )
        notes.append(Note(text, Weight.UNSTABLE))
    return notes


def _describe_minority(row: EstimateRow, count: int) -> str:
    """Why the interval of a share is wide: few errors, or few of whatever is rarer."""
    kind, kinds = "label of the rarer outcome", "labels of the rarer outcome"
    if row.title in ("error", "accuracy") and row.estimate is not None:
        mostly_right = (row.estimate > 0.5) == (row.metric == "accuracy")
        kind = "error" if mostly_right else "right prediction"
        kinds = f"{kind}s"
    number = f"Only {count} {kind if count == 1 else kinds}" if count else f"No {kind}"
    return f"{number} found so far, so the interval is deliberately wide."


def _describe_disagreements(rows: Sequence[EstimateRow], own_view: str) -> list[Note]:
    """Metrics whose estimate by the surrogate lies outside the interval that does not need it."""
    estimated = {
        (row.title, row.estimator): row
        for row in rows
        if row.estimate is not None and row.lower is not None
    }
    outside = []
    for (title, estimator), row in estimated.items():
        own = estimated.get((title, own_view))
        if estimator == HEADLINE and own is not None and not _contains(row, own.estimate):
            outside.append(f"{row.title} ({own.estimate:.3g})")
    if not outside:
        return []
    text = (
        f"The surrogate's own view ({own_view}) lies outside the interval for "
        f"{', '.join(outside)}: "
        "the surrogate does not fit this pool yet. Use the doubly robust estimate."
    )
    return [Note(text, Weight.UNSTABLE)]


def _describe_passes(
    view: View, rows: Sequence[EstimateRow], headline: EstimateRow
) -> Iterator[Note]:
    """The meaning of intervals from passes of the surrogate, and passes left out of a mean."""
    found = [row for row in rows if needs_passes(row.estimator) and row.estimate is not None]
    if names := dict.fromkeys(row.estimator for row in found if row.lower is not None):
        alone = headline.estimate is None or needs_passes(headline.estimator)
        # Where items are chosen by their scores, they stand beside the headline.
        top_scores = view.choices.selection == Selection.TOP and bool(view.log.deterministic.any())
        text = (
            f"The intervals of {', '.join(names)} show how far passes of the surrogate lie apart. "
            "They are no confidence intervals: they hold the truth much more rarely than their "
            "level says."
        )
        yield Note(text, Weight.INVALID if alone or top_scores else Weight.FACT)
    for row in found:
        estimate = view.value(view.metrics[row.title], row.estimator).estimate
        if estimate.undefined and estimate.draws is not None:
            all_passes = estimate.undefined + len(estimate.draws)
            text = (
                f"{row.title} does not exist in {estimate.undefined} of {all_passes} passes of the "
                f"surrogate, and {row.estimator} leaves them out."
            )
            yield Note(text, Weight.LIMITED)


def _contains(row: EstimateRow, value: float | None) -> bool:
    """Whether the row's interval holds the value."""
    if row.lower is None or row.upper is None or value is None:
        return False
    return not (is_below(value, row.lower) or is_above(value, row.upper))
