"""The terminal of Windows: what keys send there, with a msvcrt of our own on any system."""

import ctypes
import importlib.util
import io
import sys
from types import ModuleType, SimpleNamespace

import pytest

from activetest.cli import terminal


class Console:
    """The console of Windows as programs see it: keys that are waiting, and modes."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.waiting: list[str] = []
        self.obeys, self.modes = obeys, []

    def getwch(self) -> str:
        return self.waiting.pop(0)

    def kbhit(self) -> bool:
        return bool(self.waiting)

    def GetStdHandle(self, number: int) -> int:  # noqa: N802
        return {-11: 7}[number]

    def GetConsoleMode(self, handle: int, mode) -> bool:  # noqa: N802
        mode._obj.value = 0x0003
        return handle == 7 and self.obeys

    def SetConsoleMode(self, handle: int, mode: int) -> bool:  # noqa: N802
        self.modes.append(mode)
        return self.obeys


class WindowsSys:
    """The module sys, but for the platform."""

    platform = "win32"

    def __getattr__(self, name: str):
        return getattr(sys, name)


@pytest.fixture
def console() -> Console:
    return Console()


@pytest.fixture
def windows(monkeypatch, console) -> ModuleType:
    """The module as it is imported on Windows; all other modules stay those of this system."""
    shim = SimpleNamespace(getwch=console.getwch, kbhit=console.kbhit)
    monkeypatch.setitem(sys.modules, "msvcrt", shim)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=console), raising=False)
    spec = importlib.util.spec_from_file_location("windows_terminal", terminal.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        spec.loader.exec_module(module)
    monkeypatch.setattr(module, "sys", WindowsSys())
    return module


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("a", "a"),
        ("é", "é"),
        ("\r", "enter"),
        ("\x08", "backspace"),
        ("\t", "tab"),
        ("\x15", "clear"),
        ("\x1b", "escape"),
        ("\x00I", "page up"),
        ("\xe0I", "page up"),
        ("\xe0Q", "page down"),
        ("\xe0H", "other"),
        ("\x00;", "other"),
        ("\x1a", "end"),
        # A letter of its own, where nothing follows.
        ("à", "à"),
        # Characters beyond 16 bits come as two.
        ("\ud83d\ude00", "😀"),
    ],
)
def test_keys_are_called_alike_on_windows(windows, console, typed, key):
    console.waiting = list(typed)
    with windows.Terminal() as open_terminal:
        assert open_terminal.read_key() == key
    assert not console.waiting


def test_ctrl_c_interrupts_on_windows_and_the_screen_comes_back(windows, console, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    console.waiting = ["\x03"]
    with pytest.raises(KeyboardInterrupt), windows.Terminal() as open_terminal:
        open_terminal.draw(["one", "two"])
        open_terminal.read_key()
    printed = sys.stdout.getvalue()
    assert printed.startswith("\x1b[?1049h") and printed.endswith("\x1b[?1049l")


def test_a_console_that_obeys_no_escapes_is_not_drawn_on(windows, console, monkeypatch):
    screen = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(sys, "stdin", screen)
    monkeypatch.setattr(sys, "stdout", screen)
    assert windows.can_draw() and console.modes == [0x0007]
    console.obeys = False
    assert not windows.can_draw()
    screen.isatty = lambda: False
    assert not windows.can_draw()


def test_a_batch_is_labelled_with_the_keys_of_windows(windows, console, study, folder, monkeypatch):
    import activetest as at
    from activetest.cli import label

    waiting = at.Study.open()
    ids = waiting.next(4).ids
    monkeypatch.setattr("activetest.cli.terminal.Terminal", windows.Terminal)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    # The second answer is taken back, the next item skipped, and a page key has no meaning here.
    console.waiting = ["1", "2", "u", "\xe0", "Q", "2", "s", "1", "q"]
    label._Conversation(waiting.label()).run()
    record = at.Study.open()._current().ledger.record()
    assert [each.id for each in record.answers] == [ids[0], ids[1], ids[3]]
    assert not console.waiting
