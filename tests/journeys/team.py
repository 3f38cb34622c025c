"""The pool that a team labels, and what is true of it."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CLASSES = ("complaint", 'praise, or "thanks"', "вопрос")
ITEMS = 40


def list_texts() -> list[str]:
    return [
        f'=message {number}\nwith a "quote", a tab\t and вопрос {number}' for number in range(ITEMS)
    ]


def list_truth() -> list[str]:
    chance = random.Random(5)
    return [chance.choice(CLASSES) for _ in range(ITEMS)]


def write_pool(path: Path) -> None:
    """Forty texts whose class the model gets wrong in about a fifth of the cases."""
    chance = random.Random(6)
    truth = list_truth()
    pred = [name if chance.random() < 0.8 else chance.choice(CLASSES) for name in truth]
    # Every class is predicted.
    pred[:3] = CLASSES
    texts = list_texts()
    table = pa.table(
        {
            "id": [f"ticket/{number}" for number in range(ITEMS)],
            "text": texts,
            "no. of words": [len(text.split()) for text in texts],
            "pred": pred,
        }
    )
    pq.write_table(table, path)
