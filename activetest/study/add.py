"""Add a further model to a study: its outputs are kept there, and every label serves it, too."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from activetest.cache.build import compute_fingerprint
from activetest.errors import (
    ChoiceError,
    PoolChanged,
    PoolError,
    StudyError,
    TrainingUnclear,
    raising_storage_errors,
)
from activetest.labels.matching import ClassMatcher
from activetest.ledger.ledger import LedgerMoved
from activetest.nouns.arguments import read_flag, read_name, reading_arguments
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.study_lists import MODEL_NAMES, Model, is_model_name
from activetest.pool import convert
from activetest.pool.files import Files
from activetest.pool.frames import check_row_numbers
from activetest.pool.joined import (
    describe_others,
    find_rows,
    join_outputs,
    open_outputs,
    read_further,
    reject_missing,
    spell_classes,
    write_joined,
    write_renamed,
)
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from activetest.study import config
from activetest.study.comparison import describe_aims, describe_draws_for_models
from activetest.study.folder import MODELS
from activetest.study.frames import (
    NAME,
    is_address,
    is_stream,
    name_stream,
    save_frame,
    save_stream,
)
from activetest.study.models import ModelStudy, write_model_address
from activetest.study.stored import StoredStudy
from activetest.study.thresholds import OwnThreshold, choose_class, parse_threshold
from activetest.system import atomic
from activetest.system.safe_text import escape_controls, mask_secrets


@dataclass(frozen=True)
class AddedModel:
    """A model that was added to a study.

    model    the model
    labels   number of labels that count for it
    earlier  number of labels that do not, because they took part in making it
    notices  sentences about its outputs
    known    whether the study had it, with these outputs
    aims     sentences on what items are drawn for from now on
    """

    model: Model
    labels: int
    earlier: int = 0
    notices: tuple[str, ...] = ()
    known: bool = False
    aims: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A line, and one for each notice."""
        if self.known:
            return f"{self.model.name} is in the study already, with these outputs"
        if self.earlier:
            count = f"{self.earlier:,} label{'s' * (self.earlier != 1)}"
            known = f"draws from now on count for it, not the {count} so far"
        elif self.labels:
            count = "the label counts" if self.labels == 1 else f"all {self.labels:,} labels count"
            known = f"{count} for it, and those to come"
        else:
            known = "there is no label yet, and those to come count for it"
        lines = [f"{self.model.name} added: {known}", *self.notices, *self.aims]
        return "\n".join(map(escape_controls, lines))

    def __repr__(self) -> str:
        """One line."""
        return f"<AddedModel {self.model.name}: {self.labels:,} labels count>"


@reading_arguments
def add_model(
    study: StoredStudy, name: str, given: Any, *, trained_on_labels: bool | None = None
) -> AddedModel:
    """Add a model of this name, whose outputs are in a file, a frame or an open file.

    trained_on_labels  whether labels of the study took part in making it; needed where there are
                       any

    Its file is complete and on the disk before the ledger has the model: a crash leaves a study
    with it or without. Outputs of a model that the study has are kept again, where they are the
    same: its file may be gone. Raises as Study.add says.
    """
    study.check_one_part("a further model")
    revision = study.ledger.record().revision
    trained = trained_on_labels
    trained = None if trained is None else read_flag("trained_on_labels", trained)
    if study.joined and name == study.list_models()[0].name:
        return _restore_first(study, given)
    before = next((each for each in study.list_models()[1:] if each.name == name), None)
    if before is None or trained not in (None, before.trained):
        _check_name(study, name)
        if trained is None and study.ledger.first_source() is not None:
            raise TrainingUnclear(
                f"did labels of this study take part in training or choosing {name}? Then only "
                "draws from now on count for it",
                "`trained_on_labels=True` if they did, `trained_on_labels=False` if not",
            )
    if threshold := parse_threshold(given):
        of = study.of_model(threshold.of)
        threshold = replace(threshold, chosen=choose_class(study.schema))
        if isinstance(of, ModelStudy) and of.model.trained and trained is False:
            raise ChoiceError(
                f"labels of this study took part in making {threshold.of}, and so in making {name}",
                "`trained_on_labels=True`",
            )
    known = {each.fingerprint: each.name for each in reversed(study.list_models())}
    with (
        raising_storage_errors(study.folder),
        atomic.temporary_folder(study.folder, MODELS) as place,
    ):
        joined, schema, source = place / "joined.parquet", study.schema, write_model_address(name)
        if threshold:
            notices = _join_again(study, threshold, joined)
            schema = replace(schema, **threshold.roles)
            source = f"{source}?{threshold.write()}"
        else:
            with _open_files(study, given, place) as (files, title):
                notices = _join(study, files, title, joined)
        if schema.open_classes:
            schema = replace(schema, classes=(*study.schema.classes, *read_further(joined)))
        fingerprint, _ = compute_fingerprint(Pool(name, schema, Files(str(joined))))
        target = study.folder / MODELS / f"{name}.parquet"
        if before and fingerprint == before.fingerprint:
            atomic.keep_file(joined, target)
            return AddedModel(before, *_count_labels(study, before), known=True)
        if before:
            _check_name(study, name)
        if fingerprint in known:
            notices += (f"its outputs are those of {known[fingerprint]}: both models are the same",)
        model = Model(name, source=source, fingerprint=fingerprint, trained=trained)
        try:
            study.ledger.add_model(
                model, lambda: atomic.keep_file(joined, target), revision=revision
            )
        except LedgerMoved as error:
            problem = "items were drawn or labels were added meanwhile"
            raise StudyError(problem, "try again") from error
        config.write_config(study.folder, study.describe())
    added = study.list_models()[-1]
    # Whatever asks for the model first need not wait.
    study.of_model(name).cache(auxiliary=False)
    aims = (describe_draws_for_models(study.choices), *describe_aims(study.choices))
    return AddedModel(added, *_count_labels(study, added), notices, aims=aims * (not trained))


def _restore_first(study: StoredStudy, given: Any) -> AddedModel:
    """Keep outputs of the first model again that are beside the pool; its file may be gone.

    Raises PoolChanged where they are others.
    """
    first, schema = study.list_models()[0], study.schema
    with (
        raising_storage_errors(study.folder),
        atomic.temporary_folder(study.folder, MODELS) as place,
    ):
        joined, judge = place / "joined.parquet", study.pool.get(config.GRADED_BY)
        files, title = open_given(
            given, place, schema.id, columns=schema.output_columns, judge=judge
        )
        address = study.locate_pool()
        if schema.outputs[0] in Files(address).schema.names:
            raise StudyError(
                f"the outputs of {first.name} are those of the pool, and which items it has in "
                "common with other models was lost",
                f"restore {study.joined} from a backup",
            )
        outputs, common = open_outputs(files, title, schema), bool(schema.left_out)
        join_outputs(Files(address), outputs, title, joined, common=common)
        found, _ = compute_fingerprint(Pool(title, schema, Files(address, joined)))
        if found != study.fingerprint:
            raise PoolChanged(
                f"{title} has other outputs than the study has of {first.name}, or the pool has "
                "other ids",
                "give outputs of another model another name",
            )
        atomic.keep_file(joined, study.folder / MODELS / f"{first.name}.parquet")
    return AddedModel(first, *_count_labels(study, first), known=True)


def _count_labels(study: StoredStudy, model: Model) -> tuple[int, int]:
    """How many labels count for a model, and how many do not."""
    labels = study.list_labels()
    if not model.trained:
        return len(labels), 0
    later = {draw.id for draw in study.ledger.record().draws if draw.round > model.rounds}
    counting = len(later & labels.keys())
    return counting, len(labels) - counting


def _check_name(study: StoredStudy, name: str) -> None:
    """Raises ChoiceError for a name that no model can have, StudyError for one that is taken."""
    check_model_name(name, study.schema.classes)
    if name.lower() in {each.name.lower() for each in study.list_models()}:
        raise StudyError(f"the study has a model {name!r} already", "give this one another name")


def check_model_name(name: str, classes: Sequence[str]) -> None:
    """Raises ChoiceError for a name that no model can have where these are the classes."""
    if not is_model_name(read_name("name", name)):
        raise ChoiceError(f"no model can be called {name!r}", MODEL_NAMES)
    if name in classes:
        raise ChoiceError(
            f"{name!r} is a class, and accuracy({name}) would be about either",
            "give the model another name",
        )


def list_model_columns(given: Iterable[Any], names: Sequence[str]) -> list[str]:
    """Those of the columns of a pool that models were given by: pred_v2, or prob_v2_*.

    A text that is the address of a file names no columns.
    """
    texts = [each for each in given if isinstance(each, str) and "://" not in each]
    patterns = [each for each in texts if not os.path.exists(os.path.expanduser(each))]
    return [name for name in names if any(fnmatchcase(name, each) for each in patterns)]


def _write_columns(study: StoredStudy, columns: Sequence[str], given: str, target: Path) -> None:
    """Write columns of a pool under the names of the study's outputs, with its ids.

    Of several, the star stands for the class. Raises PoolError where one is missing.
    """
    schema, files = study.schema, study.open_pool().files
    outputs, (head, _, tail) = schema.output_columns, given.partition("*")
    of_classes = dict(zip(schema.classes, outputs, strict=False)) if len(outputs) > 1 else {}
    found = {
        name: of_classes.get(name[len(head) : len(name) - len(tail)], "")
        if of_classes
        else outputs[0]
        for name in columns
    }
    if sorted(found.values()) != sorted(outputs):
        needed = f"one for each of {', '.join(schema.classes)}" if of_classes else "one"
        raise PoolError(
            f"{given!r} stands for the columns {', '.join(columns)} of the pool, and it takes "
            f"{needed}",
            "name them like 'prob_v2_*', or give a file with ids and outputs",
        )

    write_renamed(files, found | {name: name for name in [schema.id] if name}, target)


@contextmanager
def _open_files(study: StoredStudy, given: Any, place: Path) -> Iterator[tuple[Files, str]]:
    """The outputs as Parquet, and the name of what was given in messages; place is for a copy."""
    schema, judge = study.schema, study.pool.get(config.GRADED_BY)
    names = study.open_pool().files.schema.names if isinstance(given, str) else []
    if found := list_model_columns([given], names):
        path = place / "columns.parquet"
        _write_columns(study, found, given, path)
        yield Files(str(path)), f"{given} of the pool"
    else:
        files, title = open_given(
            given, place, schema.id, columns=schema.output_columns, judge=judge
        )
        yield _rename_outputs(files, schema, place / "renamed.parquet"), title


def _rename_outputs(files: Files, schema: Schema, target: Path) -> Files:
    """A file of outputs with the names of columns that the study's outputs have.

    Columns of a pool that are one model's, as prob_v1_cat, are called otherwise in files. Classes
    tell which is which; where it is not clear the file stays as it is.
    """
    if {*schema.output_columns} <= {*files.schema.names}:
        return files
    try:
        id, task = schema.id, schema.task
        found = Pool.open(files.uri, id=id, task=task, features=(), text=(), suggest=False).schema
    except (PoolError, ChoiceError):
        return files
    if found.kind != schema.kind or len(found.output_columns) != len(schema.output_columns):
        return files
    names = dict(zip(found.output_columns, schema.output_columns, strict=True))
    if schema.kind == "prob-columns":
        own = dict(zip(schema.classes, schema.outputs, strict=True))
        if own.keys() != {*found.classes}:
            return files
        names |= {name: own[each] for each, name in zip(found.classes, found.outputs, strict=True)}
    write_renamed(files, names | {name: name for name in [schema.id] if name}, target)
    return Files(str(target))


def open_given(
    given: Any,
    place: Path,
    id: str | None,
    *,
    columns: Sequence[str] = (),
    judge: str | None = None,
) -> tuple[Files, str]:
    """A model's outputs as Parquet, and the name of what was given in messages.

    given    a file, a frame or an open file
    place    a folder for a copy
    id       the column of ids; None for outputs that have none
    columns  and judge as of convert.to_parquet
    """
    if is_address(given):
        address = os.path.expanduser(str(given))
        path, title = address, mask_secrets(address)
        if convert.needs_conversion(address):
            path = str(place / "converted.parquet")
            convert.to_parquet(address, path, id=id, columns=columns, judge=judge)
    elif is_stream(given):
        title = name_stream(given)
        path = str(save_stream(given, place, None, id=id, judge=judge))
    else:
        title = NAME
        if id is None:
            check_row_numbers(given)
        path = str(save_frame(given, place, None))
    return Files(path), title


def _join(study: StoredStudy, files: Files, title: str, target: Path) -> tuple[str, ...]:
    """Write the pool with the outputs of a file in place of its own; sentences about the file.

    Raises PoolError where it lacks an item.
    """
    cache = study.cache(auxiliary=False)
    outputs, spelled, notices = open_outputs(files, title, study.schema), None, list[str]()
    if study.schema.open_classes:
        known = (*study.schema.classes, *study.further_classes)
        spelled = spell_classes(outputs, ClassMatcher(known).find)
        if new := sorted({*spelled.values()} - {*known}):
            count = f"{len(new):,} class{'es' * (len(new) != 1)}"
            notices.append(f"it predicts {count} that no model before it did: {shorten_list(new)}")
    rows, others = find_rows(outputs, cache.find_text, cache.size)
    missing = np.flatnonzero(rows < 0)
    reject_missing(title, len(missing), lambda: cache.ids([int(missing[0])])[0])
    write_joined(study.open_pool(), outputs, rows, target, spelled)
    return (*notices, *describe_others(title, others))


def _join_again(study: StoredStudy, threshold: OwnThreshold, target: Path) -> tuple[str, ...]:
    """Write the pool with the outputs of a model that it has; a sentence about the threshold."""
    of = study.of_model(threshold.of)
    # They are those that were added.
    of.cache(auxiliary=False)
    cache = study.cache(auxiliary=False)
    outputs = open_outputs(of.open_pool().files, threshold.of, study.schema)
    rows, _ = find_rows(outputs, cache.find_text, cache.size)
    write_joined(study.open_pool(), outputs, rows, target)
    return (
        f"its probabilities are those of {threshold.of}, and it predicts {threshold.chosen!r} from "
        f"{threshold.value!r} on",
    )
