"""What the features say of the model's answers: columns of every item, learned once."""

import numpy as np

from activetest.cache import features as all_features
from activetest.cache.answers import learn_answers
from activetest.cache.cache import Cache
from activetest.cache.parts import EVIDENCE, FEATURES, Part, drafting_part, open_part
from activetest.nouns.rows import Array
from activetest.pool.pool import Pool
from activetest.progress import step

# The columns follow from these rules, besides the pool.
_VERSION = 1


def ensure_evidence(cache: Cache, pool: Pool) -> Part:
    """The part of evidence, built unless it is there: of a pool of classes that has features.

    Its fingerprint is that of the features. Raises PoolError where the pool is damaged, OSError
    when the part cannot be written.
    """
    folder, described = cache.folder / EVIDENCE, all_features.describe_origin(cache, pool)
    origin = [_VERSION, cache.fingerprint, described]
    if part := open_part(folder, origin):
        return part
    features = all_features.ensure_features(cache, pool)
    # Read first: a damaged cache is replaced, with what is being drafted in it.
    hashes = cache.hashes
    with drafting_part(folder, origin) as draft:
        codes, confidence = _read_answers(cache)
        items = features.items
        with step("learning what features say of the model's answers"):
            found = learn_answers(
                lambda rows: items.select(FEATURES, rows), codes, confidence, hashes
            )
        width = int(items.select(FEATURES, slice(0, 1)).shape[1])
        draft.write_items(cache.piece_rows, {EVIDENCE: found.columns})
        draft.notices.append(_describe(width, found.columns.shape[1], found.hits))
        draft.fingerprint = features.fingerprint
    return Part(folder)


def _read_answers(cache: Cache) -> tuple[Array, Array | None]:
    """(N,) the model's answers, and (N,) logits of its confidence, None where it states none."""
    rows = [cache.rows(*piece) for piece in cache.chunks()]
    codes = np.concatenate([each.outputs.pred for each in rows])
    if not cache.manifest["model_columns"]:
        return codes, None
    return codes, np.concatenate([each.design[:, 0] for each in rows])


def _describe(features: int, columns: int, hits: float) -> str:
    """How well the features foretell the model's answers, in a sentence."""
    single = features == 1
    many = "1 feature" if single else f"{features:,} features"
    if not columns:
        does, changes = ("does", "changes") if single else ("do", "change")
        return f"{many} {does} not foretell the model's answers, and {changes} nothing"
    return f"{many} foretell{'s' * single} the model's answer for {100 * hits:.0f} % of items"
