"""Errors while a file is read, in words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from activetest.errors import PoolError
from activetest.nouns.encodings import describe_invalid
from activetest.system.safe_text import first_line

# Of Arrow's errors of text that is not UTF-8.
_OF_ENCODING = re.compile("utf-?8|encoding", re.I)
_CORRECT = "correct that row, or write the pool as Parquet"


@contextmanager
def raising_parse_errors(path: Path, hint: str = "") -> Iterator[None]:
    """Turn errors of the parser and of the file system into a PoolError.

    hint  of files that are no rows of text
    """
    try:
        yield
    except UnicodeDecodeError as error:
        # Values are checked by Arrow, and names of columns here.
        _raise_invalid(path, error)
        raise PoolError(
            f"the names of columns in {path} are not UTF-8",
            hint="save it as UTF-8, or write the pool as Parquet",
        ) from error
    except PermissionError as error:
        raise PoolError(f"{path} may not be read", hint="check its permissions") from error
    except (pa.ArrowException, OSError) as error:
        if not hint and _OF_ENCODING.search(str(error)):
            _raise_invalid(path, error)
        raise PoolError(
            f"{path} cannot be read: {first_line(error)}", hint=hint or _CORRECT
        ) from error


def _raise_invalid(path: Path, error: Exception) -> None:
    """Raises PoolError where the file is not UTF-8, which the error may come from."""
    if found := describe_invalid(path):
        raise PoolError(*found) from error
