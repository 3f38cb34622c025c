"""Where the study stands, and what `next` would do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from activetest.cache.parts import EVIDENCE, TRAINED, find_part, find_surrogates_using
from activetest.estimation.looks import has_looks, plan_looks, plan_looks_of_log
from activetest.labels.annotators import resolve_answers
from activetest.ledger.history import Draw
from activetest.ledger.ledger import Record
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.nouns.name_lists import list_few
from activetest.nouns.report import SKIPPED, Counts
from activetest.rounds.fit import find_disagreeing, find_drawable_items, find_predicted_as
from activetest.rounds.objectives import find_compared_models, find_drawn_classes
from activetest.sampling.first_draws import expects_draws
from activetest.sampling.question import compares_models, describe_objective, find_question
from activetest.study.results import Status
from activetest.study.stored import StoredStudy

if TYPE_CHECKING:
    from activetest.cache.cache import Cache


def status(study: StoredStudy, cache: "Cache | None" = None) -> Status:
    """The counts, and a sentence about what `next` would do.

    cache  of the pool, where that is known; else it is opened if it is needed

    Reads the ledger alone, unless items have weights or prices, or cannot change the metric.
    """
    record = study.record()
    known = resolve_answers(record.answers)
    statuses = [known[draw.id][0] if draw.id in known else None for draw in record.draws]
    deterministic = sum(draw.q is None for draw in record.draws)
    supplied = [id for id in record.supplied if id in known]
    counts = Counts(
        n_pool=study.rows,
        draws=len(statuses) - deterministic,
        drawn=len(statuses) - deterministic,
        labeled=statuses.count(LABELLED),
        pending=statuses.count(None),
        declined=statuses.count(DECLINED),
        supplied=len(supplied),
        answers=len(record.answers),
        rounds=record.draws[-1].round if record.draws else 0,
        budget=study.choices.budget,
        deterministic=deterministic,
        missing=tuple(_list_missing(record.draws, statuses)),
        declined_as=study.choices.declined,
        evidence=_list_evidence(study, cache),
        models=_list_models(study),
        left_out=int(study.pool.get("left_out", 0)),
    )
    pending = 0.0
    if study.pool.get("price") and (cache is not None or not study.find_missing_pool()):
        waiting = [draw.id for draw in record.draws if draw.id not in known]
        answered = [answer.id for answer in record.answers if answer.status != PENDING]
        # Prices are of the pool itself: no surrogate's auxiliary data is needed.
        if cache is None:
            cache = study.cache(auxiliary=False)
        spent, pending = (_sum_prices(cache.whole, ids) for ids in (answered, waiting))
        counts = replace(counts, spent=spent)
    labels = [label for status, label in known.values() if status == LABELLED]
    sentence = _describe_next(counts, len(record.supplied), study, pending, labels)
    goes_on = counts.pending or _count_free(counts, len(record.supplied))
    if goes_on and (look := _describe_look(study, cache, record, statuses)):
        sentence += f"; {look}"
    return Status(counts, sentence)


def _list_models(study: StoredStudy) -> tuple[str, ...]:
    """Names of the models; none where there is one."""
    names = tuple(each.name for each in study.list_models())
    return names if len(names) > 1 else ()


def _list_evidence(study: StoredStudy, cache: "Cache | None") -> tuple[str, ...]:
    """How well features, texts and training rows foretell; of no cache, by what is kept."""
    notices: list[str] = []
    for part in (EVIDENCE, TRAINED) if study.pool.get("train") else (EVIDENCE,):
        if not find_surrogates_using(part, {study.choices.surrogate}):
            continue
        if cache is not None:
            notices += cache.whole.part_notices(part)
        elif kept := find_part(study.cache_folder / part):
            notices += kept.notices
    return tuple(notices)


def _describe_look(
    study: StoredStudy, cache: "Cache | None", record: Record, statuses: Sequence[int | None]
) -> str:
    """The next look of sequential gates and when it comes.

    Empty where none was planned, and where the pool would have to tell but is gone.
    """
    choices = study.ledger.first_choices() or study.choices
    if not has_looks(choices):
        return ""
    if not study.pool.get("weight") and find_drawn_classes(choices, study.pool) is None:
        # Labels that no round knew yet are known to the first one, where that is still to come.
        first = (1,) if record.draws else (1, None)
        before = sum(number in first for number in record.supplied.values())
        plan = plan_looks(choices, study.rows - before)
    elif cache is None and study.find_missing_pool():
        return ""
    else:
        cache = cache or study.cache(auxiliary=False)
        plan = plan_looks_of_log(choices, study.log(cache, record), cache)
    if plan is None:
        return ""
    rounds = np.array([draw.round for draw in record.draws], int)
    return plan.describe_next(rounds, np.array([each is not None for each in statuses], bool))


def _list_missing(draws: Sequence[Draw], statuses: Sequence[int | None]) -> list[str]:
    """The ids of draws without an answer, up to the last round in which one was answered."""
    answered = [draw.round for draw, status in zip(draws, statuses, strict=True) if status]
    last = max(answered, default=0)
    return [
        draw.id
        for draw, status in zip(draws, statuses, strict=True)
        if status is None and draw.round <= last
    ]


def _sum_prices(cache: "Cache", ids: list[str]) -> float:
    """Price of labels of these items; an id counts as often as it stands there."""
    places = cache.find(ids)
    prices = cache.take(places[places >= 0]).price
    return 0.0 if prices is None else float(prices.sum())


def _count_free(counts: Counts, supplied: int) -> int:
    """Items that are neither drawn nor supplied."""
    return counts.n_pool - counts.drawn - counts.deterministic - supplied


def _count_drawable(study: StoredStudy, free: int) -> int | None:
    """How many of the free items can be drawn; None where the pool would have to tell, but is gone.

    An item without weight, or one that can change no metric of the choices, is not drawn.
    """
    choices = study.choices
    codes, apart = (
        find_drawn_classes(choices, study.pool),
        not choices.floor and compares_models(choices.aims),
    )
    if codes is None and not study.pool.get("weight") and not apart:
        return free
    if study.find_missing_pool():
        return None
    cache = study.cache(auxiliary=False)
    log = study.log(cache)
    drawable = find_drawable_items(log, cache) & find_predicted_as(cache, codes)
    if apart:
        from activetest.study.comparison import join_models

        pool = join_models(study, cache, log)
        drawable &= find_disagreeing(pool, find_compared_models(choices, pool))
    return int(drawable.sum())


def _describe_next(
    counts: Counts, supplied: int, study: StoredStudy, pending: float, labels: Sequence[str]
) -> str:
    """The step that `next` would take, and whether the budget still allows it.

    pending is the price of the labels that were drawn and are not known yet; labels are the known
    ones.
    """
    free = _count_free(counts, supplied)
    choices = study.choices
    at_random = expects_draws(choices, labels, training=bool(study.pool.get("train")))
    draws = choices.selection == "draw"
    if counts.pending:
        verb = "draws" if draws or at_random else "chooses"
        items = f"{counts.pending:,} pending item{'s' * (counts.pending != 1)}"
        sentence = f"next shows the {items} again; next with `new=True` {verb} others"
    elif not free:
        sentence = "nothing is left to draw: every item is drawn or labelled"
    elif (left := _count_drawable(study, free)) == 0:
        sentence = (
            f"nothing is left to draw: no other item can change {describe_objective(choices)}"
        )
    else:
        how, of = ("draws", "from") if draws or at_random else ("takes the largest scores", "of")
        objective = describe_objective(choices)
        question = find_question(choices)
        goal = question.describe(choices) if question else f"estimate {objective}"
        items = "" if left is None else f" {of} {left:,} item{'s' * (left != 1)}"
        sentence = f"next {how}{items} to {goal}: {choices.acquisition}"
        sentence += f" for {objective}" if choices.question and choices.also else ""
        sentence += f", surrogate {choices.surrogate}"
        if at_random:
            sentence += "; at random, as the surrogate has learned nothing yet"
        elif at_random is None:
            sentence += "; at random while all members of the surrogate agree"
    if counts.missing:
        count = len(counts.missing)
        items = f"{count:,} item{'s' * (count != 1)} without an answer in rounds that have others: "
        items += list_few(counts.missing)
        them = "it" if count == 1 else "them"
        sentence = f"{items} (label {them}, or mark {them} {SKIPPED}); {sentence}"
    used, unit = float(counts.labeled + counts.pending), " labels"
    if counts.spent is not None:
        used, unit = counts.spent + pending, ""
    unknown = study.pool.get("price") and counts.spent is None
    if choices.budget is not None and used >= choices.budget and not unknown:
        sentence = f"the budget of {choices.budget:,}{unit} is used up; {sentence}"
    if missing := study.find_missing_pool():
        sentence = f"the pool is missing, there is no {missing}; {sentence}"
    return sentence
