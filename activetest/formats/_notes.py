"""What a reader says of a file, in the metadata of its tables."""

import json
from collections.abc import Sequence

import pyarrow as pa

from activetest.nouns.class_names import OURS


def add_notes(schema: pa.Schema, notes: Sequence[str]) -> pa.Schema:
    """The schema with these sentences behind those that it has."""
    if not notes:
        return schema
    metadata = dict(schema.metadata or {})
    document = json.loads(metadata.get(OURS, b"{}"))
    document["notes"] = [*document.get("notes", []), *notes]
    return schema.with_metadata(metadata | {OURS: json.dumps(document).encode("ascii")})
