"""Arguments in a metric's brackets, and what a metric asks of a pool."""

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts
from activetest.nouns.name_lists import shorten_list

# Numbers in brackets are smaller in size, as values of a pool are.
LARGEST_NUMBER = 1e15

# Averages keep three means for every class, for every group and round.
_MOST_CLASSES = 100


def refuse_argument(name: str, argument: str | None) -> None:
    """Raises ChoiceError where something stands in the brackets."""
    if argument is not None:
        raise ChoiceError(f"{name!r} takes nothing in brackets, not {argument!r}", f"write {name}")


def parse_number(name: str, text: str, low: float, high: float, example: str) -> float:
    """The number, between low and high. Raises ChoiceError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = low
    if not low < value < high:
        raise ChoiceError(
            f"{name!r} takes a number between {low:g} and {high:g}, not {text!r}",
            f"for example {example}",
        )
    return value


def parse_whole_number(name: str, text: str, low: int, high: int, example: str) -> int:
    """The whole number, from low to high. Raises ChoiceError for anything else."""
    value = int(text) if text.isdecimal() else low - 1
    if not low <= value <= high:
        raise ChoiceError(
            f"{name!r} takes a whole number from {low} to {high}, not {text!r}",
            f"for example {example}",
        )
    return value


def parse_classes(
    name: str, facts: Facts, argument: str | None, averages: tuple[str, ...]
) -> tuple[int, ...] | str:
    """Codes of the classes that are meant, or one of the averages over classes.

    A class is called by its name, and * is every class. Without an argument: the positive class of
    a binary pool, and the first of the averages of any other, every class where there are none.
    Raises ChoiceError for anything else.
    """
    every = tuple(range(len(facts.classes)))
    if argument is None:
        usual = averages[0] if averages else every
        return usual if facts.positive is None else (facts.positive,)
    # A class may be called like an average: it comes first.
    if argument in facts.classes:
        return (facts.classes.index(argument),)
    if argument == "*":
        return every
    if argument in averages:
        return argument
    others = f"{', '.join(averages)} or *" if averages else "*"
    raise ChoiceError(
        f"{name!r}: no class is called {argument!r}",
        f"choose from {shorten_list(facts.classes)}; or {others}",
    )


def parse_single_classes(name: str, facts: Facts, argument: str | None) -> tuple[int, ...]:
    """As parse_classes, where there are no averages: every class stands for them."""
    found = parse_classes(name, facts, argument, ())
    assert not isinstance(found, str)
    return found


def require_probabilities(name: str, facts: Facts) -> None:
    """Raises ChoiceError for pools of hard labels."""
    if not facts.probabilities:
        raise ChoiceError(
            f"{name!r} needs probabilities of the classes, and this pool has only predictions",
            "give the pool a column prob or score, or columns prob_<class>",
        )


def require_deviation(name: str, facts: Facts) -> None:
    """Raises ChoiceError for pools that do not say how sure their predictions are."""
    if not facts.deviation:
        raise ChoiceError(
            f"{name!r} needs the standard deviation of every prediction, and this pool has none",
            "give the pool a column pred_std",
        )


def require_few_classes(name: str, count: int) -> None:
    """Raises ChoiceError where an average over all classes is of more than can be kept apart."""
    if count > _MOST_CLASSES:
        raise ChoiceError(
            f"{name!r} is about all classes at once, at most {_MOST_CLASSES}, and this pool has "
            f"{count}",
            f"ask for single classes, or for {name.partition('[')[0]}[micro] where there is one",
        )
