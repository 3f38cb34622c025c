"""Settings with which a table may be a pool: by names that people use, and by the first values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from activetest.errors import PoolError
from activetest.formats import read_file_notes
from activetest.nouns.canonical import make_canonical
from activetest.nouns.choices import Scale, Task
from activetest.nouns.name_lists import shorten_list
from activetest.pool.column_names import (
    Probability,
    find_common,
    is_bare_prediction,
    is_id,
    is_index,
    is_prediction,
    is_truth,
    may_name_classes,
    read_predicted,
    read_probability,
    split_words,
)
from activetest.pool.columns import BadRow, encode_values, read_numbers, read_vectors
from activetest.pool.files import Files
from activetest.pool.foreign_words import drop_accents
from activetest.pool.roles import OTHER_MODELS, is_amount, is_number, is_scalar, is_text, is_vector
from activetest.pool.unclear import (
    MOST_CLASSES,
    Reading,
    Unclear,
    check_confidence,
    find_predicted_beside,
    find_texts,
    name_classes,
    write_settings,
)

_CLASSIFICATION = {"task": Task.CLASSIFICATION.value}
_JUDGE = "judge"
# Words of columns in which judges say why.
_REASONS = {"reason", "reasons", "reasoning", "comment", "explanation", "rationale", "id", "model"}
_REASONS |= {"name", "prompt", "text"}
_VERDICTS = ("verdict", "grade", "rating", "judgement", "judgment", "judge")
# Rows that are looked at, columns of each kind, and how far from 1 probabilities may sum.
_SAMPLE, _MOST, _ROUNDING = 1000, 100, 0.01
# Probabilities that are as close are equal.
_TIE = 1e-6
# Proposals that a hint names.
_SHOWN = 3


@dataclass(frozen=True)
class _Column:
    """A column of numbers or of lists of them whose name says that it holds probabilities."""

    name: str
    meaning: Probability


def list_proposals(files: Files) -> Iterator[dict[str, Any]]:
    """Settings to try, one after another, the likeliest first: convention, then other names."""
    table = files.schema
    judge = read_file_notes(table.metadata).judge
    if judge in table.names:
        yield {"judge": judge}
    if stated := find_stated(files):
        yield stated
    yield {}
    yield from list_others(files)


def find_stated(files: Files) -> dict[str, Any] | None:
    """How to read probabilities beside a column pred, whose likeliest class is the one there.

    None where there are none, where they are read by convention, or where some text is no UTF-8.
    """
    table = files.schema
    if "pred" not in table.names or kinds.is_floating(table.field("pred").type):
        return None
    if any(name in ("prob", "score") or name.startswith("prob_") for name in table.names):
        return None
    numbers = [each for each in _find_probabilities(table, is_number) if not each.meaning.logit]
    shares = [each for each in numbers if _lies_in_unit(files, each.name)]
    ordered = (
        {"outputs": each.name, **_CLASSIFICATION, "classes": classes}
        for each in shares
        if (classes := _find_order(files, each, "pred"))
    )
    sure = _propose_confidences(files, [each.name for each in shares], "pred")
    ways = chain(_propose_lists(files), _propose_columns(files, ["pred"]), ordered, sure)
    try:
        return next(ways, None)
    except PoolError:
        # Of text that is no UTF-8, whoever needs it is told.
        return None


def _propose_confidences(
    files: Files, shares: Sequence[str], predicted: str
) -> Iterator[dict[str, Any]]:
    """Numbers of which none is below 1/2, beside the one of two classes that they are about."""
    for name in shares:
        found = find_predicted_beside(files, name, predicted)
        if found is not None and len(found[1]) == 2:
            scale = {"scale": Scale.CONFIDENCE.value}
            yield {"outputs": [name, predicted], **scale, **_CLASSIFICATION}


def list_others(files: Files) -> Iterator[dict[str, Any]]:
    """Settings for a table that has no outputs by convention."""
    table = files.schema
    judged = _list_judged(table)
    for name in judged:
        yield {"judge": name}
        # Items without a grade are left out where others are known by ids.
        yield from ({"judge": name, "id": each} for each in table.names if is_id(each))
    yield from _propose_lists(files)
    predicted = [name for name in _list_predictions(table) if name not in judged]
    together = list(_propose_columns(files, predicted))
    yield from together
    joined = {name for each in together for name in each["outputs"]}
    numbers = [
        each
        for each in _find_probabilities(table, is_number)
        if not each.meaning.logit and each.name not in (*joined, *judged)
    ]
    sure = [each for each in numbers if each.meaning.sure and _lies_in_unit(files, each.name)]
    for column in sure:
        settings = {"outputs": column.name, **_CLASSIFICATION}
        if not predicted:
            yield settings | _name_classes(files, column)
        elif classes := _find_order(files, column, predicted[0]):
            yield settings | {"classes": classes}
    if predicted:
        shares = [each.name for each in numbers if _lies_in_unit(files, each.name)]
        yield from _propose_confidences(files, shares, predicted[0])
    yield from ({"outputs": name} for name in predicted)
    for column in numbers:
        if column not in sure:
            yield {"outputs": column.name}
    yield from _propose_logits(files)
    names = {name.casefold(): name for name in table.names}
    yield from ({"judge": names[name]} for name in _VERDICTS if name in names)


def _list_judged(table: pa.Schema) -> list[str]:
    """Columns whose names say that a judge filled them, without reasons: judge_score, llm_judge."""
    named = [name for name in table.names if _JUDGE in split_words(name)]
    return [
        name
        for name in named
        if is_scalar(table.field(name).type) and not {*split_words(name)} & _REASONS
    ]


def check_proposal(files: Files, settings: dict[str, Any]) -> None:
    """Raises Unclear for outputs beside which there are others that they may be mistaken for.

    These are one model's predictions beside those of others, by name, and a number in 0 to 1 that
    looks like the confidence in a class which stands beside it.
    """
    name = settings.get("outputs")
    if isinstance(name, str) and (meaning := read_probability(name)):
        if _may_be_share(files, name):
            check_confidence(files, name)
        elif meaning.sure and is_amount(files.schema.field(name).type):
            _check_percentages(files, name)
    rivals = _list_predictions(files.schema)
    if len(rivals) < 2 or is_bare_prediction(rivals[0]) or name not in rivals:
        return
    # The first stands last, as the likeliest.
    readings = [
        Reading({"outputs": name}, f"the study is about the model of {name!r}")
        for name in reversed(rivals[:_SHOWN])
    ]
    raise Unclear(
        f"{shorten_list([repr(name) for name in rivals])} hold the predictions of several models, "
        "and a study is about one of them",
        readings,
    )


def _check_percentages(files: Files, column: str) -> None:
    """Raises Unclear for probabilities, by their name, that may be percentages."""
    low, high = files.find_range(column)
    if low >= 0 and 1 < high <= 100:
        raise Unclear(
            f"{column!r} runs from {low:.3g} to {high:.3g}: by its name it holds probabilities, "
            "which may be percentages here",
            [Reading({"outputs": column, "task": Task.REGRESSION.value}, "they are numbers")],
            "percentages have to be divided by 100, or written with %",
        )


def describe_proposals(files: Files) -> str:
    """Other columns that may be the outputs, as settings; empty where none may."""
    proposals = islice(list_others(files), _SHOWN)
    found = [f"`{write_settings(each)}`" for way in proposals for each in _spell_out(files, way)]
    return f"say {' or '.join(found)}" if found else "; ".join(describe_unread(files))


def _spell_out(files: Files, way: dict[str, Any]) -> list[dict[str, Any]]:
    """Settings, and of a number that may be a probability those of both."""
    name = way.get("outputs")
    try:
        check_proposal(files, way)
    except Unclear as unclear:
        return [dict(each.settings) for each in unclear.readings]
    if {*way} != {"outputs"} or not isinstance(name, str) or not _may_be_share(files, name):
        return [way]
    return [
        way | {"task": Task.REGRESSION.value},
        way | _CLASSIFICATION | name_classes(name),
    ]


def describe_unread(files: Files) -> list[str]:
    """Sentences about columns whose names say that they hold probabilities, and that are not read.

    Of columns of numbers and lists of them it is said elsewhere how to read them.
    """
    return [
        f"{field.name!r} may hold probabilities, and is not read: write a list of numbers "
        "in the order of the classes to a column prob, or each to a column prob_CLASS"
        for field in files.schema
        if read_probability(field.name) is not None
        and not OTHER_MODELS.search(field.name)
        and _holds_several(files, field)
    ]


def _holds_several(files: Files, field: pa.Field) -> bool:
    """Whether values hold several things and are no lists of numbers: records, lists as text."""
    if is_vector(field.type):
        return False
    if kinds.is_nested(field.type):
        return True
    if not is_text(field.type):
        return False
    values = _read_sample(files, [field.name]).column(0).drop_null()
    return len(values) > 0 and str(values[0].as_py()).strip()[:1] in ("[", "{", "(")


def _find_probabilities(table: pa.Schema, accepts: Any) -> list[_Column]:
    """The columns of accepted types whose names say that they hold probabilities or scores."""
    found = (
        _Column(field.name, meaning)
        for field in table
        if accepts(field.type)
        and not OTHER_MODELS.search(field.name)
        and (meaning := read_probability(field.name)) is not None
    )
    return list(islice(found, _MOST))


def _propose_lists(files: Files) -> Iterator[dict[str, Any]]:
    """Lists of probabilities; their classes are named as the predicted ones, where these fit."""
    predicted = _list_predictions(files.schema)
    for column in _find_probabilities(files.schema, is_vector):
        probs = _read_lists(files, column.name)
        if column.meaning.logit or probs is None or not _are_probabilities(probs):
            continue
        if not predicted:
            yield {"outputs": column.name}
        elif _find_classes(files, probs, predicted[0]) is not None:
            # Numbers of classes may stand beside their names.
            names = (_find_classes(files, probs, each) for each in predicted)
            classes = next(filter(None, names), [])
            yield {"outputs": column.name} | ({"classes": classes} if classes else {})


def _propose_columns(files: Files, predicted: list[str]) -> Iterator[dict[str, Any]]:
    """Columns of probabilities whose names differ in a class alone, or are those of the classes.

    Not of those whose largest is another class than the predicted one.
    """
    # Of several models, each has probabilities of its own.
    model = predicted[:1] if len(predicted) == 1 or any(map(is_bare_prediction, predicted)) else []
    families = (_list_named_after(files, predicted), _list_families(files, logit=False))
    for way in chain(*families, _list_remaining(files)):
        sample = _read_sample(files, way["outputs"])
        probs = np.stack([read_numbers(sample.column(each)) for each in way["outputs"]], axis=1)
        # Of percentages, it is said what to do.
        known = _are_probabilities(probs) or _are_probabilities(probs / 100)
        if known and (classes := _spell_classes(files, probs, way["classes"], model)):
            yield way | {"classes": classes}


def _list_named_after(files: Files, predicted: list[str]) -> Iterator[dict[str, Any]]:
    """Columns of numbers that end in the names of the classes in a column: .pred_yes, Tree (a)."""
    numbers = [each.name for each in files.schema if is_amount(each.type)][:_MOST]
    texts = [each.name for each in files.schema if is_text(each.type)]
    for column in dict.fromkeys([*predicted, *texts[:_MOST]]):
        named = column in predicted or may_name_classes(column)
        classes = find_texts(_read_sample(files, [column]).column(0), MOST_CLASSES)
        families: dict[str, dict[str, list[str]]] = {}
        for name, each in product(numbers, classes):
            if name != column and (end := _squeeze(each)) and _squeeze(name).endswith(end):
                family = families.setdefault(_squeeze(name).removesuffix(end), {})
                family.setdefault(each, []).append(name)
        for start, family in families.items():
            if not named and start != _squeeze(column):
                continue
            if 1 < len(family) == len(classes) and all(len(each) == 1 for each in family.values()):
                yield {"outputs": [each for (each,) in family.values()], "classes": [*family]}


def _list_remaining(files: Files) -> Iterator[dict[str, Any]]:
    """All columns of numbers, where no other is there than those that number the rows."""
    names = [
        each.name
        for each in files.schema
        if is_amount(each.type) and not (is_index(each.name) or is_id(each.name))
    ]
    if 1 < len(names) <= _MOST:
        yield {"outputs": names, "classes": names}


def _spell_classes(
    files: Files, probs: np.ndarray, classes: list[str], predicted: list[str]
) -> list[str] | None:
    """The classes of probabilities (R, C), spelled as those in a column of predicted ones.

    None where another class is predicted than the most probable one.
    """
    if not predicted:
        return classes
    column = _read_sample(files, predicted[:1]).column(0)
    places = {_squeeze(name): place for place, name in enumerate(classes)}
    codes, names = encode_values(column)
    meant = np.array([places.get(_squeeze(name), -1) for name in names])
    if column.null_count or not len(names) or (meant < 0).any() or len(places) < len(classes):
        return classes
    highest = np.sort(probs, axis=1)
    clear = highest[:, -1] - highest[:, -2] > _TIE
    if (meant[codes] != probs.argmax(axis=1))[clear].any():
        return None
    spelled = dict(zip(meant.tolist(), names, strict=True))
    return [spelled.get(place, name).strip() for place, name in enumerate(classes)]


def _squeeze(name: str) -> str:
    """The letters and digits of a name, whatever their case and accents."""
    return "".join(filter(str.isalnum, drop_accents(make_canonical(name)).casefold()))


def _name_family(classes: list[str], columns: Sequence[str]) -> list[str]:
    """Classes without what stands before all of them: target=, or the name of a column, as in BAD1.

    >>> _name_family(["target=no", "target=yes"], ()), _name_family(["BAD0", "BAD1"], ["BAD"])
    (['no', 'yes'], ['0', '1'])
    """
    start = find_common(classes)
    targets = {name.removeprefix(letter) for name in columns for letter in ("", "F_", "I_")}
    if start not in targets:
        # Of class_1 and class_10, not what is common to the numbers.
        start = start.rstrip("0123456789")
        numbered = all(name.removeprefix(start).isdecimal() for name in classes)
        marked = start.endswith(("=", ".", '"')) or (numbered and split_words(start) == ["class"])
        start = start if marked else ""
    rest = [name.removeprefix(start).removesuffix('"' * start.endswith('"')) for name in classes]
    return rest if all(rest) else classes


def _list_families(files: Files, *, logit: bool) -> Iterator[dict[str, Any]]:
    """Columns of probabilities, or of logits, whose names differ in a class alone."""
    families: dict[str, list[_Column]] = {}
    predicted = [
        _Column(field.name, meaning)
        for field in files.schema
        if is_amount(field.type) and (meaning := read_predicted(field.name)) is not None
    ]
    for column in chain(_find_probabilities(files.schema, is_amount), predicted[:_MOST]):
        if column.meaning.class_name and column.meaning.logit == logit:
            families.setdefault(column.meaning.pattern, []).append(column)
    for members in families.values():
        classes = [each.meaning.class_name for each in members]
        classes = _name_family(classes, files.schema.names)
        if len(members) > 1 and len({*classes}) == len(classes):
            yield {"outputs": [each.name for each in members], "classes": classes}


def _propose_logits(files: Files) -> Iterator[dict[str, Any]]:
    """Logits and log-probabilities by name: of all classes, or the logit of one of two."""
    for way in _list_families(files, logit=True):
        yield way | {"scale": _find_scale(way["outputs"][0])}
    for column in _find_probabilities(files.schema, is_vector):
        if column.meaning.logit and _read_lists(files, column.name) is not None:
            yield {"outputs": column.name, "scale": _find_scale(column.name)}
    alone = [each for each in _find_probabilities(files.schema, is_number) if each.meaning.logit]
    # Of log-probabilities of texts, language models write one for each answer.
    if len(alone) == 1 and _find_scale(alone[0].name) == Scale.LOGITS:
        way = {"outputs": alone[0].name, "scale": Scale.LOGITS.value, **_CLASSIFICATION}
        yield way | _name_classes(files, alone[0])


def _find_scale(name: str) -> str:
    """The scale that a name with logits or log-probabilities in it states."""
    plain = {"logit", "logits"}.isdisjoint(split_words(name))
    return (Scale.LOG_PROBABILITIES if plain else Scale.LOGITS).value


def _list_predictions(table: pa.Schema) -> list[str]:
    """The columns that hold what a model predicts, those whose names say no more first."""
    names = [
        field.name
        for field in table
        if is_scalar(field.type)
        and (is_prediction(field.name) or _is_of_sas(field.name, table))
        and not OTHER_MODELS.search(field.name)
    ]
    return sorted(names, key=lambda name: not is_bare_prediction(name))


def _is_of_sas(name: str, table: pa.Schema) -> bool:
    """Whether SAS calls the predicted class so: I_BAD, beside P_BAD1 and P_BAD0."""
    start = f"P_{name[2:]}"
    return name.startswith("I_") and any(each.startswith(start) for each in table.names)


def _may_be_share(files: Files, column: str) -> bool:
    return kinds.is_floating(files.schema.field(column).type) and _lies_in_unit(files, column)


def _lies_in_unit(files: Files, column: str) -> bool:
    low, high = files.find_range(column)
    return low >= 0 and high <= 1


def _name_classes(files: Files, column: _Column) -> dict[str, list[str]]:
    """The classes of a probability by its name; by the labels where they have two with that one."""
    found = name_classes(column.name)
    if not found:
        return {}
    word = " ".join(split_words(found["classes"][1]))
    for field in files.schema:
        if not is_truth(field.name) or not is_text(field.type):
            continue
        _, names = encode_values(_read_sample(files, [field.name]).column(0).drop_null())
        labels = {" ".join(split_words(name)): name.strip() for name in names if name.strip()}
        named = labels.pop(word, None)
        if named is not None and len(labels) == 1:
            return {"classes": [*labels.values(), named]}
    return found


def _find_order(files: Files, score: _Column, predicted: str) -> list[str] | None:
    """The two predicted classes that a probability tells apart at 0.5, the likely one last.

    None where its name is that of the other one.
    """
    sample = _read_sample(files, [score.name, predicted])
    codes, names = encode_values(sample.column(1))
    shares = read_numbers(sample.column(0)).astype(float)
    clear = np.abs(shares - 0.5) > _TIE
    codes, likely = codes[clear], shares[clear] > 0.5
    if len(names) != 2 or not 0 < likely.sum() < len(likely):
        return None
    if not ((codes == codes[0]) == (likely == likely[0])).all():
        return None
    second = int(codes[likely][0])
    order = [names[1 - second].strip(), names[second].strip()]
    return None if _squeeze(score.meaning.class_name) == _squeeze(order[0]) else order


def _find_classes(files: Files, probs: np.ndarray, predicted: str) -> list[str] | None:
    """The predicted class where each probability is the largest, in their order.

    Empty where these are the numbers that the classes have without names; None where they are not
    those of the probabilities, or some class is never predicted.
    """
    sample = _read_sample(files, [predicted]).column(0)
    codes, names = encode_values(sample)
    highest = np.sort(probs, axis=1)
    # Of equal ones, programs take either.
    largest = np.where(highest[:, -1] - highest[:, -2] > _TIE, probs.argmax(axis=1), -1)
    found: dict[int, str] = {}
    for place in range(probs.shape[1]):
        inside = {int(code) for code in codes[largest == place]}
        if len(inside) > 1:
            return None
        if inside:
            found[place] = names[inside.pop()].strip()
    numbers = {place: str(place) for place in range(probs.shape[1])}
    if found.items() <= numbers.items():
        return []
    classes = [found.get(place, "") for place in range(probs.shape[1])]
    return classes if all(classes) and len({*classes}) == len(classes) else None


def _read_lists(files: Files, column: str) -> np.ndarray | None:
    """(R, C) the first lists of a column; None where they have no single length."""
    values = _read_sample(files, [column]).column(0)
    lengths = {len(each) for each in values if each.is_valid}
    if values.null_count or len(lengths) != 1 or min(lengths) < 2:
        return None
    try:
        return read_vectors(values, column, lengths.pop())
    except BadRow:
        return None


def _are_probabilities(probs: Sequence[Any] | np.ndarray) -> bool:
    """Whether (R, C) numbers lie between 0 and 1 and sum to 1."""
    values = np.asarray(probs, float)
    with np.errstate(invalid="ignore"):
        inside = (values >= -_ROUNDING) & (values <= 1 + _ROUNDING)
        return bool(inside.all() and (np.abs(values.sum(axis=1) - 1) <= _ROUNDING).all())


def _read_sample(files: Files, columns: list[str]) -> pa.RecordBatch:
    """The first rows."""
    return files.sample(columns, _SAMPLE).select(columns)
