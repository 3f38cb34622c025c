"""How a command ends: with an exit code, or by a signal, which lets it tidy up and say one line."""

import _thread
import atexit
import gc
import signal
import sys
import threading
from types import FrameType
from typing import Any

from activetest.cli import streams

# A mistake in this program: 1 would read as a gate that failed.
BUG = 70
_SENTENCE = "interrupted: nothing is half done; the same command can be run again"
_NUMBERS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in dir(signal)
]
# Signals of which the last ends the program at once, without tidying up.
_PATIENCE = 3
# Seconds after which a signal arrives again.
_PAUSE = 0.02


class ExitCode(int):
    """The result of a command that ends with another code than 0.

    1 and 3 are verdicts on gates. Whatever else ends a command, a library that it calls or an
    exception, never becomes one of them.
    """


class Interrupts:
    """Makes a KeyboardInterrupt of the first signal that ends a command, and waits after it.

    Those that follow change nothing while the command tidies up, but for the third.

    number    of the signal; None while there was none
    sentence  what the command itself says about it
    """

    def __init__(self) -> None:
        self.number: signal.Signals | None = None
        self.sentence = ""
        self._count, self._closed = 0, False
        self._earlier: dict[int, Any] = {}
        self._hook = sys.unraisablehook
        self._timer: threading.Timer | None = None

    def install(self) -> None:
        """Handle the signals from here on, but those that are ignored or handled otherwise."""
        sys.unraisablehook = self._raise_again
        for number in _NUMBERS:
            earlier = signal.getsignal(number)
            if earlier in (signal.SIG_DFL, signal.default_int_handler):
                self._earlier[number] = earlier
                signal.signal(number, self.handle)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """As a signal handler. Raises KeyboardInterrupt at the first signal."""
        if self.number is None and _is_importing(frame):
            # Modules of other packages take any error for a part that is not installed.
            self._wait(number)
            return
        self._count += 1
        if self._count >= _PATIENCE:
            _die(number)
        if self.number is None and not self._closed:
            self.number = signal.Signals(number)
            raise KeyboardInterrupt

    def close(self) -> None:
        """Raise nothing any more."""
        self._closed = True

    def restore(self) -> None:
        """Handle signals as before."""
        sys.unraisablehook = self._hook
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def end(self) -> None:
        """Say that the command was interrupted, and end the program as the signal does.

        Its exit code, which says what happened, is that of the signal: 130 in a shell.
        """
        # Objects that a frame still held remove their files.
        gc.collect()
        streams.say(self.sentence or _SENTENCE)
        # Python calls these where a program ends by itself.
        atexit._run_exitfuncs()
        self.restore()
        _die(signal.SIGINT if self.number is None else self.number)

    def _wait(self, number: int) -> None:
        """Let the signal arrive again a little later."""
        if self._timer is None or not self._timer.is_alive():
            self._timer = threading.Timer(_PAUSE, _send, [signal.Signals(number)])
            self._timer.daemon = True
            self._timer.start()

    def _raise_again(self, unraisable: Any) -> None:
        """Interrupts that arrive where Python can only print them arrive again."""
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._hook(unraisable)
        elif self.number is not None:
            number, self.number = self.number, None
            self._count -= 1
            self._wait(number)


def find_handler() -> Interrupts | None:
    """The handler of interrupts of the running program; None where it has none."""
    owner = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    return owner if isinstance(owner, Interrupts) else None


def is_interrupted() -> bool:
    """Whether the program was interrupted, whatever has become of the exception."""
    handler = find_handler()
    return handler is not None and handler.number is not None


def explain(sentence: str) -> None:
    """Say what an interrupted command leaves, when it has tidied up."""
    handler = find_handler()
    if handler is None:
        streams.say(sentence)
    else:
        handler.sentence = sentence


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _send(number: signal.Signals) -> None:
    """Send a signal to the main thread, from another one."""
    if hasattr(signal, "pthread_kill"):
        # It wakes the thread if it sleeps.
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(number)


def _die(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
