"""How a table becomes a pool: its columns get their roles, and it is said what was understood."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from activetest.errors import PoolError
from activetest.nouns.choices import ColumnChoices
from activetest.nouns.class_names import read_class_names
from activetest.pool import columns as pool_columns
from activetest.pool.bins import resolve_bins
from activetest.pool.classes import resolve_classes
from activetest.pool.files import Files
from activetest.pool.image_shape import parse_shape
from activetest.pool.judge import resolve_judge
from activetest.pool.notices import describe_pool
from activetest.pool.odd_rows import check_rows
from activetest.pool.outputs import TOLERANCE
from activetest.pool.parts import describe_parts
from activetest.pool.pool import Pool
from activetest.pool.proposals import describe_proposals
from activetest.pool.roles import NoOutputs, assign_roles, reject_duplicates
from activetest.pool.schema import Schema
from activetest.pool.suggestions import suggest_roles
from activetest.pool.texts import resolve_texts
from activetest.pool.uncertain import resolve_values
from activetest.pool.unclear import check_outputs, holds_codes
from activetest.pool.written_numbers import WrittenNumbers, find_written_numbers
from activetest.system.safe_text import mask_secrets

# Share of scores that can be no probabilities, up to which they look like mistakes.
_STRAY = 0.01


def understand_pool(
    uri: str | Path,
    choices: ColumnChoices,
    *,
    bins: Mapping[str, Sequence[float]] | None = None,
    class_names: Mapping[str, Sequence[str]] | None = None,
    name: str | None = None,
    suggest: bool = True,
    forms: Mapping[str, str] | None = None,
    hidden: Iterable[str] = (),
    joined: str | Path | None = None,
) -> Pool:
    """The pool at an address, every column with its role: see Pool.open.

    Raises PoolError, ChoiceError.
    """
    files = Files(str(uri), joined)
    files.hide(hidden)
    reject_duplicates(files.schema)
    name = name or str(uri)
    found = class_names
    if found is None:
        found = read_class_names(files.schema.metadata)
        found |= read_class_names(files.joined.schema.metadata) if files.joined else {}
    files.name_classes(found)
    written = (
        find_written_numbers(files, choices) if forms is None else WrittenNumbers({**forms}, {})
    )
    files.read_written(written.forms)
    if forms is None:
        check_rows(files, mask_secrets(name))
    written.check(choices)
    judged = None
    if choices.judge:
        choices, judged = resolve_judge(files, choices, mask_secrets(name))
    schema = replace(
        _assign_roles(files, choices, judged, mask_secrets(name)),
        named=tuple(files.class_names),
        names=tuple(files.class_names.values()),
        written=tuple(written.forms),
        forms=tuple(written.forms.values()),
        decimal=choices.decimal or "",
        left_out=files.left_out,
    )
    pool = Pool(name, schema, files)
    if not pool.rows:
        raise PoolError(f"the pool {name} has no rows", hint="give a pool with at least one item")
    pool.schema = schema = _leave_out_empty_lists(pool, named=choices.features is not None)
    if choices.feature_shape:
        shape = parse_shape(choices.feature_shape, len(pool.feature_names()))
        pool.schema = schema = replace(schema, shape=shape)
    if not judged:
        check_outputs(files, choices, schema)
    if schema.task == "classification":
        pool.schema = resolve_classes(pool, choices)
        pool.schema = resolve_texts(pool, choices)
    if pool.schema.attributes:
        pool.schema = resolve_values(pool)
        pool.schema = resolve_bins(pool, choices.attributes, bins)
    first, *others = describe_pool(pool.schema, files.schema, pool.rows, files.gaps)
    pool.notices = (first, *describe_parts(name), *others, *written.notices)
    if suggest:
        pool.notices += suggest_roles(pool, choices)
    return pool


def _assign_roles(files: Files, choices: ColumnChoices, judged: str | None, name: str) -> Schema:
    """The roles of the columns; a score is no probability where its values cannot be.

    Whoever says that it is one, with `task`, is told of the first value that is none. Raises
    PoolError where no more than one in a hundred is none.
    """
    try:
        schema = assign_roles(files.schema, choices, judged)
    except NoOutputs as error:
        found = describe_proposals(files)
        raise NoOutputs(
            error.problem, f"{found}; or {error.hint}" if found else error.hint
        ) from error
    if schema.kind == "score" and schema.pred is None and holds_codes(files, schema.outputs[0]):
        return assign_roles(files.schema, choices, judged, score_is_class=True)
    free = choices.task is None and not judged
    if free and schema.kind == "score" and schema.outputs == ("score",):
        lowest, highest = files.find_range("score")
        if lowest < -TOLERANCE or highest > 1 + TOLERANCE:
            _reject_stray_scores(files, name)
            return assign_roles(files.schema, choices, score_is_value=True)
    return schema


def _reject_stray_scores(files: Files, name: str) -> None:
    """Raises PoolError where nearly all scores could be probabilities: the others look wrong."""
    known = stray = 0
    first: tuple[int, float] | None = None
    for start, batch in files.scan(["score"]):
        values = pool_columns.read_numbers(batch.column(0)).astype(float)
        outside = np.flatnonzero((values < -TOLERANCE) | (values > 1 + TOLERANCE))
        known += int((~np.isnan(values)).sum())
        stray += len(outside)
        if first is None and len(outside):
            first = start + int(outside[0]), float(values[outside[0]])
    if first is None or stray > _STRAY * known:
        return
    row, value = first
    others = "the only one" if stray == 1 else f"one of {stray:,}"
    raise PoolError(
        f"'score' is {value:g} in row {row:,} of {name} (counting from 0), {others} of {known:,} "
        "values outside 0 to 1, and the others look like probabilities",
        'correct it, or say what a score is: `task="regression"` reads all of them as predicted '
        "values",
    )


def _leave_out_empty_lists(pool: Pool, *, named: bool) -> Schema:
    """The schema without features that are lists of nothing.

    named  the user named the features: raises PoolError then
    """
    schema = pool.schema
    empty = {name for name, width in pool.widths.items() if not width}
    if empty and named:
        raise PoolError(
            f"column {min(empty)!r} holds empty lists", hint="name other features, or none of them"
        )
    unused = empty | set(schema.ignored)
    return replace(
        schema,
        features=tuple(name for name in schema.features if name not in empty),
        ignored=tuple(name for name in pool.files.schema.names if name in unused),
    )
