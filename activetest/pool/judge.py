"""A column of a judge's verdicts, probabilities or scores: what it holds, and what is positive.

The positive verdict is the better one of a known pair, see PAIRS, or the one of two that the other
is the negation of: safe and unsafe, correct and incorrect, relevant and not relevant. A pair is
found among any verdicts, whatever their case, but single letters and digits only where there are
no others; of two verdicts that are no pair, the second in alphabetical order is positive. Where a
judge never gives the other verdict of a pair, it is a class all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from activetest.errors import ChoiceError, PoolError
from activetest.nouns.choices import ColumnChoices, Task
from activetest.pool.columns import encode_values, read_numbers
from activetest.pool.files import Files, Piece, hold_something
from activetest.pool.groups import find_occurring, sort_names
from activetest.pool.roles import check_verdicts, is_number
from activetest.system.parallel import map_reduce

# (positive, negative) verdicts.
PAIRS = (
    ("pass", "fail"),
    ("passed", "failed"),
    ("good", "bad"),
    ("yes", "no"),
    ("y", "n"),
    ("true", "false"),
    ("t", "f"),
    ("1", "0"),
    ("correct", "incorrect"),
    ("correct", "wrong"),
    ("right", "wrong"),
    ("c", "i"),
    ("ok", "not ok"),
    ("accept", "reject"),
    ("accepted", "rejected"),
    ("win", "loss"),
    ("win", "lose"),
    ("positive", "negative"),
)
# Correct, incorrect, partial and no answer.
_INSPECT = {"c", "i", "p", "n"}
_NEGATIONS = ("in", "un", "ir", "im", "non", "non-", "not ", "not-", "not_", "no ", "no_")
# More different texts than this are no verdicts.
_MOST_VERDICTS = 20


@dataclass(frozen=True)
class _Values:
    """Values of a column: rows without a value and the first of them, texts, range of numbers."""

    missing: int = 0
    first: int | None = None
    texts: frozenset[str] = frozenset()
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True

    def join(self, other: "_Values") -> "_Values":
        """Both together."""
        return _Values(
            self.missing + other.missing,
            other.first if self.first is None else self.first,
            self.texts | other.texts,
            min(self.low, other.low),
            max(self.high, other.high),
            self.whole and other.whole,
        )


def resolve_judge(files: Files, choices: ColumnChoices, name: str) -> tuple[ColumnChoices, str]:
    """The choices of a pool whose outputs are a judge's, and their kind: "pred" or "score".

    Words, true and false, and numbers that are all 0 or 1 are verdicts. Other numbers are scores
    that people give as well; probabilities of the positive verdict where the task is classification
    or the positive verdict is named. Items without a value are left out. Raises ChoiceError where
    outputs are named as well, PoolError for a column that does not exist or holds free text, and
    for rows without a value where no column holds ids.
    """
    column = str(choices.judge)
    if choices.outputs not in (None, (column,)):
        raise ChoiceError(
            f"`judge={column!r}` says what the outputs are, and `outputs` names others",
            "leave `outputs` out",
        )
    check_verdicts(files.schema, column)
    found = _read_values(files, column)
    if found.missing:
        _leave_out_gaps(files, choices, found, name)
    if choices.task is None:
        choices = replace(choices, task=_choose_task(found, choices))
    choices = replace(choices, outputs=(column,))
    if choices.task == Task.REGRESSION:
        return choices, "pred"
    numeric = is_number(files.schema.field(column).type) and not found.texts
    if numeric and not (found.low >= 0 and found.high <= 1):
        raise PoolError(
            f"column {column!r} holds numbers from {found.low:g} to {found.high:g}, which are no "
            "probabilities",
            f'`judge={column!r}, task="regression"` reads them as scores',
        )
    if numeric and not found.whole:
        return _name_two(choices), "score"
    verdicts = _ZERO_ONE if numeric else sort_names(found.texts)
    if len(verdicts) > _MOST_VERDICTS and choices.classes is None:
        raise PoolError(
            f"column {column!r} holds {len(verdicts):,} different texts, and a judge has at most "
            f"{_MOST_VERDICTS} verdicts",
            "name the column of verdicts, or the classes: `classes=names`",
        )
    return _name_verdicts(choices, verdicts), "pred"


def _leave_out_gaps(files: Files, choices: ColumnChoices, found: _Values, name: str) -> None:
    """Leave out the items that the judge did not grade.

    Raises PoolError where the ids are the numbers of rows, which would be others then, and where
    no item is left.
    """
    column = str(choices.judge)
    items = "1 item has" if found.missing == 1 else f"{found.missing:,} items have"
    problem = f"{items} no verdict in column {column!r} of {name}"
    if found.missing == files.rows:
        raise PoolError(problem, "name another column: no item would be left")
    if choices.id is None and "id" not in files.schema.names:
        raise PoolError(
            f"{problem}, the first in row {found.first:,} (counting from 0)",
            "say which column holds ids, `id=column`, and they are left out; or leave them out of "
            "the file, or give them a verdict of their own, such as none, which then counts as "
            "the judge's answer",
        )
    files.leave_out_gaps(column)


def find_pair(verdicts: Sequence[str]) -> tuple[str, str] | None:
    """The positive and the negative verdict among these, as they are spelled; None without a pair.

    Of a single verdict that is half of a pair, the other half is spelled in lower case.
    """
    spelled = {name.strip().casefold(): name for name in verdicts}
    for positive, negative in PAIRS:
        # Among several, letters and digits may stand for anything, but for those of Inspect.
        clear = len(positive) > 1 or len(spelled) == len(PAIRS[0]) or {*spelled} <= _INSPECT
        if positive in spelled and negative in spelled and clear:
            return spelled[positive], spelled[negative]
    for word, name in spelled.items():
        for prefix in _NEGATIONS:
            if len(word) > 1 and f"{prefix}{word}" in spelled:
                return name, spelled[f"{prefix}{word}"]
    if len(spelled) == 1:
        ((word, name),) = spelled.items()
        for positive, negative in PAIRS:
            if word == positive:
                return name, _spell_alike(negative, name)
            if word == negative:
                return _spell_alike(positive, name), name
    return None


def _name_verdicts(choices: ColumnChoices, verdicts: Sequence[str]) -> ColumnChoices:
    """The choices with the positive verdict, and the classes where they are a pair."""
    if choices.classes is not None:
        pair = find_pair(choices.classes)
        return replace(choices, positive=choices.positive or (pair[0] if pair else None))
    pair = find_pair(verdicts)
    positive = choices.positive
    if pair is None:
        second = verdicts[1] if len(verdicts) == 2 else None
        return replace(choices, positive=positive or second)
    if len(verdicts) <= len(pair):
        choices = replace(choices, classes=tuple(sort_names(pair)))
    return replace(choices, positive=positive or pair[0])


def _name_two(choices: ColumnChoices) -> ColumnChoices:
    """The choices with the two classes of a probability, where the positive one is of a pair."""
    if choices.classes is not None or choices.positive in (None, *_ZERO_ONE):
        return choices
    pair = find_pair((str(choices.positive),))
    if pair is None:
        return choices
    return replace(choices, classes=tuple(sort_names(pair)))


def _choose_task(found: _Values, choices: ColumnChoices) -> str:
    """The task of a judge: for texts, verdicts; for numbers, values unless they are 0 and 1."""
    verdicts = found.texts or (found.whole and found.low >= 0 and found.high <= 1)
    named = choices.positive is not None or choices.classes is not None
    return Task.CLASSIFICATION if verdicts or named else Task.REGRESSION


def _read_values(files: Files, column: str) -> _Values:
    """Values of the column; of numbers their range, of texts and truth values which there are."""
    kind = files.schema.field(column).type
    numeric = is_number(kind) and not pa.types.is_boolean(kind)

    def read_piece(piece: Piece) -> _Values:
        found, start = _Values(), piece.start
        for batch in files.batches([column], piece):
            found = found.join(_read(batch.column(column), start, numeric=numeric))
            start += batch.num_rows
        return found

    return map_reduce(files.pieces, read_piece, _Values.join)


def _read(array: pa.Array, start: int, *, numeric: bool) -> _Values:
    """Values of a batch whose first row is `start`."""
    there = hold_something(array)
    first = pc.index(there, False).as_py()
    known = array.filter(there)
    missing = len(array) - len(known), start + first if first >= 0 else None
    if not numeric:
        texts = find_occurring(*encode_values(known))
        return _Values(*missing, frozenset(name.strip() for name in texts))
    values = read_numbers(known).astype(float)
    return _Values(
        *missing,
        low=float(values.min(initial=np.inf)),
        high=float(values.max(initial=-np.inf)),
        whole=bool((values == np.round(values)).all()),
    )


def _spell_alike(word: str, other: str) -> str:
    """The word in the case of another one."""
    if len(other) > 1 and other.isupper():
        return word.upper()
    return word.capitalize() if other[:1].isupper() else word


_ZERO_ONE = ("0", "1")
