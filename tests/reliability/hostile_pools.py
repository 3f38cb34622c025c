"""Pools that nobody would make on purpose: odd types, odd values, odd names and damaged files."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

# Texts that break programs; the last ones are no UTF-8.
TEXTS = [
    b"", b" ", b"a", b"b", b"cat", b"a*b", b"a=b", b"a,b", b'"', b"'", b"`floor=1`", b"\\", b"\n",
    b"\x00", b"\x1b[31m", b"=1+1", b"null", b"nan", b"1", b"1.0", b"01", b"-", b"[x]", b"{}", b"%s",
    "é".encode(), "\u202eevil".encode(), "\U0001f600".encode(), "\ufeffx".encode(), b"x" * 5000,
    b"\xff\xfe", b"p\xff", b"\xed\xa0\x80",
]  # fmt: skip
NUMBERS = [0, 1, -1, 0.5, 1e-320, 1e15, 1e16, 1e308, -1e308, np.nan, np.inf, -np.inf, 2**53, None]
WHOLE = [0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), None]
NAMES = [
    "id", "pred", "prob", "score", "label", "prob_a", "prob_b", "prob_", "pred_std", "x", "x1", "g",
    "", " ", "a*b", "a=b", "predicted", "confidence", "confidence-decile", "é", "\n", "\x00", "*",
    "status", "annotator", "row", "__index_level_0__", "surrogate_prob_a", "y", "x" * 300,
]  # fmt: skip
OPTIONS = {
    "--metric": ["f1", "error", "recall[a]", "accuracy,f1", "rmse", "mae", "cost", "log-loss"],
    "--task": ["classification", "regression"],
    "--surrogate": ["agreement", "model", "linear", "forest", "residual", "gp", "ensemble"],
    "--acquisition": ["uniform", "optimal", "thompson", "entropy", "active_risk"],
    "--threshold": ["0", "0.5", "1", "nan", "inf", "-1"],
    "--positive": ["a", "1", "", "nobody"],
    "--classes": ["a,b", "a,b,c", "a,a", "", "0,1", "1"],
    "--floor": ["0", "1", "nan", "2"],
    "--level": ["0.5", "1", "nan"],
    "--interval": ["fixed", "anytime"],
    "--budget": ["1", "0", "999999999999999999999"],
    "--power": ["2", "16", "0"],
    "--selection": ["draw", "top"],
    "--annotators": ["dawid-skene"],
    "--question": ["estimate", "identify", "compare"],
    "--compare": ["a,b", "a", ","],
    "--worst": ["1", "9"],
}  # fmt: skip


@dataclass
class Hostile:
    """A pool and how it is read: its address, and the options of `init`."""

    address: str
    options: list[str] = field(default_factory=list)
    show: list[str] = field(default_factory=list)


def make_pool(folder: Path, seed: int) -> Hostile:
    """The pool of this number, written to the folder."""
    rng = np.random.default_rng(seed)
    table = _make_table(rng)
    options = _choose_options(rng, table.column_names)
    show = [name for name in table.column_names if _is_argument(name) and "," not in name]
    return Hostile(_write(table, folder, rng), options, show)


def _make_table(rng: np.random.Generator) -> pa.Table:
    """A table that is nearly a pool."""
    rows = int(rng.choice([0, 1, 2, 3, 12, 40], p=[0.02, 0.04, 0.05, 0.09, 0.4, 0.4]))
    columns = [*_make_ids(rng, rows), *_make_outputs(rng, rows)]
    for _ in range(rng.integers(0, 4)):
        columns.append((_pick(rng, NAMES), make_column(rng, rows)))
    if rng.random() < 0.02:
        columns += [(f"c{number}", pa.array(np.zeros(rows))) for number in range(2000)]
    if rng.random() < 0.9:
        columns = list(dict(columns).items())
    return pa.Table.from_arrays([array for _, array in columns], [name for name, _ in columns])


def _make_ids(rng: np.random.Generator, rows: int) -> list[tuple[str, pa.Array]]:
    """No ids, good ones, or bad ones."""
    roll = rng.random()
    if roll < 0.25:
        return []
    if roll < 0.75:
        return [("id", pa.array([f"item-{row}" for row in range(rows)]))]
    if roll < 0.85:
        texts = [*map(bytes, rng.permutation(np.array(TEXTS, object)))]
        texts += [b"i%d" % row for row in range(rows)]
        return [("id", _make_text(texts[:rows], rng))]
    if roll < 0.92:
        return [("id", pa.array([*WHOLE[:-1], *range(5, 99)][:rows], pa.int64()))]
    return [("id", make_column(rng, rows))]


def _make_outputs(rng: np.random.Generator, rows: int) -> list[tuple[str, pa.Array]]:
    """The model's outputs, now and then with something odd in them."""
    odd = rng.random() < 0.2
    kinds = ["list", "columns", "score", "text", "text", "number", "std"]
    kind = _pick(rng, kinds) if rng.random() < 0.9 else _pick(rng, ["any", "none"])
    classes = int(rng.integers(2, 5))
    probs = rng.dirichlet(np.ones(classes), rows) if rows else np.empty((0, classes))
    if odd and rows:
        probs[rng.integers(rows), rng.integers(classes)] = _number(rng)
    columns: list[tuple[str, pa.Array]] = []
    if kind == "list":
        lists: list[Any] = [list(row) for row in probs]
        if odd and rows:
            lists[rng.integers(rows)] = _pick(
                rng, [None, [], [0.5], [None, 1.0], [1.0, 0, 0, 0, 0]]
            )
        columns = [("prob", _make_list(lists, classes, rng))]
    elif kind == "columns":
        columns = [(f"prob_{'abcd'[code]}", pa.array(probs[:, code])) for code in range(classes)]
    elif kind == "score":
        columns = [("score", pa.array(probs[:, 0], from_pandas=odd))]
    elif kind == "text":
        values = [_pick(rng, TEXTS if odd else [b"a", b"b", b"c"]) for _ in range(rows)]
        columns = [("pred", _make_text(values, rng))]
    elif kind in ("number", "std"):
        values = rng.normal(size=rows)
        if odd and rows:
            values[rng.integers(rows)] = _number(rng)
        columns = [("pred", pa.array(values))]
        columns += [("pred_std", pa.array(np.abs(values)))] * (kind == "std")
    elif kind == "any":
        columns = [(_pick(rng, ["pred", "prob", "score", "prob_a"]), make_column(rng, rows))]
    if kind in ("list", "columns", "score") and rng.random() < 0.2:
        columns.append(("pred", make_column(rng, rows)))
    return columns


def make_column(rng: np.random.Generator, rows: int) -> pa.Array:
    """A column of any type, with values that are allowed there and expected by nobody."""
    makers = [
        lambda: pa.nulls(rows),
        lambda: pa.nulls(rows, pa.string()),
        lambda: pa.nulls(rows, pa.float64()),
        lambda: pa.array([_pick(rng, NUMBERS) for _ in range(rows)], pa.float64()),
        lambda: pa.array(rng.normal(size=rows).astype(np.float16), pa.float16()),
        lambda: pa.array([_pick(rng, WHOLE) for _ in range(rows)], pa.int64()),
        lambda: pa.array(rng.integers(0, 2**63, rows).astype(np.uint64) * 2 + 1),
        lambda: pa.array(rng.integers(0, 3, rows), pa.int8()),
        lambda: pa.array([_pick(rng, [True, False, None]) for _ in range(rows)], pa.bool_()),
        lambda: _make_text([_pick(rng, TEXTS) for _ in range(rows)], rng),
        lambda: _make_text([_pick(rng, [b"a", b"b", b""]) for _ in range(rows)], rng),
        lambda: pa.array([_pick(rng, TEXTS) for _ in range(rows)], pa.binary()),
        lambda: pa.array([b"ab"] * rows, pa.binary(2)),
        lambda: pa.array([_pick(rng, ["a", "b", None]) for _ in range(rows)]).dictionary_encode(),
        lambda: pa.array([_pick(rng, [1, 2, None]) for _ in range(rows)]).dictionary_encode(),
        lambda: pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, 3, rows), pa.int32()), pa.array(["a", None, "a"])
        ),
        lambda: pa.array([[]] * rows, pa.list_(pa.null())),
        lambda: pa.array([[]] * rows, pa.list_(pa.float64())),
        lambda: pa.array([None] * rows, pa.list_(pa.float64())),
        lambda: pa.array([[1.0] * int(rng.integers(0, 3)) for _ in range(rows)]),
        lambda: pa.array([[_number(rng), 1.0] for _ in range(rows)], pa.large_list(pa.float64())),
        lambda: pa.array([[1.0, None] for _ in range(rows)], pa.list_(pa.float64(), 2)),
        lambda: pa.array([[]] * rows, pa.list_(pa.float64(), 0)),
        lambda: pa.array([["a"]] * rows, pa.list_(pa.string())),
        lambda: pa.array([[[1.0], []]] * rows, pa.list_(pa.list_(pa.float64()))),
        lambda: pa.array([[True, False]] * rows, pa.list_(pa.bool_())),
        lambda: pa.array([[Decimal("1.5")]] * rows, pa.list_(pa.decimal128(5, 2))),
        lambda: pa.array([{"a": 1}] * rows, pa.struct([("a", pa.int64())])),
        lambda: pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
        lambda: pa.array([Decimal("0.25")] * rows, pa.decimal128(38, 2)),
        lambda: pa.array([Decimal("1e30")] * rows, pa.decimal256(70, 2)),
        lambda: pa.array([datetime(1, 1, 1)] * rows, pa.timestamp("us")),
        lambda: pa.array([2**62] * rows, pa.int64()).cast(pa.timestamp("ns", "Nowhere/Never")),
        lambda: pa.array([2**62] * rows, pa.int64()).cast(pa.timestamp("s")),
        lambda: pa.array([2**31 - 1] * rows, pa.int32()).cast(pa.date32()),
        lambda: pa.array([timedelta(days=1)] * rows, pa.duration("us")),
        lambda: pa.array([1] * rows, pa.int64()).cast(pa.time64("us")),
        lambda: _make_uuids(rows),
        lambda: pa.array(["{}"] * rows, pa.large_string()),
    ]  # fmt: skip
    return _pick(rng, makers)()


def _make_uuids(rows: int) -> pa.Array:
    """An extension type, where this version of Arrow knows it."""
    storage = pa.array([b"0" * 16] * rows, pa.binary(16))
    return pa.ExtensionArray.from_storage(pa.uuid(), storage) if hasattr(pa, "uuid") else storage


def _make_text(values: list[bytes], rng: np.random.Generator) -> pa.Array:
    """A column of text that nobody has checked to be UTF-8."""
    size = np.int64 if rng.random() < 0.2 else np.int32
    offsets = np.cumsum([0, *map(len, values)]).astype(size)
    kind = pa.large_string() if size is np.int64 else pa.string()
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def _make_list(lists: list[Any], width: int, rng: np.random.Generator) -> pa.Array:
    number = _pick(rng, [pa.float64(), pa.float32()])
    if all(each is not None and len(each) == width for each in lists) and rng.random() < 0.3:
        return pa.array(lists, pa.list_(number, width))
    return pa.array(lists, pa.list_(number))


def _choose_options(rng: np.random.Generator, names: list[str]) -> list[str]:
    """Options of `init`, sensible or not."""
    options = ["--seed", "1"]
    columns = [name for name in names if _is_argument(name)] or ["x"]
    if rng.random() < 0.3:
        options += ["--group", _pick(rng, [*columns, "predicted", "nowhere"])]
    for flag in ("--id", "--outputs", "--features"):
        if rng.random() < 0.05:
            options += [flag, _pick(rng, columns)]
    if rng.random() < 0.3:
        flag = _pick(rng, list(OPTIONS))
        options += [flag, _pick(rng, OPTIONS[flag])]
    return options


def _write(table: pa.Table, folder: Path, rng: np.random.Generator) -> str:
    """The address of the table in a file, or of what is left of it."""
    roll = rng.random()
    name = _pick(rng, ["pool", "pool", "pool", "p*", "p q", "é", "-"])
    if roll < 0.1:
        return _write_text(table, folder / name, rng)
    if 0.3 < roll < 0.4:
        return _write_other(table, folder / name, rng)
    path = folder / f"{name}.parquet"
    if roll < 0.2:
        metadata = [{b"pandas": b"{"}, {b"pandas": b"[]"}, {b"": b""}, {b"ARROW:schema": b"AAAA"}]
        metadata += [{b"huggingface": text} for text in _name_classes(table)]
        table = table.replace_schema_metadata(_pick(rng, metadata))
    try:
        pq.write_table(
            table,
            path,
            row_group_size=int(rng.choice([1, 5, 1000])),
            compression=_pick(rng, ["snappy", "none", "zstd"]),
            store_schema=rng.random() < 0.8,
            use_dictionary=rng.random() < 0.7,
        )
    except (pa.ArrowException, ValueError):
        # A table that Parquet cannot hold.
        path.write_bytes(b"PAR1PAR1")
    if roll > 0.85:
        path.write_bytes(damage(path.read_bytes(), rng))
    if roll < 0.25:
        (folder / "parts").mkdir()
        path.rename(folder / "parts" / "a.parquet")
        other = _make_table(rng) if rng.random() < 0.2 else table.slice(0, 0)
        try:
            pq.write_table(other, folder / "parts" / "b.parquet")
        except (pa.ArrowException, ValueError):
            (folder / "parts" / "b.parquet").write_bytes(b"")
        return str(folder / "parts")
    return str(path)


def _write_text(table: pa.Table, path: Path, rng: np.random.Generator) -> str:
    """The table as CSV or JSON lines, or text that is neither."""
    path = path.with_suffix(_pick(rng, [".csv", ".tsv", ".jsonl"]))
    if path.suffix == ".jsonl":
        lines = [json.dumps(row, default=repr) for row in _to_rows(table)]
        content = "\n".join(lines).encode(errors="replace")
    else:
        try:
            sink = pa.BufferOutputStream()
            pyarrow.csv.write_csv(table, sink)
            content = sink.getvalue().to_pybytes()
        except pa.ArrowException:
            content = b"id,pred\na,b\n" * 3
    path.write_bytes(damage(content, rng) if rng.random() < 0.5 else content)
    return str(path)


def _write_other(table: pa.Table, path: Path, rng: np.random.Generator) -> str:
    """The table as Arrow, as an array of JSON objects, or as something that looks like them."""
    path = path.with_suffix(_pick(rng, [".arrow", ".feather", ".json", ".csv", ".txt"]))
    sink = pa.BufferOutputStream()
    kind = _pick(rng, ["file", "stream", "array", "deep", "old"])
    if kind == "array":
        content = json.dumps(_to_rows(table), default=repr).encode(errors="replace")
    elif kind == "deep":
        content = b'[{"id": ' + b'{"a": ' * 50_000 + b"1" + b"}" * 50_000 + b"}]"
    elif kind == "old":
        content = b"FEA1" + bytes(64)
    else:
        make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with make(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
        content = sink.getvalue().to_pybytes()
    path.write_bytes(damage(content, rng) if rng.random() < 0.5 else content)
    return str(path)


def _name_classes(table: pa.Table) -> list[bytes]:
    """Values that may stand under the key of Hugging Face."""
    names = [["a", "b"], ["a", "a"], [1, 2], "ab", ["\x1b[31m", "*"], [], ["x" * 5000, "y"]]
    features = [
        {column: {"names": each, "_type": "ClassLabel"} for column in table.column_names}
        for each in names
    ]
    written = [json.dumps({"info": {"features": each}}) for each in features]
    return [b"{", b"[" * 50_000, *(each.encode(errors="replace") for each in written)]


def _to_rows(table: pa.Table) -> list[dict[str, Any]]:
    try:
        return table.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError, UnicodeDecodeError):
        return [{"id": 1, "pred": [1]}, {"id": {}, "pred": None}, {}]


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with flipped, lost or zeroed bytes."""
    data = bytearray(content)
    if not data:
        return b"\x00"
    match rng.integers(4):
        case 0:
            for _ in range(rng.integers(1, 4)):
                data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        case 1:
            return bytes(data[: rng.integers(len(data))])
        case 2:
            start = int(rng.integers(len(data)))
            data[start : start + 64] = bytes(len(data[start : start + 64]))
        case 3:
            # The footer, where lengths and offsets stand.
            for _ in range(rng.integers(1, 4)):
                data[-1 - int(rng.integers(min(len(data), 400)))] = int(rng.integers(256))
    return bytes(data)


def _is_argument(name: str) -> bool:
    """Whether a command line can hold the name."""
    return bool(name) and "\x00" not in name


def _number(rng: np.random.Generator) -> float:
    value = _pick(rng, NUMBERS)
    return np.nan if value is None else value


def _pick(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]
