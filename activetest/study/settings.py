"""The settings given to a study, on top of what a study has stored or the defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from activetest.errors import ChoiceError, PoolChanged
from activetest.item_statistics import specification
from activetest.item_statistics.defaults import default_metrics, judge_metrics
from activetest.nouns.choices import (
    NO_QUESTION,
    Choices,
    Interval,
    Selection,
    Task,
)
from activetest.nouns.study_lists import Model
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from activetest.sampling.choices import (
    check_choices,
    check_inputs,
    check_lasting_choices,
    check_training,
    usual_looks,
)
from activetest.sampling.question import (
    list_idle_choices,
    serves_question,
    split_metrics,
    usual_acquisition,
    usual_floor,
)
from activetest.study.comparison import check_models, check_several, count_declared
from activetest.study.declared import check_shared_error
from activetest.study.stored import StoredStudy

# Roles of columns that stay after the first draw: probabilities and labels rest on them.
# By which groups are judged where nobody says.
_USUAL = "accuracy"
_LASTING = ("id", "outputs", "scale", "decimal", "classes", "threshold", "weight", "price")


def has_rounds(study: StoredStudy) -> bool:
    """Whether anything was drawn."""
    return bool(study.ledger.surrogates())


def check_seed(seed: int | None, study: StoredStudy | None) -> None:
    """Raises ChoiceError for a seed that is out of range, or differs after the first draw."""
    if seed is None:
        return
    if not 0 <= seed < 2**63:
        raise ChoiceError(
            f"`seed={seed}` is not between 0 and 2^63 - 1", hint="leave it out for a random one"
        )
    if study and seed != study.seed and has_rounds(study):
        raise ChoiceError(
            f"`seed` stays after the first draw: this study has seed {study.seed}",
            hint="start another study: `Study.create(pool, folder)`",
        )


def check_columns(schema: Schema, study: StoredStudy) -> bool:
    """Whether ids, outputs, classes, threshold, weights or prices differ from those of the study.

    Raises ChoiceError where they differ after the first draw or the second model, or ids and
    classes after labels.
    """
    stored = study.schema
    before, now = (asdict(each) | {"outputs": _name_outputs(each)} for each in (stored, schema))
    # A score is the probability of the positive class; elsewhere that class names metrics alone.
    lasting = (*_LASTING, "positive") if stored.kind == "score" else _LASTING
    changed = [name for name in lasting if now[name] != before[name]]
    since = "the first draw" if has_rounds(study) else ""
    if len(study.list_models()) > 1:
        since = since or "a second model came"
    if changed and since:
        raise _cannot_change(changed[0], stored, since)
    named = [name for name in changed if name in ("id", "classes")]
    if named and study.ledger.record().supplied:
        raise _cannot_change(named[0], stored, "the first labels")
    other = [
        name
        for name in ("task", "kind", "positive", "judge")
        if getattr(schema, name) != getattr(stored, name)
    ]
    if {"task", "kind"} & set(other) and since:
        raise ChoiceError(
            f"the outputs cannot be read in another way after {since}",
            hint="start another study: `Study.create(pool, folder)`",
        )
    return bool(changed or other)


def kept_columns(
    files: Files, study: StoredStudy | None, columns: Mapping[str, Any], *, name: str
) -> dict[str, Any]:
    """Stored settings of a study's columns, but for those given now; name is the pool's.

    Raises PoolChanged when the files of the pool lack what the study reads.
    """
    if study is None:
        return {}
    schema = study.schema
    Pool(name, schema.drop_groups(), files).check()
    groups = schema.groups
    if "attributes" in columns:
        # Attributes bring their groups with them, and take them away.
        groups = tuple(name for name in groups if name not in schema.attributes)
    named = columns.get("groups", groups)
    # A column has one role: new groups, ids, outputs and weights are no features any more.
    taken = {column for group in named for column in group.split("*")} - set(schema.group_columns)
    taken |= {columns.get("id"), columns.get("judge"), *columns.get("outputs", ())}
    taken |= {*columns.get("other_columns", ())}
    if not has_rounds(study):
        # Later they cannot change, and that is what has to be said.
        taken |= {columns.get("weight"), columns.get("price")}
    stored = schema.list_settings() | {
        "features": tuple(name for name in schema.features if name not in taken),
        "groups": groups,
        "text": tuple(name for name in schema.texts if name not in taken),
        # Those that the study has, whatever the file says by now.
        "class_names": schema.class_names,
    }
    said_judge = stored.pop("judge")
    if judge := columns.get("judge"):
        # It says what the outputs are; task and positive class follow from its values.
        if judge not in schema.outputs:
            stored |= {"positive": None, "task": None, "classes": None, "scale": None}
            stored["threshold"] = 0.5
        stored["outputs"] = (judge,)
    elif said_judge and "judge" not in columns and "outputs" not in columns:
        stored["judge"] = said_judge
    outputs = columns.get("outputs", stored["outputs"])
    if outputs == schema.outputs and has_rounds(study):
        # The outputs stay, too.
        columns = {key: value for key, value in columns.items() if key != "outputs"}
    elif outputs != schema.outputs and (
        schema.kind == "pred" or tuple(c for c in outputs if c != "pred") != schema.outputs
    ):
        # Task, classes and what is positive follow from the outputs.
        stored |= {"classes": None, "positive": None, "task": None, "scale": None}
    if columns.get("classes", schema.classes) != schema.classes:
        stored["positive"] = None
    kept: dict[str, Any] = {key: each for key, each in stored.items() if key not in columns}
    if has_rounds(study) or not {"outputs", "judge", "task", "decimal"} & {*columns}:
        # Later, numbers are read as they were.
        taken |= {*columns.get("attributes", ()), *columns.get("text", ())}
        forms = schema.written_forms.items()
        kept["forms"] = {column: form for column, form in forms if column not in taken}
    return kept | ({"bins": schema.bins} if "attributes" in kept else {})


def check_features(pool: Pool, study: StoredStudy | None) -> None:
    """Raises PoolChanged when rounds were drawn with other features or texts.

    Surrogates of these rounds are asked again, and must see the same.
    """
    if study is None or not study.ledger.surrogates():
        return
    before = study.schema
    for setting, words, stored, now in (
        ("features", "features", before.features, pool.schema.features),
        ("text", "texts", before.texts, pool.schema.texts),
    ):
        if now != stored:
            raise PoolChanged(
                f"rounds were drawn with the {words} {', '.join(stored) or '(none)'}, "
                f"not with {', '.join(now) or '(none)'}",
                (f"keep them with `{setting}={list(stored)!r}`, or " if stored else "")
                + "start another study: `Study.create(pool, folder)`",
            )


def choose_choices(
    pool: Pool,
    study: StoredStudy | None,
    given: Mapping[str, Any],
    *,
    files: Mapping[str, str | None],
    imported: bool = False,
    models: Sequence[str] = (Model.name,),
) -> Choices:
    """The choices given, on top of the study's or the defaults.

    files     {key in study.toml: address} of training rows and of other models
    imported  whether a new study begins with draws that were made elsewhere
    models    names of the models that a new study begins with

    Raises ChoiceError for one that makes no sense.
    """
    entries = {"uri": pool.uri} | pool.schema.to_dict()
    metrics = default_metrics(entries["task"], entries["kind"], entries["classes"])
    regression = pool.schema.task == Task.REGRESSION
    default = Choices(metric=metrics[0], metrics=metrics)
    stored = _fit_choices(study, default, pool.schema) if study else default
    stored = replace(stored, groups=pool.schema.groups, attributes=pool.schema.attributes)
    settings = _complete_question(given, stored, fresh=study is None and not regression)
    began = imported or (study is not None and has_rounds(study))
    settings = _complete_looks(settings, stored, pool.schema, began=began)
    if pool.schema.judge:
        usual = _list_judge_metrics(pool.schema)
        question = settings.get("question", stored.question)
        earlier = study.schema.judge if study else None
        if "metric" not in settings and question is None and earlier != pool.schema.judge:
            settings["metric"] = usual[:1]
        metrics = tuple(dict.fromkeys((*metrics, *usual)))
    if "metric" in settings:
        named = settings["metric"]
        settings |= {"metric": named[0], "also": named[1:]}
        settings |= {"metrics": (*metrics, *named)}
    choices = check_choices(asdict(stored) | settings, entries)
    check_models(study, choices, models)
    check_several(study, choices, models)
    check_inputs(choices, entries)
    check_training(choices, training=bool(files.get("train")))
    if began:
        # Draws that were made elsewhere come before any choice.
        before = study.choices if study else replace(default, declined=choices.declined)
        check_lasting_choices(before, choices)
    if study:
        check_shared_error(study.ledger, choices)
    declared = count_declared(study) if study else len(models)
    if "candidates" in given and (choices.candidates or declared) < declared:
        raise ChoiceError(
            f"`candidates` is {choices.candidates}, and the study has {declared} models already",
            f"count these, too: `candidates={declared}` or more",
        )
    if "metric" in settings:
        named = (choices.metric, *choices.also)
        recorded = _list_recorded(metrics, named, entries, choices.costs)
        choices = replace(choices, metrics=recorded)
    kept = study and choices.costs and "costs" not in settings
    if study and kept and study.schema.classes != pool.schema.classes:
        raise ChoiceError(
            "the costs of this study are for other classes", "give them again: `costs=path`"
        )
    return choices


def _list_judge_metrics(schema: Schema) -> tuple[str, ...]:
    """The metrics of a judge. Raises ChoiceError for a verdict that no metric's name can hold."""
    if schema.positive is not None and {*"[]"} & {*schema.positive}:
        raise ChoiceError(
            f"the positive verdict {schema.positive!r} has brackets, which stand around classes in "
            "names of metrics",
            "write other words for the verdicts",
        )
    return judge_metrics(schema.task, schema.positive)


def describe_budget(choices: Choices, given: Mapping[str, Any], *, began: bool) -> tuple[str, ...]:
    """A notice where a budget plans no looks of sequential gates, and none were declined.

    given   the choices that were named now
    began   whether anything was drawn
    """
    declined = "interval" in given or choices.selection == Selection.TOP
    if "budget" not in given or declined or choices.interval != Interval.FIXED:
        return ()
    if began:
        return ("gates stay anytime-valid: looks are planned before the first draw",)
    return (
        "gates are anytime-valid, because nobody knows how many draws this money will buy; "
        "`last_look=400` plans looks",
    )


def _fit_choices(study: StoredStudy, default: Choices, schema: Schema) -> Choices:
    """The study's choices, without what does not exist for outputs of another kind."""
    stored = study.choices
    before = study.schema
    if schema.task != before.task:
        of_draws = ("acquisition", "floor", "floor_rule", "refit")
        kept = (*of_draws, "level", "budget", "interval", "declined", *usual_looks())
        kept += ("share_error", "candidates")
        return replace(default, **{name: getattr(stored, name) for name in kept})
    if schema.kind != before.kind:
        named = (stored.metric, *stored.also)
        recorded = _list_recorded(default.metrics, named, schema.to_dict(), stored.costs)
        return replace(stored, metrics=recorded)
    return stored


def _list_recorded(
    usual: tuple[str, ...],
    named: tuple[str, ...],
    pool: Mapping[str, Any],
    costs: tuple[tuple[float, ...], ...] | None,
) -> tuple[str, ...]:
    """Metrics that rounds record: those that draws aim at, besides the usual ones.

    Where there are items that can change none of those that were named, these alone: for the usual
    ones such items would be drawn.
    """
    if pool.get("weight") is not None:
        # All items that count are drawn there.
        return tuple(dict.fromkeys((*usual, *named)))
    found = specification.find_relevant_classes(named, specification.describe_pool(pool, costs))
    return tuple(dict.fromkeys(named if found is not None else (*usual, *named)))


def _cannot_change(name: str, stored: Schema, since: str) -> ChoiceError:
    value = _name_outputs(stored) if name == "outputs" else getattr(stored, name)
    words = ",".join(value) if isinstance(value, tuple) else value
    return ChoiceError(
        f"`{name}` stays after {since}: this study has {words or 'none'}",
        hint="start another study: `Study.create(pool, folder)`",
    )


def _name_outputs(schema: Schema) -> tuple[str, ...]:
    """The setting `outputs` that gives these roles."""
    outputs: tuple[str, ...] = schema.list_settings()["outputs"]
    return outputs


def _complete_question(given: Mapping[str, Any], stored: Choices, *, fresh: bool) -> dict[str, Any]:
    """The settings, with what follows from a question that is new or taken away: see Choices."""
    settings = dict(given)
    question = settings.get("question", stored.question)
    present = None if question == NO_QUESTION else question
    if question != stored.question:
        idle = list_idle_choices(present)
        settings = {name: getattr(Choices, name) for name in idle} | settings
    if question == NO_QUESTION:
        settings["question"] = None
    usual = usual_acquisition(present)
    if serves_question(stored.acquisition):
        # Policies for groups explore no surface, and the other way round.
        if usual != usual_acquisition(stored.question):
            settings.setdefault("acquisition", usual)
    elif stored.question is None and present:
        settings.setdefault("acquisition", usual)
        if fresh:
            settings.setdefault("metric", (_USUAL,))
    if "metric" in settings:
        settings |= split_metrics(settings["metric"], present)
    acquisition = settings.get("acquisition", stored.acquisition)
    aims = settings.get("draw_for", stored.draw_for)
    aims = aims or settings.get("metric", (stored.metric, *stored.also))
    before, after = usual_floor(stored.acquisition, stored.aims), usual_floor(acquisition, aims)
    if before != after:
        settings.setdefault("floor", after)
    return settings


def _complete_looks(
    settings: dict[str, Any], stored: Choices, schema: Schema, *, began: bool
) -> dict[str, Any]:
    """The settings, with the kind of gates that follows from a budget, or from another kind.

    Gates are sequential where the number of draws is planned before the first one: by a budget of
    labels, or by the draws at the last look.
    """
    interval = settings.get("interval", stored.interval)
    if began and Interval.SEQUENTIAL not in (interval, stored.interval):
        _check_late_looks(settings)
    if interval != Interval.SEQUENTIAL and stored.interval == Interval.SEQUENTIAL:
        return usual_looks() | settings
    drawn = settings.get("selection", stored.selection) == Selection.DRAW
    if began or "interval" in settings or interval != Interval.FIXED or not drawn:
        return settings
    budget = settings.get("budget") is not None and schema.price is None
    if budget or settings.get("last_look") is not None:
        settings = {"interval": Interval.SEQUENTIAL.value} | settings
    return settings


def _check_late_looks(settings: Mapping[str, Any]) -> None:
    """Raises ChoiceError for looks that are planned after the first draw."""
    late = [name for name, usual in usual_looks().items() if settings.get(name, usual) != usual]
    if late:
        raise ChoiceError(
            f"`{late[0]}` is about sequential gates, and their looks are planned before the first "
            "draw: this study began without any",
            "start another study: `Study.create(pool, folder)`",
        )
