"""activetest status: where the study stands, and what `next` would do."""

from activetest import catalog
from activetest.nouns.log import DECLINED, LABELLED
from activetest.nouns.report import Counts
from activetest.sampling.question import sentence
from activetest.study.study import Study, settled


def status(study: Study) -> tuple[Counts, str]:
    """The counts, and a sentence about what `next` would do. Reads the ledger only."""
    record = study.ledger.record()
    known = settled(record.answers)
    chosen = [known[draw.id][0] if draw.id in known else None for draw in record.draws]
    deterministic = sum(draw.prob is None for draw in record.draws)
    supplied = [id for id in record.supplied if id in known]
    counts = Counts(
        n_pool=study.ledger.rows,
        drawn=len(chosen) - deterministic,
        labelled=chosen.count(LABELLED),
        pending=chosen.count(None),
        declined=chosen.count(DECLINED),
        supplied=len(supplied),
        rounds=record.draws[-1].round if record.draws else 0,
        budget=study.choices.budget,
        deterministic=deterministic,
    )
    return counts, _coming(counts, len(record.supplied), study)


def _coming(counts: Counts, supplied: int, study: Study) -> str:
    """What `next` would do, and whether the budget still allows it."""
    left = counts.n_pool - counts.drawn - counts.deterministic - supplied
    choices = study.choices
    aim = (
        choices.judged
        if catalog.fact("acquisition", choices.acquisition, "CHOOSES_GROUPS")
        else choices.metric
    )
    verb, which = ("draws", "") if choices.selection == "draw" else ("picks", "the largest scores ")
    if counts.pending:
        coming = f"next shows the {counts.pending} pending items again; next --new {verb} others"
    elif not left:
        coming = "nothing is left to draw: every item is drawn or labelled"
    else:
        coming = (
            f"next {verb} {which}from {left:,} items: surrogate {choices.surrogate}, acquisition "
            f"{choices.acquisition} for {aim}"
        )
        coming += f", to {sentence(choices)}" if choices.task else ""
    if choices.budget is not None and counts.labelled + counts.pending >= choices.budget:
        return f"the budget of {choices.budget} labels is used up; {coming}"
    return coming
