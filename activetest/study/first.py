"""The first model of a new study: of the pool's own outputs, of columns, or of a file beside it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from activetest.errors import ChoiceError, PoolError
from activetest.nouns.rows import Array
from activetest.nouns.study_lists import Model
from activetest.pool.files import Files
from activetest.pool.joined import join_common, join_outputs, read_first, read_ids, require_ids
from activetest.pool.proposals import describe_proposals
from activetest.pool.roles import lacks_outputs
from activetest.study.add import check_model_name, list_model_columns, open_given
from activetest.study.folder import MODELS
from activetest.study.frames import is_stream
from activetest.study.models import write_model_address
from activetest.study.thresholds import parse_threshold
from activetest.system import atomic
from activetest.system.safe_text import mask_secrets


@dataclass(frozen=True)
class First:
    """The first model of a new study.

    name     that of a study that names none, where the pool has outputs of its own
    given    what it was named for: its outputs, or the pool; None where it was not named
    columns  of the pool that hold its outputs, where they are those
    of_file  whether its outputs are in a file of their own
    """

    name: str = Model.name
    given: Any = None
    columns: tuple[str, ...] = ()
    of_file: bool = False

    def list_further(self, models: Mapping[str, Any]) -> dict[str, Any]:
        """The other ones of the models that were given."""
        return {
            name: each for name, each in models.items() if self.given is None or name != self.name
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the columns of the pool that hold its outputs: the star is for classes."""
        head, star, tail = str(self.given).partition("*")
        classes = [name[len(head) : len(name) - len(tail)] for name in self.columns]
        return {"outputs": self.columns} | ({"classes": tuple(classes)} if star else {})

    def describe(self, joined: Path | None) -> Model:
        """The model as a ledger begins with it; its fingerprint is that of the pool.

        joined  the file that is joined with the pool, where there is one
        """
        return Model(self.name, source=write_model_address(self.name) if joined else None)


def choose_first(
    files: Files, address: str, columns: Mapping[str, Any], models: Mapping[str, Any]
) -> First:
    """The first model of a study of files: that of the pool's own outputs, or the first given.

    files    of the pool
    address  of the pool, or what it is called
    columns  settings of the columns

    Whether there are outputs is said by the names of columns that no model was given by. They have
    the name of the first of several models where its file is the pool. Raises PoolError where other
    columns look like outputs, and nobody says whose.
    """
    own = list_model_columns(models.values(), files.schema.names)
    files.hide(own)
    if not models:
        return First()
    first, given = next(iter(models.items()))
    if not lacks_outputs(files.schema, columns):
        names_pool = len(models) > 1 and _are_same(given, address)
        return First(first, given) if names_pool else First()
    check_model_name(first, ())
    found = tuple(list_model_columns([given], own))
    if not columns.get("outputs") and (proposals := describe_proposals(files)):
        raise PoolError(
            f"{mask_secrets(address)} may have outputs of its own, or only those of models: nobody "
            "says so",
            f"{proposals}, where they are the first model's; or name them as those of another one "
            "with `models`",
        )
    if threshold := parse_threshold(given):
        raise ChoiceError(
            f"{first} is another threshold of {threshold.of}, and the first model has outputs",
            f"name {threshold.of} first",
        )
    if found and columns.get("outputs"):
        raise ChoiceError(
            f"the outputs of {first} are {given!r}, and `outputs` names others", "leave one out"
        )
    return First(first, given, found, of_file=not found)


def _are_same(given: Any, address: str) -> bool:
    """Whether outputs were given by the address of the pool itself."""
    if not isinstance(given, str | PathLike) or not os.path.exists(address):
        return False
    path = os.path.expanduser(given)
    return os.path.exists(path) and os.path.samefile(path, address)


def keep_first(
    first: First,
    files: Files,
    columns: Mapping[str, Any],
    place: Path,
    others: Mapping[str, Any] | None,
) -> tuple[Path | None, tuple[str, ...]]:
    """Write what is joined with the pool of a study in a folder: the file, and sentences about it.

    files    of the pool
    columns  settings of the columns
    others   {name: outputs} of further models, where only items are kept that all models have

    These are the outputs of the first model, where they are in a file of their own, and which items
    are kept. There is no file where that is nothing. Raises PoolError for outputs that cannot be
    read, and where they lack an item of the pool.
    """
    id = columns.get("id") or ("id" if "id" in files.schema.names else None)
    target, common = place / MODELS / f"{first.name}.parquet", others is not None
    if common and id is None:
        raise ChoiceError("`common` goes by ids, and the pool has none", "name them with `id`")
    judge = columns.get("judge")
    atomic.make_folder(target.parent)
    with atomic.temporary_folder(place, MODELS) as copies:
        kept = find_common(files, id, others or {}, copies, judge) if id and common else None
        if first.of_file:
            given, title = open_given(first.given, copies, id, judge=judge)
            outputs = read_first(given, title, id, columns)
            found = join_outputs(files, outputs, title, target, common=common, kept=kept)
            notices = (f"the study keeps the outputs that {title} has of {first.name}", *found)
        elif id and kept is not None and not kept.all():
            join_common(files, id, kept, target)
            notices = ()
        else:
            return None, ()
    if Files(files.uri, target).left_out == files.rows:
        raise PoolError("no item of the pool has outputs of all models", "compare the ids")
    atomic.sync_file(target)
    atomic.sync_folder(target.parent)
    return target, notices


def find_common(
    files: Files, id: str, models: Mapping[str, Any], place: Path, judge: str | None
) -> Array:
    """(N,) bool: which items of a pool are in the files of all of these models.

    id     the column of ids
    place  a folder for copies
    judge  as of open_given

    Models that are columns of the pool, or other thresholds of a model, have what it has.
    """
    ids = read_ids(files, id)
    kept = np.ones(len(ids), bool)
    for name, given in models.items():
        if parse_threshold(given) or list_model_columns([given], Files(files.uri).schema.names):
            continue
        if is_stream(given):
            raise ChoiceError(
                f"`common` reads the outputs of {name} twice, and an open file is read once",
                "save it, and give its path",
            )
        of_model, title = open_given(given, place, id, judge=judge)
        require_ids(of_model, title, id)
        known = {*read_ids(of_model, id)}
        kept &= np.array([each in known for each in ids], bool)
    return kept
