"""The pages of the documentation: Markdown files in activetest/docs, each about one topic."""

from pathlib import Path

from activetest.errors import ChoiceError

FOLDER = Path(__file__).parents[1] / "docs"
# The order in which a newcomer needs them; pages that are not named here come last.
_ORDER = (
    *(
        "commands",
        "pools",
        "remote",
        "spreadsheets",
        "logs",
        "images",
        "labels",
        "tools",
        "metrics",
        "judges",
    ),
    *("groups", "questions", "surfaces", "attributes", "gates", "stopping", "reports", "pipelines"),
    *("limits", "population", "assumptions", "python", "results"),
    *("compare", "best", "parts", "simulate"),
    *(
        "methods",
        "surrogates",
        "rounds",
        "intervals",
        "gaussian",
        "papers",
        "json",
        "study",
        "engines",
    ),
    *("threats", "glossary"),
)
# A file that programs read: it is shown as it stands.
SCHEMA = "schema"


def list_topics() -> list[str]:
    """The topics that have a page, in reading order."""
    found = sorted(file.stem for file in FOLDER.glob("*.md"))
    return sorted(found, key=lambda topic: _ORDER.index(topic) if topic in _ORDER else len(_ORDER))


def read_page(topic: str) -> str:
    """The Markdown of a page. Raises ChoiceError, with the nearest topic, for one there is not."""
    known = list_topics()
    if topic not in known:
        from activetest import catalog

        raise ChoiceError(f"no page is called {topic!r}", catalog.nearest(topic, known))
    return (FOLDER / f"{topic}.md").read_text(encoding="utf-8")


def read_schema() -> str:
    """The JSON Schema of what `--format json` prints."""
    return (FOLDER / f"{SCHEMA}.json").read_text(encoding="utf-8")


def summarise(topic: str) -> str:
    """The sentence under the heading of a page: what the page answers."""
    paragraphs = read_page(topic).split("\n\n")
    return " ".join(paragraphs[1].split())
