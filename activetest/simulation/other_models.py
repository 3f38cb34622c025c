"""Further models of a simulation: caches of the same items with outputs of their own."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from activetest.cache.cache import Cache, build_cache
from activetest.errors import ChoiceError, PoolError
from activetest.nouns.study_lists import MODEL_NAMES, Model, is_model_name
from activetest.pool import convert, frames
from activetest.pool.files import Files
from activetest.pool.joined import find_rows, open_outputs, write_joined
from activetest.pool.pool import Pool


def build_models(
    built: Cache, pool: Pool, models: Mapping[str, Any], folder: Path
) -> dict[str, tuple[Cache, Pool]]:
    """{name: its cache, and the pool with its outputs} of each model; in folders of a folder.

    built is the cache of the pool. Raises ChoiceError for a name that no model can have, and
    PoolError for outputs that are not like those of the pool or lack an item.
    """
    found = {}
    for name, given in models.items():
        if not is_model_name(name) or name.lower() == Model.name or name in built.classes:
            raise ChoiceError(f"no further model can be called {name!r}", MODEL_NAMES)
        place = folder / "models" / name
        place.mkdir(parents=True)
        joined = place / "joined.parquet"
        _join(built, pool, given, place, joined)
        of = Pool(name, pool.schema, Files(str(joined)))
        found[name] = build_cache(of, place / "cache"), of
    return found


def _join(built: Cache, pool: Pool, given: Any, place: Path, target: Path) -> None:
    """Write the pool with the outputs of a model in place of its own."""
    path, title = str(given), str(given)
    if not isinstance(given, str | PathLike):
        title, path = "the frame", str(place / "frame.parquet")
        frames.save_frame(given, Path(path))
    elif convert.needs_conversion(path):
        path = str(place / "converted.parquet")
        columns = pool.schema.output_columns
        convert.to_parquet(title, path, id=pool.schema.id, columns=columns, judge=None)
    outputs = open_outputs(Files(path), title, pool.schema)
    rows, _ = find_rows(outputs, built.find_alike, built.size)
    if missing := int((rows < 0).sum()):
        first = built.ids([int(np.argmax(rows < 0))])[0]
        raise PoolError(
            f"{title} lacks {missing:,} of the pool's items, the first of which is {first!r}",
            "give a file with outputs for every item",
        )
    write_joined(pool, outputs, rows, target)
