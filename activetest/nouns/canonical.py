"""One spelling of texts that Unicode calls equal."""

import unicodedata


def make_canonical(text: str) -> str:
    r"""The composed form of a text: accents behind letters, and those in letters, become one.

    Texts of which Unicode says that they are canonically equal have one such form (Unicode Standard
    Annex 15, normalization form C). Nothing else changes: case, width and blanks stay.

    >>> make_canonical("cafe\u0301") == make_canonical("caf\u00e9") == "caf\u00e9"
    True
    >>> make_canonical("\uff21 a ") == "\uff21 a "
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)
