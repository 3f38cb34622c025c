"""How much of a log estimates use."""

import numpy as np

from activetest.nouns.evidence import PENDING, Log


def used(log: Log) -> tuple[int, bool]:
    """Number of draws, picks among them, that estimates use, and whether they are whole rounds.

    Steps need every earlier draw answered, and a fixed interval must not end inside a round: where
    the answered beginning ends could depend on the answers. A label that a round knew and that was
    then taken back ends it as well. Of the first round alone the answered beginning is used.
    """
    waiting = np.flatnonzero(log.status == PENDING)
    answered = int(waiting[0]) if len(waiting) else len(log.rows)
    taken_back = log.brought_round[log.brought_status == PENDING]
    if len(taken_back):
        answered = min(answered, int(np.searchsorted(log.round, taken_back.min())))
    if answered == len(log.rows):
        return answered, True
    start = int(np.searchsorted(log.round, log.round[answered]))
    if log.picked[:start].all() and not log.picked[answered]:
        return answered, answered == start
    return start, True
