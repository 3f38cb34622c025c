"""Past rounds as a further model would have had them: its surrogate on the labels they knew.

The draws of a round and their probabilities serve every model over the same items. Its expectations
are about the outputs of one, so that for another model the surrogate is fitted again to the labels
that were known before the round. Each term stays unbiased: an expectation that
follows from earlier draws alone is known before the draw, whoever computes it, and when.
"""

from dataclasses import replace

import numpy as np

from activetest import catalog
from activetest.nouns.log import LABELLED, Log, Round
from activetest.nouns.once import Later
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import fit_others

# Of rounds whose own surrogate takes long to fit, or learned from files of one model.
_USUAL = "auto"


def list_known(log: Log, number: int) -> tuple[Array, Array]:
    """(K,) positions and labels of the items whose labels are older than a round's draws."""
    since = np.concatenate([log.round < number, log.supplied_round <= number])
    known = since & (log.item_status == LABELLED)
    rows, labels = log.item_rows[known], log.item_labels[known]
    if (other := log.elsewhere) is None:
        return rows, labels
    earlier = other.round <= number
    return np.append(rows, other.rows[earlier]), np.append(labels, other.labels[earlier])


def fit_for_round(round: Round, log: Log, cache: PoolView) -> Surrogate:
    """The surrogate that a round would have had if it had been about this pool's outputs."""
    return fit_others(adapt_round(round), cache, [list_known(log, round.number)])[0]


def adapt_round(round: Round) -> Round:
    """The round, with a surrogate that can be fitted to the outputs of any model."""
    name = round.choices["surrogate"]
    if catalog.fact("surrogates", name, "CROSSES"):
        return round
    return replace(round, choices={**round.choices, "surrogate": _USUAL})


def replay_rounds(log: Log, cache: PoolView) -> Log:
    """The log of another model's study as one about the outputs of this pool.

    Draws, labels and probabilities stay. A round says what its surrogate would have expected; where
    it drew from items that were predicted as some classes alone, its items are known to this model
    without a probability: that of other items was 0.
    """
    history = tuple(_replay_round(each, log, cache) for each in log.history)
    chosen = [each.number for each in log.history if each.left_out]
    q = np.where(np.isin(log.round, chosen), np.nan, log.q)
    return replace(log, history=history, q=q)


def _replay_round(round: Round, log: Log, cache: PoolView) -> Round:
    adapted = adapt_round(round)
    nothing = np.zeros((len(round.rows), 0))
    return replace(
        adapted,
        q=np.full(len(round.q), np.nan) if round.left_out else round.q,
        params=Later(lambda: fit_for_round(round, log, cache).params()),
        fit_round=round.number,
        fit_labels=len(list_known(log, round.number)[0]),
        statistics=(),
        groups=(),
        imputed=nothing,
        imputed_sum=np.zeros((0, 0)),
        count=np.zeros(0, np.int64),
        again=(),
        imputed_again=None,
        drawn_from=None,
        among=(),
        crossed=None,
    )
