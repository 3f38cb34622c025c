"""64-bit hashes that do not depend on chunking, row order, engine or retries."""

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.study_lists import FIRST

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(words: Array) -> Array:
    """(R,) uint64 -> (R,) uint64: the splitmix64 finaliser, a bijection that uses every bit."""
    with np.errstate(over="ignore"):
        words = words + _GOLDEN
        words ^= words >> np.uint64(30)
        words *= np.uint64(0xBF58476D1CE4E5B9)
        words ^= words >> np.uint64(27)
        words *= np.uint64(0x94D049BB133111EB)
        words ^= words >> np.uint64(31)
    return words


def uniforms(
    hashes: Array, seed: int, stream: int, *, repeats: Array | None = None, phase: int = FIRST
) -> Array:
    """(R,) numbers in (0, 1), one per hash; another seed, stream or phase gives independent ones.

    repeats  (R,) hashes of the repeats of items, 0 for a row that is none: each repeat of an item
             has a number of its own
    """
    key = mix(mix(np.array([seed], np.uint64)) ^ np.array([stream], np.uint64))
    if phase != FIRST:
        key = mix(key ^ np.array([phase], np.uint64))
    if repeats is not None:
        hashes = np.where(repeats != 0, mix(hashes ^ mix(repeats)), hashes)
    words = mix(hashes ^ key)
    # 53 bits, shifted by half a step so that neither 0 nor 1 occurs.
    return ((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53
