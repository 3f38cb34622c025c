"""Files as people have them: what `inspect` understands, and whether its last line works.

Writes files in the shape of 25 programs and habits (ours, from one seed) into a temporary folder,
runs `activetest inspect` on each, obeys the last line that begins with `activetest init` to the
letter, and compares the predictions that the study then has with those that were written. A row of
the table has:

understood   rows, task and classes of the study that the line makes
asked        whether `inspect` offers several readings, or refuses with a way on: its first words
right        predictions of all items are those that were written; "no": others are; "-": no study
s, MB        processor seconds and memory of `inspect`

With --large, hard predictions of a million items in 10, 1,000 and 100,000 classes as Parquet
instead: processor seconds and memory of `inspect`, beside reading the file with pyarrow once.
"""

import argparse
import contextlib
import gzip
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

CLASSES = ("cat", "dog", "owl")


@dataclass
class Items:
    """N items: what the model says of them, and where a maker writes."""

    folder: Path
    rows: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def __post_init__(self) -> None:
        self.ids = [f"item-{row}" for row in range(self.rows)]
        self.probs = np.round(self.rng.dirichlet([0.6] * 3, self.rows), 4)
        self.pred = [CLASSES[code] for code in self.probs.argmax(axis=1)]
        self.scores = np.round(self.rng.normal(900, 400, self.rows), 2)
        self.chance = np.round(self.rng.beta(0.5, 0.7, self.rows), 4)
        self.truth = self.rng.choice(CLASSES, self.rows).tolist()
        self.amount = np.round(self.rng.gamma(2, 50, self.rows), 2)

    def columns(self, prefix: str = "prob_") -> dict:
        """Ids, predictions, probabilities and a number."""
        probs = {f"{prefix}{name}": self.probs[:, k] for k, name in enumerate(CLASSES)}
        return {"id": self.ids, "pred": self.pred, **probs, "amount": self.amount}

    def write(self, text: str, name: str = "pool.csv", encoding: str = "utf-8") -> Path:
        """A text file."""
        path = self.folder / name
        path.write_bytes(text.encode(encoding))
        return path

    def parquet(self, columns: dict | pa.Table, name: str = "pool.parquet") -> Path:
        """A Parquet file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path)
        return path


def write_csv(columns: dict, comma: str = ",", point: str = ".", index: bool = False) -> str:
    """Lines of a table, as spreadsheets of this country write them."""

    def show(value: object) -> str:
        text = f"{value}" if not isinstance(value, float) else f"{value:.12g}".replace(".", point)
        quoted = any(sign in text for sign in (comma, '"', "\n"))
        return f'"{text.replace(chr(34), chr(34) * 2)}"' if quoted else text

    names = ([""] if index else []) + list(columns)
    lines = [comma.join(names)]
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        cells = [str(row)] if index else []
        lines.append(comma.join(cells + [show(each) for each in values]))
    return "\n".join(lines) + "\n"


Maker = Callable[[Items], tuple[Path, list]]
MAKERS: dict[str, Maker] = {}


def shape(words: str) -> Callable[[Maker], Maker]:
    """Register a maker: it gives the path for the command line, and the predictions in order."""

    def register(maker: Maker) -> Maker:
        MAKERS[words] = maker
        return maker

    return register


def tabled(words: str, **settings) -> None:
    """A CSV of all columns, written so."""
    encoding = settings.pop("encoding", "utf-8")
    rename = settings.pop("rename", str)
    before, after = settings.pop("before", ""), settings.pop("after", "")
    name = settings.pop("name", "pool.csv")

    @shape(words)
    def make(items: Items) -> tuple[Path, list]:
        columns = {rename(key): value for key, value in items.columns().items()}
        text = before + write_csv(columns, **settings) + after
        return items.write(text, name, encoding), items.pred


tabled("CSV: id, pred, prob_CLASS")
tabled("CSV of pandas with its index", index=True)
tabled("CSV of R, row names first", index=True, rename=lambda name: name.replace("_", "."))
tabled("Excel in German: semicolons and decimal commas", comma=";", point=",")
tabled("Excel: sep=; in the first line", comma=";", before="sep=;\n")
tabled("CSV: a title and an empty line first", before="Predictions of March\n\n")
tabled("CSV: comments first", before="# model v3\n# 2026-03-01\n")
tabled("CSV: rows of commas at the end", after=",,,,,\n,,,,,\n")
tabled("CSV: a line of totals at the end", after="Total,,,,,20000\n")
tabled("CSV with a byte-order mark", encoding="utf-8-sig")
tabled("CSV in UTF-16", encoding="utf-16")
tabled("tabs", comma="\t", name="pool.tsv")
tabled("warehouse export: names in capitals", rename=str.upper)
tabled("semicolons, points", comma=";")


@shape("CSV in Windows-1252")
def make_latin(items: Items) -> tuple[Path, list]:
    names = {"cat": "kätzchen", "dog": "hündchen", "owl": "käuzchen"}
    pred = [names[name] for name in items.pred]
    return items.write(write_csv({"id": items.ids, "pred": pred}), encoding="cp1252"), pred


@shape("CSV, zipped with gzip")
def make_gzip(items: Items) -> tuple[Path, list]:
    path = items.folder / "pool.csv.gz"
    path.write_bytes(gzip.compress(write_csv(items.columns()).encode()))
    return path, items.pred


@shape("scikit-learn: predict_proba as columns 0, 1, 2 beside y_pred and y_true")
def make_sklearn(items: Items) -> tuple[Path, list]:
    probs = {str(k): items.probs[:, k] for k in range(3)}
    pred = items.probs.argmax(axis=1).tolist()
    truth = [CLASSES.index(name) for name in items.truth]
    columns = {"id": items.ids, "y_true": truth, "y_pred": pred, **probs}
    return items.write(write_csv(columns)), [str(each) for each in pred]


@shape("y_true, y_pred and y_pred_proba of two classes")
def make_binary(items: Items) -> tuple[Path, list]:
    pred = (items.chance >= 0.5).astype(int).tolist()
    truth = (items.rng.random(items.rows) < items.chance).astype(int).tolist()
    columns = {"id": items.ids, "y_true": truth, "y_pred": pred, "y_pred_proba": items.chance}
    return items.write(write_csv(columns)), [str(each) for each in pred]


@shape("a fraud score in 0 to 1 alone")
def make_score(items: Items) -> tuple[Path, list]:
    pred = ["fraud" if each >= 0.5 else "not fraud" for each in items.chance]
    return items.write(write_csv({"id": items.ids, "fraud_score": items.chance})), pred


@shape("predicted class and its confidence, three classes")
def make_confidence(items: Items) -> tuple[Path, list]:
    columns = {"id": items.ids, "pred_label": items.pred, "confidence": items.probs.max(axis=1)}
    return items.write(write_csv(columns)), items.pred


@shape("probabilities as percentages: 87.5 %")
def make_percentages(items: Items) -> tuple[Path, list]:
    shown = {
        f"prob_{name}": [f"{100 * p:.2f} %" for p in items.probs[:, k]]
        for k, name in enumerate(CLASSES)
    }
    return items.write(write_csv({"id": items.ids, "pred": items.pred, **shown})), items.pred


@shape("class codes as doubles: 0.0, 1.0, 2.0")
def make_doubles(items: Items) -> tuple[Path, list]:
    codes = items.probs.argmax(axis=1).astype(float)
    columns = {"id": items.ids, "prediction": codes, "amount": items.amount}
    return items.parquet(columns), [f"{int(each)}" for each in codes]


@shape("logits in columns")
def make_logits(items: Items) -> tuple[Path, list]:
    logits = np.log(np.maximum(items.probs, 1e-4)) + 1.5
    columns = {f"logit_{name}": np.round(logits[:, k], 4) for k, name in enumerate(CLASSES)}
    pred = [CLASSES[k] for k in logits.argmax(axis=1)]
    return items.write(write_csv({"id": items.ids, **columns})), pred


@shape("lists of probabilities in cells, and pred")
def make_lists(items: Items) -> tuple[Path, list]:
    lists = [json.dumps(row) for row in items.probs.tolist()]
    pred = [str(code) for code in items.probs.argmax(axis=1)]
    return items.write(write_csv({"id": items.ids, "prob": lists})), pred


@shape("objects of probabilities in cells")
def make_objects(items: Items) -> tuple[Path, list]:
    cells = [json.dumps(dict(zip(CLASSES, row, strict=True))) for row in items.probs.tolist()]
    return items.write(write_csv({"id": items.ids, "probabilities": cells})), items.pred


@shape("long table: a row for each item and class")
def make_long(items: Items) -> tuple[Path, list]:
    columns = {
        "id": np.repeat(items.ids, 3).tolist(),
        "class": list(CLASSES) * items.rows,
        "probability": items.probs.reshape(-1),
    }
    return items.write(write_csv(columns)), items.pred


@shape("predictions of two models in one file")
def make_models(items: Items) -> tuple[Path, list]:
    other = items.rng.choice(CLASSES, items.rows).tolist()
    columns = {"id": items.ids, "pred_small": items.pred, "pred_large": other}
    return items.write(write_csv(columns)), items.pred


@shape("predicted numbers, a column of prices")
def make_numbers(items: Items) -> tuple[Path, list]:
    columns = {"id": items.ids, "pred": items.scores, "rooms": items.amount}
    return items.write(write_csv(columns)), items.scores.tolist()


@shape("predicted numbers in German: 1.234,56")
def make_german(items: Items) -> tuple[Path, list]:
    def show(value: float) -> str:
        return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))

    values = [round(float(each) + 1000, 2) for each in items.scores]
    columns = {"id": items.ids, "pred": [show(each) for each in values]}
    return items.write(write_csv(columns, comma=";")), values


@shape("predicted numbers with a currency: $1,234.56")
def make_currency(items: Items) -> tuple[Path, list]:
    values = [round(float(each) + 2000, 2) for each in items.scores]
    columns = {"id": items.ids, "pred": [f"${each:,.2f}" for each in values]}
    return items.write(write_csv(columns)), values


@shape("ids with leading zeros")
def make_zeros(items: Items) -> tuple[Path, list]:
    ids = [f"{row:06d}" for row in range(items.rows)]
    return items.write(write_csv(items.columns() | {"id": ids})), items.pred


@shape("texts with commas and line breaks, and pred")
def make_texts(items: Items) -> tuple[Path, list]:
    texts = [f'He said "no", number {row},\nand went away again' for row in range(items.rows)]
    columns = {"id": items.ids, "text": texts, "pred": items.pred}
    return items.write(write_csv(columns)), items.pred


@shape("Parquet: list of probabilities and pred")
def make_parquet(items: Items) -> tuple[Path, list]:
    codes = items.probs.argmax(axis=1)
    columns = {"id": items.ids, "prob": items.probs.tolist(), "pred": codes}
    return items.parquet(columns), [str(each) for each in codes]


@shape("Parquet: struct of probabilities")
def make_struct(items: Items) -> tuple[Path, list]:
    rows = [dict(zip(CLASSES, row, strict=True)) for row in items.probs.tolist()]
    return items.parquet({"id": items.ids, "probability": rows}), items.pred


@shape("Spark ML: vectors of probabilities, prediction as a double")
def make_spark(items: Items) -> tuple[Path, list]:
    codes = items.probs.argmax(axis=1).astype(float)
    vector = [
        {"type": 1, "size": None, "indices": None, "values": row} for row in items.probs.tolist()
    ]
    kind = pa.struct(
        [
            ("type", pa.int8()),
            ("size", pa.int32()),
            ("indices", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float64())),
        ]
    )
    table = pa.table({"id": items.ids, "probability": pa.array(vector, kind), "prediction": codes})
    folder = items.folder / "predictions"
    items.parquet(table, "predictions/part-00000-abc.snappy.parquet")
    (folder / "_SUCCESS").touch()
    return folder, [f"{int(each)}" for each in codes]


@shape("folder partitioned by region")
def make_partitions(items: Items) -> tuple[Path, list]:
    table, half = pa.table(items.columns()), items.rows // 2
    items.parquet(table.slice(0, half), "pool/region=north/part-0.parquet")
    items.parquet(table.slice(half), "pool/region=south/part-0.parquet")
    return items.folder / "pool", items.pred


@shape("folder with hidden folders and checkpoints")
def make_checkpoints(items: Items) -> tuple[Path, list]:
    table = pa.table(items.columns())
    items.parquet(table, "pool/a.parquet")
    items.parquet(table.slice(0, 9), "pool/.ipynb_checkpoints/a-checkpoint.parquet")
    items.parquet(table.slice(0, 9), "pool/_temporary/0/b.parquet")
    return items.folder / "pool", items.pred


@shape("Hugging Face: Parquet with ClassLabel codes")
def make_class_labels(items: Items) -> tuple[Path, list]:
    codes = items.probs.argmax(axis=1)
    about = {"_type": "ClassLabel", "names": list(CLASSES)}
    content = json.dumps({"info": {"features": {"pred": about}}})
    table = pa.table({"id": items.ids, "pred": codes})
    return items.parquet(table.replace_schema_metadata({"huggingface": content})), items.pred


@shape("Hugging Face: folder of Arrow shards")
def make_shards(items: Items) -> tuple[Path, list]:
    folder, table, half = items.folder / "data", pa.table(items.columns()), items.rows // 2
    folder.mkdir()
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        path = folder / f"data-0000{number}-of-00002.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(part)
    files = [{"filename": each.name} for each in sorted(folder.glob("*.arrow"))]
    (folder / "state.json").write_text(json.dumps({"_data_files": files}))
    (folder / "dataset_info.json").write_text("{}")
    return folder, items.pred


@shape("Parquet of pandas with __index_level_0__")
def make_index(items: Items) -> tuple[Path, list]:
    table = pa.table(items.columns() | {"__index_level_0__": np.arange(items.rows)})
    return items.parquet(table), items.pred


@shape("Parquet with dictionaries and binary ids")
def make_dictionaries(items: Items) -> tuple[Path, list]:
    ids = pa.array([each.encode().ljust(16, b"\x01") for each in items.ids], pa.binary(16))
    pred = pa.array(items.pred).dictionary_encode()
    return items.parquet(pa.table({"id": ids, "pred": pred})), items.pred


@shape("Feather")
def make_feather(items: Items) -> tuple[Path, list]:
    path = items.folder / "pool.feather"
    feather.write_feather(pa.table(items.columns()), str(path))
    return path, items.pred


def list_records(items: Items) -> list[dict]:
    """A dictionary for each item."""
    columns = {name: np.asarray(each).tolist() for name, each in items.columns().items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def written(words: str, name: str, write: Callable[[list[dict]], object], lines: bool = False):
    """JSON: what write makes of the records, or a line for each."""

    @shape(words)
    def make(items: Items) -> tuple[Path, list]:
        content = write(list_records(items))
        text = "\n".join(map(json.dumps, content)) + "\n" if lines else json.dumps(content)
        return items.write(text, name), items.pred


written("JSON Lines", "pool.jsonl", list, lines=True)
written("JSON: an array of objects", "pool.json", list)
written(
    "JSON of pandas: columns",
    "pool.json",
    lambda rows: {key: {str(k): row[key] for k, row in enumerate(rows)} for key in rows[0]},
)
written(
    "JSON of pandas: split",
    "pool.json",
    lambda rows: {
        "columns": list(rows[0]),
        "index": list(range(len(rows))),
        "data": [list(row.values()) for row in rows],
    },
)
written("JSON: rows under a key", "pool.json", lambda rows: {"model": "v3", "results": rows})
written(
    "JSON: from id to answer", "pool.json", lambda rows: {row["id"]: row["pred"] for row in rows}
)
written(
    "JSON Lines: {class: probability}",
    "pool.jsonl",
    lambda rows: [
        {"id": row["id"], "probs": {name: row[f"prob_{name}"] for name in CLASSES}} for row in rows
    ],
    lines=True,
)


@shape("lm-eval: samples of a multiple-choice task")
def make_lm_eval(items: Items) -> tuple[Path, list]:
    right = items.rng.integers(3, size=items.rows)
    rows = [
        {
            "doc_id": row,
            "doc": {"question": f"question {row} of many"},
            "target": str(right[row]),
            "arguments": [["q", f" {name}"] for name in CLASSES],
            "filtered_resps": [[float(np.log(p + 1e-4)), False] for p in items.probs[row]],
            "acc": float(items.probs[row].argmax() == right[row]),
        }
        for row in range(items.rows)
    ]
    text = "\n".join(map(json.dumps, rows)) + "\n"
    path = items.write(text, "samples_animals_2026-03-01T00-00-00.jsonl")
    return path, items.pred


@shape("promptfoo: CSV of results")
def make_promptfoo(items: Items) -> tuple[Path, list]:
    passed = ["[PASS]" if each > 0.5 else "[FAIL]" for each in items.chance]
    columns = {
        "question": [f"question {row}, please" for row in range(items.rows)],
        "[openai:gpt] Answer: {{question}}": [f"{each} some words" for each in passed],
    }
    return items.write(write_csv(columns)), ["1" if each == "[PASS]" else "0" for each in passed]


@shape("OpenAI Evals: log of a match")
def make_evals(items: Items) -> tuple[Path, list]:
    lines: list[dict] = [{"spec": {"completion_fns": ["gpt"], "eval_name": "animals.dev.v0"}}]
    for row, each in enumerate(items.chance):
        data = {"correct": bool(each > 0.5), "expected": "cat", "picked": "cat"}
        event = {"run_id": "1", "event_id": row, "sample_id": f"animals.dev.{row}"}
        lines.append(event | {"type": "match", "data": data})
    text = "\n".join(map(json.dumps, lines)) + "\n"
    return items.write(text, "log.jsonl"), ["1" if each > 0.5 else "0" for each in items.chance]


@shape("a judge's scores of 1 to 5, some missing")
def make_judge(items: Items) -> tuple[Path, list]:
    grades = items.rng.integers(1, 6, items.rows)
    shown = ["" if row % 10 == 0 else str(each) for row, each in enumerate(grades)]
    answers = [f"an answer of the model, number {row}" for row in range(items.rows)]
    columns = {"id": items.ids, "answer": answers, "judge_score": shown}
    kept = [float(each) for row, each in enumerate(grades) if row % 10]
    return items.write(write_csv(columns)), kept


@shape("a judge's verdicts pass and fail")
def make_verdicts(items: Items) -> tuple[Path, list]:
    verdicts = ["pass" if each > 0.5 else "fail" for each in items.chance]
    return items.write(write_csv({"id": items.ids, "judge_verdict": verdicts})), verdicts


@shape("the truth beside the prediction: label and predicted_label")
def make_truth(items: Items) -> tuple[Path, list]:
    columns = {"id": items.ids, "label": items.truth, "predicted_label": items.pred}
    return items.write(write_csv(columns)), items.pred


def spread(items: Items, pattern: str) -> dict:
    """The probabilities, in columns called so."""
    return {pattern.format(name): items.probs[:, k] for k, name in enumerate(CLASSES)}


# {shape: columns beside ids}, whose predictions are those of the items.
NAMED: dict[str, Callable[[Items], dict]] = {
    "German: Vorhersage, Tatsächlich, Kundennummer": lambda items: {
        "Kundennummer": items.ids,
        "Vorhersage": items.pred,
        "Tatsächlich": items.truth,
    },
    "French: probabilité_CLASS, étiquette, identifiant": lambda items: {
        "identifiant": items.ids,
        **spread(items, "probabilité_{}"),
        "étiquette": items.truth,
    },
    "Dutch: voorspelling, kans, werkelijk": lambda items: {
        "id": items.ids,
        "voorspelling": items.pred,
        "kans": items.probs.max(axis=1),
        "werkelijk": items.truth,
    },
    "SAS: P_, I_, F_": lambda items: {
        **{"id": items.ids, "Kind": items.truth, **spread(items, "P_Kind{}")},
        **{"I_Kind": items.pred, "F_Kind": items.truth},
    },
    "SPSS Modeler: $R-, $RC-": lambda items: {
        **{"id": items.ids, "kind": items.truth},
        **{"$R-kind": items.pred, "$RC-kind": items.probs.max(axis=1)},
    },
    "R, yardstick: .pred_class, .pred_CLASS": lambda items: {
        **{"id": items.ids, "Class": items.truth, ".pred_class": items.pred},
        **spread(items, ".pred_{}"),
    },
    "R, caret: pred, obs, a column for each class, rowIndex": lambda items: {
        **{"pred": items.pred, "obs": items.truth, **spread(items, "{}")},
        "rowIndex": list(range(1, items.rows + 1)),
    },
    "H2O: predict, a column for each class": lambda items: {
        **{"id": items.ids, "predict": items.pred, **spread(items, "{}")}
    },
    "Azure ML: Scored Labels, Scored Probabilities for Class": lambda items: {
        **{"id": items.ids, **spread(items, 'Scored Probabilities for Class "{}"')},
        "Scored Labels": items.pred,
    },
    "KNIME: P (kind=CLASS), Prediction (kind)": lambda items: {
        **{"Row ID": items.ids, "kind": items.truth, **spread(items, "P (kind={})")},
        "Prediction (kind)": items.pred,
    },
    "RapidMiner: confidence(CLASS), prediction(kind)": lambda items: {
        **{"id": items.ids, "kind": items.truth, "prediction(kind)": items.pred},
        **spread(items, "confidence({})"),
    },
    "Orange: Tree, Tree (CLASS)": lambda items: {
        **{"id": items.ids, "kind": items.truth, "Tree": items.pred},
        **spread(items, "Tree ({})"),
    },
    "class and confidence": lambda items: {
        **{"id": items.ids, "class": items.pred, "confidence": items.probs.max(axis=1)}
    },
    "None among the classes": lambda items: {**{"id": items.ids, "pred": items.pred}},
}


def named(words: str, choose: Callable[[Items], dict]) -> None:
    """A CSV of these columns."""

    @shape(words)
    def make(items: Items) -> tuple[Path, list]:
        if words.startswith("None"):
            items.pred = ["None" if name == "owl" else name for name in items.pred]
        return items.write(write_csv(choose(items))), items.pred


for each in NAMED.items():
    named(*each)


@shape("Spanish: precio_predicho, precio_real")
def make_spanish(items: Items) -> tuple[Path, list]:
    prices = {"precio_predicho": items.scores, "precio_real": items.scores[::-1]}
    return items.write(write_csv({"id": items.ids, **prices})), items.scores.tolist()


@shape("BigQuery ML: predicted_kind_probs, a list of label and prob")
def make_bigquery(items: Items) -> tuple[Path, list]:
    rows = [
        {"id": id, "kind": truth, "predicted_kind": pred}
        | {"predicted_kind_probs": [{"label": a, "prob": b} for a, b in sort_probs(row)]}
        for id, truth, pred, row in zip(
            items.ids, items.truth, items.pred, items.probs.tolist(), strict=True
        )
    ]
    return items.write("\n".join(map(json.dumps, rows)), "pool.jsonl"), items.pred


@shape("zero-shot: lists of labels and scores, the likeliest first")
def make_zero_shot(items: Items) -> tuple[Path, list]:
    rows = []
    for id, row in zip(items.ids, items.probs.tolist(), strict=True):
        labels, scores = zip(*sort_probs(row), strict=True)
        rows.append({"id": id, "labels": labels, "scores": scores})
    return items.write("\n".join(map(json.dumps, rows)), "pool.jsonl"), items.pred


def sort_probs(row: list[float]) -> list[tuple[str, float]]:
    """Classes with their probabilities, the likeliest first."""
    return sorted(zip(CLASSES, row, strict=True), key=lambda pair: -pair[1])


@shape("percentages of all classes without a sign")
def make_bare_percentages(items: Items) -> tuple[Path, list]:
    shares = {name: 100 * values for name, values in spread(items, "P({})").items()}
    return items.write(write_csv({"id": items.ids, **shares})), items.pred


@shape("a row of units below the header")
def make_units(items: Items) -> tuple[Path, list]:
    header, rest = write_csv(items.columns()).split("\n", 1)
    return items.write(f"{header}\n-,name,0-1,0-1,0-1,EUR\n{rest}"), items.pred


@shape("two exports in one file: the header again")
def make_second_header(items: Items) -> tuple[Path, list]:
    lines = write_csv(items.columns()).splitlines()
    half = items.rows // 2
    return items.write("\n".join([*lines[:half], lines[0], *lines[half:], ""])), items.pred


def worked(words: str, before: list[list], sheets: tuple[str, ...] = ("Sheet1",)) -> None:
    """A workbook whose last sheet has the table."""

    @shape(words)
    def make(items: Items) -> tuple[Path, list]:
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for name in sheets:
            sheet = book.create_sheet(name)
            if name != sheets[-1]:
                sheet.append(["notes"])
        columns = {name: np.asarray(each).tolist() for name, each in items.columns().items()}
        for line in [*before, list(columns), *map(list, zip(*columns.values(), strict=True))]:
            sheet.append(line)
        path = items.folder / "pool.xlsx"
        book.save(path)
        return path, items.pred


worked("Excel workbook", [])
worked("Excel workbook: a title first", [["Predictions of March"], []])
worked("Excel workbook: the second sheet", [], ("About", "Data"))


def main() -> None:
    """Print the table."""
    benchmark.free_threads()
    options = benchmark.read_options(
        __doc__,
        only="",
        rows=200,
        large=False,
    )
    with tempfile.TemporaryDirectory(prefix="activetest-files-") as room:
        (measure_large if options.large else print_rows)(options, Path(room))


def print_rows(options: argparse.Namespace, room: Path) -> None:
    """A row for every shape."""
    table = benchmark.Table(options, "shape | understood | asked | right | s | MB")
    right = 0
    chosen = [words for words in MAKERS if not options.only or words in options.only.split(",")]
    for number, words in enumerate(chosen):
        folder = room / str(number)
        folder.mkdir()
        cells, fits = try_file(MAKERS[words], Items(folder, options.rows))
        right += fits
        table.add(words, *cells)
    print(f"\n{right} of {len(chosen)} are read as they were written.")


def try_file(maker: Maker, items: Items) -> tuple[list[str], bool]:
    """The cells of a file's row, and whether its predictions are those that were written."""
    path, expected = maker(items)
    there = path.relative_to(items.folder)
    code, text, seconds, memory = run(["inspect", str(there)], items.folder)
    lines = [line.strip() for line in text.splitlines()]
    offered = [line for line in lines if line.startswith("activetest init")]
    asked = ""
    if len(offered) > 1:
        asked = f"{len(offered)} readings"
    if code:
        problem = next((line for line in lines if line.startswith("error:")), f"exit {code}")
        asked = problem[:90].replace("|", "/")
    tail = [f"{seconds:.1f}", f"{memory:.0f}"]
    # A spreadsheet writes one line, which may be folded on the way.
    for line in reversed(offered):
        made, text, _, _ = run(shlex.split(line)[1:], items.folder)
        if made == 0:
            understood, found = read_study(items.folder)
            fits = same(found, expected)
            return [understood, asked, "yes" if fits else "**no**", *tail], fits
        asked += f"; its line fails: {text.strip().splitlines()[-1][:60]}"
    return ["-", asked, "-", *tail], False


def read_study(folder: Path) -> tuple[str, list]:
    """The subject of the study in a folder, in words, and the model's predictions."""
    from activetest.study.stored import StoredStudy

    with contextlib.chdir(folder):
        cache = StoredStudy.open().cache(auxiliary=False)
        pred = cache.rows(0, cache.size).outputs.pred
        if not cache.classes:
            return f"{cache.size} values", pred.tolist()
        named = ", ".join(cache.classes[:4])
        return f"{cache.size} of {named}", [cache.classes[code] for code in pred]


def same(found: list, expected: list) -> bool:
    """Whether these are the same predictions."""
    if len(found) != len(expected):
        return False
    if isinstance(expected[0], float):
        return bool(found and isinstance(found[0], float) and np.allclose(found, expected))
    return list(map(str, found)) == expected


def run(arguments: list[str], folder: Path) -> tuple[int, str, float, float]:
    """Exit code, output, processor seconds and MB of `activetest` in a folder."""
    output = folder / ".output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "activetest", *arguments],
            cwd=folder,
            env=os.environ | {"COLUMNS": "400", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
    text = output.read_text(errors="replace")
    output.unlink()
    seconds = used.ru_utime + used.ru_stime
    return os.waitstatus_to_exitcode(status), text, seconds, used.ru_maxrss / 1024


def measure_large(options: argparse.Namespace, room: Path) -> None:
    """Rows about a million hard predictions of few and many classes."""
    table = benchmark.Table(options, "classes | inspect, s | MB | one scan, s")
    rng, size = np.random.default_rng(1), 1_000_000
    for classes in (10, 1_000, 100_000):
        codes = rng.integers(classes, size=size)
        pred = pa.array([f"class {code}" for code in range(classes)]).take(pa.array(codes))
        ids = pa.array([f"item-{row}" for row in range(size)])
        pq.write_table(pa.table({"id": ids, "pred": pred}), room / "pool.parquet")
        code, _, seconds, memory = run(["inspect", "pool.parquet"], room)
        scan, failed = measure_scan(room / "pool.parquet"), " (fails)" * bool(code)
        table.add(f"{classes:,}", f"{seconds:.1f}{failed}", f"{memory:.0f}", f"{scan:.2f}")


def measure_scan(path: Path) -> float:
    """Processor seconds of reading all columns of a file with pyarrow."""
    before = os.times()
    for batch in pq.ParquetFile(path).iter_batches():
        batch.validate()
    after = os.times()
    return after.user + after.system - before.user - before.system


if __name__ == "__main__":
    main()
