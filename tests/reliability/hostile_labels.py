"""Label files that nobody would write on purpose, and valid ones among them."""

import csv
import gzip
import io
import json
import os
import pickle
import random
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests import exports

ENCODINGS = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "utf-7"),
    *("cp1252", "latin-1", "cp437", "cp037", "shift_jis", "gb18030", "koi8-r", "euc-kr"),
)
MARKS = (b"", b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff")
# Texts that are commands, paths, markup or numbers to some program.
TEXTS = (
    *("=1+1", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1"),
    *('=HYPERLINK("http://x","y")', "'; DROP TABLE events; --", "' OR 1=1 --"),
    *("1); DELETE FROM draws; --", '"', "''", "\\", "\\N", "../../etc/passwd", "/etc/passwd"),
    *("C:\\Windows\\win.ini", "file:///etc/passwd", "study://pool/x", "http://127.0.0.1:9/x"),
    *("$(touch canary)", "`touch canary`", "|touch canary", "; touch canary"),
    *("<script>alert(1)</script>", "<img src=x onerror=y>", "&lt;b&gt;", "[a](javascript:b)"),
    *("**b**", "{0.__class__}", "{id}", "%s%n%x", "${PATH}", "%PATH%"),
    *("__import__('os').system('touch canary')", "\x1b[2J", "\x1b]0;title\x07", "\x9b31m"),
    *("\x08\x08\x08", "\r", "\x7f", "\u202ecat", "\u200bcat", "\ufeffcat", "nan", "inf"),
    *("-inf", "1e999", "1e-999", "0x10", "1_000", "1,5", "\u0663", "\uff13", "\u56db"),
    *("\u2163", "\xbd", "1.0", " 1", "NULL", "None", "N/A", "?", "-", "null", "true", "", " "),
    *("\xa0", "CAT", "cat ", "Cat", "\u0441at", "\uff43at", "item-1", "item-01", "item-1 "),
    *("row-1", "0", "-0", "1", "1.0", "00", "e\u0301", "\xe9", "\U0001f600", "x" * 300),
    *("x" * 70_000, "id", "label", "status", "declined", "labelled", "skipped", "pending"),
)  # fmt: skip
HEADERS = (
    *("id,label", "id,label,annotator", "id,label,status", "label,id"),
    *("id,label,annotator,status", "id,label,label", "id,id,label", "ID,Label", " id , label "),
    *("id;label", "id\tlabel", "id|label", "id", "label", "", "item,answer", "sep=,"),
    *("id,label,", ",id,label", '"id","label"', "'id','label'", "id,label,__class__"),
    *("id,label,weight,text", "\x00id,label", "id\x00,label", "i d,label", "id,label\x1b"),
)  # fmt: skip
STATUS = ("", "labelled", "declined", "skipped", "pending", "DECLINED", "done", "1", "\x00")


@dataclass(frozen=True)
class Hostile:
    """A label file.

    kind     what is hostile about it
    name     of the file
    content  its bytes
    answers  {id: label} of the annotator `annotator` that have to be taken; None where the file may
             be refused
    """

    kind: str
    name: str
    content: bytes
    answers: dict[str, str] | None = None
    annotator: str = ""


class Canary:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch canary",)


def make_file(seed: int, ids: list[str], labels: list[str]) -> Hostile:
    """The file of this number about these items; labels are those that the study takes."""
    chance = random.Random(seed)
    kind = chance.choice(list(_KINDS))
    name = chance.choice(_NAMES) if chance.random() < 0.1 else "labels.csv"
    if kind == "valid":
        return _make_valid(seed, name, chance, ids, labels)
    return Hostile(kind, name, _KINDS[kind](chance, ids, labels))


# No NUL and no slash: the system has no such names.
_NAMES = (
    *("a b.csv", "labels", "labels.csv.gz", "labels.xlsx", "labels.pkl", "labels.parquet", "é.csv"),
    *("\x1b[31m.csv", "new\nline.csv", "=1+1.csv", "%s.csv", "$(touch canary).csv", "x" * 250),
)


def _make_valid(
    seed: int, name: str, chance: random.Random, ids: list[str], labels: list[str]
) -> Hostile:
    """A file that has to be taken whole, in any of the forms that the page about labels allows."""
    annotator = f"annotator {seed}"
    answers = {id: chance.choice(labels) for id in chance.sample(ids, chance.randrange(1, 9))}
    columns = ["id", "label", "annotator", *chance.sample(["text", "=weight", "time"], 2)]
    chance.shuffle(columns)
    text = io.StringIO()
    writer = csv.DictWriter(
        text,
        columns,
        delimiter=chance.choice(",,;"),
        quoting=chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        lineterminator=chance.choice(["\n", "\r\n"]),
    )
    writer.writeheader()
    for id, label in answers.items():
        # Some versions of csv do not quote the end of a line that is not theirs.
        others = {column: chance.choice(TEXTS).replace("\r", "") for column in columns}
        writer.writerow(others | {"id": id, "label": label, "annotator": annotator})
    content = text.getvalue().encode(chance.choice(["utf-8", "utf-8-sig"]))
    return Hostile("valid", name, content, answers, annotator)


def _rows(chance: random.Random, ids: list[str], labels: list[str], odd: float) -> list[list[str]]:
    """Rows of id, label, annotator and status, of which a share is odd."""

    def pick(usual: list[str]) -> str:
        return chance.choice(TEXTS if chance.random() < odd else usual)

    return [
        [pick(ids), pick(labels), pick(["", "ann", "bob"]), chance.choice(STATUS) * (odd > 0.1)]
        for _ in range(chance.randrange(1, 12))
    ]


def _write(chance: random.Random, rows: list[list[str]], header: str) -> str:
    """Rows below a header, in some dialect."""
    width = header.count(",") + 1
    delimiter = chance.choice(",,,,;\t|:^ ")
    quoting = chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE])
    text = io.StringIO()
    ending = chance.choice(["\n", "\r\n", "\r", "\n\r", "\n\n", "\x85", "\u2028", "\x0b", "\x00\n"])
    text.write(header + ending)
    writer = csv.writer(
        text,
        delimiter=delimiter,
        quoting=quoting,
        lineterminator=ending,
        quotechar=chance.choice(['"', '"', "'"]),
        escapechar="\\",
        doublequote=chance.random() < 0.8,
    )
    for row in rows:
        writer.writerow(row[:width] if chance.random() < 0.9 else row[: chance.randrange(5)])
    return text.getvalue()


def _random_bytes(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    begin = chance.choice(
        [b"", b"id,label\n", b"\xef\xbb\xbfid,label\r\n", b"\x1f\x8b", b"PK\x03\x04"]
    )
    return begin + chance.randbytes(chance.randrange(2000))


def _dialect(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    header = chance.choice(HEADERS)
    text = _write(chance, _rows(chance, ids, labels, 0.1), header)
    return chance.choice(MARKS) + text.encode("utf-8", "surrogatepass")


def _encoding(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    text = _write(chance, _rows(chance, ids, labels, 0.1), "id,label,annotator,status")
    return chance.choice(MARKS) + text.encode(chance.choice(ENCODINGS), "replace")


def _texts(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    rows = _rows(chance, ids, labels, chance.choice([0.2, 0.6, 1.0]))
    text = io.StringIO()
    csv.writer(text).writerows([["id", "label", "annotator", "status"], *rows])
    return text.getvalue().encode("utf-8", "surrogatepass")


def _damage(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    rows = [f"{id},{chance.choice(labels)}" for id in chance.sample(ids, 9)]
    content = bytearray("\n".join(["id,label", *rows]).encode())
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(len(content))
        match chance.randrange(4):
            case 0:
                content[place] = chance.randrange(256)
            case 1:
                del content[place : place + chance.randrange(1, 9)]
            case 2:
                content[place:place] = chance.choice([b"\0", b'"', b"\r", b",", b"\xff", b"\n\n"])
            case _:
                content[place:place] = content[: chance.randrange(len(content) + 1)]
        if not content:
            break
    return bytes(content)


def _huge(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    size = chance.choice([10**5, 131_073, 10**6] + [10**7] * (chance.random() < 0.05))
    long = chance.choice([b"x", b" ", b",", b'"', b"\n", b"9", b"\0", b"item-1,cat\n"])
    long *= size // len(long)
    return chance.choice(
        [
            long,
            b"id,label\n" + long,
            b"id,label\nitem-1," + long + b"\n",
            b"id,label\n" + long + b",cat\n",
            b"id,label," + long + b"\nitem-1,cat,\n",
            b'id,label\nitem-1,"' + long,
        ]
    )


def _ragged(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    lines = ["id,label"]
    for id in chance.sample(ids, 6):
        fields = [id, chance.choice(labels), *chance.choices(TEXTS, k=4)]
        lines.append(",".join(fields[: chance.randrange(1, 6)]))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _other_format(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    rows = [{"id": id, "label": chance.choice(labels)} for id in chance.sample(ids, 3)]
    plain = "\n".join(["id,label", *(f"{row['id']},{row['label']}" for row in rows)]).encode()
    return chance.choice(_FORMATS)(rows, plain)


def _export(chance: random.Random, ids: list[str], labels: list[str]) -> bytes:
    """A file of a labelling tool with odd ids, labels or bytes."""
    odd = chance.choice([0.0, 0.2])
    rows = [
        (chance.choice(TEXTS if chance.random() < odd else ids).replace("\0", ""), label)
        for label in chance.choices(labels, k=3)
    ]
    rows = [(exports.printable(id), label) for id, label in rows]
    content = bytearray(exports.write(chance.choice(exports.FORMATS), rows))
    for _ in range(chance.choice([0, 1, 3])):
        place = chance.randrange(len(content))
        content[place : place + chance.randrange(3)] = chance.choice(
            [b"", b"\0", b'"', b"[", b"}", b"null", b"1e999", b"\xff", b"[" * 5000]
        )
    return bytes(content)


def _zip(rows: list[dict], plain: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../canary", plain)
        archive.writestr("xl/worksheets/sheet1.xml", b"\0" * 10**6)
    return out.getvalue()


def _tar(rows: list[dict], plain: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo("../canary")
        member.size = len(plain)
        archive.addfile(member, io.BytesIO(plain))
    return out.getvalue()


def _parquet(rows: list[dict], plain: bytes) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def _npy(rows: list[dict], plain: bytes) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([Canary()], object), allow_pickle=True)
    return out.getvalue()


def _database(rows: list[dict], plain: bytes) -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE labels (id, label)")
        return db.serialize()


_FORMATS: tuple[Callable[[list[dict], bytes], bytes], ...] = (
    lambda rows, plain: pickle.dumps(Canary()),
    lambda rows, plain: pickle.dumps(Canary(), 0) + plain,
    lambda rows, plain: gzip.compress(plain),
    lambda rows, plain: gzip.compress(bytes(10**7)),
    lambda rows, plain: json.dumps(rows).encode(),
    lambda rows, plain: "\n".join(map(json.dumps, rows)).encode(),
    lambda rows, plain: b"[" * 10**5,
    lambda rows, plain: b"!!python/object/apply:os.system ['touch canary']\n" + plain,
    lambda rows, plain: b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>',
    lambda rows, plain: b"#!/bin/sh\ntouch canary\n" + plain,
    lambda rows, plain: b"%PDF-1.7\n" + plain,
    lambda rows, plain: b"\x7fELF" + plain,
    *(_zip, _tar, _parquet, _npy, _database),
)  # fmt: skip
_KINDS: dict[str, Callable[[random.Random, list[str], list[str]], bytes] | None] = {
    "valid": None,
    "random bytes": _random_bytes,
    "dialect": _dialect,
    "encoding": _encoding,
    "texts": _texts,
    "damage": _damage,
    "huge": _huge,
    "ragged": _ragged,
    "other format": _other_format,
    "export": _export,
}
