"""The command line: python -m activetest."""

from activetest.cli.app import run

if __name__ == "__main__":
    run()
