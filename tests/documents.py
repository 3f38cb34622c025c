"""README and pages as tests read them: sections, tables, commands and examples."""

import re
import shlex
from pathlib import Path

from activetest.cli import pages

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {topic: pages.read_page(topic) for topic in pages.list_topics()}
# Everything that users read, by the name of the file.
DOCUMENTS = {"README.md": README} | {f"{topic}.md": text for topic, text in PAGES.items()}


def code_blocks(text: str) -> list[str]:
    """The indented blocks, without their indentation."""
    blocks = re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", text, flags=re.MULTILINE)
    return [re.sub(r"^ {4}", "", block.strip("\n"), flags=re.MULTILINE) for block in blocks]


def prose(text: str) -> str:
    """The text without its indented blocks."""
    return re.sub(r"^ {4}.*\n", "", text, flags=re.MULTILINE)


def section(text: str, title: str) -> str:
    """The text under the heading, up to the next one that is not below it."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", text, flags=re.MULTILINE)
    assert found, f"no section {title!r}"
    after = text[found.end() :]
    return re.split(rf"^#{{1,{len(found[1])}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def tables(text: str) -> list[list[list[str]]]:
    """Every table: its rows, the header first, each a list of cells."""
    found = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return [
        [_cells(line) for number, line in enumerate(table.splitlines()) if number != 1]
        for table in found
    ]


def named_in_rows(text: str) -> set[str]:
    """Every name in code style in the first cell of a row of a table."""
    cells = [row[0] for table in tables(text) for row in table[1:]]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def commands(text: str) -> list[list[str]]:
    """The words of every `activetest ...` in a block, up to a pipe or the like.

    In a block that shows what is printed, commands are behind `$ `.
    """
    found = []
    for block in code_blocks(text):
        before = r"\$ " if block.startswith("$ ") else r"\s*(?:until )?"
        for line in block.replace("\\\n", " ").splitlines():
            if match := re.match(rf"{before}(activetest(?: .*)?)$", line):
                words = shlex.split(match[1], comments=True)
                ends = [number for number, word in enumerate(words) if set(word) <= set("|&;<>")]
                found.append(words[: min(ends, default=len(words))])
    return found


def links(text: str) -> list[str]:
    """The target of every link that is not an address of the web."""
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target for target in found if "://" not in target]


def anchors(text: str) -> set[str]:
    """The words that can follow # in a link to this text."""
    titles = re.findall(r"^#+ (.*)$", prose(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def _cells(line: str) -> list[str]:
    """The cells of a row; a bar behind a backslash is text."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
