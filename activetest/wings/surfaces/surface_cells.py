"""Cells of a surface as users write them: race=Black,sex=Female, race*age, race*sex=Black*Female.

Names and values are texts; both may hold commas, equals signs and asterisks.
"""

from collections.abc import Iterator, Mapping, Sequence

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.nouns.arguments import show
from activetest.nouns.surface import Attributes
from activetest.pool.groups import JOIN


def parse_cell(text: str, names: Sequence[str]) -> dict[str, str]:
    """{attribute: value} in a text such as "race=Black,sex=Female".

    A comma begins the next attribute where the name of one follows; other commas belong to the
    value. Raises ChoiceError for a text of another form, and an attribute that is not there.
    """
    found: dict[str, str] = {}
    last = ""
    for part in text.split(","):
        name, equals, value = (each.strip() for each in part.partition("="))
        if equals and name in names:
            if name in found:
                raise ChoiceError(f"{text!r} names {name} twice", "name each attribute once")
            found[name], last = value, name
        elif last:
            found[last] += f",{part}"
        elif equals:
            check_attribute(name, names)
        else:
            raise ChoiceError(f"{text!r} has no attribute=value", f"write it like {names[0]}=VALUE")
    return found


def parse_map(text: str, names: Sequence[str]) -> tuple[str, str]:
    """The two attributes in a text such as "race*age". Raises ChoiceError for any other text."""
    parts = [part.strip() for part in text.split(JOIN)]
    if len(parts) != 2:
        raise ChoiceError(f"{text!r} is no pair of attributes", suggest_map(names))
    for name in parts:
        check_attribute(name, names)
    return parts[0], parts[1]


def parse_product(column: str, value: str, attributes: Attributes) -> dict[str, str] | None:
    """{attribute: value} of a product such as race*sex=Black*Female; None for other columns.

    Values may hold asterisks where there is only one way to read them. Raises ChoiceError for a
    value that is not there.
    """
    names = [part.strip() for part in column.split(JOIN)]
    if not set(names) <= set(attributes.names) or len(set(names)) < len(names):
        return None
    known = [attributes.values[attributes.names.index(name)] for name in names]
    ways = list(_split_values(value, known))
    if len(ways) == 1:
        return dict(zip(names, ways[0], strict=True))
    parts = value.split(JOIN)
    if len(parts) == len(names):
        find_codes(attributes, dict(zip(names, map(str.strip, parts), strict=True)))
    raise ChoiceError(
        f"{value!r} is no value of {column}", f"write {JOIN.join(['VALUE'] * len(names))}"
    )


def find_codes(attributes: Attributes, named: Mapping[str, str]) -> dict[str, int]:
    """{attribute: code of its value}. Raises ChoiceError for what is not there, or is no text."""
    codes = {}
    if not named:
        raise ChoiceError("a cell needs an attribute", f"one of {', '.join(attributes.names)}")
    for name, value in named.items():
        check_attribute(name, attributes.names)
        known = attributes.values[attributes.names.index(name)]
        if value not in known:
            listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            close = catalog.suggest(value, known)
            raise ChoiceError(
                f"no item has {name}={value}", f"{close}the values of {name} are {listed}"
            )
        codes[name] = known.index(value)
    return codes


def check_attribute(name: object, names: Sequence[str]) -> None:
    """Raises ChoiceError for what is no attribute of the study."""
    if name not in names:
        raise ChoiceError(
            f"{show(name)} is no attribute of this study",
            f"{catalog.suggest(name, names)}the attributes are {', '.join(names)}",
        )


def suggest_map(names: Sequence[str]) -> str:
    """How a map is written."""
    pair = names[:2] if len(names) > 1 else ("first", "second")
    return f"write it like {JOIN.join(pair)}"


def _split_values(value: str, known: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Every way to read a text as values joined by asterisks, one of each list."""
    first, *rest = known
    for each in first:
        if not rest and value.strip() == each:
            yield (each,)
        elif rest and value.startswith(each + JOIN):
            tail = value[len(each) + len(JOIN) :]
            yield from ((each, *others) for others in _split_values(tail, rest))
