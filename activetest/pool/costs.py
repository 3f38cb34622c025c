"""Cost matrices: CSV, one row per predicted class and one column per true class.

The first row names the true classes, the first column the predicted ones, and the cell in their
corner is free. Classes may come in any order, each exactly once:

    predicted,cat,dog
    cat,0,5
    dog,1,0
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from activetest.errors import ChoiceError
from activetest.nouns.arguments import check_path

_EXPECTED = "a row for each predicted class, a column for each true one; the first ones name them"


def read_costs(
    source: str | Path | Mapping[Any, Any], classes: Sequence[str]
) -> tuple[tuple[float, ...], ...]:
    """(C, C) cost of predicting (row) for the truth (column), in the order of classes.

    source  the file, or a mapping {predicted: {true: cost}}

    Costs may be negative, as gains are. Raises ChoiceError, naming line and column or both classes,
    for anything that is no such file or mapping.
    """
    if not classes:
        name = "`costs`" if isinstance(source, Mapping) else source
        raise ChoiceError(f"{name} holds costs of classes, and this pool has none", "leave it out")
    return _read_mapping(source, classes) if isinstance(source, Mapping) else _read(source, classes)


def _read(path: str | Path, classes: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    """The costs in a file."""
    lines = csv.reader(io.StringIO(_read_text(path), newline=""), strict=True)
    try:
        rows = [(lines.line_num, [cell.strip() for cell in row]) for row in lines if any(row)]
    except csv.Error as error:
        raise ChoiceError(f"{path}, line {lines.line_num}: {error}", _EXPECTED) from error
    if not rows:
        raise ChoiceError(f"{path} is empty", _EXPECTED)
    truths = rows[0][1][1:]
    _check_names(truths, classes, f"{path}, line {rows[0][0]}", "true")
    _check_names([row[0] for _, row in rows[1:]], classes, f"{path}, first column", "predicted")
    found = {}
    for line, (predicted, *cells) in rows[1:]:
        if len(cells) != len(truths):
            problem = f"{path}, line {line}: {len(cells)} costs for {len(truths)} classes"
            raise ChoiceError(problem, _EXPECTED)
        for truth, cell in zip(truths, cells, strict=True):
            found[predicted, truth] = _parse_cost(cell, f"{path}, line {line}, column {truth!r}")
    return tuple(tuple(found[predicted, truth] for truth in classes) for predicted in classes)


def _read_mapping(
    costs: Mapping[Any, Any], classes: Sequence[str]
) -> tuple[tuple[float, ...], ...]:
    """The costs in a mapping from predicted classes to mappings from true ones."""
    _check_names([str(name) for name in costs], classes, "`costs`", "predicted")
    found = {}
    for predicted, row in costs.items():
        where = f"`costs` of predicted {str(predicted)!r}"
        if not isinstance(row, Mapping):
            raise ChoiceError(f"{where} is {row!r}", "give a mapping from true classes to costs")
        _check_names([str(name) for name in row], classes, where, "true")
        for truth, cost in row.items():
            found[str(predicted), str(truth)] = _parse_cost(cost, f"{where}, true {str(truth)!r}")
    return tuple(tuple(found[predicted, truth] for truth in classes) for predicted in classes)


def _read_text(path: str | Path) -> str:
    """The whole file, without a byte-order mark."""
    check_path(path, ChoiceError)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ChoiceError(f"there is no file {path}", "check the path of the costs") from error
    except OSError as error:
        raise ChoiceError(f"{path} cannot be read: {error.strerror}", "check the path") from error
    except UnicodeDecodeError as error:
        raise ChoiceError(f"{path} is not UTF-8", "save it as UTF-8 CSV") from error


def _check_names(names: Sequence[str], classes: Sequence[str], where: str, kind: str) -> None:
    """Raises ChoiceError unless every class is named once, and nothing else."""
    for name in names:
        if name not in classes:
            hint = f"the classes are {', '.join(classes)}; {_EXPECTED}"
            raise ChoiceError(f"{where}: {name!r} is no class of this pool", hint)
        if names.count(name) > 1:
            raise ChoiceError(f"{where}: the {kind} class {name!r} stands there twice", _EXPECTED)
    for name in classes:
        if name not in names:
            raise ChoiceError(f"{where}: the {kind} class {name!r} is missing", _EXPECTED)


def _parse_cost(cell: Any, where: str) -> float:
    try:
        cost = float(cell)
    except (TypeError, ValueError):
        cost = math.nan
    if not math.isfinite(cost):
        raise ChoiceError(f"{where}: {cell!r} is no cost", "write a number")
    return cost
