"""Files that pictures are written to: new ones, and earlier ones of the same origin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from activetest.errors import ChoiceError
from activetest.nouns.arguments import check_path
from activetest.system import atomic, overwrite

# How far from its beginning a picture says who drew it.
_LONGEST_HEAD = 4096


@dataclass(frozen=True)
class Origin:
    """Who draws pictures of a sort.

    command   as messages name it
    markers   of which every such picture has one near its beginning
    """

    command: str
    markers: tuple[bytes, ...]


def save_picture(path: str | Path, picture: str) -> None:
    """Write a picture, whole or not at all. Raises OSError when the file system refuses."""
    # The file that a link points to is replaced, not the link.
    with atomic.replacing_file(Path(path).resolve()) as building:
        building.write_text(picture, encoding="utf-8", newline="")


def check_picture(
    path: str | Path,
    origin: Origin,
    *,
    formats: Sequence[str],
    example: str,
    inputs: Mapping[str, object],
    study: Path | None = None,
    force: bool = False,
) -> None:
    """Raises ChoiceError where no picture can be written; nothing is changed.

    origin   whose earlier pictures are replaced
    formats  endings that the file may have
    example  name of such a file
    inputs   {what it is: address} of what is only read
    study    its folder
    force    replace any other file as well

    Raises StorageError for a file of a study or an input.
    """
    path = Path(path)
    check_path(path, ChoiceError)
    if path.suffix.lower() not in formats:
        endings = " nor ".join(formats)
        problem = f"is neither {endings}" if len(formats) > 1 else f"is no {endings}"
        raise ChoiceError(f"{path} {problem}", f"name the picture for example {example}")
    if not path.parent.is_dir():
        raise ChoiceError(f"there is no folder {path.parent}", "make it first")

    def check_content(path: Path) -> None:
        with open(path, "rb") as file:
            beginning = file.read(_LONGEST_HEAD)
        if not any(marker in beginning for marker in origin.markers):
            raise ChoiceError(
                f"{path} is there already, and is no picture that {origin.command} has drawn",
                "name another file, or replace it: `force=True`",
            )

    overwrite.check_target(path, check_content, inputs=inputs, study=study, force=force)
    _check_writable(path)


def _check_writable(path: Path) -> None:
    """Open it and a temporary file beside it, and change nothing.

    Permissions alone do not show that this works.
    """
    try:
        if path.exists():
            with open(path, "ab"):
                pass
        with atomic.replacing_file(path.resolve()) as building:
            building.touch()
            building.unlink()
    except OSError as error:
        raise ChoiceError(
            f"no picture can be written to {path}: {error.strerror}", "name another file"
        ) from error
