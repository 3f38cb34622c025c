"""Arms of items whose attributes are uncertain: a share of each item for each arm."""

import numpy as np
from scipy.sparse import csr_matrix

from activetest.nouns.rows import Array
from activetest.nouns.surface import Arms
from activetest.nouns.uncertain import JointModel, UncertainAttributes

# Smaller shares of an item are left out, and so are those beyond the largest few; the rest is
# scaled to sum to 1.
SMALLEST_SHARE, MOST_ARMS = 0.01, 20


def spread_items(data: UncertainAttributes, model: JointModel) -> Arms:
    """The arms of a pool, with P(arm | item) by the model (Piratla 2021, algorithm 1, line 19).

    An item whose attributes are all known is in one arm. Of others, shares below 0.01 and beyond
    the 20 largest are left out, but never the largest; what is left sums to 1. Support is the sum
    of shares.
    """
    items, combinations, shares = [], [], []
    for rows in data.chunks():
        probs = model.predict(data, rows)
        kept = _choose_shares(probs)
        item, combination = np.nonzero(kept)
        share = np.where(kept, probs, 0)
        share /= share.sum(axis=1, keepdims=True)
        items.append(rows[item])
        combinations.append(combination)
        shares.append(share[item, combination].astype(np.float32))
    item, combination = np.concatenate(items), np.concatenate(combinations)
    codes = data.known[item]
    codes[:, list(data.uncertain)] = data.combinations[combination]
    numbers, arm = np.unique(data.attributes.number(codes), return_inverse=True)
    begins = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=len(data)))])
    membership = csr_matrix(
        (np.concatenate(shares), arm.astype(np.int32), begins), shape=(len(data), len(numbers))
    )
    return Arms(data.attributes, data.attributes.decode(numbers), membership)


def _choose_shares(probs: Array) -> Array:
    """(R, C) bool: the shares to keep."""
    least = np.full(len(probs), SMALLEST_SHARE)
    if probs.shape[1] > MOST_ARMS:
        least = np.maximum(least, np.partition(probs, -MOST_ARMS, axis=1)[:, -MOST_ARMS])
    kept = probs >= np.minimum(least, probs.max(axis=1))[:, None]
    if probs.shape[1] > MOST_ARMS and (kept.sum(axis=1) > MOST_ARMS).any():
        # Equal shares: the first few of them.
        kept &= np.cumsum(kept, axis=1) <= MOST_ARMS
    return np.asarray(kept)
