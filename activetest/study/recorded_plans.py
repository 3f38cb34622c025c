"""What was planned, as the ledger records it: of a study, and of each of its rounds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from activetest.cache.cache import Cache
from activetest.estimation.looks import plan_looks_of_log
from activetest.nouns.choices import Choices, Interval
from activetest.nouns.log import Log, Round
from activetest.nouns.study_lists import FIRST, PartDraws, Plan, Target, write_expression


def describe_plan(choices: Choices, pool: Mapping[str, Any]) -> Plan:
    """What is planned by these choices; pool are the entries of [pool]."""
    sequential = choices.interval == Interval.SEQUENTIAL
    return Plan(
        budget=None if choices.budget is None else float(choices.budget),
        unit="money" if choices.budget is not None and pool.get("price") else "labels",
        looks=choices.looks if sequential else None,
        last_look=int(choices.last_look or choices.budget or 0) if sequential else None,
        spending=choices.spending if sequential else None,
        interval=choices.interval,
        level=float(choices.level),
    )


def add_plan(round: Round, choices: Choices, *, count: int, looks: tuple[int, ...] | None) -> Round:
    """The round with what was planned before it was drawn.

    choices  of the study
    count    draws that were planned
    looks    see list_looks
    """
    targets = tuple(dict.fromkeys((choices.metric, *choices.also)))
    return replace(
        round,
        parts=(PartDraws(FIRST, count),),
        targets=tuple(Target(write_expression(each), 1 / len(targets)) for each in targets),
        looks=looks,
    )


def list_looks(choices: Choices, log: Log, cache: Cache) -> tuple[int, ...] | None:
    """Numbers of draws at which looks are planned; None in a study without looks."""
    plan = plan_looks_of_log(choices, log, cache)
    return None if plan is None else plan.due
