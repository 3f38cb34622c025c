"""Extend a study by further items: the population is larger from then on, and labels keep counting.

Each addition is a stratum with draws of its own. Its file is complete and on the disk before the
ledger has the part: a crash leaves a study with it or without.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from activetest.cache.build import join_fingerprints
from activetest.cache.cache import Cache, build_cache
from activetest.errors import ChoiceError, PoolError, StudyError, raising_storage_errors
from activetest.ledger.ledger import LedgerMoved
from activetest.nouns.arguments import read_name, reading_arguments
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.rows import Array, Outputs
from activetest.nouns.study_lists import MODEL_NAMES, Part, is_model_name
from activetest.pool.extension import find_further, write_part
from activetest.pool.files import Files
from activetest.pool.groups import reject_too_many
from activetest.pool.pool import Pool
from activetest.study.add import open_given
from activetest.study.config import write_config
from activetest.study.folder import INSIDE, PARTS
from activetest.study.frames import is_address
from activetest.study.parts import check_choices_of_parts
from activetest.study.stored import StoredStudy
from activetest.system import atomic
from activetest.system.parallel import one_blas_thread
from activetest.system.safe_text import escape_controls

# Characters of a file's name that no part's name has.
_REPLACED = "-"


@dataclass(frozen=True)
class ExtendedStudy:
    """A part that a study was extended by.

    part      the part
    items     number of items of all parts
    repeated  number of its items that the study had already, with the same outputs
    notices   sentences about its file
    """

    part: Part
    items: int
    repeated: int = 0
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A line, and one for each notice."""
        count = f"{self.part.rows:,} new item{'s' * (self.part.rows != 1)}"
        lines = [f"{self.part.name} added: {count}, and {self.items:,} in all parts"]
        if self.repeated:
            were = "item was" if self.repeated == 1 else "items were"
            lines.append(
                f"{self.repeated:,} {were} there already with the same outputs: they stay in the "
                "part in which they came first"
            )
        return "\n".join(map(escape_controls, [*lines, *self.notices]))

    def __repr__(self) -> str:
        """One line."""
        return f"<ExtendedStudy {self.part.name}: {self.part.rows:,} items>"


@one_blas_thread()
@reading_arguments
def extend_study(study: StoredStudy, given: Any, *, part: str | None = None) -> ExtendedStudy:
    """Extend the population by the items of a file, a frame or an open file; see Study.extend."""
    revision = study.ledger.record().revision
    _refuse_unextendable(study)
    name = _name_part(study, given, part)
    schema = study.schema
    with (
        raising_storage_errors(study.folder),
        atomic.temporary_folder(study.folder, PARTS) as place,
    ):
        files, title = open_given(given, place, schema.id, columns=schema.columns)
        known, first = study.cache(auxiliary=False), Files(study.locate_pool())
        written = place / "part.parquet"
        missing = write_part(first, files, title, schema, written)
        further: tuple[str, ...] = ()
        if schema.open_classes:
            further = find_further(Pool(title, schema, Files(str(written))))
            schema = replace(schema, classes=(*schema.classes, *further))
        built = build_cache(Pool(title, schema, Files(str(written))), place / "cache")
        _check_groups(known, built)
        fresh = _find_new(known, built, title)
        repeated = built.size - int(np.count_nonzero(fresh))
        notices = built.notices
        if missing:
            names = shorten_list(missing)
            notices += (f"it has no {names}: they stand at their means for its items",)
        if further:
            count = f"{len(further):,} class{'es' * (len(further) != 1)}"
            notices += (f"it has {count} that the study had not: {shorten_list(further)}",)
        if repeated == built.size:
            raise PoolError(
                f"{title} has no new item: the study has all {built.size:,} with these outputs",
                "nothing was changed",
            )
        if repeated or further:
            kept, all_rows = place / "kept.parquet", Files(str(written))
            if schema.judge:
                all_rows.leave_out_gaps(schema.judge)
            write_part(first, all_rows, title, schema, kept, kept=fresh, further=further)
            built.close()
            written = kept
            built = build_cache(Pool(title, schema, Files(str(written))), place / "cache")
        _check_together(study, written)
        added = Part(
            name,
            f"{INSIDE}{PARTS}/{name}.parquet",
            "parquet",
            join_fingerprints(schema, known.manifest, built.manifest),
            built.size,
        )
        built.close()
        known.close()
        target = study.folder / PARTS / f"{name}.parquet"
        try:
            study.ledger.add_part(
                added, lambda: atomic.keep_file(written, target), revision=revision
            )
        except LedgerMoved as error:
            problem = "items were drawn or labels were added meanwhile"
            raise StudyError(problem, "try again") from error
        extended = StoredStudy.open(study.folder)
        # Whoever has the study open sees by this that it changed.
        write_config(study.folder, extended.describe())
    # Whatever asks for the population first need not wait.
    items = extended.cache().size
    return ExtendedStudy(added, items, repeated, notices)


def _refuse_unextendable(study: StoredStudy) -> None:
    """Raises StudyError for a study whose choices or files say nothing of further items."""
    new = "start another study: `Study.create(pool, folder)`"
    if len(study.list_models()) > 1 or study.joined:
        raise StudyError(
            "the study has outputs of models beside its pool, and new items have none of these",
            new,
        )
    if study.schema.id is None:
        raise StudyError("the pool has no ids, and new rows would have those of its own rows", new)
    if study.open_pool().files.nested:
        raise StudyError(
            "columns of the pool stand inside of others, and parts have plain ones", new
        )
    if study.addresses.get("other_models"):
        raise StudyError(
            "the surrogate learns from a file of other models, which has nothing of new items",
            '`study.change(other_models="")` goes on without it',
        )
    check_choices_of_parts(study.choices)


def _name_part(study: StoredStudy, given: Any, name: str | None) -> str:
    """The name of a part: as it is given, else that of its file."""
    if name is None:
        if not is_address(given):
            raise ChoiceError("the new part has no name", '`part="week48"` gives it one')
        stem = Path(str(given)).name.partition(".")[0]
        found = "".join(each if is_model_name(f"a{each}") else _REPLACED for each in stem)
        name = found if is_model_name(found) else f"part-{found}"
    if not is_model_name(read_name("part", name)):
        raise ChoiceError(f"no part can be called {name!r}", MODEL_NAMES)
    if name.lower() in {each.name.lower() for each in study.list_parts()}:
        raise StudyError(
            f"the study has a part {name!r} already", '`part="..."` gives this one another name'
        )
    return name


def _check_together(study: StoredStudy, written: Path) -> None:
    """Raises PoolError where a part cannot be read as the files before it are."""
    files = Files(study.locate_pool(), None, (*study.later_parts, written))
    columns = [name for name in study.schema.columns if name in files.schema.names]
    next(files.batches(columns, files.pieces[-1], 1, checked=False, whole=False))


def _check_groups(known: Cache, built: Cache) -> None:
    """Raises PoolError where a group would have more values than a report can have lines."""
    for group, old, new in zip(
        known.group_names, known.group_values, built.group_values, strict=True
    ):
        reject_too_many(group, {*old, *new})


def _find_new(known: Cache, built: Cache, title: str) -> Array:
    """(R,) whether an item of a file is new. Raises PoolError for other outputs of a known one."""
    fresh = np.ones(built.size, bool)
    for start, stop in built.chunks():
        ids = built.ids(np.arange(start, stop))
        places = known.find_alike(ids)
        here = np.flatnonzero(places >= 0)
        if not len(here):
            continue
        same = _have_same(known.take(places[here]).outputs, built.take(start + here).outputs)
        if not same.all():
            count = int(np.count_nonzero(~same))
            id = ids[here[int(np.argmin(same))]]
            others = f" and {count - 1:,} more" if count > 1 else ""
            raise PoolError(
                f"{title} has other outputs for {id!r}{others} than the study has",
                "give the items that are new alone, and outputs of another version of the model to "
                "a study of its own",
            )
        fresh[start + here] = False
    return fresh


def _have_same(first: Outputs, second: Outputs) -> Array:
    """(R,) whether items have the same outputs."""
    same = np.asarray(first.pred == second.pred)
    for mine, other in ((first.probs, second.probs), (first.std, second.std)):
        if mine is not None and other is not None:
            same &= (mine == other).reshape(len(same), -1).all(axis=1)
    return same
