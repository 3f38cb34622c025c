"""Where the study stands, and what `next` would do."""

from activetest import catalog
from activetest.labels.annotators import resolve_answers
from activetest.nouns.log import DECLINED, LABELLED
from activetest.nouns.report import Counts
from activetest.sampling.question import describe_question
from activetest.study.results import Status
from activetest.study.stored import StoredStudy


def status(study: StoredStudy) -> Status:
    """The counts, and a sentence about what `next` would do. Reads the ledger only."""
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
    )
    return Status(counts, _describe_next(counts, len(record.supplied), study))


def _describe_next(counts: Counts, supplied: int, study: StoredStudy) -> str:
    """What `next` would do, and whether the budget still allows it."""
    left = counts.n_pool - counts.drawn - counts.deterministic - supplied
    choices = study.choices
    objective = (
        choices.judged
        if catalog.fact("acquisition", choices.acquisition, "CHOOSES_GROUPS")
        else choices.metric
    )
    draws = choices.selection == "draw"
    if counts.pending:
        verb = "draws" if draws else "chooses"
        sentence = (
            f"next shows the {counts.pending} pending items again; "
            f"next with `new=True` {verb} others"
        )
    elif not left:
        sentence = "nothing is left to draw: every item is drawn or labelled"
    else:
        how = "draws from" if draws else "takes the largest scores of"
        sentence = (
            f"next {how} {left:,} items: surrogate {choices.surrogate}, acquisition "
            f"{choices.acquisition} for {objective}"
        )
        sentence += f", to {describe_question(choices)}" if choices.question else ""
    if choices.budget is not None and counts.labelled + counts.pending >= choices.budget:
        return f"the budget of {choices.budget} labels is used up; {sentence}"
    return sentence
