"""A number with its interval, as rows, gates, groups, bins, cells and comparisons hold it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """An estimate and its interval. Numbers that do not exist are None.

    estimate        the value
    lower, upper    ends of its interval
    level           confidence of the interval, for example 0.95
    method          how the interval was made: a name in the catalogue, "posterior" and others for
                    groups; "exact" where everything is known, "none" without an interval
    reliable        False while there are too few labels for the interval to be believed
    saved           random labels that would be as good, over the labels used; None where nobody can
                    say
    """

    estimate: float | None
    lower: float | None
    upper: float | None
    level: float
    method: str
    reliable: bool = True
    saved: float | None = None


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
    def reliable(self) -> bool:
        """False while there are too few labels for the interval."""
        return self.quantity.reliable
