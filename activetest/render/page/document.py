"""A page as a whole: its policy, its style, and its sections under links to them."""

from collections.abc import Sequence

from activetest.render.page import markup, style


def write_document(
    title: str,
    header: str,
    sections: Sequence[tuple[str, str, str]],
    *,
    mark: str,
    version: str = "",
    sheet: str = "",
) -> str:
    """A whole page under its policy: a header, links to the sections, and these.

    sections of (key, title, elements); those without elements are left out
    mark     an element by which the program knows its own pages
    version  of activetest, said at the end
    sheet    style besides that of all pages
    """
    sheet = style.write() + sheet
    policy = (
        f"default-src 'none'; style-src {markup.hash_source(sheet)}; "
        "base-uri 'none'; form-action 'none'"
    )
    shown = [section for section in sections if section[-1]]
    links = "".join(
        f'<li><a href="#{key}">{markup.escape(title)}</a></li>' for key, title, _ in shown
    )
    contents = f'<nav aria-label="sections"><ul>{links}</ul></nav>' if links else ""
    inside = "\n".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{markup.escape(title)}</h2>{elements}'
        "</section>"
        for key, title, elements in shown
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">{mark}'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{markup.escape(title)}</title>\n<style>{sheet}</style></head>\n"
        f"<body><header>{header}</header>\n"
        f"{contents}\n<main>{inside}</main>\n"
        f"<footer><p>Written by activetest {markup.escape(version)}. This file runs no script and "
        "loads nothing.</p></footer></body></html>\n"
    )
