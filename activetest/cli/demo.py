"""The whole loop on the bundled sample data, in a study that is gone afterwards."""

import contextlib
import csv
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from activetest.cli import streams
from activetest.errors import PoolError

EXAMPLES = ("activetest demo",)
POOL, KEY, BATCH, SHOWN = "digits.parquet", "digits.labels.csv", "batch.csv", "ink"
ROUNDS, LABELS_A_ROUND = 5, 20


def demo(main: Callable[[list[str]], int], *, echo: Callable[[str], None] = print) -> int:
    """Show every command of the loop and what comes back; labels come from the answer key.

    main takes the words after `activetest` and returns the exit code; echo prints a line. Returns
    the first exit code that is not 0, else 0.
    """

    def command(*words: str) -> None:
        echo(f"$ {shlex.join(['activetest', *words])}")
        # One stream: what a command says and what it prints are both part of the show.
        with contextlib.redirect_stderr(sys.stdout):
            code = main(list(words))
        echo("")
        if code:
            raise _Stopped(code)

    try:
        with _temporary_folder():
            _loop(command, echo)
    except _Stopped as stopped:
        return stopped.code
    return 0


def sample_folder() -> Path:
    """Where the sample data are: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "sample_data", package.parent / "sample_data"):
        if (folder / POOL).is_file():
            return folder
    raise PoolError(
        f"the sample data are not where the package is ({package})",
        hint="install activetest again",
    )


class _Stopped(Exception):
    """A command did not do what it should; its own words are already printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _loop(command: Callable[..., None], echo: Callable[[str], None]) -> None:
    echo("1,497 images of digits, and class probabilities of a model that we cannot open.")
    echo("How often is it wrong? A label costs money, so we ask for few: the right ones.")
    echo("")
    command("init", POOL, "--group", "ink", "--seed", "1")
    for number in range(1, ROUNDS + 1):
        command("next", "--n", str(LABELS_A_ROUND), "--show", SHOWN, "-o", BATCH)
        if number == 1:
            _show_batch(echo)
        _answer()
        echo(f"# the {LABELS_A_ROUND} labels are filled in, here from {KEY}")
        command("ingest", BATCH)
        if number in (1, ROUNDS):
            command("report")
    command("status")
    echo(f"By all 1,497 answers, the model is wrong on {100 * _truth():.3g} % of items.")
    pool = shlex.quote(str(sample_folder() / POOL))
    echo("")
    echo(f"That study is gone. The sample files are in {sample_folder()}.")
    echo("Start a study of your own in this folder, of the sample or of your pool:")
    echo(f"  activetest init {pool} --group ink")
    echo("  activetest init POOL                  # activetest help pools: what it needs")


def _show_batch(echo: Callable[[str], None]) -> None:
    lines = Path(BATCH).read_text(encoding="utf-8").splitlines()
    echo(f"$ head -4 {BATCH}")
    for line in lines[:4]:
        echo(line)
    echo("")


def _key() -> dict[str, str]:
    with open(KEY, encoding="utf-8", newline="") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file)}


def _answer() -> None:
    """Fill the labels into the batch, as an annotator would."""
    key = _key()
    with open(BATCH, encoding="utf-8", newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    with open(BATCH, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *((item, key[item]) for item in ids)])


def _truth() -> float:
    """The share of the whole pool on which the model is wrong."""
    from activetest.study.stored import StoredStudy

    pool = StoredStudy.open().cache(auxiliary=False)
    rows, key = pool.rows(0, pool.size), _key()
    called = (pool.classes[code] for code in rows.outputs.pred)
    answers = (key[item] for item in pool.ids(rows.index))
    return sum(says != label for says, label in zip(called, answers, strict=True)) / pool.size


@contextlib.contextmanager
def _temporary_folder() -> Iterator[None]:
    """Work in a folder of one's own, with the sample data in it and no other study in sight."""
    with tempfile.TemporaryDirectory(
        prefix="activetest-demo-", ignore_cleanup_errors=True
    ) as folder:
        for name in (POOL, KEY):
            shutil.copy(sample_folder() / name, folder)
        elsewhere = os.environ.pop("ACTIVETEST_STUDY", None)
        try:
            with contextlib.chdir(folder):
                yield
        finally:
            if elsewhere is not None:
                os.environ["ACTIVETEST_STUDY"] = elsewhere


def run() -> int:
    """Run the whole loop on sample data, in a temporary study."""
    from activetest.cli.app import main

    return demo(main, echo=lambda line: streams.write(f"{line}\n"))
