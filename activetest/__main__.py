"""python -m activetest"""

from activetest.cli import run

if __name__ == "__main__":
    run()
