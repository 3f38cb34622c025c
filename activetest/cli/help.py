"""activetest help: the pages of the documentation."""

import os
import shutil
import sys
import textwrap
from typing import Annotated

from typer import Argument

from activetest.cli import completion, formatter, pages, streams
from activetest.errors import ChoiceError

EXAMPLES = ("activetest help pools", "activetest help report")


def _list_words() -> list[str]:
    """Everything that can follow `activetest help`."""
    topics = pages.list_topics()
    return [*topics, *(name for name in formatter.COMMANDS if name not in topics), pages.SCHEMA]


def run(
    topic: Annotated[
        str | None,
        Argument(
            metavar="[TOPIC]",
            help="A topic, the name of a command, or schema: the JSON Schema of --format json.",
            autocompletion=completion.make_completer(_list_words),
        ),
    ] = None,
) -> None:
    """Show a page of the documentation, or list the pages.

    In a terminal pages are laid out; in a pipe they are Markdown.
    """
    if topic is None:
        streams.write(_write_list())
    elif topic == pages.SCHEMA:
        streams.write(pages.read_schema())
    elif topic in formatter.COMMANDS and topic not in pages.list_topics():
        from activetest.cli.app import main

        main([topic, "--help"])
    elif topic in pages.list_topics():
        _show(pages.read_page(topic))
    else:
        from activetest import catalog

        raise ChoiceError(
            f"no page or command is called {topic!r}", catalog.nearest(topic, _list_words())
        )


def _write_list() -> str:
    """Every topic with its sentence, and how to see a page."""
    topics = pages.list_topics()
    column = max(map(len, topics)) + 4
    lines = ["Pages of the documentation:", ""]
    for topic in topics:
        lines += textwrap.wrap(
            pages.summarise(topic).replace("`", ""),
            _width(),
            initial_indent=f"  {topic:<{column - 2}}",
            subsequent_indent=" " * column,
            break_on_hyphens=False,
        )
    lines += ["", "activetest help TOPIC shows a page, activetest help COMMAND the options of one."]
    lines += ["activetest help schema prints the JSON Schema of --format json."]
    return "\n".join(lines) + "\n"


def _show(text: str) -> None:
    """A page: laid out where somebody looks and the terminal has the characters, else as it is."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from activetest.cli import markdown

        shown = markdown.render(text, _width())
        if _can_encode(shown):
            text = shown
    streams.write(text, styled=True)


def _can_encode(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _width() -> int:
    """Columns to write in: those of the terminal, up to what is easy to read."""
    return min(shutil.get_terminal_size().columns, formatter.WIDTH)
