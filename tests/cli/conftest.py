"""Completions that the shell is offered."""

from collections.abc import Callable

import pytest

from activetest.cli.app import main


@pytest.fixture
def complete(monkeypatch, capsys) -> Callable[..., list[str]]:
    """complete(*words) is what bash is offered for the last of these words."""

    def ask(*words: str) -> list[str]:
        with monkeypatch.context() as asked:
            asked.setenv("_ACTIVETEST_COMPLETE", "complete_bash")
            asked.setenv("COMP_WORDS", " ".join(["activetest", *words]))
            asked.setenv("COMP_CWORD", str(len(words)))
            capsys.readouterr()
            main([])
        offered, problems = capsys.readouterr()
        assert problems == ""
        return offered.split()

    return ask
