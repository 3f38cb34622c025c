"""Second opinions: labelled items that somebody else should look at, best first."""

from collections.abc import Sequence

from activetest.errors import ChoiceError
from activetest.estimation.second_opinions import (
    Opinions,
    rank_classes,
    rank_values,
    select_soft,
)
from activetest.item_statistics.specification import describe_pool, find_metrics
from activetest.labels.files import make_label_encoder
from activetest.ledger.ledger import Answer
from activetest.nouns.log import LABELLED
from activetest.nouns.rounding import level_ties
from activetest.rounds.fit import list_labelled
from activetest.study.next import show_columns
from activetest.study.results import Batch
from activetest.study.stored import StoredStudy
from activetest.system.parallel import one_blas_thread

# Columns of a batch of second opinions besides id and label.
ANNOTATOR, AGAIN = "annotator", "again"
_SEPARATOR = "; "


@one_blas_thread()
def next_again(study: StoredStudy, count: int, show: Sequence[str] = ()) -> Batch:
    """The `count` labelled items of which another answer adds most; nothing is recorded.

    By majority, items whose annotators disagree come first, then those with one answer; by
    Dawid-Skene these are one. Items whose annotators agree come last. Among equals, those come
    first of which another answer adds most, and then those whose doubt costs most.
    Raises ChoiceError where nothing has a label, or where no label says who gave it.
    """
    record = study.ledger.record()
    given: dict[str, list[Answer]] = {}
    for answer in record.answers:
        given.setdefault(answer.id, []).append(answer)
    if not any(answer.status == LABELLED for answer in record.answers):
        raise ChoiceError("no item has a label that could be asked for again", "`study.next(10)`")
    if not any(answer.annotator for answer in record.answers):
        raise ChoiceError(
            "no label says who gave it, and a second opinion is that of somebody else",
            "labels need a column annotator; `study.undo()` takes the last file back, to be "
            "ingested again with one",
        )
    cache = study.cache()
    log = study.log(cache, record)
    positions, _ = list_labelled(log)
    ids = cache.ids(positions)
    facts = describe_pool(cache.roles, study.choices.costs, cache)
    metric = find_metrics(study.choices.metric, facts)[0]
    labels = [[each for each in given[id] if each.status == LABELLED] for id in ids]
    about = log, cache, study.choices, metric
    if cache.classes:
        encode, outside = make_label_encoder(cache.classes), len(cache.classes)
        coded = (
            [(each.annotator, int(encode(each.label))) for each in answers] for answers in labels
        )
        # A label that is no class is the last code.
        codes = [[(name, outside if code < 0 else code) for name, code in each] for each in coded]
        opinions = Opinions(codes, select_soft(log), _resolve)
        added, cost = rank_classes(*about, opinions, seed=study.seed)
    else:
        values = [[float(each.label) for each in answers] for answers in labels]
        added, cost = rank_values(*about, values, seed=study.seed)
    majority = bool(cache.classes) and log.soft is None
    tiers = [_find_tier(answers, majority=majority) for answers in labels]
    added, cost = level_ties(added), level_ties(cost)
    order = sorted(range(len(ids)), key=lambda at: (tiers[at], -added[at], -cost[at], ids[at]))
    chosen = order[:count]
    rows = [
        {
            "id": ids[at],
            "label": "",
            ANNOTATOR: "",
            AGAIN: _SEPARATOR.join(dict.fromkeys(each.annotator or "?" for each in given[ids[at]])),
        }
        for at in chosen
    ]
    show_columns(study, rows, show)
    columns = ("id", "label", ANNOTATOR, AGAIN, *dict.fromkeys(show))
    return Batch(None, rows, False, columns, study=study, requested=count, again=True)


def _resolve(codes: Sequence[int]) -> int:
    """The most common code; ties go to the earliest."""
    return max(dict.fromkeys(codes), key=codes.count)


def _find_tier(answers: Sequence[Answer], *, majority: bool) -> int:
    """0 where annotators disagree, 1 where nobody else has looked, 2 where all agree.

    A second answer decides nothing by majority, but it may by Dawid-Skene: 0 there.
    """
    if len({each.label for each in answers}) > 1:
        return 0
    return int(majority) if len(answers) == 1 else 2
