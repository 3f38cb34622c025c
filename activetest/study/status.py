"""Where the study stands, and what `next` would do."""

from collections.abc import Sequence
from dataclasses import replace

from activetest.labels.annotators import resolve_answers
from activetest.ledger.ledger import Draw
from activetest.nouns.log import DECLINED, LABELLED
from activetest.nouns.report import SKIPPED, Counts, list_few
from activetest.sampling.question import describe_objective, describe_question
from activetest.study.results import Status
from activetest.study.stored import StoredStudy


def status(study: StoredStudy) -> Status:
    """The counts, and a sentence about what `next` would do. Reads the ledger, and no pool."""
    record = study.ledger.record()
    known = resolve_answers(record.answers)
    statuses = [known[draw.id][0] if draw.id in known else None for draw in record.draws]
    deterministic = sum(draw.prob is None for draw in record.draws)
    supplied = [id for id in record.supplied if id in known]
    counts = Counts(
        n_pool=study.ledger.rows,
        drawn=len(statuses) - deterministic,
        labelled=statuses.count(LABELLED),
        pending=statuses.count(None),
        declined=statuses.count(DECLINED),
        supplied=len(supplied),
        rounds=record.draws[-1].round if record.draws else 0,
        budget=study.choices.budget,
        deterministic=deterministic,
        missing=tuple(_list_missing(record.draws, statuses)),
    )
    pending = 0.0
    if study.pool.get("price"):
        waiting = [draw.id for draw in record.draws if draw.id not in known]
        answered = [answer.id for answer in record.answers if answer.status == LABELLED]
        spent, pending = (_sum_prices(study, ids) for ids in (answered, waiting))
        counts = replace(counts, spent=spent)
    return Status(counts, _describe_next(counts, len(record.supplied), study, pending))


def _list_missing(draws: Sequence[Draw], statuses: Sequence[int | None]) -> list[str]:
    """The ids of draws without an answer, up to the last round in which one was answered."""
    answered = [draw.round for draw, status in zip(draws, statuses, strict=True) if status]
    last = max(answered, default=0)
    return [
        draw.id
        for draw, status in zip(draws, statuses, strict=True)
        if status is None and draw.round <= last
    ]


def _sum_prices(study: StoredStudy, ids: list[str]) -> float:
    """What labels of these items cost; an id counts as often as it stands there."""
    cache = study.cache()
    places = cache.find(ids)
    prices = cache.take(places[places >= 0]).price
    return 0.0 if prices is None else float(prices.sum())


def _describe_next(counts: Counts, supplied: int, study: StoredStudy, pending: float) -> str:
    """What `next` would do, and whether the budget still allows it.

    pending is the price of the labels that were drawn and are not known yet.
    """
    left = counts.n_pool - counts.drawn - counts.deterministic - supplied
    choices = study.choices
    draws = choices.selection == "draw"
    if counts.pending:
        verb = "draws" if draws else "chooses"
        items = f"{counts.pending:,} pending item{'s' * (counts.pending != 1)}"
        sentence = f"next shows the {items} again; next with `new=True` {verb} others"
    elif not left:
        sentence = "nothing is left to draw: every item is drawn or labelled"
    else:
        how = "draws from" if draws else "takes the largest scores of"
        objective = describe_objective(choices)
        goal = describe_question(choices) if choices.question else f"estimate {objective}"
        sentence = f"next {how} {left:,} item{'s' * (left != 1)} to {goal}: {choices.acquisition}"
        sentence += f" for {objective}" if choices.question and choices.also else ""
        sentence += f", surrogate {choices.surrogate}"
    if counts.missing:
        count = len(counts.missing)
        items = f"{count:,} item{'s' * (count != 1)} without an answer in rounds that have others: "
        items += list_few(counts.missing)
        them = "it" if count == 1 else "them"
        sentence = f"{items} (label {them}, or mark {them} {SKIPPED}); {sentence}"
    used, unit = float(counts.labelled + counts.pending), " labels"
    if counts.spent is not None:
        used, unit = counts.spent + pending, ""
    if choices.budget is not None and used >= choices.budget:
        sentence = f"the budget of {choices.budget:,}{unit} is used up; {sentence}"
    if missing := study.find_missing_pool():
        sentence = f"the pool is missing, there is no {missing}; {sentence}"
    return sentence
