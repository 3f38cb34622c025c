"""Whether choices make sense: every key and value is checked, whoever wrote them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.nouns.arguments import show
from activetest.nouns.choices import (
    DIFFERENCE,
    AnnotatorMethod,
    Augmentation,
    Choices,
    FloorRule,
    Interval,
    Refit,
    Selection,
    Task,
)
from activetest.nouns.records import find_missing, find_unknown, list_names, read_record
from activetest.rounds.scores import explain_no_classes
from activetest.sampling.question import check_question, chooses_between

# Choices that only sequential gates follow.
_OF_LOOKS = ("looks", "last_look", "spending")


def check_choices(
    entries: Mapping[str, Any], pool: Mapping[str, Any], *, where: str = "", simulated: bool = False
) -> Choices:
    """The choices in `entries`, for a pool with the roles in `pool`.

    simulated allows what only simulations can do. Raises
    ChoiceError or UnknownMethod, naming the key and, if it is a file, `where` it stands.
    """
    try:
        return _check_entries(entries, pool, simulated)
    except ChoiceError as error:
        if not where:
            raise
        raise type(error)(f"{where}: {error.problem}", error.hint) from error


def _check_entries(entries: Mapping[str, Any], pool: Mapping[str, Any], simulated: bool) -> Choices:
    if unknown := find_unknown(Choices, entries):
        raise ChoiceError(
            f"there is no choice {unknown!r}", catalog.nearest(unknown, list_names(Choices))
        )
    if missing := find_missing(Choices, entries):
        raise ChoiceError(f"{missing} is missing", "restore the line that was there")
    choices = read_record(Choices, entries)
    if choices.budget is not None and float(choices.budget).is_integer():
        choices = replace(choices, budget=int(choices.budget))
    elif choices.budget is not None and not pool.get("price"):
        raise ChoiceError(
            f"budget is {show(choices.budget)}",
            "it must be a whole number of labels; with a column of prices it is money: "
            "`price=column`",
        )
    if choices.question is not None:
        catalog.check("questions", choices.question)
    _check_names(choices, pool)
    _check_augmentation(choices, pool)
    _check_acquisition(choices, pool, simulated)
    _check_looks(choices, pool)
    if choices.candidates is not None and not choices.share_error:
        raise ChoiceError(
            "`candidates` are models that share the error, and each model has its own here",
            "`share_error=True`, or leave `candidates` out",
        )
    check_question(choices, pool)
    return choices


def usual_looks() -> dict[str, Any]:
    """{name: default} of the choices that only sequential gates follow."""
    return {name: getattr(Choices, name) for name in _OF_LOOKS}


def check_lasting_choices(before: Choices, now: Choices, *, where: str = "") -> None:
    """Raises ChoiceError where a study that has begun would change what its gates rest on.

    before   the choices that the first round was drawn with
    where    the file in which they were changed, if it was one

    The budget may change where the last look was planned for itself.
    """
    names = ["declined", "candidates"]
    if Interval.SEQUENTIAL in (before.interval, now.interval):
        names += ["interval", *usual_looks(), "level"]
        names += ["budget"] if before.last_look is None else []
        needs_members = catalog.fact("acquisition", before.acquisition, "NEEDS_MEMBERS")
        if not (before.floor == 1 and needs_members):
            # Else the round itself drew uniformly, while the members of the surrogate agreed.
            names += ["floor", "floor_rule"]
    name = next((each for each in names if getattr(now, each) != getattr(before, each)), None)
    if name is None:
        return
    value = getattr(before, name)
    reason, remedy = (
        "the looks of sequential gates are planned before it",
        "draws may go on beyond the last look, but they decide nothing; for other gates start "
        "another study: `Study.create(pool, folder)`",
    )
    if name == "declined":
        reason = "what declined items count as must not depend on labels"
        remedy = "start another study: `Study.create(pool, folder)`"
    elif name == "candidates":
        reason = "how models share the error must not depend on labels"
        remedy = "start another study: `Study.create(pool, folder)`"
    why = f"stays after the first draw: {reason}, and this study has "
    why += "none" if value is None else str(value)
    if not where:
        raise ChoiceError(f"`{name}` {why}", remedy)
    line = f"restore the line {name} = {json.dumps(value)}"
    raise ChoiceError(f"{where}: {name} {why}", "remove the line" if value is None else line)


def _check_looks(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError for looks that cannot be planned, and for those of no sequential gate."""
    money = bool(pool.get("price"))
    if choices.interval != Interval.SEQUENTIAL:
        _check_unused_looks(choices, money=money)
        return
    if choices.selection == Selection.TOP:
        raise ChoiceError(
            "sequential gates need items that are drawn at random",
            'leave `selection="draw"`, or `interval="fixed"`',
        )
    if choices.level <= 0.5:
        raise ChoiceError(
            f"gates need a level above 0.5, and this study has {choices.level:g}", "`level=0.95`"
        )
    if choices.last_look is None and (choices.budget is None or money):
        raise ChoiceError(
            "sequential gates are decided by a last look, after a number of draws that is planned "
            "before the first one" + (", and the budget is money" if choices.budget else ""),
            _show_plan(money=money),
        )
    budget = None if money else choices.budget
    if choices.last_look is not None and budget is not None and choices.last_look > budget:
        draws = "1 draw" if choices.last_look == 1 else f"{choices.last_look:,} draws"
        raise ChoiceError(
            f"`last_look` is after {draws}, and the budget ends before, at {budget:,}",
            f"`budget={choices.last_look}`, or a last look within the budget",
        )
    last = choices.last_look or budget
    if last is not None and choices.looks > max(last, Choices.looks):
        raise ChoiceError(
            f"{choices.looks} looks do not fit into {last:,} draws",
            f"at most one look after each draw; `looks={Choices.looks}` is usual",
        )


def _check_unused_looks(choices: Choices, *, money: bool) -> None:
    """Raises ChoiceError for choices about looks in a study whose gates are not sequential."""
    unused = [name for name, usual in usual_looks().items() if getattr(choices, name) != usual]
    if not unused:
        return
    if choices.interval == Interval.FIXED and (choices.budget is None or money):
        raise ChoiceError(
            f"`{unused[0]}` is about sequential gates, and these need a number of draws that is "
            "planned before the first one",
            f"plan it: {_show_plan(money=money)}; or leave `{unused[0]}` out",
        )
    raise ChoiceError(
        f"`{unused[0]}` is about sequential gates, and the interval is {choices.interval}",
        'leave it out, or choose `interval="sequential"`',
    )


def _show_plan(*, money: bool) -> str:
    """The setting that plans the number of draws, where the budget is money or not."""
    return "`last_look=400`" if money else "`budget=400`"


def check_inputs(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError where a surrogate is to learn from features that the pool does not have.

    Not among check_choices: a study with such choices still opens, and can be given others.
    """
    if choices.augment != Augmentation.OUTPUTS and not pool.get("features"):
        raise ChoiceError(
            f"`augment={choices.augment!r}` is of use only where the pool has features",
            f"name them with `features`, or leave `augment={Augmentation.OUTPUTS.value!r}`",
        )


def check_training(choices: Choices, *, training: bool) -> None:
    """Raises ChoiceError where a surrogate that never learns from labels has nothing to learn from.

    training  whether there are training rows
    """
    if choices.refit == Refit.NEVER and choices.augment != Augmentation.OUTPUTS and not training:
        raise ChoiceError(
            f"`refit={Refit.NEVER.value!r}` lets the surrogate {choices.surrogate!r} learn before "
            f"any label, and with `augment={choices.augment!r}` and no training rows there is "
            "nothing to learn from then",
            f"name training rows with `train`, or leave `augment={Augmentation.OUTPUTS.value!r}`",
        )


def _check_names(choices: Choices, pool: Mapping[str, Any]) -> None:
    facts = specification.describe_pool(pool, choices.costs)
    for name in {choices.metric, *choices.also, *choices.draw_for} - {DIFFERENCE}:
        specification.find_objective_metric(name, facts)
    for name in choices.metrics:
        specification.find_metrics(name, facts)
    metric = specification.find_objective_metric(choices.metric, facts)
    reason = specification.why_not_bettable(metric)
    if choices.interval == Interval.ANYTIME and reason:
        raise ChoiceError(
            f"draws cannot serve anytime-valid intervals here, because {reason}",
            'aim at another metric, or leave `interval="fixed"`',
        )
    if choices.annotators == AnnotatorMethod.DAWID_SKENE and pool["task"] == Task.REGRESSION:
        raise ChoiceError(
            "dawid-skene is for classes, and this pool predicts values",
            "leave `annotators` at majority: of several values the median counts",
        )
    for key, family in (("surrogate", "surrogates"), ("acquisition", "acquisition")):
        text, known = getattr(choices, key), catalog.names(family)
        name = catalog.bare_name(text)
        if name not in known:
            raise ChoiceError(f"no {key} is called {name!r}", catalog.nearest(name, known))
        catalog.check(family, name)
        if name != text:
            catalog.split_options(family, text)
    task = catalog.fact("surrogates", choices.surrogate, "TASK") or pool["task"]
    if task != pool["task"]:
        fitting = [
            name
            for name in catalog.names("surrogates")
            if catalog.fact("surrogates", name, "TASK") != task
        ]
        raise ChoiceError(
            f"surrogate {choices.surrogate!r} is for {task}, and this pool is {pool['task']}",
            f"choose from {', '.join(fitting)}",
        )
    if catalog.fact("surrogates", choices.surrogate, "NEEDS_FEATURES") and pool.get("open_classes"):
        raise ChoiceError(
            f"surrogate {choices.surrogate!r} cannot believe in a class that the model "
            "never predicts, and labels of this pool may be of such classes",
            'use `surrogate="agreement"`, or name all classes with `classes`',
        )
    silent = pool["kind"] == "pred" and not pool.get("std")
    if choices.surrogate == "model" and silent:
        raise ChoiceError(
            "the surrogate 'model' needs probabilities or a column pred_std, "
            "and this pool has neither",
            "leave the surrogate to the default",
        )
    for name in choices.groups:
        if name not in pool.get("groups", ()):
            raise ChoiceError(
                f"{name!r} is not a group of this study",
                f"`study.change(groups={[name]!r})`",
            )


def _check_augmentation(choices: Choices, pool: Mapping[str, Any]) -> None:
    if choices.augment == Augmentation.OUTPUTS:
        return
    if not catalog.fact("surrogates", choices.surrogate, "AUGMENTS"):
        users = ", ".join(catalog.having("surrogates", "AUGMENTS"))
        raise ChoiceError(
            f"`augment={choices.augment!r}` changes nothing for surrogate "
            f"{choices.surrogate!r}, which does not learn from features alone",
            f"choose from {users}, or leave `augment={Augmentation.OUTPUTS.value!r}`",
        )
    if choices.augment == Augmentation.AGREEMENT and pool["task"] == Task.REGRESSION:
        raise ChoiceError(
            "a predicted value is never just right, so none can be learned by agreement",
            f"use `augment={Augmentation.NONE.value!r}`, or leave "
            f"`augment={Augmentation.OUTPUTS.value!r}`",
        )


def _check_acquisition(choices: Choices, pool: Mapping[str, Any], simulated: bool) -> None:
    task = catalog.fact("acquisition", choices.acquisition, "TASK") or pool["task"]
    if task != pool["task"]:
        raise ChoiceError(
            f"acquisition {choices.acquisition!r} is for {task}, and this pool is {pool['task']}",
            "choose another, for example optimal",
        )
    needs_key = catalog.fact("acquisition", choices.acquisition, "NEEDS_KEY")
    if catalog.fact("acquisition", choices.acquisition, "SIMULATION_ONLY") and not simulated:
        reason = "draws with replacement, and a study never asks for a label twice"
        if needs_key:
            reason = (
                "scores items by their true labels, and a study does not know the labels it is to "
                "buy"
            )
        elif catalog.fact("acquisition", choices.acquisition, "SELECTS_MODELS"):
            reason = "chooses items without probabilities, and no estimate could rest on them"
        raise ChoiceError(
            f"acquisition {choices.acquisition!r} {reason}",
            f"compare it by `simulate(pool, key, acquisition={choices.acquisition!r})`",
        )
    if needs_key and choices.interval == Interval.ANYTIME:
        raise ChoiceError(
            f"no anytime-valid interval can be computed for draws by {choices.acquisition!r}: it "
            "rests on scores that follow from the labels before a draw",
            '`interval="fixed"`',
        )
    if choices.selection == Selection.TOP and choices.interval == Interval.ANYTIME:
        raise ChoiceError(
            "there is no anytime-valid test of items that are not drawn at random",
            'leave `selection="draw"`, or `interval="fixed"`',
        )
    if choices.floor_rule == FloorRule.CLIP:
        _check_clipping(choices)
    uniform, top = choices.acquisition == "uniform", choices.selection == Selection.TOP
    if uniform and (top or choices.power != 1):
        raise ChoiceError(
            "uniform draws have neither a top nor a power", "leave them at draw and 1"
        )
    if top and choices.power != 1:
        raise ChoiceError("the top scores are the same to any power", "leave `power` at 1")
    if choices.surrogate == "model" and catalog.fact(
        "acquisition", choices.acquisition, "NEEDS_MEMBERS"
    ):
        raise ChoiceError(
            f"{choices.acquisition} compares members, and the surrogate 'model' has one",
            "choose a surrogate with members that differ",
        )
    if catalog.fact("acquisition", choices.acquisition, "NEEDS_KINDS") and catalog.fact(
        "surrogates", choices.surrogate, "RIGHT_OR_WRONG"
    ):
        raise explain_no_classes(choices)


def _check_clipping(choices: Choices) -> None:
    """Raises ChoiceError where there are no scores to clip, or where rounds choose their floor."""
    if chooses_between(choices.acquisition):
        raise ChoiceError(
            f"{choices.acquisition} gives items no scores that could be clipped at the floor",
            f"leave `floor_rule={FloorRule.MIX.value!r}`",
        )
    if choices.interval == Interval.ANYTIME:
        raise ChoiceError(
            "for anytime-valid intervals each round chooses its floor itself, and blends it with "
            "the scores",
            f'leave `floor_rule={FloorRule.MIX.value!r}`, or `interval="fixed"`',
        )
