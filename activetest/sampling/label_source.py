"""Labels, however they come: a file, a frame, a mapping from ids, or rows."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, BinaryIO

from activetest.errors import ChoiceError, LabelError
from activetest.labels import exports, files, values
from activetest.labels.files import Edit, Label
from activetest.nouns.answer_fields import find_columns
from activetest.nouns.arguments import read_path


def read_label_source(
    labels: Any,
    *,
    stdin: BinaryIO | None = None,
    edit: Edit | None = None,
    id_prefix: str = "",
    columns: Mapping[str, str] = MappingProxyType({}),
    notes: list[str] | None = None,
) -> tuple[str, list[Label]]:
    """The name of the source in messages and in the ledger, and its rows.

    labels     the path of a file of labels in any format (`-` is standard input), a frame with the
               columns id and label, a mapping from id to label, a pandas Series indexed by id, or
               rows: an iterable of mappings with the keys id and label
    edit       changes rows before those about one item are compared
    id_prefix  stands before whole numbers that are ids of a mapping or a Series
    columns    {field: column} of a file or a frame whose columns have other names
    notes      gets sentences about what a file does not say

    Raises LabelError for anything else, and for what cannot be a label; LabelConflict for two
    different answers about one item by one annotator.
    """
    if isinstance(labels, str | PathLike):
        path = "-" if labels == "-" else read_path("labels", labels, LabelError)
        return files.name_source(path), exports.read_answers(
            path, stdin=stdin, edit=edit, columns=columns, notes=notes
        )
    # A label file needs none of this.
    from activetest.pool import frames

    if frames.is_frame(labels):
        name = "the frame"
        found: Mapping[str, Sequence[Any]] = frames.read_columns(labels, error=LabelError)
        if columns:
            named = find_columns(list(found), columns, name)
            found = {field: found[column] for field, column in named.items()}
        return name, values.read_columns(found, name, edit=edit)
    if columns:
        raise ChoiceError(
            "`columns` is about files and frames", "leave it out, and call the keys id and label"
        )
    if values.is_mapping(labels):
        name = "the mapping"
        return name, values.read_mapping(labels, name, edit=edit, id_prefix=id_prefix)
    if isinstance(labels, Iterable):
        name = "the rows"
        return name, values.read_rows(labels, name, edit=edit)
    raise LabelError(
        f"labels cannot be a {type(labels).__name__}",
        "give the path of a file, a frame, a mapping from id to label, or rows",
    )
