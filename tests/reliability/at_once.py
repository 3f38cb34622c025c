"""Run a command in several processes at the same moment. Run by test_writers.py.

usage: at_once.py COUNT WORD...
For each line on standard input, "FOLDER SIGNAL", so many processes run the command in the folder;
unless the signal is 0, the last one gets it 30 ms later. Answers with a line of JSON: [exit code,
output] of each. Their modules are imported once, before all of them.
"""

import json
import os
import signal
import sys
import tempfile
import time
import traceback

from activetest import catalog
from activetest.cli.app import main
from activetest.study import init, study

assert init and study
for family, method in (("surrogates", "agreement"), ("acquisition", "optimal")):
    catalog.load(family, method)


def run_once(folder: str, number: int, count: int, words: list[str]) -> list[tuple[int, str]]:
    """Exit code, negative for a signal, and output of each process."""
    waiting, go = os.pipe()
    outputs = [tempfile.TemporaryFile() for _ in range(count)]  # noqa: SIM115, closed below
    children = []
    for output in outputs:
        if child := os.fork():
            children.append(child)
            continue
        code = 1
        try:
            os.chdir(folder)
            for stream in (1, 2):
                os.dup2(output.fileno(), stream)
            os.close(go)
            # Until the other end is closed.
            os.read(waiting, 1)
            code = main(words)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(go)
    os.close(waiting)
    if number:
        time.sleep(0.03)
        os.kill(children[-1], number)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    found = []
    for code, output in zip(codes, outputs, strict=True):
        output.seek(0)
        found.append((code, output.read().decode()))
        output.close()
    return found


if __name__ == "__main__":
    # As for a command in a terminal, also where this program runs in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        at, sent = line.split()
        print(json.dumps(run_once(at, int(sent), int(sys.argv[1]), sys.argv[2:])), flush=True)
