"""[report] of study.toml: what a report of the study asks for and where it is written."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from activetest.errors import ChoiceError
from activetest.nouns.arguments import show
from activetest.nouns.choices import Interval


@dataclass(frozen=True)
class ReportSettings:
    """What holds for reports of a study unless something else is asked for.

    require     gates, as "recall[fraud]>=0.8"
    output      files that the command line writes; relative ones as seen from the folder that holds
                the study
    metric      to report, the headline first
    group       group columns to show
    difference  group columns whose groups are compared with each other
    interval    "fixed", "anytime" or "posterior"
    bound       most that one item can cost
    assume      what intervals may rest on besides the labels, as "rate[fraud]@score<1e-4<=0.0001"

    What is empty or None is as if nothing was said.
    """

    require: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    metric: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    difference: tuple[str, ...] = ()
    interval: str | None = None
    bound: float | None = None
    assume: tuple[str, ...] = ()

    def list_entries(self) -> dict[str, Any]:
        """{name: value} of what is said, as study.toml has it."""
        found = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found
            if value not in ((), None)
        }


def read_report_settings(entries: object, where: str) -> ReportSettings:
    """The settings in a section of study.toml. Raises ChoiceError, which says where it stands."""
    if not isinstance(entries, Mapping):
        raise ChoiceError(f"{where} is no section", "restore what was there, or remove it")
    known = {each.name: each.default for each in fields(ReportSettings)}
    found: dict[str, Any] = {}
    for name, value in entries.items():
        if name not in known:
            raise ChoiceError(f"{where}: there is no {name!r}", f"choose from {', '.join(known)}")
        if problem := _find_problem(name, value, several=known[name] == ()):
            raise ChoiceError(f"{where}: {name} is {show(value)}", problem)
        texts = (value,) if isinstance(value, str) else value
        found[name] = tuple(texts) if known[name] == () else value
    return ReportSettings(**found)


def _find_problem(name: str, value: Any, *, several: bool) -> str:
    """What the value of an entry must be; empty where it is that."""
    if name == "bound":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if number and 0 < value < math.inf else "it must be a number above zero"
    if name == "interval":
        return "" if value in tuple(Interval) else f"choose from {', '.join(Interval)}"
    texts = [value] if isinstance(value, str) else value
    right = isinstance(texts, list) and all(
        isinstance(each, str) and each.strip() for each in texts
    )
    return "" if several and right else "it must be a list of texts, none of them empty"
