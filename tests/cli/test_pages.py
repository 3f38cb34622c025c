"""Pages are found in the package, in reading order."""

import pytest

from activetest.cli import pages
from activetest.errors import ChoiceError


def test_every_page_has_its_place_in_the_order():
    assert pages.list_topics()[0] == "commands"
    assert set(pages.list_topics()) == {file.stem for file in pages.FOLDER.glob("*.md")}
    assert set(pages._ORDER) == set(pages.list_topics())


def test_a_page_that_is_new_comes_last(tmp_path, monkeypatch):
    for topic in ("zebra", "pools", "commands", "aardvark"):
        (tmp_path / f"{topic}.md").write_text(f"# {topic}\n\nWhat is\na `{topic}`?\n\nText.\n")
    (tmp_path / "schema.json").write_text("{}")
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    assert pages.list_topics() == ["commands", "pools", "aardvark", "zebra"]
    assert pages.summarise("zebra") == "What is a `zebra`?"
    assert pages.read_schema() == "{}"


@pytest.mark.parametrize("topic", ["pool", "../docs/pools", "schema"])
def test_only_topics_are_read(topic):
    with pytest.raises(ChoiceError, match="no page is called"):
        pages.read_page(topic)
