"""[report] of study.toml: what a report of the study asks for and where it is written."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from activetest.errors import ChoiceError
from activetest.nouns.choices import Interval
from activetest.nouns.records import Rule, find_unknown, list_names, read_record, write_record

Texts = Annotated[
    tuple[str, ...],
    Rule(
        "it must be a list of texts, none of them empty", lambda value: all(map(str.strip, value))
    ),
]
Bound = Annotated[float, Rule("it must be a number above zero", lambda value: 0 < value < math.inf)]
Kind = Annotated[str, Rule(f"choose from {', '.join(Interval)}", tuple(Interval).__contains__)]


@dataclass(frozen=True)
class ReportSettings:
    """Settings of a study's reports unless something else is asked for.

    require     gates, as "recall[fraud]>=0.8"
    output      files that the command line writes; relative ones as seen from the folder that holds
                the study
    metric      to report, the headline first
    group       group columns to show
    difference  group columns whose groups are compared with each other
    interval    "fixed", "anytime" or "posterior"
    bound       most that one item can cost
    assume      what intervals may rest on besides the labels, as "rate[fraud]@score<1e-4<=0.0001"

    An empty field, or None, is as if nothing was said.
    """

    require: Texts = ()
    output: Texts = ()
    metric: Texts = ()
    group: Texts = ()
    difference: Texts = ()
    interval: Kind | None = None
    bound: Bound | None = None
    assume: Texts = ()

    def list_entries(self) -> dict[str, Any]:
        """{name: value} of what is said, as study.toml has it."""
        return {name: value for name, value in write_record(self).items() if value != []}


def read_report_settings(entries: object, where: str) -> ReportSettings:
    """The settings in a section of study.toml. Raises ChoiceError, which says where it stands."""
    if not isinstance(entries, Mapping):
        raise ChoiceError(f"{where} is no section", "restore what was there, or remove it")
    if unknown := find_unknown(ReportSettings, entries):
        known = ", ".join(list_names(ReportSettings))
        raise ChoiceError(f"{where}: there is no {unknown!r}", f"choose from {known}")
    # A text is a list of one.
    several = {each.name for each in fields(ReportSettings) if each.default == ()}
    found = {
        name: [value] if isinstance(value, str) and name in several else value
        for name, value in entries.items()
    }
    return read_record(ReportSettings, found, f"{where}: ")
