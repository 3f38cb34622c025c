"""A number with its interval, as rows, gates, groups, bins, cells and comparisons hold it."""

import math
from dataclasses import dataclass, field
from enum import StrEnum


class SavingKind(StrEnum):
    """Kind of statement about how many random labels would be as good.

    ABOUT      a number: an estimate, which may be too high or too low
    TOO_EARLY  no number yet: there are too few labels
    NONE       no number at all: it is not asked, or not known for such an interval
    """

    ABOUT = "about"
    TOO_EARLY = "too early"
    NONE = "none"


@dataclass(frozen=True)
class Saving:
    """How many random labels of the pool, or the group, would be as good as the items labelled.

    bought   answers about items of the pool (of the group), whoever chose the items: labels of
             drawn, supplied and deterministic items, also those that estimates do not use yet,
             declined items, and every annotator's answer where several answered
    answered items that these are about; None: as many
    random   random draws from all its items that would leave the same variance; None unless kind is
             ABOUT
    kind     what can be said
    spent    price of these answers; None where labels have no prices
    price    mean price of a random draw; None where labels have none
    """

    bought: int = 0
    random: float | None = None
    kind: SavingKind = SavingKind.NONE
    spent: float | None = None
    price: float | None = None
    answered: int | None = None

    @property
    def items(self) -> int:
        """Items with an answer: several annotators' answers to one of them are one label."""
        return self.bought if self.answered is None else self.answered

    @property
    def cost(self) -> float | None:
        """Cost of the random labels; None where it is not known."""
        if self.random is None or self.price is None:
            return None
        return self.random * self.price

    @property
    def ratio(self) -> float | None:
        """Random labels over the items answered, by money where labels have prices.

        Below 1 where nothing was saved.
        """
        random, used = (self.random, self.items) if self.price is None else (self.cost, self.spent)
        return random / used if random is not None and used else None


@dataclass(frozen=True)
class DeclinedItems:
    """Effect of declined items on a value, which is about the items that can be answered.

    answered     share of the items that can be answered
    least, most  the value over all items, with every declined one at its least and at its most: the
                 interval holds over all items then, from the lower limit of the first to the upper
                 limit of the second. None where declined items are ignored, and where nothing
                 bounds what they could cost: the interval is of the items that can be answered then
    ignored      whether they are ignored because somebody chose so
    """

    answered: float
    least: float | None = None
    most: float | None = None
    ignored: bool = False


# {method of an interval: when it holds}; all others hold at one look.
_KINDS = {
    "betting": "anytime",
    "credible": "posterior",
    "exact": "exact",
    "worst-case": "exact",
}


def add_bought(first: Saving, *others: Saving) -> Saving:
    """Labels bought in all, for a number that rests on several groups; without what was saved."""
    if not others:
        return first
    known = [each.spent for each in (first, *others) if each.spent is not None]
    items = sum(each.items for each in (first, *others))
    bought = sum(each.bought for each in (first, *others))
    return Saving(
        bought,
        answered=None if items == bought else items,
        spent=sum(known) if len(known) > len(others) else None,
    )


@dataclass(frozen=True)
class Quantity:
    """An estimate and its interval, from the method that builds it to the page that shows it.

    Numbers that do not exist are None: an anytime-valid interval needs no estimate.

    estimate        the value
    lower, upper    ends of its interval
    level           confidence of the interval, for example 0.95
    method          how the interval was made: a name in the catalogue, "posterior" and others for
                    groups; "exact" where everything is known, "none" without an interval
    reliable        False while there are too few labels for the interval to be believed
    saving          answers that were bought, their items, and how many random labels would be as
                    good
    one_look        the interval holds for one look at best, where those of its report hold at every
                    look
    declined        what declined items leave open; None where none is among the items
    assumptions     what the interval rests on besides the draws, as the user wrote it; None where
                    that is nothing
    variance        of the mean statistic that the interval rests on, 0.0 where it is exact; NaN
                    where it rests on none. No format shows it
    """

    estimate: float | None
    lower: float | None
    upper: float | None
    level: float
    method: str
    reliable: bool = True
    saving: Saving = Saving()
    one_look: bool = False
    declined: DeclinedItems | None = None
    assumptions: str | None = None
    variance: float = field(default=math.nan, compare=False, repr=False)

    def find_ends(self) -> tuple[float, float]:
        """Both ends of the interval, where the caller knows that there is one.

        Raises ValueError otherwise.
        """
        if self.lower is None or self.upper is None:
            raise ValueError("this number has no interval")
        return self.lower, self.upper

    @property
    def kind(self) -> str | None:
        """When the interval holds; None without one.

        "anytime" at every look, "fixed" at one, "posterior" at one and if the surrogate is right,
        "exact" always.
        """
        return None if self.method == "none" else _KINDS.get(self.method, "fixed")

    @property
    def saved(self) -> float | None:
        """Random labels that would be as good, over the items answered, see Saving.ratio."""
        return self.saving.ratio


def write_level(level: float) -> str:
    """A level, as 95 %: to two digits of what is missing to 100 %, however little that is.

    >>> write_level(0.95), write_level(0.9999), write_level(1 - 3e-11)
    ('95 %', '99.99 %', '99.999999997 %')
    """
    missing = 100 * (1 - level)
    decimals = max(1 - math.floor(math.log10(missing)), 0) if missing > 0 else 0
    written = f"{100 * level:.{decimals}f}"
    return f"{written.rstrip('0').rstrip('.') if '.' in written else written} %"


@dataclass(frozen=True)
class Measured:
    """A record about one quantity, whose numbers can be read from the record itself."""

    quantity: Quantity

    @property
    def estimate(self) -> float | None:
        """The value."""
        return self.quantity.estimate

    @property
    def lower(self) -> float | None:
        """Lower end of the interval."""
        return self.quantity.lower

    @property
    def upper(self) -> float | None:
        """Upper end of the interval."""
        return self.quantity.upper

    @property
    def level(self) -> float:
        """Confidence of the interval."""
        return self.quantity.level

    @property
    def method(self) -> str:
        """How the interval was made."""
        return self.quantity.method

    @property
    def n_answers(self) -> int:
        """Answers that were bought, see Saving."""
        return self.quantity.saving.bought

    @property
    def answered(self) -> float | None:
        """Share of the items that can be answered; None where none was declined."""
        return None if self.quantity.declined is None else self.quantity.declined.answered

    @property
    def least(self) -> float | None:
        """The value over all items with every declined one at its least, see DeclinedItems."""
        return None if self.quantity.declined is None else self.quantity.declined.least

    @property
    def most(self) -> float | None:
        """The same with every declined one at its most."""
        return None if self.quantity.declined is None else self.quantity.declined.most

    @property
    def assumptions(self) -> str | None:
        """Assumptions of the interval besides the draws."""
        return self.quantity.assumptions

    @property
    def n_items(self) -> int:
        """Items with such an answer."""
        return self.quantity.saving.items

    @property
    def reliable(self) -> bool:
        """False while there are too few labels for the interval."""
        return self.quantity.reliable and self.quantity.estimate is not None
