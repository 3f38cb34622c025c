"""Whoever does what a hint about columns says succeeds; each that names a setting is tried."""

import ast
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest
from activetest.errors import ActivetestError
from activetest.pool.pool import Pool

ROWS = 20
IDS = [f"i{row}" for row in range(ROWS)]
WORDS = ["a", "b"] * (ROWS // 2)
SHARES = [row / ROWS for row in range(ROWS)]
LISTS = [[0.25, 0.75]] * ROWS
NUMBERS = [10.0 * row for row in range(ROWS)]
WIDE = {"prob_0": [0.25] * ROWS, "prob_1": [0.75] * ROWS}


class Case(NamedTuple):
    """Columns beside ids, the settings that are wrong, and each way to do what the hint says.

    graded is the column that a log calls a grade.
    Settings that are None are left out; those that begin with * rename a column.
    """

    columns: dict[str, Any]
    wrong: dict[str, Any]
    ways: list[dict[str, Any]]
    graded: str | None = None


CLASSES = {"task": "classification"}
LOGITS, CONFIDENCE = {"scale": "logits"}, {"scale": "confidence"}
BELOW = [-each for each in NUMBERS]
ERRORS = {
    "product": Case(
        {"pred": WORDS, "g": WORDS, "h": WORDS},
        {"attributes": ["g*h"]},
        [{"attributes": ["g", "h"]}],
    ),
    "threshold": Case({"pred": WORDS}, {"threshold": 0.3}, [{"threshold": None}]),
    "classes of values": Case(
        {"p": SHARES},
        {"outputs": "p", "classes": ["no", "yes"], "task": "regression"},
        [{"classes": None}, CLASSES],
    ),
    "positive of values": Case(
        {"p": SHARES},
        {"outputs": "p", "positive": "1", "task": "regression"},
        [{"positive": None}, CLASSES],
    ),
    "positive of predicted values": Case(
        {"pred": NUMBERS}, {"positive": "1"}, [{"positive": None}]
    ),
    "text of predicted values": Case(
        {"pred": NUMBERS, "note": WORDS}, {"text": "note"}, [{"text": None}]
    ),
    "text with another role": Case(
        {"pred": WORDS, "note": WORDS}, {"text": "note", "groups": ["note"]}, [{"text": None}]
    ),
    "label of hard labels": Case(
        {"pred": WORDS}, {"attributes": ["label"]}, [{"attributes": ["predicted"]}]
    ),
    "confidence of hard labels": Case(
        {"pred": WORDS}, {"groups": ["confidence"]}, [{"groups": ["predicted"]}]
    ),
    "predicted values as groups": Case(
        {"pred": NUMBERS, "band": WORDS}, {"groups": ["predicted"]}, [{"groups": ["band"]}]
    ),
    "no outputs": Case(
        {"verdict": WORDS, "chance": SHARES},
        {},
        [
            {"outputs": "verdict"},
            {"outputs": "chance", **CLASSES},
            {"*verdict": "pred"},
            {"*chance": "score"},
        ],
    ),
    "gaps": Case({"score": [None, *SHARES[1:]]}, {}, [{"judge": "score"}]),
    "gaps of values": Case({"pred": [None, *NUMBERS[1:]]}, {}, [{"judge": "pred"}]),
    "list": Case({"scores": LISTS}, {}, [{"outputs": "scores"}]),
    "single": Case(
        {"prob_spam": SHARES},
        {},
        [{"outputs": "prob_spam", **CLASSES, "classes": ["not spam", "spam"]}],
    ),
    "lists as values": Case(
        {"prob": LISTS, "guess": NUMBERS},
        {"task": "regression", "outputs": "prob"},
        [{"outputs": "guess"}, {"task": None}],
    ),
    "words as values": Case({"pred": WORDS}, {"task": "regression"}, [CLASSES]),
    "too many classes": Case(
        WIDE, {"classes": ["a", "b", "c"]}, [{"classes": ["a", "b"]}, {"classes": None}]
    ),
    "class twice": Case(WIDE, {"classes": ["a", "a"]}, [{"classes": ["a", "b"]}]),
    "unknown positive": Case({"score": SHARES}, {"positive": "yes"}, [{"classes": ["no", "yes"]}]),
    "one number in prob": Case(
        {"prob": SHARES}, {}, [{"outputs": "prob", "task": "classification"}]
    ),
    "threshold outside": Case({"score": SHARES}, {"threshold": 2}, [{"threshold": 0.5}]),
    "score above one": Case(
        {"score": NUMBERS}, {"task": "classification"}, [{"task": "regression"}, LOGITS]
    ),
    "logits of all classes": Case({"prob_0": NUMBERS, "prob_1": BELOW}, {}, [LOGITS]),
    "scale of probabilities": Case(WIDE, LOGITS, [{"scale": None}]),
    "scale of hard labels": Case(
        {"pred": WORDS, "chance": NUMBERS},
        LOGITS,
        [{"scale": None}, {"outputs": "chance", **CLASSES}],
    ),
    "confidence alone": Case(
        {"score": SHARES, "said": WORDS},
        {"outputs": "score", **CONFIDENCE},
        [{"outputs": ["score", "said"]}],
    ),
    "confidence of words": Case(
        {"score": SHARES, "said": WORDS, "note": WORDS},
        {"outputs": ["note", "said"], **CONFIDENCE},
        [{"outputs": ["score", "said"]}],
    ),
    "confidence in one of three": Case(
        {"score": SHARES, "pred": [*WORDS[1:], "c"]},
        {"outputs": ["score", "pred"], **CONFIDENCE},
        [{"outputs": "pred", "scale": None}],
    ),
    "confidence in one throughout": Case(
        {"score": SHARES, "pred": WORDS[:1] * ROWS},
        {"outputs": ["score", "pred"], **CONFIDENCE},
        [{"classes": [WORDS[0], "other"]}],
    ),
    "unknown class": Case(
        {"pred": WORDS}, {"classes": ["a", "c"]}, [{"classes": ["a", "b"]}, {"classes": None}]
    ),
    "other predictions": Case(
        {**WIDE, "pred": WORDS},
        {},
        [{"classes": ["a", "b"]}, {"outputs": ["prob_0", "prob_1"]}],
    ),
}
NOTICES = {
    "few whole numbers": Case(
        {"pred": [1.0, 2.0, 3.0, 2.0] * (ROWS // 4)}, {}, [{"task": "classification"}]
    ),
    "probabilities": Case(
        {"pred": [WORDS[int(each >= 0.5)] for each in SHARES], "p_fraud": SHARES},
        {},
        [{"outputs": "p_fraud", "task": "classification", "classes": sorted(WORDS[:2])}],
    ),
    "a grade": Case({"score": SHARES}, {}, [{"judge": "score"}], graded="score"),
    "id": Case({"pred": WORDS, "customer": IDS, "id": None}, {}, [{"id": "customer"}]),
    "weight": Case({"pred": WORDS, "weight": NUMBERS}, {}, [{"weight": "weight"}]),
    "group": Case({"pred": WORDS, "region": WORDS}, {}, [{"groups": ["region"]}]),
    "label": Case({"pred": WORDS, "label": NUMBERS}, {}, [{"features": ["label"]}]),
}


def write(folder: Path, case: Case, names: dict[str, str] | None = None) -> Path:
    columns = {"id": IDS} | case.columns
    table = {(names or {}).get(name, name): each for name, each in columns.items() if each}
    notes = {"activetest": json.dumps({"judge": case.graded})} if case.graded else None
    pq.write_table(pa.table(table, metadata=notes), folder / "pool.parquet")
    return folder / "pool.parquet"


def read(path: Path, **choices: Any) -> Pool:
    """The pool, with every value checked."""
    pool = Pool.open(path, **choices)
    for strip in pool.strips():
        pool.read_block(strip)
    return pool


def obey(folder: Path, case: Case, way: dict[str, Any]) -> Pool:
    names = {name[1:]: new for name, new in way.items() if name.startswith("*")}
    choices = {name: each for name, each in way.items() if not name.startswith("*")}
    settings = {name: each for name, each in {**case.wrong, **choices}.items() if each is not None}
    return read(write(folder, case, names), **settings)


def explain(folder: Path, case: Case) -> str:
    """The error for the pool with the wrong settings."""
    with pytest.raises(ActivetestError) as caught:
        read(write(folder, case), **case.wrong)
    return f"{caught.value.problem}\n{caught.value.hint}"


@pytest.mark.parametrize("name", ERRORS)
def test_a_hint_that_is_obeyed_works(tmp_path, name):
    case = ERRORS[name]
    text = explain(tmp_path, case)
    for way in case.ways:
        assert all(each.lstrip("*") in text for each in way if way[each] is not None)
        obey(tmp_path, case, way)


@pytest.mark.parametrize("name", NOTICES)
def test_a_notice_that_is_obeyed_works(tmp_path, name):
    case = NOTICES[name]
    notices = "\n".join(read(write(tmp_path, case), **case.wrong).notices)
    for way in case.ways:
        assert all(each.lstrip("*") in notices for each in way)
        obey(tmp_path, case, way)


def list_patterns(file: str) -> list[str]:
    """A pattern for each text with backticks in a file of the pool, docstrings aside."""
    tree = ast.parse((Path(activetest.__file__).parent / "pool" / file).read_text("utf-8"))
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Expr)
        for part in ast.walk(node)
        if part is not node
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = [re.escape(node.value)]
        elif isinstance(node, ast.JoinedStr):
            parts = [
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*"
                for part in node.values
            ]
        else:
            continue
        if "`" in "".join(parts):
            found.append("".join(parts))
    return found


def test_every_text_that_names_a_setting_is_tried(tmp_path):
    texts = [explain(tmp_path, case) for case in ERRORS.values()]
    for case in NOTICES.values():
        texts += read(write(tmp_path, case), **case.wrong).notices
    for file in ("roles.py", "outputs.py", "suggestions.py", "classes.py"):
        patterns = list_patterns(file)
        assert patterns, file
        untried = [each for each in patterns if not any(re.search(each, text) for text in texts)]
        assert not untried, (file, untried)
