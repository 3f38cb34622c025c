"""A round as the texts and numbers that the ledger keeps, and back."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from activetest.errors import StudyError
from activetest.ledger.contents import StoredDraw
from activetest.ledger.packing import (
    compress_matrices,
    decompress_matrices,
    pack_numbers,
    unpack_numbers,
    unpack_several,
)
from activetest.nouns.log import Allocation, ArmAllocation, Objective, Round


class PackedRound(NamedTuple):
    """A round besides its draws: texts, which other rounds share, and numbers.

    choices         text
    params          text of the surrogate's parameters without arrays
    record          text of all else: the keys are those of PARTS, "methods", "version",
                    "drawn_from" where only some items could be drawn, and "imported" where another
                    program drew
    params_numbers  of the text params
    numbers         of the text record
    """

    choices: str
    params: str
    record: str
    params_numbers: bytes
    numbers: bytes


# Objectives are called "aims", and the weights of an allocation "shares" and "strength".
PARTS = ("statistics", "groups", "imputed_sum", "count", "aims", "shares")

# Characters of a version that are read.
_LONGEST_VERSION = 50


def serialise_round(round: Round, params: dict[str, Any]) -> PackedRound:
    """What the ledger keeps of a round besides its draws; params are without arrays."""
    parts = (
        list(round.statistics),
        list(round.groups),
        np.asarray(round.imputed_sum),
        np.asarray(round.count),
        [asdict(objective) for objective in round.objectives],
        None if round.allocation is None else _serialise_allocation(round.allocation),
    )
    record: dict[str, Any] = dict(zip(PARTS, parts, strict=True)) | {"methods": round.methods}
    if round.version:
        record["version"] = round.version
    if round.drawn_from is not None:
        record["drawn_from"] = list(round.drawn_from)
    if round.imported:
        record["imported"] = True
    return pack_round(round.choices, params, record)


def pack_round(
    choices: dict[str, Any], params: dict[str, Any], record: dict[str, Any]
) -> PackedRound:
    """The texts and numbers of what a round keeps, which JSON could hold."""
    params_text, params_numbers = pack_numbers(params)
    text, numbers = pack_numbers(record)
    packed = compress_matrices(params_text, params_numbers)
    return PackedRound(json.dumps(choices), params_text, text, packed, numbers)


def serialise_draws(round: Round) -> list[tuple[float | None, bytes]]:
    """(probability, None for items without; imputed values) of every draw in order.

    Raises ValueError for a round in which some items have a probability and others none.
    """
    deterministic = np.isnan(round.prob)
    if deterministic.any() and not deterministic.all():
        raise ValueError("the items of one round have probabilities, or none of them has")
    prob = [None] * len(deterministic) if deterministic.any() else round.prob.tolist()
    return list(zip(prob, map(pack_imputed, round.imputed), strict=True))


def pack_imputed(values: Any) -> bytes:
    """The imputed values of one draw."""
    return np.asarray(values, "<f8").tobytes()


class PackedParams(Mapping[str, Any]):
    """Parameters that are JSON-ready, unpacked on first access.

    Access raises StudyError for numbers that do not belong to the text.
    """

    def __init__(self, structure: Any, numbers: bytes) -> None:
        self._structure, self._numbers = structure, numbers

    @cached_property
    def _params(self) -> dict[str, Any]:
        try:
            numbers = decompress_matrices(self._structure, self._numbers)
            return dict(unpack_numbers(self._structure, numbers))
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise StudyError(
                f"the parameters of a round cannot be read: {error}",
                "restore ledger.db from a backup",
            ) from error

    def __getitem__(self, name: str) -> Any:
        return self._params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)


class RoundParser:
    """Parses rounds; what several of them share is parsed once.

    texts  {number: text} of the ledger
    """

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._parsed: dict[int, Any] = {}

    def text(self, number: int) -> Any:
        """The value of a text."""
        if number not in self._parsed:
            self._parsed[number] = json.loads(self._texts[number])
        return self._parsed[number]

    def params(self, number: int, numbers: bytes) -> PackedParams:
        """The parameters of the text `number` and its numbers."""
        return PackedParams(self.text(number), numbers)

    def records(self, number: int, numbers: Sequence[bytes]) -> list[dict[str, Any]]:
        """What the text `number` says of several rounds with these numbers: fields of Round."""
        # Names have no numbers, and may be many.
        structure = dict(self.text(number))
        names = {part: tuple(structure.pop(part)) for part in ("statistics", "groups")}
        return [
            {
                **names,
                "imputed_sum": np.array(entries["imputed_sum"], float),
                "count": np.array(entries["count"]),
                "objectives": tuple(map(_parse_objective, entries["aims"])),
                "allocation": entries["shares"] and _parse_allocation(entries["shares"]),
                # Rounds of the first methods did not record them.
                "methods": entries.get("methods", 1),
                "drawn_from": _parse_classes(entries.get("drawn_from")),
                "imported": bool(entries.get("imported")),
                "version": str(entries.get("version", ""))[:_LONGEST_VERSION],
            }
            for entries in unpack_several(structure, numbers, arrays=True)
        ]


def parse_draws(draws: Sequence[StoredDraw]) -> dict[str, Any]:
    """The draws of a round as fields of Round."""
    return {
        "prob": np.array([draw.prob for draw in draws], float),
        "imputed": np.frombuffer(b"".join(draw.imputed for draw in draws), "<f8").reshape(
            len(draws), -1
        ),
    }


def _parse_classes(codes: Any) -> tuple[int, ...] | None:
    return None if codes is None else tuple(int(code) for code in codes)


def _to_list(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _parse_objective(entries: dict[str, Any]) -> Objective:
    total = entries["total"]
    return Objective(
        tuple(entries["statistics"]),
        tuple(_to_list(entries["weights"])),
        np.nan if total is None else total,
        entries.get("peak", 1.0),
    )


def _serialise_allocation(allocation: Allocation | ArmAllocation) -> dict[str, Any]:
    if isinstance(allocation, ArmAllocation):
        return {
            "attributes": list(allocation.attributes),
            "arms": [list(values) for values in allocation.arms],
            "strength": list(allocation.weight),
            "rest": allocation.rest,
            "certain": allocation.certain,
        }
    return {
        "group": allocation.group,
        "strata": list(allocation.strata),
        "strength": list(allocation.weight),
    }


def _parse_allocation(entries: dict[str, Any]) -> Allocation | ArmAllocation:
    if "attributes" in entries:
        return ArmAllocation(
            tuple(entries["attributes"]),
            tuple(tuple(values) for values in entries["arms"]),
            tuple(_to_list(entries["strength"])),
            float(entries["rest"]),
            bool(entries["certain"]),
        )
    return Allocation(
        entries["group"], tuple(_to_list(entries["strata"])), tuple(_to_list(entries["strength"]))
    )
