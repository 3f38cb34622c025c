"""How the text of a file is encoded, the text itself, and what to say where it is not UTF-8."""

import codecs
import re
import shlex
from pathlib import Path

from activetest.errors import LabelError

# Encoding of programs for Windows in western countries where they do not write UTF-8.
WINDOWS = "Windows-1252"
_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Characters that no text has: a file of another sort.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")
_WORD = re.compile(r"\w*[^\x00-\x7f]\w*")
# The first byte that begins a letter of UTF-8.
_FIRST_LEAD = 0xC2
# Endings of files that spreadsheets write.
_TABLES = (".csv", ".tsv", ".txt")
# Bytes that are read at once, and those that are looked at where a file is not UTF-8.
_BLOCK, _SHOWN = 2**20, 2**12


def is_utf16(beginning: bytes) -> bool:
    """Whether a file looks like UTF-16: a byte-order mark, or every other byte of a word is zero.

    >>> is_utf16("id,label".encode("utf-16-le")), is_utf16(b"id,label")
    (True, False)
    """
    pair = beginning[:2]
    return pair in _MARKS or (len(pair) == 2 and pair.count(0) == 1)


def decode_answers(
    content: bytes, name: str, *, form: str = "UTF-8", notes: list[str] | None = None
) -> str:
    """The text of a file of answers, without a byte-order mark.

    form   what hints tell to save it as
    notes  gets a sentence where the text is not UTF-8 and was read as Windows-1252; None where it
           is to be refused

    UTF-16 needs its mark, with which spreadsheets write it. Raises LabelError, naming the line, for
    what is no such text.
    """
    if is_utf16(content):
        try:
            if content[:2] in _MARKS and not _CONTROLS.search(text := content.decode("utf-16")):
                return text
        except UnicodeDecodeError:
            pass
        raise LabelError(f"{name} looks like UTF-16", f"save it as {form}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if notes is not None and (text := decode_windows(content)):
            word = _WORD.search(text)
            notes.append(
                f"It is not UTF-8 and was read as {WINDOWS}"
                + (f": check words such as {word.group()[:40]!r}" if word else "")
            )
            return text
        line = content[: error.start].count(b"\n") + 1
        raise LabelError(f"{name}, line {line}: not UTF-8", f"save it as {form}") from error


def decode_windows(content: bytes) -> str:
    """The text as Windows-1252; empty where it cannot be."""
    try:
        text = content.decode(WINDOWS)
    except UnicodeDecodeError:
        return ""
    return "" if _CONTROLS.search(text) else text


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
