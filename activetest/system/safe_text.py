"""Text made safe to show: in a terminal, in a spreadsheet, and where others may read it.

Names and values come from other people's pools and label files. A terminal obeys control
characters, a spreadsheet runs formulas, and logs keep whatever secret an address holds.
"""

import re
import unicodedata

# Characters that join letters, which some scripts and emoji need: they hide nothing.
_JOINERS = "\u200c\u200d"
_TAB = "    "

# A cell that a spreadsheet would run, behind any number of apostrophes: those are ours, or a name
# that could be taken for ours. Full-width signs are formulas in some countries.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
# A plain number is one in any spreadsheet, and nothing to run.
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)?|[.,]\d+)([eE][+-]?\d+)?")

# Characters that no document of XML can hold, however it is written (XML 1.0, section 2.2).
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# User and password of an address: a secret key may hold slashes, and a port is no password. A name
# alone is a secret where it may be a token; elsewhere it is a user or a container.
_USER = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s:@?#]*:(?!\d+/)[^\s@]*@"
    r"|(?P<web>(?:https?|s3[an]?|gcs|gs)://)(?!anonymous@)[^/\s:@?#]+@"
)
# A parameter of an address with its value, or a long word in its place, which may be a key.
_PARAMETER = re.compile(
    r"(?P<name>[?&;#][^\s=&;?#'\"]+=)(?P<value>[^\s&;#'\"]+)"
    r"|(?P<start>[?&;])[^\s=&;?#'\"]{20,}(?![^\s&;#'\"])"
)
# Where an address with parameters is, up to its end.
_WITH_PARAMETERS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s?#'\"]*[?#][^\s'\"]*")
# Parameters of addresses that hold no secret. Whatever is not known may be one.
_HARMLESS = {
    *("region", "scheme", "endpoint_override", "allow_bucket_creation", "allow_bucket_deletion"),
    *("allow_delayed_open", "tls_ca_file_path", "tls_ca_dir_path", "tls_verify_certificates"),
    *("retry_limit_seconds", "project_id", "default_bucket_location", "version", "versionid"),
    *("replication", "buffer_size", "default_block_size", "user", "enable_tls", "download"),
    *("blob_storage_authority", "dfs_storage_authority", "blob_storage_scheme", "smart_defaults"),
    *("dfs_storage_scheme", "check_directory_existence_before_creation"),
}
_MASK = "***"


def escape_controls(text: str, *, keep: str = "") -> str:
    r"""The text without anything that a terminal obeys or that hides: ESC becomes \x1b.

    Control characters, ends of lines, marks of direction and invisible characters are written as
    Python writes them. keep holds characters that stay.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep else ascii(letter)[1:-1] for letter in text
    )


def make_readable(text: str) -> str:
    r"""A text for people to read in a terminal: escape_controls, with its lines and spaces.

    Ends of lines of every kind become \n, tabs and unusual spaces blanks; joiners of letters stay.
    """
    text = re.sub("\r\n?|[\x85\u2028\u2029]", "\n", text).replace("\t", _TAB)
    if text.isprintable():
        return text
    spaces = {ord(each): " " for each in set(text) if unicodedata.category(each) == "Zs"}
    return escape_controls(text.translate(spaces), keep=f"\n{_JOINERS}")


def shorten_readable(text: str, most: int) -> str:
    """make_readable of a text or of its beginning, with an ellipsis: at most so many characters.

    Characters that are one on the screen, such as a letter and its accent, are not cut apart.
    """
    whole = text[: most + 1]
    if len(text) <= most and len(readable := make_readable(text)) <= most:
        return readable
    kept = len(whole) - 1
    while kept and (len(make_readable(whole[:kept])) >= most or _is_inside(whole, kept)):
        kept -= 1
    return make_readable(whole[:kept]) + "\u2026"


def _is_inside(text: str, place: int) -> bool:
    """Whether the characters before and after a place are one on the screen."""
    mark = unicodedata.category(text[place]) in ("Mn", "Mc", "Me")
    return mark or text[place] in _JOINERS or text[place - 1] in _JOINERS


def neutralise_cell(text: str) -> str:
    """The text as a cell of CSV that no spreadsheet runs: =1+1 becomes '=1+1.

    Plain numbers stay. Different texts stay different: restore_cell undoes it.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def restore_cell(cell: str) -> str:
    """The text that neutralise_cell made this cell of; any other text as it is."""
    if not cell.startswith("'"):
        return cell
    return cell[1:] if neutralise_cell(cell[1:]) == cell else cell


def mask_secrets(text: str) -> str:
    """The text with *** for users, passwords and parameters of the addresses in it.

    s3://KEY:SECRET@bucket/pool.parquet becomes s3://***@bucket/pool.parquet. Parameters of which
    it is known that they hold no secret, such as region, stay.
    """
    if "://" not in text:
        return text
    return _WITH_PARAMETERS.sub(_mask_parameters, _USER.sub(_mask_user, text))


def first_line(error: BaseException) -> str:
    """The text of an error, shortened and without secrets, or its type where it says nothing."""
    return mask_secrets(str(error).splitlines()[0])[:200] if str(error) else type(error).__name__


def _mask_user(found: re.Match[str]) -> str:
    return f"{found['scheme'] or found['web']}{_MASK}@"


def _mask_parameters(address: re.Match[str]) -> str:
    return _PARAMETER.sub(_mask_value, address.group())


def _mask_value(parameter: re.Match[str]) -> str:
    name = parameter["name"] or parameter["start"]
    return parameter.group() if name[1:-1].lower() in _HARMLESS else f"{name}{_MASK}"
