"""A study without draws starts again: with another seed, or other roles of its columns.

The seed and the pool's fingerprint are in the ledger, everything else is in study.toml. So that a
crash leaves the old study or the new one, the new study.toml is written into the folder `restart`
first, with the numbers the ledger is to hold. The ledger's transaction decides: when the ledger has
these numbers, `finish_restart` moves study.toml into its place; otherwise the folder means nothing.
"""

import contextlib
import json
import shutil
from pathlib import Path

from activetest.errors import StudyError
from activetest.ledger.ledger import Ledger
from activetest.study import config
from activetest.study.folder import CONFIG
from activetest.system import atomic

_FOLDER, _NUMBERS = "restart", "ledger.json"


def prepare_restart(folder: Path, written: config.Config, *, seed: int, fingerprint: str) -> None:
    """Write the new study.toml beside the old one. Raises OSError when it cannot be written."""
    with atomic.replacing_folder(folder / _FOLDER) as building:
        config.write_config(building, written)
        numbers = json.dumps({"seed": seed, "fingerprint": fingerprint})
        with atomic.replacing_file(building / _NUMBERS, durable=True) as file:
            file.write_text(numbers, encoding="utf-8")
    atomic.sync_folder(folder)


def finish_restart(folder: Path, ledger: Ledger) -> None:
    """Put the new study.toml in its place where the ledger holds the numbers it belongs to.

    Another process may be doing the same. A link is not followed: no program of ours leaves one.
    Raises OSError when the file system refuses, and StudyError for numbers that cannot be read.
    """
    waiting = folder / _FOLDER
    if waiting.is_symlink():
        return
    try:
        numbers = json.loads((waiting / _NUMBERS).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except (ValueError, RecursionError) as error:
        raise StudyError(
            f"{waiting / _NUMBERS} is damaged",
            f"restore it from a backup, or remove the folder {waiting}: {CONFIG} then stays as it "
            "is, also if it was about to change",
        ) from error
    if numbers != {"seed": ledger.seed, "fingerprint": ledger.fingerprint}:
        return
    with contextlib.suppress(FileNotFoundError):
        atomic.move_file(waiting / CONFIG, folder / CONFIG)
        atomic.sync_folder(folder)
    shutil.rmtree(waiting, ignore_errors=True)
