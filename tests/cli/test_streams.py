"""Standard output of every system holds the same bytes."""

import io
import sys

import pytest

from activetest.cli import streams


def set_code_page(monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper:
    """Standard output as Windows makes it for a pipe."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\n")
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    return output


def test_ids_with_any_characters_can_be_written_to_a_pipe(monkeypatch):
    code_page = set_code_page(monkeypatch)
    streams.use_utf8()
    streams.write("id,label\n猫,犬\n")
    assert code_page.buffer.getvalue() == "id,label\n猫,犬\n".encode()


def test_a_user_may_choose_another_encoding(monkeypatch):
    code_page = set_code_page(monkeypatch)
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    streams.use_utf8()
    streams.write("é")
    assert code_page.buffer.getvalue() == b"\xe9"


def test_a_terminal_keeps_its_encoding(monkeypatch):
    code_page = set_code_page(monkeypatch)
    monkeypatch.setattr(code_page, "isatty", lambda: True)
    streams.use_utf8()
    assert code_page.encoding == "cp1252"


def test_no_standard_output_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    streams.use_utf8()
