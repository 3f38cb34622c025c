"""The pages as `activetest help` shows them: in a pipe, in a terminal, and for a shell."""

import contextlib
import os
import re
import subprocess

import pytest

from activetest.cli import formatter, pages
from activetest.cli.app import main
from tests.cli.programs import PROGRAM, ROOT, program


def show(capsys, *words: str) -> str:
    """Standard output of a command, which succeeds."""
    capsys.readouterr()
    assert main(["help", *words]) == 0
    return capsys.readouterr().out


def show_in_terminal(*words: str, **env: str) -> str:
    """Output of a command in a terminal of 80 columns."""
    pty = pytest.importorskip("pty")
    primary, secondary = pty.openpty()
    settings = {"TERM": "xterm-256color", "COLUMNS": "80", "NO_COLOR": "", "PYTHONUTF8": "1"}
    found = os.environ | {"PYTHONPATH": str(ROOT)} | settings | env
    with subprocess.Popen([*PROGRAM, "help", *words], stdout=secondary, env=found) as running:
        os.close(secondary)
        shown = b""
        # Linux reports a terminal that was closed as an error.
        with contextlib.suppress(OSError):
            while part := os.read(primary, 65536):
                shown += part
        os.close(primary)
    assert running.returncode == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_list_has_every_page_with_its_sentence(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = show(capsys)
    listed = shown.partition("activetest help TOPIC")[0]
    for topic in pages.list_topics():
        assert re.search(rf"^  {topic} ", listed, flags=re.MULTILINE)
        assert pages.summarise(topic).replace("`", "") in " ".join(listed.split())
    assert max(map(len, listed.splitlines())) <= min(columns, 100)
    assert "activetest help TOPIC" in shown


@pytest.mark.parametrize("topic", pages.list_topics())
def test_a_page_in_a_pipe_is_its_markdown(capsys, topic):
    assert show(capsys, topic) == (pages.FOLDER / f"{topic}.md").read_text(encoding="utf-8")


def test_a_page_in_a_terminal_is_laid_out():
    shown = show_in_terminal("pools")
    assert "\x1b[36m" in shown and "## " not in shown and "|---" not in shown
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 80


def test_no_color_turns_colour_off():
    shown = show_in_terminal("pools", NO_COLOR="1")
    assert not re.search(r"\x1b\[(?:\d+;)*3\d", shown)
    assert "\x1b[1m" in shown


@pytest.mark.parametrize(
    "env", [{"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}]
)
def test_a_terminal_that_cannot_show_a_page_gets_its_markdown(env):
    assert show_in_terminal("pools", **env) == pages.read_page("pools")


@pytest.mark.parametrize("name", formatter.COMMANDS)
def test_the_name_of_a_command_shows_its_options_unless_it_has_a_page(capsys, name):
    shown = show(capsys, name)
    assert main([name, "--help"]) == 0
    options = capsys.readouterr().out
    assert shown == (pages.read_page(name) if name in pages.list_topics() else options)


def test_a_page_about_a_command_says_where_its_options_are():
    for topic in set(pages.list_topics()) & set(formatter.COMMANDS):
        assert "(commands.md)" in pages.read_page(topic)


def test_the_schema_is_printed_as_it_stands(capsys):
    assert show(capsys, "schema") == (pages.FOLDER / "schema.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("topic", ["metric", "../README", "metrics.md", "", "\x1b[31mred"])
def test_an_unknown_topic_is_an_error_with_a_hint(capsys, topic):
    capsys.readouterr()
    assert main(["help", topic]) == 2
    found = capsys.readouterr()
    assert found.out == "" and "no page or command is called" in found.err
    assert "\x1b" not in found.err
    assert ("did you mean 'metrics'?" in found.err) == (topic in ("metric", "metrics.md"))


def test_a_shell_completes_topics_and_commands(complete):
    assert set(complete("help", "me")) == {"methods", "metrics"}
    assert {"init", "next", "pools", "schema"} <= set(complete("help", ""))


def test_help_is_in_the_list_of_commands_and_explains_itself():
    assert re.search(r"^  help ", program("--help").stdout, flags=re.MULTILINE)
    assert "[TOPIC]" in program("help", "--help").stdout
