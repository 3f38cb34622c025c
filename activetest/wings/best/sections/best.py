"""The best model, how likely it is that, and how far the others are from it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from activetest.nouns.best_report import BestReport, RankedModel
from activetest.nouns.report import Report
from activetest.render import json
from activetest.render.document import words
from activetest.render.document.blocks import (
    Bar,
    Bars,
    Block,
    Columns,
    Lead,
    Sentence,
    Table,
    tabulate,
    write_left_out,
)
from activetest.render.document.extent import Extent

PLACE = 2.5
TITLE = "Which model is best"
OF = "best"

_MODEL = ("value", "p_best", "regret", "estimate", "lower", "upper", "level", "method")
# Meaning of the probabilities.
_BELIEF = (
    "Probabilities are beliefs, by these labels and a prior that expects models to be alike. They "
    "are no guarantee over many looks: a gate on a difference is, at planned looks or at every one."
)


def sentence(found: BestReport) -> str:
    """The best model, or the likely best and what is still needed."""
    name, chance = words.plain(found.best), _write_chance(found.probability)
    is_best = f"within {found.tolerance:g} of the best" if found.tolerance else "best"
    if found.decided:
        return f"{name} is {is_best} by {found.metric} (probability {chance})."
    if found.more_labels is None:
        needed = f"The labels needed for {found.level:g} cannot be foreseen."
    else:
        count = words.roughly(found.more_labels)
        needed = f"About {count} more labels are expected to give {found.level:g}."
    return (
        f"Undecided which model is best by {found.metric}. Most likely, {name} is"
        f"{f' {is_best}' * bool(found.tolerance)} (probability {chance}). {needed}"
    )


def lead(found: BestReport, report: Report) -> list[Lead]:
    """The answer as a sentence."""
    return [Lead(sentence(found), style="good" if found.decided else "strong")]


def write(found: BestReport, report: Report, extent: Extent) -> Iterator[Block]:
    """The models, the best first; on pages how far they are from it as dots on intervals."""
    yield tabulate_models(found, extent.most)
    yield Sentence(_BELIEF, style="small")


def read(found: BestReport) -> dict[str, Any]:
    """The answer in JSON."""
    models = [json.read_record(each, _MODEL) | {"model": each.model} for each in found.models]
    return {"best": asdict(found) | {"answer": sentence(found), "models": models}}


def tabulate_models(found: BestReport, most: int) -> Table:
    """A row for each model."""
    near = f"P(within {found.tolerance:g})" if found.tolerance else "P(best)"
    columns: Columns = {
        "model": lambda each: words.plain(each.model),
        found.metric: lambda each: _write_value(each, found),
        near: lambda each: _write_chance(each.p_best),
        "regret": lambda each: words.short(each.regret),
        f"minus {words.plain(found.best)}": lambda each: _write_apart(each, found),
        "interval": lambda each: "-" if each.model == found.best else words.interval(each),
    }
    title = f"{found.metric} of models, likely best first"
    others = [each for each in found.models if each.model != found.best]
    rows = [
        Bar(words.plain(each.model), each, note=f"{near} {_write_chance(each.p_best)}")
        for each in others[:most]
    ]
    bars = Bars(
        f"{found.metric}: difference to {words.plain(found.best)}",
        "model",
        rows,
        reference=0.0,
        below=write_left_out(len(others) - len(rows), "models"),
    )
    return tabulate(title, columns, found.models, kept=(near,), bars=[bars])


def _write_value(each: RankedModel, found: BestReport) -> str:
    spread = max((words.half_width(row.quantity) or 0.0 for row in found.models), default=0.0)
    return "-" if each.value is None else words.figure(each.value, spread or None)


def _write_apart(each: RankedModel, found: BestReport) -> str:
    return "-" if each.model == found.best else words.estimate(each)


def _write_chance(value: float) -> str:
    """A probability to two digits; what is not quite certain is not written as if it were."""
    if value < 0.005:
        return "<0.01"
    return ">0.99" if value >= 0.995 else f"{value:.2f}"
