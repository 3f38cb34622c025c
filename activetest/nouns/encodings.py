"""How the text of a file is encoded, as far as its first bytes tell, and the text itself."""

import re

from activetest.errors import LabelError

# What programs for Windows write in western countries where they do not write UTF-8.
WINDOWS = "Windows-1252"
_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Characters that no text has: a file of another sort.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")
_WORD = re.compile(r"\w*[^\x00-\x7f]\w*")


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
