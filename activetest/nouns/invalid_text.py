"""What may be said of a file of text that is not UTF-8."""

import codecs
import shlex
from pathlib import Path

from activetest.nouns.encodings import WINDOWS, decode_windows

# The first byte that begins a letter of UTF-8.
_FIRST_LEAD = 0xC2
# Endings of files that spreadsheets write.
_TABLES = (".csv", ".tsv", ".txt")
# Bytes that are read at once, and those that are looked at where a file is not UTF-8.
_BLOCK, _SHOWN = 2**20, 2**12


def find_invalid(path: Path) -> tuple[int, str | None] | None:
    """Where a file is not UTF-8: (line from 1 up, name of what it may be); None where all of it is.

    The name is None where other letters are UTF-8, so that the line is damaged. Reads the file to
    its end, some at a time. Raises OSError.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    wrong: tuple[int, bytes] | None = None
    line, letters = 1, 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            try:
                text = decoder.decode(block)
            except UnicodeDecodeError as error:
                before = error.object[: error.start]
                letters += sum(byte >= _FIRST_LEAD for byte in before)
                found = error.object[error.start : error.start + _SHOWN]
                wrong = line + before.count(b"\n"), found
                break
            line += block.count(b"\n")
            letters += 0 if text.isascii() else sum(not letter.isascii() for letter in text)
    if wrong is None:
        return None
    number, found = wrong
    if letters:
        return number, None
    return number, WINDOWS if decode_windows(found) else "another encoding"


def describe_invalid(path: Path) -> tuple[str, str] | None:
    """(problem, hint) of a file that is not UTF-8; None where it is."""
    invalid = find_invalid(path)
    if invalid is None:
        return None
    line, name = invalid
    if name is None:
        return (
            f"{path} is not UTF-8 in line {line:,}, though it is before",
            "correct that line, and save the file as UTF-8",
        )
    problem = f"{path} is not UTF-8, from line {line:,} on"
    if name != WINDOWS:
        return problem, suggest_utf8(path)
    return (
        f"{problem}: it looks like {WINDOWS} (or Latin-1)",
        suggest_utf8(path, WINDOWS.upper()),
    )


def suggest_utf8(path: Path, encoding: str = "") -> str:
    """How a file becomes UTF-8, from an encoding where it is known."""
    table = path.suffix.lower() in _TABLES
    save = "save it as UTF-8" + (", which Excel calls 'CSV UTF-8'" if table else "")
    if not encoding:
        return save
    written = shlex.quote(str(path.with_name(f"{path.stem}-utf-8{path.suffix}")))
    return f"{save}, or type: iconv -f {encoding} -t UTF-8 {shlex.quote(str(path))} > {written}"
