"""A terminal as a page: the whole of it is drawn at once, one key is read at a time.

On leaving, whatever happens but a kill that no program sees, the terminal is as it was.
"""

import codecs
import os
import select
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, Self

# Another buffer, so that what stood there comes back, without line breaks of the terminal's own.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?7l\x1b[?25l", "\x1b[?25h\x1b[?7h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"
# Codes that keys without text send, and the names of these keys here.
_NAMES = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\t": "tab",
    "\x04": "end",
    "\x0c": "redraw",
    "\x15": "clear",
}
_SEQUENCES = {"[5~": "page up", "[6~": "page down"}
# Of Windows, after a first character that says that no text follows.
_SCAN_CODES = {"I": "page up", "Q": "page down"}
# Ctrl-Z is what ends a file there.
_WINDOWS_NAMES = {"\x1b": "escape", "\x1a": "end"}
# Seconds after which an escape character was a key of its own.
_PATIENCE = 0.05
_SMALLEST = (20, 8)


def can_draw() -> bool:
    """Whether both streams are one terminal that can be drawn on."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    if sys.platform == "win32":
        return _obeys_escapes()
    return os.environ.get("TERM", "") not in ("", "dumb", "unknown")


class Terminal:
    """The terminal while a program has it to itself.

    >>> with Terminal() as terminal:
    ...     terminal.draw(["Is it a cat?", "[y] yes   [n] no"])
    ...     key = terminal.read_key()
    """

    def __init__(self) -> None:
        self._letters: list[str] = []
        self._handlers: dict[int, Any] = {}
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __enter__(self) -> Self:
        """Take the terminal."""
        if sys.platform != "win32":
            self._wake, self._woken = os.pipe()
            for end in (self._wake, self._woken):
                os.set_blocking(end, False)
            self._earlier = signal.set_wakeup_fd(self._woken)
            self._handle(signal.SIGWINCH, lambda number, frame: None)
            self._handle(signal.SIGTSTP, self._suspend)
            for each in (signal.SIGTERM, signal.SIGHUP):
                self._handle(each, self._end)
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give it back as it was."""
        self._finish()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if sys.platform != "win32":
            signal.set_wakeup_fd(self._earlier)
            os.close(self._wake)
            os.close(self._woken)

    @property
    def size(self) -> tuple[int, int]:
        """Its columns and lines."""
        columns, lines = shutil.get_terminal_size()
        return max(columns, _SMALLEST[0]), max(lines, _SMALLEST[1])

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines and nothing else; no more than fit."""
        shown = lines[: self.size[1]]
        self._write(_HOME + f"{_REST_OF_LINE}\r\n".join(shown) + _REST_OF_LINE + _REST)

    def read_key(self) -> str:
        """The next key: a character, or a name such as "enter", "backspace" or "page down".

        "redraw" where the terminal has changed, "end" where nobody types any more, and "other" for
        keys without a meaning.
        """
        if sys.platform == "win32":
            return _read_windows_key()
        while not self._letters:
            if not self._wait(None):
                return "redraw"
            if not self._receive():
                return "end"
        letter = self._letters.pop(0)
        if letter == "\x1b":
            return self._read_sequence()
        return _NAMES.get(letter, letter if letter.isprintable() else "other")

    def _read_sequence(self) -> str:
        """The key behind an escape character: the whole sequence of it is read."""
        if not self._letters and self._wait(_PATIENCE):
            self._receive()
        if not self._letters:
            return "escape"
        sequence = self._letters.pop(0)
        while sequence[0] in "[O" and (len(sequence) == 1 or not "@" <= sequence[-1] <= "~"):
            if not self._letters and not (self._wait(_PATIENCE) and self._receive()):
                break
            sequence += self._letters.pop(0)
        return _SEQUENCES.get(sequence, "other")

    def _wait(self, seconds: float | None) -> bool:
        """Whether a key can be read; not where a signal came first, or the time is over."""
        ready, _, _ = select.select([sys.stdin, self._wake], [], [], seconds)
        if self._wake in ready:
            os.read(self._wake, 1024)
            return False
        return bool(ready)

    def _receive(self) -> bool:
        """Take what was typed; whether anybody still types."""
        try:
            content = os.read(sys.stdin.fileno(), 1024)
        except OSError:
            # The terminal has gone.
            return False
        # A character may come in parts: then nothing is there yet.
        self._letters += self._decoder.decode(content)
        return bool(content)

    def _begin(self) -> None:
        if sys.platform != "win32":
            import termios
            import tty

            self._modes = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin, termios.TCSADRAIN)
        self._write(_ENTER)

    def _finish(self) -> None:
        self._write(_LEAVE)
        if sys.platform != "win32":
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._modes)

    def _write(self, text: str) -> None:
        """Text with the codes of this program; what the terminal cannot show is written out."""
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()
        except OSError:
            # The terminal has gone: reading says so.
            pass

    def _handle(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handlers[number] = signal.signal(number, handler)

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        """Give the terminal back while the program is stopped, as by Ctrl-Z."""
        self._finish()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        # Somebody has let it go on.
        signal.signal(number, self._suspend)
        self._begin()

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Give the terminal back, and end as the signal says."""
        self._finish()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


if sys.platform == "win32":
    import ctypes
    import msvcrt

    def _read_windows_key() -> str:
        letter = msvcrt.getwch()
        # Behind the letter a-grave, which is typed alone, nothing waits.
        if letter == "\x00" or (letter == "\xe0" and msvcrt.kbhit()):
            return _SCAN_CODES.get(msvcrt.getwch(), "other")
        if letter == "\x03":
            raise KeyboardInterrupt
        if "\ud800" <= letter <= "\udbff":
            # The first half of a character.
            halves = (letter + msvcrt.getwch()).encode("utf-16-le", "surrogatepass")
            letter = halves.decode("utf-16-le", "replace")
        if letter in _WINDOWS_NAMES:
            return _WINDOWS_NAMES[letter]
        return _NAMES.get(letter, letter if letter.isprintable() else "other")

    def _obeys_escapes() -> bool:
        """Ask the console to obey escape sequences; whether it does."""
        kernel = ctypes.windll.kernel32
        output, mode = kernel.GetStdHandle(-11), ctypes.c_ulong()
        if not kernel.GetConsoleMode(output, ctypes.byref(mode)):
            return False
        return bool(kernel.SetConsoleMode(output, mode.value | 0x0004))
