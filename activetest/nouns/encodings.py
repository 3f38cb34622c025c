"""How the text of a file is encoded, as far as its first bytes tell."""

_MARKS = (b"\xff\xfe", b"\xfe\xff")


def is_utf16(beginning: bytes) -> bool:
    """Whether a file looks like UTF-16: a byte-order mark, or every other byte of a word is zero.

    >>> is_utf16("id,label".encode("utf-16-le")), is_utf16(b"id,label")
    (True, False)
    """
    pair = beginning[:2]
    return pair in _MARKS or (len(pair) == 2 and pair.count(0) == 1)
