"""Elements of a page. Every text that comes from elsewhere is escaped here."""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Sequence

from activetest.render.document import words
from activetest.system.safe_text import make_readable

_CODE = re.compile("`([^`]+)`")
# Text of a column that is aligned to the right.
_NUMBER = re.compile(r"[-<>]?[\d.,]*(e[-+]\d+)?[ ]?[x%]?|-")


def escape(text: object) -> str:
    """A text on one line, in which nothing is markup, obeyed, or moves the letters around it."""
    return html.escape(words.plain(text))


def escape_lines(text: str) -> str:
    """A text with its lines, in which nothing is markup, obeyed, or moves the letters around it."""
    return html.escape(make_readable(text).strip("\n"))


def write_code(text: str) -> str:
    """A sentence, with what stands in backticks as code, and words that stay on one line."""
    return words.bind_words(_CODE.sub(r"<code>\1</code>", escape(text)), "&nbsp;")


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; nothing without a text."""
    return f"<p{class_of(kind)}>{write_code(text)}</p>" if text else ""


def bullets(texts: Iterable[str], kind: str = "") -> str:
    """A list; nothing without an item."""
    items = "".join(f"<li>{write_code(text)}</li>" for text in texts)
    return f"<ul{class_of(kind)}>{items}</ul>" if items else ""


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and their values; nothing without one."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in rows
    )
    return f"<dl>{items}</dl>" if items else ""


def folded(summary: str, inside: str) -> str:
    """Content shown only to those who open it, and on paper; empty where nothing is inside."""
    if not inside:
        return ""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def write_table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[str] = (),
    *,
    titled: bool = True,
) -> str:
    """A table of texts, whose first column names the rows."""
    right = [
        at > 0 and heading not in left and all(_NUMBER.fullmatch(row[at]) for row in rows)
        for at, heading in enumerate(headings)
    ]

    def cell(tag: str, text: str, at: int) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        kind = "n" if right[at] else "w" if headings[at] in left else ""
        return f"<{tag}{scope}{class_of(kind)}>{escape(text)}</{tag}>"

    head = "".join(cell("th", text, at) for at, text in enumerate(headings))
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(cell("td", text, at) for at, text in enumerate(row[1:], 1))
        + "</tr>"
        for row in rows
    )
    caption = (
        f"<caption{class_of('' if titled else 'vh')}>{escape(title)}</caption>" if title else ""
    )
    return scrolled(
        title or headings[0],
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
    )


def scrolled(name: str, inside: str) -> str:
    """Content that can be wider than the page: moved by keys, too."""
    return f'<div class="wide" role="group" tabindex="0" aria-label="{escape(name)}">{inside}</div>'


def figure(inside: str, caption: str = "", numbers: str = "") -> str:
    """A plot, what it shows, and its numbers as a table."""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{inside}{below}{folded('The numbers as a table', numbers)}</figure>"


def hash_source(text: str) -> str:
    """A text in the words of a content security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def class_of(kind: str) -> str:
    """The attribute; nothing without a class."""
    return f' class="{kind}"' if kind else ""
