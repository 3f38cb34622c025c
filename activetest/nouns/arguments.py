"""Arguments, read as what they must be; anything else is an error that names the argument."""

import errno
import inspect
import math
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from operator import index
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args

from activetest.errors import ActivetestError, ChoiceError
from activetest.nouns.records import LARGEST

F = TypeVar("F", bound=Callable[..., Any])
# Errors of the file system for a name that no file can have, whatever is on the disk.
_IMPOSSIBLE = (errno.ENAMETOOLONG, errno.ELOOP)
_LONGEST = 80
# Hints of arguments that are numbers of items.
_HINTS = dict.fromkeys(("n", "again"), "it must be a whole number, for example 20")


def reading_arguments(function: F) -> F:
    """The function, called with what its arguments are read as, each by its annotation.

    True or false, whole numbers, numbers, texts, and a text or several are read by the functions
    below; None stays where the annotation has it. Others are the function's own to read.
    """
    signature = inspect.signature(function)
    kinds = {
        name: frozenset(get_args(each) if isinstance(each, UnionType) else [each])
        for name, each in ((each.name, each.annotation) for each in signature.parameters.values())
    }

    @wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        bound = signature.bind(*args, **named)
        for name, value in bound.arguments.items():
            reader = _READERS.get(kinds[name] - {NoneType})
            if reader and not (value is None and NoneType in kinds[name]):
                bound.arguments[name] = reader(name, value)
        return function(*bound.args, **bound.kwargs)

    return cast("F", called)


def read_count(name: str, value: Any) -> int:
    """A whole number, also one of NumPy. Raises ChoiceError for anything else."""
    try:
        if _is_scalar(value) and abs(number := index(value)) < LARGEST:
            return number
    except TypeError:
        pass
    raise ChoiceError(f"`{name}` is {show(value)}", _HINTS.get(name, "it must be a whole number"))


def read_number(name: str, value: Any) -> float:
    """A number that is finite, also one of NumPy. Raises ChoiceError for anything else."""
    try:
        if _is_scalar(value) and math.isfinite(number := float(value)):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ChoiceError(f"`{name}` is {show(value)}", "it must be a number")


def _is_scalar(value: Any) -> bool:
    """Whether a value is no text, truth value or array: NumPy 1 takes some of them for numbers."""
    if isinstance(value, bool | str | bytes):
        return False
    return getattr(value, "ndim", 0) == 0 and str(getattr(value, "dtype", "")) != "bool"


def read_flag(name: str, value: Any) -> bool:
    """True or false, also of NumPy. Raises ChoiceError for anything else."""
    flag = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    if isinstance(flag, bool):
        return flag
    raise ChoiceError(f"`{name}` is {show(value)}", "it must be True or False")


def read_name(name: str, value: Any) -> str:
    """A text. Raises ChoiceError for anything else, and for text that UTF-8 cannot hold."""
    if not isinstance(value, str):
        raise ChoiceError(f"`{name}` is {show(value)}", "it must be a text")
    if not is_unicode(value):
        raise ChoiceError(f"`{name}` is {show(value)}, no Unicode text", "write it in UTF-8")
    return value


def read_names(name: str, values: Any) -> tuple[str, ...]:
    """One text or several, as a tuple; none for None. Raises ChoiceError for what is no text."""
    if values is None:
        return ()
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    found = tuple(values) if several else (values,)
    for value in found:
        if not isinstance(value, str):
            raise ChoiceError(f"`{name}` is {show(value)}", "it must be a text, or several of them")
        read_name(name, value)
    return found


_READERS: dict[frozenset[Any], Callable[[str, Any], Any]] = {
    frozenset({bool}): read_flag,
    frozenset({int}): read_count,
    frozenset({float}): read_number,
    frozenset({str}): read_name,
    frozenset({str, Sequence[str]}): read_names,
}


def read_path(name: str, value: Any, error: type[ActivetestError] = ChoiceError) -> Path:
    """A path that a file may have. Raises `error` for anything else; see check_path."""
    if not isinstance(value, str | os.PathLike):
        raise error(f"`{name}` is {show(value)}", "it must be a path")
    try:
        path = Path(value)
    except TypeError as problem:
        raise error(f"`{name}` is {show(value)}", "it must be a path of text") from problem
    check_path(path, error)
    return path


def read_paths(
    name: str, value: Any, error: type[ActivetestError] = ChoiceError
) -> tuple[Path, ...]:
    """One path or several, as a tuple. Raises `error` for anything else; see check_path."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike)
    return tuple(read_path(name, each, error) for each in (value if several else (value,)))


def check_path(path: str | Path, error: type[ActivetestError]) -> None:
    """Raises `error` for a path that no file can have.

    Such a path has a NUL character, or a name that is too long or that no encoding holds, leads
    through links to itself, or is relative where the working directory is gone.
    """
    if not os.path.isabs(path):
        find_working_directory(error)
    try:
        os.stat(path)
    except ValueError as problem:
        raise error(f"no file can be at {show(str(path))}", "give another path") from problem
    except OSError as problem:
        if problem.errno in _IMPOSSIBLE:
            raise error(
                f"no file can be at {show(str(path))}: {problem.strerror}", "give another path"
            ) from problem


def find_working_directory(error: type[ActivetestError]) -> Path:
    """The working directory. Raises `error` where it has been removed."""
    try:
        return Path.cwd()
    except OSError as problem:
        raise error(
            "the working directory is no longer there", "change to a folder that is there"
        ) from problem


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold the text: names that the system gave may have other bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def show(value: Any) -> str:
    """A value in a message: as Python writes it, shortened; by its type where it cannot be."""
    if isinstance(value, str) and len(value) <= _LONGEST:
        return repr(value)
    try:
        return reprlib.repr(value)
    except Exception:
        return f"of type {type(value).__name__}"


def add_to_brackets(name: str, part: str) -> str:
    """The name of a metric with more in its brackets, as f-beta[2,cat] of f-beta[2] and cat."""
    return f"{name[:-1]},{part}]" if name.endswith("]") else f"{name}[{part}]"


def name_metric(name: str, class_name: str | None, models: Sequence[str] = ()) -> str:
    """A metric as it is asked for: with its class, and with the models that it is of."""
    plain = name if class_name is None else add_to_brackets(name, class_name)
    return "-".join(f"{plain}({model})" for model in models) or plain


def read_cells(name: str, given: Any) -> tuple[str | dict[str, str], ...]:
    """Combinations as texts or {attribute: value}. Raises ChoiceError for anything else."""
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    return tuple(read_cell(name, each) for each in (given if several else (given,)))


def read_cell(name: str, given: Any) -> str | dict[str, str]:
    """One combination. Raises ChoiceError for what is neither a text nor {attribute: value}."""
    return read_values(name, given) if isinstance(given, Mapping) else read_name(name, given)


def read_values(name: str, given: Mapping[Any, Any]) -> dict[str, str]:
    """{attribute: value}, values as texts. Raises ChoiceError for names that are no texts."""
    return {read_name(name, key): str(value) for key, value in given.items()}
