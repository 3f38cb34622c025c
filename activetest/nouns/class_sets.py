"""Items with several true classes: how such answers look, and what can be done about them."""

import json
from collections.abc import Collection

# Longer texts are no lists of classes.
_LONGEST = 10_000
_SEPARATORS = "|;,#"
# Classes that are looked at.
_MOST = 100


def describe_remedy(column: str = "", name: str = "yes") -> str:
    """Remedy for items with several true classes.

    column, name  of the probability of one class, for the example
    """
    example = f"outputs={column!r}" if column else "outputs=column"
    return (
        "where several classes can be true of an item, make a study of each class, from a column "
        f"of its probability: `Study.create(pool, folder, {example}, classes={['no', name]!r})`; "
        "or give each set of classes one name, in the pool and in the labels: then only the whole "
        "set is right"
    )


def find_classes(text: str, classes: Collection[str]) -> tuple[str, ...]:
    """The classes that a text lists, as in a|b or ["a", "b"]; none where it is no such list.

    >>> find_classes("a|b", ["a", "b", "c"]), find_classes('["a"]', ["a"])
    (('a', 'b'), ('a',))
    >>> find_classes("a|b", ["a", "a|b"]), find_classes("a|x", ["a", "b"])
    ((), ())
    """
    names = set(classes)
    if text in names or len(text) > _LONGEST:
        return ()
    parts = read_list(text)
    for separator in _SEPARATORS:
        if not parts and separator in text:
            # Classes that are sets themselves: another set is a class like them.
            known = not any(separator in name for name in names)
            parts = tuple(map(str.strip, text.split(separator))) if known else ()
    return parts if parts and names.issuperset(parts) else ()


def find_sets(classes: Collection[str]) -> list[str]:
    """The classes that list others of the classes.

    >>> find_sets(["a", "b", "a|b"])
    ['a|b']
    """
    joined = [name for name in classes if any(each in name for each in _SEPARATORS)]
    plain = set(classes) - set(joined)
    return [name for name in joined[:_MOST] if find_classes(name, plain)]


def read_list(text: str) -> tuple[str, ...]:
    """The texts in a JSON array of texts; none for anything else.

    >>> read_list('["sports", "tech"]'), read_list("sports"), read_list("[1, 2]")
    (('sports', 'tech'), (), ())
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")) or len(text) > _LONGEST:
        return ()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return tuple(found) if all(isinstance(each, str) for each in found) else ()
