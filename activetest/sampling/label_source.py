"""Labels, however they come: a file, a frame, a mapping from ids, or rows."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, BinaryIO

from activetest.errors import LabelError
from activetest.labels import files, values
from activetest.labels.files import Edit, Label
from activetest.nouns.arguments import read_path


def read_label_source(
    labels: Any,
    *,
    stdin: BinaryIO | None = None,
    edit: Edit | None = None,
    id_prefix: str = "",
) -> tuple[str, list[Label]]:
    """The name of the source in messages and in the ledger, and its rows.

    labels     the path of a label file (`-` is standard input), a frame with the columns id and
               label, a mapping from id to label, a pandas Series indexed by id, or rows: an
               iterable of mappings with the keys id and label
    edit       changes rows before those about one item are compared
    id_prefix  stands before whole numbers that are ids of a mapping or a Series

    Raises LabelError for anything else, and for what cannot be a label; LabelConflict for two
    different answers about one item by one annotator.
    """
    if isinstance(labels, str | PathLike):
        path = "-" if labels == "-" else read_path("labels", labels, LabelError)
        return files.name_source(path), files.read_labels(path, stdin=stdin, edit=edit)
    # A label file needs none of this.
    from activetest.pool import frames

    if frames.is_frame(labels):
        name = "the frame"
        columns = frames.read_columns(labels, error=LabelError)
        return name, values.read_columns(columns, name, edit=edit)
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
