"""Further models of a simulation: caches of the same items with outputs of their own."""

from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from activetest.cache.cache import Cache, build_cache
from activetest.errors import ChoiceError, PoolError
from activetest.nouns.study_lists import MODEL_NAMES, Model, is_model_name
from activetest.pool import convert, frames
from activetest.pool.files import Files
from activetest.pool.joined import find_rows, join_outputs, open_outputs, read_first, write_joined
from activetest.pool.pool import Pool


def build_models(
    built: Cache, pool: Pool, models: Mapping[str, Any], folder: Path, first: str = Model.name
) -> dict[str, tuple[Cache, Pool]]:
    """{name: its cache, and the pool with its outputs} of each model; in folders of a folder.

    built is the cache of the pool, and first the name of the first model. Raises ChoiceError for a
    name that no model can have, and PoolError for outputs that are not like those of the pool or
    lack an item.
    """
    found = {}
    for name, given in models.items():
        if not is_model_name(name) or name.lower() == first.lower() or name in built.classes:
            raise ChoiceError(f"no further model can be called {name!r}", MODEL_NAMES)
        place = folder / "models" / name
        place.mkdir(parents=True)
        joined = place / "joined.parquet"
        _join(built, pool, given, place, joined)
        of = Pool(name, pool.schema, Files(str(joined)))
        found[name] = build_cache(of, place / "cache"), of
    return found


def join_first(files: Files, given: Any, columns: Mapping[str, Any], place: Path) -> Path:
    """Write the outputs of a first model, for a pool without, as a file that Files joins with it.

    files    of the pool
    columns  settings of its columns
    place    a folder

    Raises PoolError for outputs that cannot be read, and where they lack an item of the pool.
    """
    id = columns.get("id") or ("id" if "id" in files.schema.names else None)
    found, title = _open(given, place, id, ())
    target = place / "outputs.parquet"
    join_outputs(files, read_first(found, title, id, columns), title, target)
    return target


def _open(given: Any, place: Path, id: str | None, columns: Collection[str]) -> tuple[Files, str]:
    """Outputs of a model as Parquet, and the name of what was given in messages."""
    path, title = str(given), str(given)
    if not isinstance(given, str | PathLike):
        title, path = "the frame", str(place / "frame.parquet")
        frames.save_frame(given, Path(path))
    elif convert.needs_conversion(path):
        path = str(place / "converted.parquet")
        convert.to_parquet(title, path, id=id, columns=columns, judge=None)
    return Files(path), title


def _join(built: Cache, pool: Pool, given: Any, place: Path, target: Path) -> None:
    """Write the pool with the outputs of a model in place of its own."""
    found, title = _open(given, place, pool.schema.id, pool.schema.output_columns)
    outputs = open_outputs(found, title, pool.schema)
    rows, _ = find_rows(outputs, built.find_text, built.size)
    if missing := int((rows < 0).sum()):
        first = built.ids([int(np.argmax(rows < 0))])[0]
        raise PoolError(
            f"{title} lacks {missing:,} of the pool's items, the first of which is {first!r}",
            "give a file with outputs for every item",
        )
    write_joined(pool, outputs, rows, target)
