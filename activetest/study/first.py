"""The first model of a new study: of the pool's own outputs, of columns, or of a file beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from activetest.errors import ChoiceError, PoolError
from activetest.nouns.choices import ColumnChoices
from activetest.nouns.study_lists import Model
from activetest.pool.files import Files
from activetest.pool.joined import join_outputs
from activetest.pool.pool import Pool
from activetest.pool.proposals import describe_proposals
from activetest.pool.roles import lacks_outputs
from activetest.study.add import check_model_name, list_model_columns, open_given
from activetest.study.folder import MODELS
from activetest.study.models import write_model_address
from activetest.study.thresholds import parse_threshold
from activetest.system import atomic

# Settings that say how outputs are read.
_OF_OUTPUTS = ("outputs", "task", "positive", "threshold", "classes", "scale", "decimal")


@dataclass(frozen=True)
class First:
    """The first model of a new study.

    name     that of a study that names none, where the pool has outputs of its own
    given    its outputs; None for those of the pool
    columns  of the pool that hold them, where they are none of a file
    """

    name: str = Model.name
    given: Any = None
    columns: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the columns of the pool that hold its outputs: the star is for classes."""
        head, star, tail = str(self.given).partition("*")
        classes = [name[len(head) : len(name) - len(tail)] for name in self.columns]
        return {"outputs": self.columns} | ({"classes": tuple(classes)} if star else {})

    @property
    def of_file(self) -> bool:
        """Whether its outputs are in a file of their own."""
        return self.given is not None and not self.columns

    def describe(self) -> Model:
        """The model as a ledger begins with it; its fingerprint is that of the pool."""
        return Model(self.name, source=write_model_address(self.name) if self.of_file else None)


def choose_first(
    files: Files, name: str, columns: Mapping[str, Any], models: Mapping[str, Any]
) -> First:
    """The first model of a study of files: that of the pool's own outputs, or the first given.

    files    of the pool
    name     of the pool in messages
    columns  settings of the columns

    Whether there are outputs is said by the names of columns that no model was given by. Raises
    PoolError where other columns look like outputs, and nobody says whose.
    """
    own = list_model_columns(models.values(), files.schema.names)
    files.hide(own)
    chosen = ColumnChoices(
        outputs=columns.get("outputs"), judge=columns.get("judge"), task=columns.get("task")
    )
    if not models or not lacks_outputs(files.schema, chosen):
        return First()
    first, given = next(iter(models.items()))
    check_model_name(first, ())
    found = tuple(list_model_columns([given], own))
    if chosen.outputs is None and (proposals := describe_proposals(files)):
        raise PoolError(
            f"{name} may have outputs of its own, or only those of models: nobody says so",
            f"{proposals}, where they are the first model's; or name them as those of another one "
            "with `models`",
        )
    if threshold := parse_threshold(given):
        raise ChoiceError(
            f"{first} is another threshold of {threshold.of}, and the first model has outputs",
            f"name {threshold.of} first",
        )
    if found and chosen.outputs:
        raise ChoiceError(
            f"the outputs of {first} are {given!r}, and `outputs` names others", "leave one out"
        )
    return First(first, given, found)


def keep_first(
    first: First, files: Files, columns: Mapping[str, Any], place: Path
) -> tuple[Path, tuple[str, ...]]:
    """Write the outputs of a first model for a study in a folder: the file, and sentences about it.

    files    of the pool
    columns  settings of the columns

    Raises PoolError for outputs that cannot be read, and where they lack an item of the pool.
    """
    id = columns.get("id") or ("id" if "id" in files.schema.names else None)
    target = place / MODELS / f"{first.name}.parquet"
    atomic.make_folder(target.parent)
    with atomic.temporary_folder(place, MODELS) as copies:
        given, title = open_given(first.given, copies, id, judge=columns.get("judge"))
        names = given.schema.names
        if id and id not in names:
            raise PoolError(
                f"{title} has no column {id!r}",
                "it needs the ids of the pool, and the outputs of the model",
            )
        if id is None and "id" in names:
            raise PoolError(
                f"{title} has ids, and the pool has no column 'id'",
                "say which one holds them: `id=column`",
            )
        settings = {name: columns[name] for name in _OF_OUTPUTS if name in columns}
        try:
            outputs = Pool.open(
                given.uri, id=id, **settings, features=(), text=(), suggest=False, name=title
            )
        except PoolError as error:
            raise PoolError(f"{title}: {error.problem}", error.hint) from error
        outputs.schema = replace(outputs.schema.drop_groups(), ignored=())
        notices = join_outputs(files, outputs, title, target)
    atomic.sync_file(target)
    atomic.sync_folder(target.parent)
    return target, (f"the study keeps the outputs that {title} has of {first.name}", *notices)
