"""F-beta: recall and precision in one number (van Rijsbergen 1979; Chinchor 1992)."""

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments, rates
from activetest.item_statistics.metric import Facts, Metric

TASK = "classification"
BETTER = "higher"
TITLE = "F{}"

_EXAMPLE = "f-beta[2] or f-beta[0.5,macro]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """(1 + b^2) tp / ((1 + b^2) tp + fp + b^2 fn), in [0, 1]: recall counts b times as much.

    The argument is b, between 0 and 100; after a comma, of what: a class, * for every class, macro,
    micro or weighted. Without that: of the positive class of a binary pool, macro of any other.
    """
    if argument is None:
        raise ChoiceError("'f-beta' needs its beta", f"for example {_EXAMPLE}")
    text, comma, meant = (part.strip() for part in argument.partition(","))
    beta = arguments.parse_number("f-beta", text, 0, 100, _EXAMPLE)
    return rates.metrics(make_rate(f"f-beta[{beta:g}]", beta), facts, meant if comma else None)


def make_rate(name: str, beta: float) -> rates.Rate:
    """The rate of that name."""
    hit = 1 + beta**2
    return rates.Rate(
        name,
        # 1, tp, fp, fn
        above=(0, hit, 0, 0),
        below=(0, hit, 1, beta**2),
        empty="no item predicted or labelled as {} has been seen",
    )
