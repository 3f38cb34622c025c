"""Votes: what each further model of a study says of the predictions of the pool's own.

It is 1 where a model predicts the same class and 0 elsewhere; a quarter of the logit of the
predicted class, where it has probabilities; and of values how much more it predicts. They follow
from outputs alone, and know no label: models that labels of the study took part in making have
none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add

import numpy as np

from activetest.cache.aligned import align_items
from activetest.cache.cache import Cache
from activetest.cache.parts import NO_VOTE, VOTE, VOTES, Part, drafting_part, open_part
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.system.parallel import map_reduce
from activetest.system.progress import step

# The columns follow from these rules, besides the outputs.
_VERSION = 1
# Weight of a logit, and the least probability.
_LOGIT, _LEAST = 0.25, 1e-3
# Of more models, the first ones have votes: what many say together, few say, too.
MOST = 10


@dataclass(frozen=True)
class FurtherModel:
    """A further model of a study.

    fingerprint  hexadecimal: of its ids and outputs
    rounds       number of rounds that were drawn before it had a vote
    open         its outputs, for the same items
    """

    fingerprint: str
    rounds: int
    open: Callable[[], Cache]


def ensure_votes(cache: Cache, further: Sequence[FurtherModel]) -> Part:
    """The part with a column for each of the first MOST models, built unless it is there.

    Its fingerprint states the rounds and the fingerprint of each. Raises PoolError where outputs of
    a model are missing, OSError when the part cannot be written.
    """
    further = further[:MOST]
    folder, votes = cache.folder / VOTES, "+".join(f"{v.rounds}:{v.fingerprint}" for v in further)
    origin = [_VERSION, cache.manifest["stamp"], cache.fingerprint, votes]
    if part := open_part(folder, origin):
        return part
    # Read first: a damaged cache is replaced, with what is being drafted in it.
    _ = cache.hashes
    others = [align_items(cache, each.open()) for each in further]
    with step("comparing models"), drafting_part(folder, origin) as draft:
        columns = np.column_stack([_compare(cache, other) for other in others])
        draft.put_items(cache.piece_rows, {VOTES: columns})
        draft.fingerprint = votes
    return Part.open(folder)


def _compare(cache: Cache, other: PoolView) -> Array:
    """(N,) votes of a model: float32, and of classes bytes."""
    codes = {name: code for code, name in enumerate(other.classes)}
    # Open classes of one model may be unknown to another.
    there = np.array([codes.get(name, -1) for name in cache.classes], int)

    def compare_chunk(chunk: tuple[int, int]) -> list[Array]:
        own, outputs = cache.rows(*chunk).outputs.pred, other.rows(*chunk).outputs
        if not cache.classes:
            return [(outputs.pred - own).astype(np.float32)]
        if outputs.probs is None:
            return [_keep_votes(there[own] == outputs.pred)]
        found = np.take_along_axis(outputs.probs, there[own][:, None], axis=1)[:, 0].astype(float)
        probs = np.clip(found, _LEAST, 1 - _LEAST)
        return [_keep_votes(_LOGIT * np.log(probs / (1 - probs)))]

    return np.concatenate(map_reduce(cache.chunks(), compare_chunk, add))


def _keep_votes(votes: Array) -> Array:
    """(R,) votes as bytes."""
    return (np.rint(VOTE * votes.astype(float)) + NO_VOTE).astype(np.uint8)
