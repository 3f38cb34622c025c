"""The program: `activetest`, and `python -m activetest`."""

import gc
import signal
import sys

# As in cli.interrupts, which may be what cannot be imported.
_BUG = 70
# Objects that are made before Python looks for cycles among them: a command is short, and looks
# through hundreds of thousands of answers take longer than what is done with them.
_BEFORE_COLLECTION = 2_000_000


def run() -> None:
    """Run the command line; an interrupt ends the program quietly, also while it still starts."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until commands can be interrupted tidily: nothing is there yet that has to be tidied up.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(_BEFORE_COLLECTION, 50, 50)
    try:
        from activetest.cli.app import run as run_command
    except BaseException:
        # Python itself would end with 1, as for a gate that failed.
        import traceback

        traceback.print_exc()
        sys.exit(_BUG)
    run_command()


if __name__ == "__main__":
    run()
