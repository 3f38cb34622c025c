"""How the text of a file is encoded, as far as its first bytes tell, and the text itself."""

from activetest.errors import LabelError

_MARKS = (b"\xff\xfe", b"\xfe\xff")


def is_utf16(beginning: bytes) -> bool:
    """Whether a file looks like UTF-16: a byte-order mark, or every other byte of a word is zero.

    >>> is_utf16("id,label".encode("utf-16-le")), is_utf16(b"id,label")
    (True, False)
    """
    pair = beginning[:2]
    return pair in _MARKS or (len(pair) == 2 and pair.count(0) == 1)


def decode_answers(content: bytes, name: str, *, form: str = "UTF-8") -> str:
    """The text of a file of answers, without a byte-order mark.

    form  what hints tell to save it as

    Raises LabelError, naming the line, for what is not UTF-8.
    """
    if is_utf16(content):
        raise LabelError(f"{name} looks like UTF-16", f"save it as {form}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise LabelError(f"{name}, line {line}: not UTF-8", f"save it as {form}") from error
