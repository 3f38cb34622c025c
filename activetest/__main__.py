"""The program: `activetest`, and `python -m activetest`."""

import signal


def run() -> None:
    """Run the command line; an interrupt ends the program quietly, also while it still starts."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        # Until commands can be interrupted tidily: nothing is there yet that has to be tidied up.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from activetest.cli.app import run as run_command

    signal.signal(signal.SIGINT, handler)
    run_command()


if __name__ == "__main__":
    run()
