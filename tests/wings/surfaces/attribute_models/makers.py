"""Pools whose attributes are known, and what classifiers of known quality say of them."""

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Attributes
from activetest.nouns.uncertain import UncertainAttributes


def make_attributes(
    rng: np.random.Generator,
    *,
    items: int = 3000,
    sizes: tuple[int, ...] = (2, 2, 3),
    gold: int = 200,
    sharpness: tuple[float, ...] = (1.0,),
    skill: float = 1.5,
    correlation: float = 1.0,
) -> tuple[UncertainAttributes, Array]:
    """Attributes with pairwise interactions, and the true codes (N, K).

    Given its own value, what a classifier sees is independent of everything else. Its probabilities
    are right about a single attribute where sharpness is 1; their logits are multiplied by it.
    """
    width = len(sizes)
    combinations = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    weight = np.zeros(len(combinations))
    for first in range(width):
        weight += 0.5 * rng.standard_normal(sizes[first])[combinations[:, first]]
        for second in range(first):
            table = correlation * rng.standard_normal((sizes[first], sizes[second]))
            weight += table[combinations[:, first], combinations[:, second]]
    share = np.exp(weight - weight.max())
    share /= share.sum()
    codes = combinations[rng.choice(len(combinations), items, p=share)].astype(np.int32)
    probs = {}
    for position, size in enumerate(sizes):
        prior = np.bincount(combinations[:, position], share, size)
        seen = rng.standard_normal((items, size))
        seen[np.arange(items), codes[:, position]] += skill
        logits = (skill * seen + np.log(prior)) * sharpness[position % len(sharpness)]
        each = np.exp(logits - logits.max(axis=1, keepdims=True))
        probs[position] = (each / each.sum(axis=1, keepdims=True)).astype(np.float32)
    known = np.full((items, width), -1, np.int32)
    known[:gold] = codes[:gold]
    names = tuple(f"a{position}" for position in range(width))
    attributes = Attributes(names, tuple(tuple(map(str, range(size))) for size in sizes))
    return UncertainAttributes(attributes, probs, known), codes
