"""Lists of names in messages: the first of thousands, and how many more there are."""

from collections import Counter
from collections.abc import Iterable, Sequence


def shorten_list(names: Iterable[str], most: int = 12) -> str:
    """The names with commas between them, or the first of them and how many more there are.

    >>> shorten_list(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    found = list(names)
    more = len(found) - most
    return ", ".join(found[:most]) + (f" and {more:,} more" if more > 0 else "")


def find_repeated(names: Iterable[str]) -> list[str]:
    """The names that stand there more than once, by a pass: tables may have thousands of columns.

    >>> find_repeated(["a", "b", "a", "c", "c"])
    ['a', 'c']
    """
    return [name for name, times in Counter(names).items() if times > 1]


def list_few(names: Sequence[str], most: int = 3) -> str:
    """A few names as a sentence has them.

    >>> list_few(["a", "b", "c"]), list_few(["a", "b", "c", "d"])
    ('a, b and c', 'a, b, c and 1 more')
    """
    shown, more = list(names[:most]), len(names) - most
    shown += [f"{more:,} more"] * (more > 0)
    return join_names(shown)


def join_names(names: Iterable[str]) -> str:
    """All names as a sentence has them.

    >>> join_names(["rmse"]), join_names(["rmse", "mae", "bias"])
    ('rmse', 'rmse, mae and bias')
    """
    *others, last = (*names,) or ("",)
    return f"{', '.join(others)} and {last}" if others else last
