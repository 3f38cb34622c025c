"""Files that a command may write over: its own earlier ones, and never what a study rests on."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from activetest.errors import ActivetestError, StorageError

# A folder with this file, or of this name, is a study.
_CONFIG, _FOLDER = "study.toml", ".activetest"
_HINT = "write to another file"


def check_target(
    path: Path,
    check_content: Callable[[Path], None],
    *,
    inputs: Mapping[str, object],
    study: Path | None = None,
    force: bool = False,
) -> None:
    """Raises for a file that may not be written, before anything is done; nothing is changed.

    check_content  called with a file that is there and not empty: raises for one that is not an
                   earlier one of ours
    inputs         {what it is: address} of what is only read: files and folders. An address
                   of no file on this machine is left out
    study          its folder; other studies are recognised
    force          any file may be written over, but none of a study or an input

    Links are followed, and files are compared, not names. Devices and pipes are written to. Raises
    StorageError for a file of a study or an input.
    """
    if use := _find_use(path, inputs, study):
        raise StorageError(f"{path} is {use}, and is never written over", _HINT)
    if not os.path.isfile(path) or not os.path.getsize(path):
        return
    if not force:
        check_content(path)
    elif folder := _find_folder(path, inputs):
        try:
            check_content(path)
        except ActivetestError as error:
            raise StorageError(
                f"{path} is inside {folder}: only a file that activetest wrote is replaced there",
                _HINT,
            ) from error


def _find_use(path: Path, inputs: Mapping[str, object], study: Path | None) -> str | None:
    """The use of the file at a path, or what it would be; None where it is free."""
    real = Path(os.path.realpath(path))
    above = real.parents
    # Other names of the same file; none of them is below the same folders.
    linked = os.path.isfile(real) and os.stat(real).st_nlink > 1
    for folder in above:
        if folder.name == _FOLDER or os.path.isfile(folder / _CONFIG) or _is_same(folder, study):
            return f"inside the study {folder}"
    if linked and study and _is_linked_below(real, study):
        return f"a file of the study {study}"
    for what, given in inputs.items():
        place = _find_path(given)
        if place is None:
            continue
        if _is_same(real, place) or real == Path(os.path.realpath(place)):
            return what
        # Of a folder, what is read is Parquet.
        if real.suffix.lower() == ".parquet" and any(_is_same(folder, place) for folder in above):
            return f"inside {what}, {place}"
        if linked and _is_linked_below(real, place):
            return f"a file of {what}, {place}"
    return None


def _find_folder(path: Path, inputs: Mapping[str, object]) -> str | None:
    """The input that is a folder of the file, however deep; None where it is in none."""
    above = Path(os.path.realpath(path)).parents
    places = {what: _find_path(given) for what, given in inputs.items()}
    found = (what for what, place in places.items() if any(_is_same(at, place) for at in above))
    return next(found, None)


def _find_path(given: object) -> Path | None:
    """Where an input is on this machine; None for what is elsewhere, or no address."""
    if isinstance(given, os.PathLike):
        return Path(given)
    if not isinstance(given, str) or not given:
        return None
    if given.lower().startswith("file://"):
        return Path(unquote(urlsplit(given).path))
    return None if "://" in given else Path(given).expanduser()


def _is_same(path: Path, other: Path | None) -> bool:
    """Whether two paths lead to the same file or folder."""
    try:
        return other is not None and os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def _is_linked_below(path: Path, folder: Path) -> bool:
    """Whether a file below a folder is the file at a path, under another name."""
    state = os.stat(path)
    return any(os.path.samestat(state, each) for each in _list_files(folder))


def _list_files(folder: Path) -> Iterator[os.stat_result]:
    """The state of every file below a folder."""
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.stat(os.path.join(at, name))
            except OSError:
                continue
