"""The surrogate where the user names none: it listens to what the user has given."""

from collections.abc import Iterable

from activetest.nouns.choices import Task
from activetest.pool.roles import OTHER_PREDICTIONS, OTHER_PROBABILITIES
from activetest.pool.schema import Schema


def usual_surrogate(schema: Schema, files: Iterable[str | None]) -> str:
    """The surrogate of a pool; files are those of training rows and of other models, if any.

    With either, with features, texts or other models' outputs in the pool, it is the one that
    weighs all evidence by how well it predicts.
    """
    if schema.task == Task.REGRESSION:
        return "residual"
    prefixes = (OTHER_PROBABILITIES, OTHER_PREDICTIONS)
    others = schema.others or any(name.startswith(prefixes) for name in schema.ignored)
    known = schema.features or schema.texts or others or any(files)
    return "auto" if known else "agreement"
