"""A further model that is another one of the study with a threshold of its own.

It is written `model@threshold:0.8`. Its file holds the same outputs as that model's; the ledger has
the threshold in the address of the file: `study://models/strict.parquet?of=model&...`.
"""

import math
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode

from activetest.errors import ChoiceError
from activetest.pool.schema import Schema

_WRITTEN = re.compile(r"(?P<model>[A-Za-z][A-Za-z0-9_.-]*)@(?P<rule>[a-z]+):(?P<value>[^/\\]*)")


@dataclass(frozen=True)
class OwnThreshold:
    """A threshold of a model's own.

    of      name of the model whose probabilities decide
    value   the least probability at which the class is predicted
    chosen  that class
    """

    of: str
    value: float
    chosen: str = ""

    def __str__(self) -> str:
        """As it is given to `add`."""
        return f"{self.of}@threshold:{self.value!r}"

    @property
    def roles(self) -> dict[str, Any]:
        """Entries of the model's [pool] that differ from those of the study."""
        return {"threshold": self.value, "thresholded": self.chosen}

    def write(self) -> str:
        """The query behind the address of the model's file in the ledger."""
        return urlencode({"of": self.of, "class": self.chosen, "threshold": repr(self.value)})


def read_source(source: str | None) -> OwnThreshold | None:
    """The threshold in the source of a model, see nouns.study_lists; None where it has none.

    >>> read_source("study://models/strict.parquet?of=model&class=fraud&threshold=0.8")
    OwnThreshold(of='model', value=0.8, chosen='fraud')
    """
    _, mark, query = (source or "").partition("?")
    if not mark:
        return None
    found = {name: values[0] for name, values in parse_qs(query, strict_parsing=True).items()}
    return OwnThreshold(found["of"], float(found["threshold"]), found["class"])


def parse_threshold(given: Any) -> OwnThreshold | None:
    """The threshold of `model@threshold:0.8`, without the class; None for any other text.

    A file of this name is a file. Raises ChoiceError for another rule than a threshold, and for a
    threshold that is no probability between 0 and 1.
    """
    found = _WRITTEN.fullmatch(given) if isinstance(given, str) else None
    if found is None or os.path.lexists(given):
        return None
    model, rule, text = found["model"], found["rule"], found["value"]
    if rule != "threshold":
        raise ChoiceError(
            f"{given!r} names a rule {rule!r}, and there is no such rule",
            f"{model}@threshold:0.8 is {model} with another threshold",
        )
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    check_value(value, text, model)
    return OwnThreshold(model, value)


def check_value(value: float, text: str = "", model: str = "model") -> None:
    """Raises ChoiceError for a threshold that is no probability between 0 and 1.

    text   how it was written
    model  whose threshold it is
    """
    if not 0 < value < 1:
        raise ChoiceError(
            f"the threshold {text or value!r} is no number between 0 and 1",
            "it is the least probability at which the class is predicted, as in "
            f"{model}@threshold:0.8",
        )


def choose_class(schema: Schema) -> str:
    """The class that a threshold decides about in a pool: the positive one, else the second one.

    Raises ChoiceError for a pool of values, of another number of classes than two, or without
    probabilities.
    """
    if schema.task == "regression":
        problem = "a threshold decides between two classes, and the models predict values"
    elif len(schema.classes) != 2:
        count = len(schema.classes)
        problem = f"a threshold decides between two classes, and the pool has {count}"
    elif schema.kind == "pred":
        problem = "a threshold decides by probabilities, and the pool has predicted classes alone"
    else:
        return schema.positive or schema.classes[1]
    raise ChoiceError(problem, "give a file with the outputs of the model")
