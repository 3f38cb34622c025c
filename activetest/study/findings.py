"""Findings that few reports have: methods of the family `findings`, which wings bring.

A file states which studies have its finding: those with one of its CHOICES, with a role of ROLES in
the pool, with a question whose FINDING it is, or reports that name one of its ARGUMENTS. It has
open_finding(context) -> Finding, and describe_pool(cache, choices), sentences for a new study.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from activetest import catalog
from activetest.cache.cache import Cache
from activetest.errors import ChoiceError
from activetest.estimation.view import View
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.choices import DECLARATIONS, Choices
from activetest.nouns.log import Log
from activetest.nouns.report import Note
from activetest.reporting.requirements import Requirement
from activetest.reporting.verdicts import Judge
from activetest.sampling.question import find_fact
from activetest.study.stored import StoredStudy


@dataclass(frozen=True)
class Request:
    """The arguments of Study.report, read; what is not named there is as study.toml says."""

    metrics: tuple[str, ...]
    groups: tuple[str, ...] | None
    differences: tuple[str, ...]
    reference: str | None
    by_part: bool
    reference_part: str | None
    rope: float | None
    require: tuple[str, ...]
    interval: str | None
    simultaneous: bool
    half_width: float | None
    bound: float | None
    assume: tuple[str, ...]
    estimators: tuple[str, ...]
    population: bool
    cluster: str | None
    surface: bool
    at: tuple[str | dict[str, str], ...]
    maps: tuple[str, ...]
    details: bool
    plots: bool


@dataclass(frozen=True)
class Context:
    """Input of a finding: the study, its log so far, and what was requested."""

    study: StoredStudy
    request: Request
    log: Log
    cache: Cache
    facts: Facts


class Finding:
    """A finding of one report; each may add metrics, decide gates, and have something to say."""

    metrics: tuple[Metric, ...] = ()

    def find_gate(
        self, view: View, requirement: Requirement, metric: Metric, interval: str | None
    ) -> Judge | None:
        """Judge of this requirement, where the finding decides it; nothing is estimated yet.

        Raises ChoiceError for what it cannot decide.
        """
        return None

    def describe(
        self, view: View, columns: tuple[str, ...], kind: str
    ) -> tuple[dict[str, Any], list[Note]]:
        """{field of the report: its content}, and what to know before believing it.

        columns are the groups that the report shows, kind that of its intervals.
        """
        return {}, []


def open_findings(context: Context) -> Iterator[Finding]:
    """The findings that a report has, in the order of their names.

    Raises ChoiceError where this installation lacks what a choice of the study needs.
    """
    choices, pool = context.study.choices, context.study.pool
    _check_needs({**asdict(choices), **pool})
    if context.request.surface or context.request.at or context.request.maps:
        catalog.check("findings", "surface")
    for name in catalog.names("findings"):
        roles = catalog.fact("findings", name, "ROLES") or ()
        arguments = catalog.fact("findings", name, "ARGUMENTS") or ()
        if (
            name == find_fact(choices.question, "FINDING")
            or any(pool.get(role) for role in roles)
            or any(getattr(context.request, each) for each in arguments)
            or _has_choices(name, choices)
        ):
            yield catalog.load("findings", name).open_finding(context)


def describe_findings(cache: Cache, choices: Choices) -> tuple[str, ...]:
    """Meaning of the choices of findings for a pool, in sentences."""
    found = (name for name in catalog.names("findings") if _has_choices(name, choices))
    return tuple(
        text
        for name in found
        for text in catalog.load("findings", name).describe_pool(cache, choices)
    )


def _check_needs(settings: Mapping[str, Any]) -> None:
    for name, declaration in DECLARATIONS.items():
        value = settings.get(name)
        if value and value != declaration.value and not catalog.has(declaration.needs):
            usual = declaration.value or ""
            raise ChoiceError(
                f"this study has `{name}`, and this installation lacks {declaration.needs!r}",
                f"install all of activetest, or `study.change({name}={usual!r})`",
            )


def _has_choices(name: str, choices: Choices) -> bool:
    return any(getattr(choices, each) for each in catalog.fact("findings", name, "CHOICES") or ())
