"""The finding of a surface: cells, extremes and maps of a report, and gates on combinations."""

from dataclasses import replace
from typing import Any

from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.view import ANYTIME, View
from activetest.item_statistics.metric import Metric
from activetest.nouns.quantity import Saving
from activetest.nouns.report import Gate, Note, Weight
from activetest.nouns.surface_report import SurfaceCell
from activetest.pool.groups import LABEL, columns_of
from activetest.reporting import requirements
from activetest.reporting.notes import describe_group_option
from activetest.reporting.requirements import Requirement
from activetest.reporting.verdicts import Judge
from activetest.sampling.question import name_judged
from activetest.study.findings import Context, Finding
from activetest.wings.surfaces.choices import SurfaceChoices
from activetest.wings.surfaces.fitting import describe_arms as describe_pool
from activetest.wings.surfaces.fitting import find_arms, has_surface
from activetest.wings.surfaces.surface_answer import (
    SURFACE,
    PoolSurface,
    check_attributes,
    describe_surface,
    find_cell,
    fit_pool_surface,
    flip,
    is_opposite,
)
from activetest.wings.surfaces.surface_cells import find_codes, parse_cell, parse_map, parse_product
from activetest.wings.surfaces.surface_notes import write_notes

CHOICES = ("attributes",)
ARGUMENTS = ("surface", "at", "maps")
# Basis of a verdict here.
_BY_SURFACE = (
    "decided by the surface's interval, which holds for one look and if its model is right"
)
_OF_POOL = Note("The surface is about the items of this pool.", Weight.LIMITED)

__all__ = ["describe_pool", "open_finding"]


class SurfaceFinding(Finding):
    """The surface of a study, fitted once for everything that a report says of it.

    Raises ChoiceError for a report that asks about attributes of a study without any.
    """

    def __init__(self, context: Context) -> None:
        """The surface of a study."""
        self._context = context
        self._choices = context.study.choices
        self._fitted: PoolSurface | None = None
        request = context.request
        self._detailed = request.surface
        self._requested = bool(request.surface or request.at or request.maps)
        if self._requested:
            check_attributes(self._choices)
        names = self._choices.attributes
        self._cells = [
            parse_cell(each, names) if isinstance(each, str) else dict(each) for each in request.at
        ]
        self._maps = [parse_map(each, names) for each in request.maps]

    def fit(self) -> PoolSurface:
        """The fitted surface. Raises as fit_pool_surface does."""
        if self._fitted is None:
            context = self._context
            self._fitted = fit_pool_surface(
                context.log, context.cache, self._choices, seed=context.study.seed
            )
        return self._fitted

    def describe(
        self, view: View, columns: tuple[str, ...], kind: str
    ) -> tuple[dict[str, Any], list[Note]]:
        """The surface where it is the question or was requested.

        Raises ChoiceError for attributes and values that the study lacks.
        """
        if not self._requested and self._choices.question != SURFACE:
            return {}, []
        for cell in self._cells:
            model = self._choices.of(SurfaceChoices).attribute_model
            arms = find_arms(self._context.cache, self._choices.attributes, model)
            find_codes(arms.attributes, cell)
        try:
            fitted = self.fit()
        except NotEstimable as error:
            text = f"{error.problem[:1].upper()}{error.problem[1:]}."
            return {}, [Note(text, Weight.WIDE)]
        found = describe_surface(
            fitted, cells=self._cells, maps=self._maps, detailed=self._detailed
        )
        notes = [*write_notes(fitted), *[_OF_POOL] * self._context.request.population]
        return {"surface": found}, notes

    def find_gate(
        self, view: View, requirement: Requirement, metric: Metric, interval: str | None
    ) -> Judge | None:
        """Judge of a requirement on a combination of attributes that is no group."""
        named = _find_cell(view, requirement)
        if named is None:
            return None
        _check_cell(view, requirement, metric, interval)

        def judge(gate: Gate, count: int) -> Gate:
            return self._judge(view, requirement, metric, named, count, gate)

        return judge

    def _judge(
        self,
        view: View,
        requirement: Requirement,
        metric: Metric,
        named: dict[str, str],
        count: int,
        gate: Gate,
    ) -> Gate:
        """The verdict of the surface's interval at a combination of attributes.

        Raises ChoiceError for a combination without items: there is nothing that could pass.
        """
        gate = replace(
            gate,
            group=dict([requirement.group]) if requirement.group else None,
            n_labeled=0,
            quantity=replace(gate.quantity, saving=Saving()),
        )
        try:
            fitted = self.fit()
        except NotEstimable as error:
            return replace(gate, reason=error.problem)

        def find(level: float) -> SurfaceCell:
            cell = find_cell(fitted, named, level)
            return flip(cell) if is_opposite(metric, fitted.metric) else cell

        cell = find(gate.level)
        if not cell.occurs:
            cell_text = ", ".join(f"{name}={value}" for name, value in named.items())
            predicts = f"`study.report(at={cell_text!r})` predicts what it would have"
            raise ChoiceError(
                f"requirement {requirement.text!r}: no item of the pool has this combination",
                predicts if cell.estimate is not None else "name a combination that occurs",
            )
        strict = find(1 - 2 * requirement.find_alpha(view.choices.level) / count)
        if cell.lower is None or strict.lower is None or strict.upper is None:
            return replace(gate, quantity=cell.quantity, reason=cell.reason)
        if view.counts_declined:
            reason = "the surface leaves out declined items, and no verdict does"
            return replace(gate, quantity=cell.quantity, reason=reason)
        return replace(
            gate,
            quantity=cell.quantity,
            verdict=requirements.decide_by_interval(
                requirement, cell.lower, cell.upper, strict=(strict.lower, strict.upper)
            ),
            n_labeled=round(cell.n_labeled),
            reason=cell.reason or (_BY_SURFACE if cell.method == SURFACE else None),
        )


open_finding = SurfaceFinding


def _find_cell(view: View, requirement: Requirement) -> dict[str, str] | None:
    """{attribute: value} of a requirement that the surface decides; None for all others.

    Raises ChoiceError for a value that is not there.
    """
    if requirement.group is None or not view.choices.attributes:
        return None
    column, value = requirement.group
    model = view.choices.of(SurfaceChoices).attribute_model
    attributes = find_arms(view.cache, view.choices.attributes, model).attributes
    try:
        return parse_product(column, value, attributes)
    except ChoiceError as error:
        problem = f"requirement {requirement.text!r}: {error.problem}"
        raise ChoiceError(problem, error.hint) from error


def _check_cell(view: View, requirement: Requirement, metric: Metric, interval: str | None) -> None:
    """Raises ChoiceError where the surface decides no such gate."""
    if view.population:
        raise ChoiceError(
            f"requirement {requirement.text!r}: the surface is about this pool",
            "leave out `population`",
        )
    if interval == ANYTIME:
        raise ChoiceError(
            f"requirement {requirement.text!r}: the interval of a surface holds for one look",
            f"leave out `interval`, or {_suggest_group(view, requirement)}",
        )
    judged = name_judged(view.choices)
    if metric.title != judged and not is_opposite(metric, judged):
        raise ChoiceError(
            f"requirement {requirement.text!r}: the surface is about {judged}",
            f"`study.change(metric={metric.title!r})`"
            if has_surface(metric)
            else _suggest_group(view, requirement),
        )


def _suggest_group(view: View, requirement: Requirement) -> str:
    """How a product of attributes becomes a group, if it can."""
    product = (requirement.group or ("",))[0]
    if LABEL in view.cache.roles.get("computed", ()) and LABEL in columns_of(product):
        return f"a gate on a combination with {LABEL!r} is about the metric of the surface"
    return f"make it a group: {describe_group_option(product, view.cache.group_names)}"
