"""Other ways to read a pool, which the user may have meant: from the names and the first rows."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.formats import read_file_notes
from activetest.nouns.choices import ColumnChoices, Task
from activetest.nouns.name_lists import shorten_list
from activetest.pool.classes import find_codes
from activetest.pool.column_names import is_id, is_index
from activetest.pool.columns import encode_values
from activetest.pool.groups import JOIN
from activetest.pool.proposals import find_stated
from activetest.pool.roles import (
    OTHER_MODELS,
    WEIGHT,
    is_amount,
    is_plain_name,
    is_telling,
    is_text,
)
from activetest.pool.unclear import find_number_codes, write_settings

if TYPE_CHECKING:
    from activetest.pool.pool import Pool

# Rows in which candidates are looked for, and the fewest that tell ids of any name from others.
_SAMPLE, _FEWEST = 1000, 10
# Candidates that are looked at.
_MOST = 100
# Values of a group in the sample, and columns that are named.
_MOST_GROUPS, _SHOWN = 50, 3
# Cohen's kappa and number of classes from which on a column may hold another model's predictions.
_LEAST_KAPPA, _FEWEST_CLASSES = 0.4, 2
# Of the pool, where predictions are of interest, and ids for errors.
_UNREAD = ("features", "groups", "amounts")
# Longer values, and those of more words, are free text.
_LONGEST, _MANY_WORDS = 64, r"\S\s+\S+\s+\S+\s+\S"


def suggest_roles(pool: "Pool", choices: ColumnChoices) -> tuple[str, ...]:
    """Sentences about columns that may have another role than by convention."""
    return (
        *_suggest_task(pool, choices),
        *_suggest_probabilities(pool, choices),
        *_suggest_judge(pool, choices),
        *_suggest_id(pool, choices),
        *_suggest_weight(pool, choices),
        *_suggest_other_models(pool, choices),
        *_suggest_groups(pool),
    )


def _suggest_judge(pool: "Pool", choices: ColumnChoices) -> list[str]:
    """Where the outputs are what a log calls a grade."""
    name = read_file_notes(pool.files.schema.metadata).judge
    if choices.judge or name is None or name not in pool.schema.outputs:
        return []
    return [
        f"{name!r} is a grade of each output: `judge={name!r}` asks what people would say of it"
    ]


def _suggest_probabilities(pool: "Pool", choices: ColumnChoices) -> list[str]:
    """Where classes are predicted, and other columns hold how likely they are."""
    plain = pool.schema.kind == "pred" and pool.schema.task == Task.CLASSIFICATION
    if not plain or choices.outputs is not None or choices.judge or pool.files.remote:
        return []
    stated = find_stated(pool.files)
    if stated is None:
        return []
    named = stated["outputs"]
    named = [named] if isinstance(named, str) else named
    several = len(named) > 1
    return [
        f"{'columns' if several else 'column'} {shorten_list(map(repr, named), _SHOWN)} "
        f"{'hold' if several else 'holds'} how sure the model is of 'pred', and "
        f"{'are' if several else 'is'} not read as that: `{write_settings(stated)}` does"
    ]


def _suggest_task(pool: "Pool", choices: ColumnChoices) -> list[str]:
    """Where a score is no probability."""
    schema = pool.schema
    if schema.task != "regression" or choices.task is not None or schema.std is not None:
        return []
    column = schema.outputs[0]
    if column == "score":
        low, high = pool.files.find_range(column)
        return [
            f"'score' runs from {low:g} to {high:g}, so it is no probability: it is read as "
            "predicted values (regression)"
            + ("; divide percentages by 100" if low >= 0 and 1 < high <= 100 else "")
        ]
    if not pool.files.remote and find_number_codes(pool.files, column):
        return [
            f"{column!r} holds few whole numbers, and is read as predicted values (regression); if "
            'they are classes, add `task="classification"`'
        ]
    return []


def _suggest_id(pool: "Pool", choices: ColumnChoices) -> list[str]:
    """Where the pool has no ids, a column whose first values are short and differ."""
    name = find_id(pool, choices)
    if name is None:
        return []
    rows = pool.files.sample([name], checked=False).num_rows
    found = "is unique" if rows == pool.rows else "looks like an id"
    return [f"column {name!r} {found}: `id={name!r}` uses it"]


def find_id(pool: "Pool", choices: ColumnChoices) -> str | None:
    """The column that looks like ids, of a pool that has none; None without."""
    if pool.schema.id is not None:
        return None
    table = pool.files.schema
    free = (*pool.schema.ignored, *(pool.schema.features if choices.features is None else ()))
    # Names of ids come first, then those of the index of pandas.
    candidates = [
        name
        for name in sorted(free, key=lambda name: 0 if is_id(name) else 2 - is_index(name))
        if _may_be_id(pool, name, table.field(name).type)
    ][:_MOST]
    if not candidates:
        return None
    sample = pool.files.sample(candidates, _SAMPLE, checked=False)
    for name in candidates:
        if _are_ids(sample.column(name)):
            rows = pool.files.sample([name], checked=False)
            if _are_ids(rows.column(name)):
                return name
    return None


def _suggest_weight(pool: "Pool", choices: ColumnChoices) -> list[str]:
    """Columns of numbers that are set aside because of a name such as sample_weight."""
    if choices.weight is not None:
        return []
    table = pool.files.schema
    return [
        f"column {name!r} may hold weights of items: `weight={name!r}` weighs every number by it"
        for name in pool.schema.ignored
        if WEIGHT.search(name) and is_amount(table.field(name).type)
    ][:1]


def _suggest_other_models(pool: "Pool", choices: ColumnChoices) -> list[str]:
    """Columns of classes of the pool that mostly are those that the model predicts."""
    found = {} if choices.other_columns else find_other_models(pool, choices)
    if not found:
        return []
    names, low, high = list(found), min(found.values()), max(found.values())
    shown = ", ".join(map(repr, names[:_SHOWN]))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    several = len(names) > 1
    agree = f"{low:.0%}" + (f" to {high:.0%}" if f"{low:.0%}" != f"{high:.0%}" else "")
    return [
        f"{'columns' if several else 'column'} {shown}{more} {'hold' if several else 'holds'} "
        f"classes, and the model's own in {agree} of the items: if other models predicted them, "
        f"`other_columns={names!r}` takes them as what these say"
        + (", not as numbers" if set(names) & set(pool.schema.features) else "")
    ]


def find_other_models(pool: "Pool", choices: ColumnChoices) -> dict[str, float]:
    """{column: share of the first items where it holds the predicted class}.

    Of the columns without another role that hold several of the pool's classes and nothing else,
    and agree with the model far more often than by chance.
    """
    schema, table = pool.schema, pool.files.schema
    if schema.task != "classification" or pool.files.remote:
        return {}
    free = (*schema.ignored, *(schema.features if choices.features is None else ()))
    candidates = [
        name
        for name in free
        if (kinds.is_integer(table.field(name).type) or is_text(table.field(name).type))
        and is_plain_name(name)
    ][:_MOST]
    if not candidates:
        return {}
    pred = pool.read_block(next(pool.strips(without=_UNREAD))).checked.outputs.pred[:_SAMPLE]
    sample = pool.files.sample(candidates, _SAMPLE, checked=False)
    pred = pred[: sample.num_rows]
    found = {}
    for name in candidates:
        values = sample.column(name)[: len(pred)]
        if values.null_count == 0 and (share := _measure_agreement(values, pred, schema.classes)):
            found[name] = share
    return found


def _measure_agreement(
    values: pa.Array, pred: np.ndarray, classes: tuple[str, ...]
) -> float | None:
    """The share of rows in which values are the predicted classes (R,); None where too few are."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return None
    found, names = encode_values(values)
    codes = find_codes(names, classes)
    if len(names) < _FEWEST_CLASSES or len(pred) < _FEWEST or (codes < 0).any():
        return None
    codes = codes[found]
    share = float((codes == pred).mean())
    size = len(classes)
    expected = np.bincount(codes, minlength=size) @ np.bincount(pred, minlength=size)
    chance = expected / len(pred) ** 2
    return share if chance < 1 and (share - chance) / (1 - chance) >= _LEAST_KAPPA else None


def _suggest_groups(pool: "Pool") -> list[str]:
    """Columns that could be groups."""
    found = find_groups(pool)
    if not found:
        return []
    shown, more = found[:_SHOWN], len(found) - _SHOWN
    named = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    several = len(found) > 1
    return [
        f"could be {'groups' if several else 'a group'}: {named} "
        f"(`groups={shown!r}` reports by {'them' if len(shown) > 1 else 'it'})"
    ]


def find_groups(pool: "Pool") -> list[str]:
    """Columns of text whose first values are short, few and repeated: free text is none of them."""
    table = pool.files.schema
    candidates = [
        name
        for name in pool.schema.ignored
        if is_text(table.field(name).type)
        and is_plain_name(name)
        # A product of groups is named with it.
        and JOIN not in name
    ][:_MOST]
    # Of a remote pool, no texts are fetched that may be long.
    if not candidates or pool.files.remote:
        return []
    sample = pool.files.sample(candidates, _SAMPLE, checked=False)
    partial = sample.num_rows < pool.rows
    return [name for name in candidates if _are_values(sample.column(name), partial=partial)]


def _are_values(texts: pa.Array, *, partial: bool) -> bool:
    """Whether texts are short and repeated, as the values of a group are.

    partial  there are more: they may have other values
    """
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    texts = texts.cast(pa.large_string()).drop_null()
    distinct = pc.count_distinct(texts).as_py()
    if not distinct or (distinct == 1 and not partial):
        return False
    longest = pc.max(pc.utf8_length(texts)).as_py()
    return bool(longest <= _LONGEST and 2 * distinct <= len(texts) and distinct <= _MOST_GROUPS)


def _may_be_id(pool: "Pool", name: str, kind: pa.DataType) -> bool:
    """Whether a column's name and type are those of an id; only text has an id of any name."""
    if is_index(name):
        return is_text(kind) or kinds.is_integer(kind)
    if name == "pred" or is_telling(name) or OTHER_MODELS.search(name):
        return False
    if is_id(name):
        return is_text(kind) or kinds.is_integer(kind)
    # Of a remote pool, no texts are fetched that may be long.
    return is_text(kind) and pool.rows >= _FEWEST and not pool.files.remote


def _are_ids(values: pa.Array) -> bool:
    """Whether values are short, without gaps, and different, and text is UTF-8."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    texts = values.cast(pa.large_string())
    if texts.null_count or pc.count_distinct(texts).as_py() < len(texts):
        return False
    lengths = pc.min_max(pc.utf8_length(texts)).as_py()
    many_words = pc.any(pc.match_substring_regex(texts, _MANY_WORDS)).as_py()
    return lengths["min"] > 0 and lengths["max"] <= _LONGEST and not many_words
