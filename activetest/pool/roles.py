"""Roles of columns: as the user chose, else by convention."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from activetest import catalog
from activetest.errors import ChoiceError, PoolError
from activetest.nouns.choices import ColumnChoices, Scale
from activetest.nouns.class_sets import describe_remedy
from activetest.nouns.name_lists import find_repeated, shorten_list
from activetest.pool.column_names import (
    is_bare_prediction,
    is_index,
    is_outcome,
    is_prediction,
    is_truth,
    restates_outcome,
)
from activetest.pool.groups import COMPUTED, LABEL, PREDICTED, columns_of
from activetest.pool.schema import Schema

# Before the name of an attribute, in the name of a column with its probabilities.
ATTRIBUTE_PREFIX = "attr_prob_"
# A column of numbers, and how many bins it is cut into.
_BINS = re.compile(r"(.+)\[(\d{1,9})\]")
# Columns that may hold weights of items.
WEIGHT = re.compile(r"(^|_)(weights?|wt|\w*wgt)($|_)", re.I)
# In the metadata of a column that is a field of a record: the record.
PART_OF = b"activetest.part_of"
_RULE_PROB = "prob holds one list of numbers per row"
# Where there is one number instead.
_HINT_PROB = (
    '`outputs="prob", task="classification"` reads it as the probability of one of two classes '
    "(`classes` names them, that one second); of several classes, prob holds a list of numbers"
)
# Outputs of other models, which surrogates use otherwise than as features.
OTHER_PROBABILITIES, OTHER_PREDICTIONS = "surrogate_prob_", "surrogate_pred_"
OTHER_MODELS = re.compile(f"^({OTHER_PROBABILITIES}|{OTHER_PREDICTIONS}|attr_prob_)")


class NoOutputs(PoolError):
    """No column has a name that says that it holds outputs."""


def assign_roles(
    table: pa.Schema,
    choices: ColumnChoices,
    judged: str | None = None,
    *,
    score_is_value: bool = False,
    score_is_class: bool = False,
) -> Schema:
    """The roles of the columns. Classes follow later from the values: see resolve_classes.

    judged          kind of the outputs, where they are a judge's: see pool.judge
    score_is_value  the column that is called score holds numbers that are no probabilities
    score_is_class  the column of outputs that the user named holds numbers of classes, as decimals

    Raises PoolError when there are no outputs, a column is missing or has a type that cannot serve.
    """
    score_is_value = score_is_value and not choices.scale
    id_column = choices.id or ("id" if "id" in table.names else None)
    if id_column is not None:
        _require(table, id_column, _is_id, "ids must be strings or whole numbers")
    kind, outputs, pred = _find_outputs(table, choices, judged, score_is_value=score_is_value)
    kind, pred = ("pred", outputs[0]) if score_is_class and kind == "score" else (kind, pred)
    if pred is not None:
        _require(table, pred, is_scalar, "pred holds one class or number per row", sets=True)
    task = _choose_task(table, kind, outputs, choices)
    std = "pred_std" if task == "regression" and "pred_std" in table.names else None
    if std is not None:
        _require(table, std, is_number, "standard deviations must be numbers")
    used = {id_column, *outputs, pred, std}
    attributes = tuple(
        dict.fromkeys(split_bins(each, table.names)[0] for each in choices.attributes)
    )
    for attribute in attributes:
        if len(parts := columns_of(attribute)) > 1:
            raise ChoiceError(
                f"the attribute {attribute!r} is a product", f"`attributes={parts!r}`"
            )
    groups = tuple(dict.fromkeys((*choices.groups, *attributes)))
    columns = dict.fromkeys(column for group in groups for column in columns_of(group))
    uncertain = _find_uncertain(table, attributes)
    follow = {*COMPUTED} | ({LABEL} & {*attributes} - {*uncertain})
    computed = tuple(name for name in columns if name in follow and name not in table.names)
    for column in columns:
        if column in uncertain and column not in table.names:
            continue
        if column in computed:
            _check_computed(column, task, kind)
            continue
        if column in attributes:
            _require(table, column, is_scalar, "attributes hold strings, numbers or true/false")
        else:
            _require(
                table, column, _is_group, "group columns hold strings, whole numbers or true/false"
            )
        used.add(column)
    for amount in filter(None, (choices.weight, choices.price)):
        _require(table, amount, is_amount, "weights and prices are numbers")
        if amount in {id_column, *outputs, pred, std}:
            raise ChoiceError(
                f"column {amount!r} holds ids or the model's outputs", hint="name another one"
            )
        used.add(amount)
    used |= _check_other_columns(table, choices, task, used)
    used |= _check_texts(table, choices, task, used)
    _reject_without_effect(choices, task, kind, pred)
    # Predicted classes are no feature, also where the user leaves them out of the outputs.
    predicted = {"pred"} if kind != "pred" else set()
    # An attribute that is named as no group may be a feature as well.
    named = {column for group in choices.groups for column in columns_of(group)}
    also_features = {*attributes} - {*uncertain} - named
    also_features -= {id_column, *outputs, pred, std, choices.weight}
    used |= {column for each in uncertain.values() for column in each}
    features = _choose_features(table, choices, (used | predicted) - also_features, outputs)
    ignored = tuple(name for name in table.names if name not in used and name not in features)
    return Schema(
        task=task,
        kind=kind,
        outputs=outputs,
        id=id_column,
        pred=pred,
        std=std,
        positive=choices.positive,
        threshold=choices.threshold,
        scale=choices.scale or "",
        features=features,
        groups=groups,
        computed=computed,
        ignored=ignored,
        weight=choices.weight or None,
        price=choices.price or None,
        attributes=attributes,
        uncertain=tuple(uncertain),
        uncertain_columns=tuple(uncertain.values()),
        gold=tuple(name for name in uncertain if name in table.names),
        judge=choices.judge or None,
        others=tuple(dict.fromkeys(choices.other_columns)),
        texts=tuple(dict.fromkeys(choices.text or ())),
    )


def lacks_outputs(table: pa.Schema, columns: Mapping[str, Any]) -> bool:
    """Whether a table has no outputs: none that the user named, and none by convention.

    columns  settings of the columns

    Where it has some that cannot be read, whoever reads them is told.
    """
    choices = ColumnChoices(
        outputs=columns.get("outputs"), judge=columns.get("judge"), task=columns.get("task")
    )
    if choices.judge or choices.outputs:
        return not choices.judge and {*(choices.outputs or ())}.isdisjoint(table.names)
    try:
        _find_outputs(table, choices, None, score_is_value=False)
    except NoOutputs:
        return "prob" not in table.names
    except PoolError:
        pass
    return False


def _find_uncertain(table: pa.Schema, attributes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """{attribute: columns} of the attributes that have columns of probabilities.

    A column belongs to the attribute with the longest name that fits. Raises PoolError for columns
    that are no numbers, and for a list beside others.
    """
    found: dict[str, list[str]] = {}
    for column in table.names:
        if column.startswith(ATTRIBUTE_PREFIX):
            rest = column.removeprefix(ATTRIBUTE_PREFIX)
            fitting = [name for name in attributes if rest == name or rest.startswith(f"{name}_")]
            if fitting:
                found.setdefault(max(fitting, key=len), []).append(column)
    for name, columns in found.items():
        whole = f"{ATTRIBUTE_PREFIX}{name}"
        if whole in columns and len(columns) > 1:
            raise PoolError(
                f"the attribute {name!r} has probabilities in {whole!r} and in {columns[-1]!r}",
                hint="leave one of them out, or rename it",
            )
        for column in columns:
            if column == whole:
                _require(table, column, is_vector, f"{whole} holds one list of numbers per row")
            else:
                _require(table, column, is_number, "probabilities must be numbers")
    return {name: tuple(found[name]) for name in attributes if name in found}


def split_bins(attribute: str, columns: Sequence[str]) -> tuple[str, int | None]:
    """The column of an attribute, and how many bins it asks for, as age[4]; None without."""
    match = _BINS.fullmatch(attribute)
    if match is None or attribute in columns:
        return attribute, None
    return match.group(1), int(match.group(2))


def _check_other_columns(
    table: pa.Schema, choices: ColumnChoices, task: str, used: set[str | None]
) -> set[str]:
    """The columns of what other models predict, which are none of the columns in use.

    Raises PoolError for one that is not there or holds lists, ChoiceError for one in use.
    """
    accepts = is_scalar if task == "classification" else is_number
    for column in choices.other_columns:
        _require(table, column, accepts, "other models predict one class or number per row")
        if column in used or column in (choices.features or ()):
            raise ChoiceError(
                f"column {column!r} has another role than what other models predict",
                "name it once",
            )
    return {*choices.other_columns}


def _check_texts(
    table: pa.Schema, choices: ColumnChoices, task: str, used: set[str | None]
) -> set[str]:
    """The columns of text that the user named, which are none of the columns in use.

    Raises PoolError for one that is not there or holds no text, ChoiceError for one in use.
    """
    for column in choices.text or ():
        _require(table, column, is_text, "free text is text")
        if task == "regression":
            raise ChoiceError("this pool predicts values: texts have no say", "leave `text` out")
        if column in used:
            raise ChoiceError(f"column {column!r} has another role than text", "name it once")
    return {*(choices.text or ())}


def _reject_without_effect(choices: ColumnChoices, task: str, kind: str, pred: str | None) -> None:
    """Raises ChoiceError for a choice that has no effect on a pool of this kind."""
    if choices.threshold != ColumnChoices.threshold and (kind != "score" or pred is not None):
        ruled = f"column {pred!r} holds the predictions" if pred else "there is no column of scores"
        raise ChoiceError(f"`threshold` has no effect: {ruled}", hint="leave it out")
    if choices.scale and choices.scale not in tuple(Scale):
        raise ChoiceError(
            f"no scale is called {choices.scale!r}",
            hint=catalog.nearest(str(choices.scale), tuple(Scale)),
        )
    if choices.scale and (task == "regression" or kind == "pred"):
        raise ChoiceError(
            "`scale` has no effect: there are no probabilities",
            hint='leave it out, or name numbers: `outputs=columns, task="classification"`',
        )
    if choices.scale == Scale.CONFIDENCE and pred is None:
        raise ChoiceError(
            '`scale="confidence"` needs a column of the predicted class beside it',
            hint="name both of them with `outputs`",
        )
    for name in ("classes", "positive"):
        if task == "regression" and getattr(choices, name) is not None:
            raise ChoiceError(
                f"`{name}` has no effect: this pool predicts values",
                hint="leave it out"
                if pred == "pred"
                else 'leave it out, or say `task="classification"`',
            )


def _check_computed(column: str, task: str, kind: str) -> None:
    """Raises ChoiceError when this group does not follow from outputs of this kind."""
    if task == "regression":
        raise ChoiceError(
            f"`groups={[column]!r}`: this pool predicts values, not classes",
            hint="group by a column of the pool, for example bands of the prediction",
        )
    if column == LABEL and kind == "pred":
        raise ChoiceError(
            f"`attributes={[column]!r}`: the label is unknown, and the pool has no probabilities",
            hint=f"`attributes=['{PREDICTED}']` takes the predicted class",
        )
    if column != PREDICTED and kind == "pred":
        raise ChoiceError(
            f"`groups={[column]!r}`: the pool has hard labels, and no probabilities",
            hint=f"`groups=['{PREDICTED}']` groups by the predicted class",
        )


def _find_outputs(
    table: pa.Schema, choices: ColumnChoices, judged: str | None, *, score_is_value: bool
) -> tuple[str, tuple[str, ...], str | None]:
    """(kind, columns, column of predictions) of the outputs; judged as in assign_roles.

    A score that is no probability is a prediction, where nothing else is. Raises PoolError where no
    column holds outputs.
    """
    if judged and choices.outputs:
        return judged, choices.outputs, choices.outputs[0] if judged == "pred" else None
    names = table.names
    pred = "pred" if "pred" in names else None
    if choices.outputs:
        return _check_named_outputs(table, choices, pred, score_is_value=score_is_value)
    if pred is None and any(name.startswith("pred.") for name in names):
        _require(table, "pred", is_scalar, "")
    if "prob" in names and choices.task != "regression":
        if is_amount(kind := table.field("prob").type):
            raise NoOutputs(f"column 'prob' is {kind}", hint=_HINT_PROB)
        _require(table, "prob", is_vector, _RULE_PROB)
        return "prob-list", ("prob",), pred
    columns = tuple(name for name in names if name.startswith("prob_"))
    if columns and choices.task != "regression":
        return "prob-columns", _check_probabilities(table, columns), pred
    score = table.field("score").type if "score" in names else None
    probable = choices.task != "regression" and not score_is_value
    if score is not None and is_number(score) and probable:
        return "score", ("score",), pred
    if pred is None and score is not None and is_scalar(score):
        pred = "score"
    if pred is None:
        raise NoOutputs(
            f"no column holds the model's outputs; the columns are {shorten_list(names)}",
            hint=_hint_outputs(table),
        )
    # As decimals they are probabilities, unless they are whole: see unclear.holds_codes.
    decimal = choices.task == "classification" and kinds.is_floating(table.field(pred).type)
    return ("score", (pred,), None) if decimal else ("pred", (pred,), pred)


def _hint_outputs(table: pa.Schema) -> str:
    """How to say which columns hold outputs, by what there is."""
    for name in ("score", "scores", "probs", "probabilities", "proba"):
        if name in table.names and is_vector(table.field(name).type):
            return f"`outputs={name!r}` reads it as the probabilities of all classes"
    return (
        "name them prob (a list), prob_<class>, score or pred, or say `outputs=column`; "
        'for one probability of a class, add `task="classification"`; for what a judge says of '
        "the outputs, say `judge=column`"
    )


def _check_named_outputs(
    table: pa.Schema, choices: ColumnChoices, pred: str | None, *, score_is_value: bool
) -> tuple[str, tuple[str, ...], str | None]:
    """(kind, columns, column of predictions) of the outputs that the user named.

    Named beside others, pred holds the predicted classes; where it is not named, it plays no part.
    """
    columns = tuple(choices.outputs or ())
    if choices.scale == Scale.CONFIDENCE and len(columns) > 1:
        return _find_confidence(table, columns)
    if pred is not None and pred in columns and columns != (pred,):
        columns = tuple(column for column in columns if column != pred)
    else:
        pred = None
    for column in choices.outputs or ():
        _require(
            table,
            column,
            lambda kind: is_vector(kind) or is_scalar(kind),
            "outputs are numbers, lists of numbers or class names",
            sets=True,
        )
    if len(columns) > 1:
        return "prob-columns", _check_probabilities(table, columns), pred
    kind = table.field(columns[0]).type
    if is_vector(kind):
        return "prob-list", columns, pred
    # Only classes have names, and of two the column may be the probability of one.
    named = choices.classes is not None or choices.positive is not None
    named = named or choices.threshold != ColumnChoices.threshold
    classified = choices.task == "classification" or (choices.task is None and named)
    looks_like_score = columns[0] == "score" or (kinds.is_floating(kind) and classified)
    if pred is not None:
        _require(
            table, columns[0], is_number, "beside predicted classes, outputs are probabilities"
        )
        return "score", columns, pred
    value = score_is_value and columns[0] == "score"
    if looks_like_score and choices.task != "regression" and is_number(kind) and not value:
        return "score", columns, pred
    return "pred", columns, columns[0]


def _find_confidence(
    table: pa.Schema, columns: tuple[str, ...]
) -> tuple[str, tuple[str, ...], str | None]:
    """(kind, columns, column of predictions) where a confidence stands beside a predicted class."""
    for column in columns:
        _require(table, column, is_scalar, "a confidence and a predicted class are one per row")
    decimal = [name for name in columns if kinds.is_floating(table.field(name).type)]
    others = [name for name in columns if name not in decimal]
    if len(decimal) != 1 or len(others) != 1:
        raise ChoiceError(
            '`scale="confidence"` needs a column of decimals and one of predicted classes',
            hint="name both of them with `outputs`",
        )
    return "score", (decimal[0],), others[0]


def _check_probabilities(table: pa.Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns, one probability each.

    Raises PoolError for one alone or one that is no number.
    """
    for column in columns:
        _require(table, column, is_number, "probabilities must be numbers")
    if len(columns) == 1:
        raise PoolError(
            f"column {columns[0]!r} is the only probability; two classes need two columns",
            hint=_hint_single(columns[0]),
        )
    return columns


def _hint_single(column: str) -> str:
    """How to say that a column is the probability of one of two classes."""
    name = column.removeprefix("prob_").strip() or "1"
    other = f"not {name}" if name != "1" else "0"
    return (
        f'`outputs={column!r}` and `task="classification"` and `classes={[other, name]!r}` read it '
        f"as the probability of {name!r}"
    )


def _choose_task(
    table: pa.Schema, kind: str, outputs: tuple[str, ...], choices: ColumnChoices
) -> str:
    """Classification or regression: as the user chose, else by the type of the outputs."""
    if choices.task not in (None, "classification", "regression"):
        raise ChoiceError(
            f"no task is called {choices.task!r}",
            hint=catalog.nearest(str(choices.task), ("classification", "regression")),
        )
    if kind != "pred":
        if choices.task == "regression":
            raise PoolError(
                f"column {outputs[0]!r} does not hold predicted values",
                hint="name a column of predicted numbers with `outputs`, or leave `task` out",
            )
        return "classification"
    type_ = table.field(outputs[0]).type
    if choices.task is None:
        return (
            "regression"
            if kinds.is_floating(type_)
            or kinds.is_decimal(type_)
            or (outputs == ("score",) and is_amount(type_))
            else "classification"
        )
    if choices.task == "regression" and not is_number(type_):
        raise PoolError(
            f"column {outputs[0]!r} is {type_}, and regression predicts numbers",
            hint='`task="classification"`',
        )
    return choices.task


def _choose_features(
    table: pa.Schema, choices: ColumnChoices, used: set, outputs: Sequence[str]
) -> tuple[str, ...]:
    """The columns named, else number and list columns without another role or a telling name."""
    if choices.features is not None:
        for column in choices.features:
            _require(
                table,
                column,
                may_be_feature,
                "features are numbers or lists of numbers",
            )
        return tuple(dict.fromkeys(choices.features))
    outputs = list_predictions(table, outputs)
    return tuple(
        field.name
        for field in table
        if field.name not in used
        and may_be_feature(field.type)
        and is_plain_name(field.name, outputs)
        and not restates_outcome(field.name, outputs)
        # A record may hold what people said of the item.
        and PART_OF not in (field.metadata or {})
    )


def list_predictions(table: pa.Schema, outputs: Sequence[str]) -> list[str]:
    """The columns of the outputs and, by their names, of other predictions."""
    return [*outputs, *filter(is_prediction, table.names)]


def is_telling(name: str, outputs: Sequence[str] = ()) -> bool:
    """Whether a column may reveal the label, or hold weights: no feature unless it is named.

    outputs  the columns of the outputs and of other predictions, where they are known
    """
    return bool(WEIGHT.search(name)) or is_truth(name) or is_outcome(name, outputs)


def is_plain_name(name: str, outputs: Sequence[str] = ()) -> bool:
    """Whether the name of a column gives it no role: what it is, its values have to tell.

    outputs  as of is_telling
    """
    known = is_telling(name, outputs) or is_bare_prediction(name) or is_index(name)
    return not known and not OTHER_MODELS.search(name)


def is_number(kind: pa.DataType) -> bool:
    """Whole numbers, floats, decimals, true/false."""
    return (
        kinds.is_integer(kind)
        or kinds.is_floating(kind)
        or kinds.is_decimal(kind)
        or kinds.is_boolean(kind)
    )


def is_amount(kind: pa.DataType) -> bool:
    """Whole numbers, floats, decimals."""
    return is_number(kind) and not kinds.is_boolean(kind)


def may_be_feature(kind: pa.DataType) -> bool:
    """Numbers, and lists of numbers."""
    return is_number(kind) or is_vector(kind)


def is_vector(kind: pa.DataType) -> bool:
    """Lists of numbers, of fixed or (as declared) varying length."""
    return is_list(kind) and is_number(kind.value_type)


def is_list(kind: pa.DataType) -> bool:
    """Lists of anything."""
    return kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)


def is_text(kind: pa.DataType) -> bool:
    """Strings, also as dictionaries."""
    if kinds.is_dictionary(kind):
        return is_text(kind.value_type)
    return str(kind) in ("string", "large_string", "string_view")


def is_scalar(kind: pa.DataType) -> bool:
    """One number or one string."""
    return is_number(kind) or is_text(kind)


def _is_id(kind: pa.DataType) -> bool:
    return is_text(kind) or kinds.is_integer(kind)


def _is_group(kind: pa.DataType) -> bool:
    return is_text(kind) or kinds.is_integer(kind) or kinds.is_boolean(kind)


def _require(
    table: pa.Schema,
    column: str,
    accepts: Callable[[pa.DataType], bool],
    rule: str,
    *,
    sets: bool = False,
) -> None:
    """Raises PoolError when the table has no such column or its type cannot serve.

    sets  lists may be of classes, of which several are true
    """
    if column not in table.names:
        if parts := [name for name in table.names if name.startswith(f"{column}.")]:
            raise PoolError(
                f"column {column!r} holds records", hint=f"name a field: {shorten_list(parts)}"
            )
        raise call_missing(column, table.names)
    kind = table.field(column).type
    if not accepts(kind):
        hint = f"{rule}; {describe_remedy()}" if sets and is_list(kind) else rule
        raise PoolError(f"column {column!r} is {kind}", hint=hint)


def call_missing(column: str, names: Sequence[str]) -> PoolError:
    """The error for a column that is none of the pool's."""
    return PoolError(
        f"the pool has no column {column!r}",
        hint=f"{catalog.suggest(column, names)}its columns are {shorten_list(names)}",
    )


def check_verdicts(table: pa.Schema, column: str) -> None:
    """Raises PoolError when the table has no such column, or it cannot hold verdicts."""
    _require(table, column, is_scalar, "verdicts are words, true/false or numbers")


def reject_duplicates(table: pa.Schema) -> None:
    """Raises PoolError when two columns of a table have one name."""
    for name in find_repeated(table.names):
        raise PoolError(f"two columns are called {name!r}", hint="rename one of them")
