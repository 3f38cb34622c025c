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


def list_forms(text: str) -> tuple[str, ...]:
    r"""The forms in which programs write a text that is canonically equal: composed, and in parts.

    >>> [len(form) for form in list_forms("\u00e9a")]
    [2, 3]
    """
    return tuple(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
