"""Plans, and gates that were asked for: declared beforehand, as the ledger records them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from activetest.errors import ChoiceError, StorageError
from activetest.estimation.looks import plan_looks_of_log
from activetest.ledger.ledger import Ledger, is_forbidden
from activetest.nouns.choices import Choices, Interval
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.report import Note, Weight
from activetest.nouns.study_lists import (
    AskedGate,
    Plan,
    Target,
    count_last,
    write_expression,
)
from activetest.reporting.requirements import Requirement

_NOT_RECORDED = (
    "The study may only be read, so it did not record that the gates of this report were asked for."
)


def describe_plan(choices: Choices, pool: Mapping[str, Any]) -> Plan:
    """The plan that these choices make; pool are the entries of [pool]."""
    sequential = choices.interval == Interval.SEQUENTIAL
    return Plan(
        budget=None if choices.budget is None else float(choices.budget),
        unit="money" if choices.budget is not None and pool.get("price") else "labels",
        looks=choices.looks if sequential else None,
        last_look=int(choices.last_look or choices.budget or 0) if sequential else None,
        spending=choices.spending if sequential else None,
        interval=choices.interval,
        level=float(choices.level),
        declined=choices.declined,
    )


def add_plan(round: Round, targets: Sequence[str], *, looks: tuple[int, ...] | None) -> Round:
    """The round with what was planned before it was drawn.

    targets  specifications of what it was drawn for
    looks    see list_looks
    """
    targets = tuple(dict.fromkeys(targets))
    return replace(
        round,
        targets=tuple(Target(write_expression(each), 1 / len(targets)) for each in targets),
        looks=looks,
    )


def list_looks(choices: Choices, log: Log, cache: PoolView) -> tuple[int, ...] | None:
    """Numbers of draws at which looks are planned; None in a study without looks."""
    plan = plan_looks_of_log(choices, log, cache)
    return None if plan is None else plan.due


def record_gates(
    ledger: Ledger,
    requirements: Sequence[Requirement],
    kinds: Sequence[str],
    *,
    level: float,
    source: str,
    conditions: Mapping[str, Any],
    model: str | None = None,
) -> list[Note]:
    """Record that gates are asked for, those that are new; a note where a study may only be read.

    kinds       how each is decided: "fixed", "anytime" or "sequential"
    level       confidence of the study
    model       whose metrics gates are about that name no model; None for the study's first one
    source      OF_REPORT or OF_CONFIG
    conditions  what else numbers of the report depend on; None and False where it does not

    Raises StorageError where the disk refuses.
    """
    given = {name: value for name, value in conditions.items() if value}
    gates = [
        AskedGate(
            each.text,
            _write_expression(each, model),
            each.op,
            each.threshold,
            level if each.level is None else each.level,
            kind,
            source,
            # A gate about a part of its own stays the same when others come.
            {name: value for name, value in given.items() if name != "parts" or _moves(each)},
        )
        for each, kind in zip(requirements, kinds, strict=True)
    ]
    try:
        ledger.record_gates(gates)
    except StorageError as error:
        if not is_forbidden(error):
            raise
        return [Note(_NOT_RECORDED, Weight.LIMITED)]
    return []


def _moves(gate: Requirement) -> bool:
    """Whether a gate is about other parts once the population grows."""
    return not gate.parts or any(map(count_last, gate.parts))


def _write_expression(gate: Requirement, model: str | None) -> dict[str, Any]:
    """The number that a gate is about."""
    found: dict[str, Any] = write_expression(gate.metric, gate.group, gate.parts)
    return found if model is None else found | {"model": found.get("model", model)}


def check_shared_error(ledger: Ledger, choices: Choices, *, where: str = "") -> None:
    """Raises ChoiceError where models would share the error otherwise than as gates were asked for.

    where  the file in which that was changed, if it was one
    """
    shared = {"share_error" in each.conditions for each in ledger.gates()}
    if shared <= {choices.share_error}:
        return
    word = json.dumps(not choices.share_error)
    why = f"stays {word} once a gate was asked for: the verdicts that there are have their levels"
    if where:
        raise ChoiceError(f"{where}: share_error {why}", f"restore the line share_error = {word}")
    raise ChoiceError(f"`share_error` {why}", "start another study: `Study.create(pool, folder)`")
