"""Evidence of features and texts on the model's answers: columns of every item, learned once."""

import numpy as np
import pyarrow as pa

from activetest.cache import features as all_features
from activetest.cache.answers import Answers, learn_answers
from activetest.cache.cache import Cache
from activetest.cache.learners import MOST_CLASSES, Features, Source
from activetest.cache.parts import EVIDENCE, FACTS, FEATURES, Part, drafting_part, open_part
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.rows import Array
from activetest.pool.ids import hash_rows
from activetest.pool.pool import Pool
from activetest.system.progress import step

# The columns follow from these rules, besides the pool.
_VERSION = 1


def ensure_evidence(cache: Cache, pool: Pool) -> Part:
    """The part of evidence, built unless it is there: of a pool of classes with features or texts.

    Its fingerprint is that of the features and texts. Of a population of several parts, both follow
    from the first: what is said of its items stays as it was when others come. Raises PoolError
    where the pool is damaged, OSError when the part cannot be written.
    """
    folder, described = cache.folder / EVIDENCE, all_features.describe_origin(cache, pool)
    origin = [_VERSION, cache.fingerprint, described, *map(list, filter(None, [pool.schema.texts]))]
    if part := open_part(folder, origin):
        return part
    sources: list[Source] = []
    words, prints = [], []
    if pool.schema.features:
        features = all_features.ensure_features(cache, pool)
        sources.append(Features(lambda rows: features.read(FEATURES, rows)))
        width = int(features.arrays[FEATURES]["shape"][1])
        words.append(("1 feature", True) if width == 1 else (f"{width:,} features", False))
        prints.append(features.fingerprint)
    # Read first: a damaged cache is replaced, with what is being drafted in it.
    hashes, first = cache.hashes, pool.files.part_rows[0]
    # Memory for reading the pool is not needed any more, and learning takes memory, too.
    pa.default_memory_pool().release_unused()
    with drafting_part(folder, origin) as draft:
        codes, confidence = _read_answers(cache)
        arrays: dict[str, Array] = {}
        if pool.schema.texts:
            from activetest.cache.texts import find_facts, read_texts

            with step("reading texts"):
                texts, counts = read_texts(pool, counting=len(cache.classes) > MOST_CLASSES)
            hashed = hash_rows(hashes[:first], [texts.hashes[:first]])
            prints.append(f"{int(hashed.sum(dtype=np.uint64)):016x}")
            named = shorten_list(pool.schema.texts)
            if counts.shape[1]:
                arrays[FACTS] = find_facts(counts, codes, cache.classes, first)
                draft.notices.append(
                    f"the surrogate learns from lengths, lines, digits and words of {named}, and "
                    "from the length of the answer"
                )
            else:
                sources.append(texts)
                words.append((f"the words of {named}", False))
        with step("learning what the pool says of the model's answers"):
            found = learn_answers(sources, codes, confidence, hashes, first)
        draft.put_items(cache.piece_rows, {EVIDENCE: found.columns, **arrays})
        draft.notices += _describe(words, found)
        draft.fingerprint = "+".join(prints)
    return Part.open(folder)


def _read_answers(cache: Cache) -> tuple[Array, Array | None]:
    """(N,) the model's answers, and (N,) logits of its confidence, None where it states none."""
    rows = [cache.rows(*piece) for piece in cache.chunks()]
    codes = np.concatenate([each.outputs.pred for each in rows])
    if not cache.manifest["model_columns"]:
        return codes, None
    return codes, np.concatenate([each.design[:, 0] for each in rows])


def _describe(words: list[tuple[str, bool]], found: Answers) -> list[str]:
    """How well each source foretells the model's answers, in sentences."""
    lines = []
    for (many, single), hits in zip(words, found.hits, strict=True):
        if hits:
            share = f"{100 * hits:.0f} % of items"
            lines.append(f"{many} foretell{'s' * single} the model's answer for {share}")
        else:
            does, changes = ("does", "changes") if single else ("do", "change")
            lines.append(f"{many} {does} not foretell the model's answers, and {changes} nothing")
    return lines
