"""Writing to a ledger: rows, and the entry of the hash chain that covers them.

Everything here runs inside the transaction that is open.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from activetest.ledger import chain
from activetest.ledger.contents import Contents
from activetest.ledger.tables import SHARED, Entry, StoredText

# {table: {key: {column: value}}} that an entry sets.
Changes = Mapping[str, Mapping[int, Mapping[str, Any]]]


class Writer:
    """Appends entries, each with its rows, to what a ledger holds.

    number    of the next entry, which its rows name
    revision  of the study, after the last entry
    """

    def __init__(self, db: sqlite3.Connection, contents: Contents | None = None) -> None:
        self._db, self._before = db, contents
        # Rows that were written, by table; None once a column of an earlier row was changed.
        self._added: dict[str, list[Any]] | None = {}
        self._head = contents.head if contents else b""
        texts = contents.texts if contents else {}
        self._texts = {text: number for number, text in texts.items()}
        self._last_text = max(texts, default=0)
        self.number = len(contents.entries) + 1 if contents else 1
        self.revision = contents.meta.revision if contents else 0

    def share(self, text: str) -> int:
        """The number of a text that rows may have in common, which is stored where it is new."""
        if text not in self._texts:
            self._last_text += 1
            self._texts[text] = self._last_text
            self._insert("texts", [StoredText(self._last_text, text)])
        return self._texts[text]

    def append(
        self,
        kind: str,
        *,
        of: int | None = None,
        rows: Mapping[str, Sequence[Any]] | None = None,
        changes: Changes | None = None,
        time: str | None = None,
    ) -> None:
        """Store rows and set columns of others, and append the entry that covers it all.

        rows     {table: rows in the order of their keys}
        changes  columns to set, those of new rows included
        time     of an entry without a row that has it
        """
        rows = rows or {}
        for table, new in rows.items():
            if new:
                self._insert(table, new)
        if changes:
            self._added = None
        for table, changed in (changes or {}).items():
            for key, columns in changed.items():
                names = ", ".join(f"{name} = ?" for name in columns)
                query = f"UPDATE {table} SET {names} WHERE number = ?"
                self._db.execute(query, (*columns.values(), key))
        data: dict[str, Any] = {"set": changes} if changes else {}
        if time:
            data["time"] = time
        text = json.dumps(data) if data else None
        hashes = self._hash_texts(rows)
        written = [
            row
            for table in sorted(rows)
            if rows[table]
            for row in chain.write_rows(table, rows[table], hashes)
        ]
        self._head = chain.link(self._head, kind, of, text, written)
        self._insert("entries", [Entry(self.number, kind, of, text, self._head)])
        self.number += 1
        if kind in chain.MOVING:
            self.revision += 1
            self._db.execute("UPDATE meta SET revision = ?", (self.revision,))

    def _insert(self, table: str, rows: Sequence[Any]) -> None:
        """Store rows of a table, which are named tuples of its type."""
        names, places = ", ".join(rows[0]._fields), ", ".join("?" * len(rows[0]))
        self._db.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)
        if self._added is not None:
            self._added.setdefault(table, []).extend(rows)

    def find_contents(self) -> Contents | None:
        """All that the ledger then holds; None where it has to be read again."""
        if self._before is None or self._added is None:
            return None
        added = dict(self._added)
        texts = self._before.texts | dict(added.pop("texts", ()))
        meta = self._before.meta._replace(revision=self.revision)
        tables = {name: [*getattr(self._before, name), *rows] for name, rows in added.items()}
        return replace(self._before, meta=meta, texts=texts, **tables)

    def _hash_texts(self, rows: Mapping[str, Sequence[Any]]) -> dict[int, str]:
        """The hashes of the texts that rows share."""
        numbers = {
            getattr(row, column)
            for table, columns in SHARED.items()
            for row in rows.get(table, ())
            for column in columns
        }
        return {
            number: chain.hash_text(text)
            for text, number in self._texts.items()
            if number in numbers
        }
