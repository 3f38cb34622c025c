"""Messages to the user about the roles of the columns."""

from functools import partial

import numpy as np
import pyarrow as pa

from activetest.formats import read_file_notes
from activetest.nouns.choices import Scale
from activetest.nouns.class_sets import find_sets
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.written_numbers import COMMA, DIVIDED, PERCENT, WORDS
from activetest.pool.column_names import is_index
from activetest.pool.groups import COMPUTED, CONFIDENCE, DECILE, PREDICTED, name_number_bins
from activetest.pool.image_shape import write_shape
from activetest.pool.roles import (
    OTHER_MODELS,
    is_telling,
    is_text,
    list_predictions,
    may_be_feature,
)
from activetest.pool.schema import Schema

NO_IDS = "there is no id column: the ids are row-0, row-1 ..., the row numbers counting from 0"
NO_FEATURES = "no features: only the model's own outputs guide the draws"

_shorten = partial(shorten_list, most=10)


def describe_pool(schema: Schema, table: pa.Schema, rows: int, gaps: int = 0) -> tuple[str, ...]:
    """Plain sentences, the most important first.

    gaps  items that are left out: the judge did not grade them, or not all models have them
    """
    gaps -= schema.left_out
    groups = [group for group in schema.groups if group not in schema.attributes]
    return tuple(
        filter(
            None,
            [
                f"{rows:,} items, {_describe_task(schema)}",
                *read_file_notes(table.metadata).notes,
                f"{'1 item' if gaps == 1 else f'{gaps:,} items'} without a grade in "
                f"{schema.judge!r} left out"
                if gaps
                else "",
                describe_left_out(schema.left_out) if schema.left_out else "",
                _describe_judge(schema) if schema.judge else _describe_outputs(schema),
                f"predicted class: column {schema.pred!r}, also where another class is more "
                "probable"
                if schema.pred is not None and schema.kind != "pred"
                else "",
                _describe_sets(schema),
                f"numbers with names in the file, read as these: {_shorten(schema.named)}"
                if schema.named
                else "",
                _describe_written(schema),
                f"ids: column {schema.id!r}" if schema.id else NO_IDS,
                _describe_features(schema),
                f"texts: {_shorten(schema.texts)}" if schema.texts else "",
                f"what other models predict: columns {_shorten(schema.others)}"
                if schema.others
                else "",
                f"groups: {_shorten(groups)}" if groups else "",
                _describe_attributes(schema),
                f"weights: column {schema.weight!r}; every number is the weighted one"
                if schema.weight
                else "",
                f"prices of labels: column {schema.price!r}" if schema.price else "",
                *_describe_shadowed(schema),
                *_describe_ignored(schema, table),
            ],
        )
    )


def describe_left_out(count: int) -> str:
    """The items of a pool that are none of its study, in words."""
    items = f"{count:,} item{'s' * (count != 1)}"
    return f"{items} left out, which not all models have"


def _describe_sets(schema: Schema) -> str:
    """Note that some classes are sets of others, where their names look so."""
    sets = find_sets(schema.classes)
    if not sets:
        return ""
    return f"classes such as {sets[0]!r} are sets of classes: only the whole set is right"


def _describe_attributes(schema: Schema) -> str:
    """The attributes, and the bins of those that were cut."""
    if not schema.attributes:
        return ""
    cut = [
        f"{column} in bins {_shorten(name_number_bins(np.array(edges)))}"
        for column, edges in schema.bins.items()
    ]
    uncertain = [
        f"{name} has probabilities of {_shorten(values)}"
        for name, values in zip(schema.uncertain, schema.uncertain_values, strict=True)
    ]
    return "; ".join([f"attributes: {_shorten(schema.attributes)}", *cut, *uncertain])


def _describe_written(schema: Schema) -> str:
    """How columns of text are read as numbers."""
    parts = []
    for form in dict.fromkeys(schema.forms):
        names = [name for name, each in schema.written_forms.items() if each == form]
        how = "decimal comma" if form.startswith(COMMA) else "decimal point"
        if DIVIDED in form:
            how += ", percentages divided by 100"
        elif PERCENT in form:
            how += ", percent signs left out"
        how += ", words are no grades" if form.endswith(WORDS) else ""
        parts.append(f"{_shorten(names)} ({how})")
    return f"numbers written as text: {'; '.join(parts)}" if parts else ""


def _describe_task(schema: Schema) -> str:
    if schema.task == "regression":
        return "regression"
    return f"{len(schema.classes)} classes: {_shorten(schema.classes)}"


# {scale: outputs on it, and one of them}.
_OUTPUTS = {
    "": ("probabilities", "probability"),
    Scale.LOGITS: ("logits", "logit"),
    Scale.LOG_PROBABILITIES: ("log probabilities", "log probability"),
}


def _describe_outputs(schema: Schema) -> str:
    column = repr(schema.outputs[0])
    if schema.task == "regression":
        return f"predicted values: column {column}" + (
            f", with standard deviations in {schema.std!r}" if schema.std else ""
        )
    if schema.scale == Scale.CONFIDENCE:
        return f"confidence: column {column}, in the class that {schema.pred!r} predicts"
    many, single = _OUTPUTS[schema.scale]
    return {
        "prob-list": f"{many}: column {column}, a list per item",
        "prob-columns": f"{many}: columns {_shorten(schema.outputs)}",
        "score": f"score: column {column} is the {single} of class "
        + repr(schema.positive)
        + (f"; predicted from {schema.threshold:g} on" if schema.pred is None else ""),
        "pred": f"hard labels: column {column}; "
        "without probabilities there is no log-loss and no Brier score",
    }[schema.kind]


def _describe_judge(schema: Schema) -> str:
    """The outputs of the judge, and its positive class."""
    column = repr(schema.judge)
    if schema.task == "regression":
        return f"the judge's scores: column {column}; labels are what people score"
    if schema.kind == "score":
        return (
            f"the judge's probabilities of {schema.positive!r}: column {column}, a verdict from "
            f"{schema.threshold:g} on; labels are what people say"
        )
    which = (
        f"{schema.positive!r} is positive (`positive` names another)"
        if schema.positive
        else "none is positive (`positive` names one)"
    )
    return f"the judge's verdicts: column {column}; {which}; labels are what people say"


def _describe_features(schema: Schema) -> str:
    """The columns that are features, and the shape of their image."""
    if not schema.features:
        return "" if schema.texts else NO_FEATURES
    image = f", an image of {write_shape(schema.shape)}" if schema.shape else ""
    return f"features: {_shorten(schema.features)}{image}"


def _describe_shadowed(schema: Schema) -> list[str]:
    """Group columns with the name of a group that the outputs would make."""
    means = {PREDICTED: "the predicted class", CONFIDENCE: "bins of the confidence"}
    means |= {DECILE: "bins of equal counts of the confidence"}
    return [
        f"group {name!r} is the pool's column of that name, not {means[name]}"
        for name in COMPUTED
        if name in schema.group_columns
    ]


def _describe_ignored(schema: Schema, table: pa.Schema) -> list[str]:
    """Columns left out: those that may reveal the label, other models, text, anything else."""
    outputs = list_predictions(table, schema.outputs)
    revealing = [name for name in schema.ignored if is_telling(name, outputs)]
    numbers = [name for name in revealing if may_be_feature(table.field(name).type)]
    others = [
        name for name in schema.ignored if OTHER_MODELS.search(name) and name not in revealing
    ]
    unused = [name for name in schema.ignored if name not in revealing and name not in others]
    words = [name for name in unused if is_text(table.field(name).type) and not is_index(name)]
    rest = [name for name in unused if name not in words]
    return [
        sentence
        for names, sentence in [
            (
                revealing,
                f"not used, by their names: {_shorten(revealing)}"
                + (" (`features=[name]` uses a column all the same)" if numbers else ""),
            ),
            (others, f"outputs of other models, not used as features: {_shorten(others)}"),
            (words, f"not used: {_shorten(words)}"),
            (rest, f"not used: {_shorten(rest)}"),
        ]
        if names
    ]
