"""A round as the texts and numbers that the ledger keeps, and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from activetest.errors import StudyError
from activetest.ledger.packing import (
    compress_matrices,
    decompress_matrices,
    pack_numbers,
    unpack_numbers,
    unpack_several,
)
from activetest.ledger.tables import StoredDraw
from activetest.nouns.log import Allocation, ArmAllocation, Objective, Round
from activetest.nouns.once import Later
from activetest.nouns.study_lists import FIRST, PartDraws, Target


class PackedRound(NamedTuple):
    """A round besides its draws: texts, which other rounds share, and numbers.

    choices         text
    params          text of the surrogate's parameters without arrays
    record          text of all else: "parts", "targets", "looks" where some are planned,
                    "statistics", "groups", "imputed_sum", "count", "objectives", "allocation" where
                    there is one, "methods", "version", "drawn_from" where only some items could be
                    drawn, "imported" where another program drew, and "doubtful_share" where
                    its log may not account for the pool
    params_numbers  of the text params
    numbers         of the text record
    """

    choices: str
    params: str
    record: str
    params_numbers: bytes
    numbers: bytes


# Characters of a version that are read.
_LONGEST_VERSION = 50


def serialise_round(round: Round, params: dict[str, Any]) -> PackedRound:
    """The ledger's record of a round besides its draws; params are without arrays."""
    parts = round.parts or (PartDraws(FIRST, len(round.rows)),)
    record: dict[str, Any] = {
        # Numbers, so that rounds of other sizes have the same text.
        "parts": {
            "part": [each.part for each in parts],
            "planned": [each.planned for each in parts],
        },
        "targets": [asdict(each) for each in round.targets],
        "statistics": _name_statistics(round.statistics),
        "groups": list(round.groups),
        "imputed_sum": np.asarray(round.imputed_sum),
        "count": np.asarray(round.count),
        "objectives": [
            asdict(each) | {"statistics": _name_statistics(each.statistics)}
            for each in round.objectives
        ],
        "methods": round.methods,
        "version": round.version,
    }
    if round.looks is not None:
        record["looks"] = list(round.looks)
    if round.allocation is not None:
        record["allocation"] = asdict(round.allocation)
    if round.drawn_from is not None:
        record["drawn_from"] = list(round.drawn_from)
    if round.among:
        record["among"] = list(round.among)
    if round.imported:
        record["imported"] = True
    if round.doubtful_share is not None:
        record["doubtful_share"] = round.doubtful_share
    params_text, params_numbers = pack_numbers(params)
    text, numbers = pack_numbers(record)
    packed = compress_matrices(params_text, params_numbers)
    return PackedRound(json.dumps(round.choices), params_text, text, packed, numbers)


def serialise_draws(round: Round) -> list[tuple[float | None, bytes]]:
    """(probability, None for items without; imputed values) of every draw in order.

    Raises ValueError for a round in which some items have a probability and others none.
    """
    deterministic = np.isnan(round.q)
    if deterministic.any() and not deterministic.all():
        raise ValueError("the items of one round have probabilities, or none of them has")
    q = [None] * len(deterministic) if deterministic.any() else round.q.tolist()
    imputed = [np.asarray(values, "<f8").tobytes() for values in round.imputed]
    return list(zip(q, imputed, strict=True))


def unpack_params(structure: Any, numbers: bytes) -> Later:
    """Parameters that are JSON-ready, unpacked on first access.

    Access raises StudyError for numbers that do not belong to the text.
    """

    def unpack() -> dict[str, Any]:
        try:
            found = decompress_matrices(structure, numbers)
            return dict(unpack_numbers(structure, found))
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise StudyError(
                f"the parameters of a round cannot be read: {error}",
                "restore ledger.db from a backup",
            ) from error

    return Later(unpack)


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

    def params(self, number: int, numbers: bytes) -> Later:
        """The parameters of the text `number` and its numbers."""
        return unpack_params(self.text(number), numbers)

    def records(self, number: int, numbers: Sequence[bytes]) -> list[dict[str, Any]]:
        """Records of several rounds by the text `number`, with these numbers: fields of Round."""
        # Names have no numbers, and may be many.
        structure = dict(self.text(number))
        names = {
            "statistics": _parse_statistics(structure.pop("statistics")),
            "groups": tuple(structure.pop("groups")),
        }
        return [
            {
                **names,
                "parts": _parse_parts(entries["parts"]),
                "targets": tuple(Target(**each) for each in entries["targets"]),
                "looks": _freeze(entries.get("looks")),
                "imputed_sum": np.array(entries["imputed_sum"], float),
                "count": np.array(entries["count"]),
                "objectives": _parse_objectives(entries["objectives"]),
                "allocation": _parse_allocation(entries.get("allocation")),
                "methods": entries["methods"],
                "drawn_from": _freeze(entries.get("drawn_from")),
                "among": tuple(map(str, entries.get("among", ()))),
                "imported": bool(entries.get("imported")),
                "doubtful_share": _parse_share(entries.get("doubtful_share")),
                "version": str(entries["version"])[:_LONGEST_VERSION],
            }
            for entries in unpack_several(structure, numbers, arrays=True)
        ]


def parse_draws(draws: Sequence[StoredDraw], statistics: int) -> dict[str, Any]:
    """The draws of a round with so many statistics as fields of Round.

    Raises ValueError for draws with values of more or fewer.
    """
    values = np.frombuffer(b"".join(draw.imputed for draw in draws), "<f8")
    return {
        "q": np.array([draw.q for draw in draws], float),
        "imputed": values.reshape(len(draws), statistics),
    }


def _parse_share(entry: Any) -> float | None:
    """A share that may be missing. Raises ValueError for another number."""
    return None if entry is None else float(entry)


def _name_statistics(names: Sequence[str]) -> list[dict[str, Any]]:
    """Statistics as they are recorded: of which model, by which criterion."""
    return [{"model": FIRST, "criterion": FIRST, "statistic": name} for name in names]


def _parse_statistics(named: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names of statistics. Raises ValueError for those of another model or criterion."""
    if any((each["model"], each["criterion"]) != (FIRST, FIRST) for each in named):
        raise ValueError("it has statistics of a model or a criterion that is not there")
    return tuple(each["statistic"] for each in named)


def _parse_parts(columns: Mapping[str, Any]) -> tuple[PartDraws, ...]:
    rows = zip(columns["part"], columns["planned"], strict=True)
    return tuple(PartDraws(int(part), int(planned)) for part, planned in rows)


def _freeze(value: Any) -> Any:
    """A value whose lists and arrays are tuples, at any depth."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _parse_objectives(entries: Sequence[dict[str, Any]]) -> tuple[Objective, ...]:
    """Objectives of draws. Raises ValueError where there are none."""
    if not entries:
        raise ValueError("it has no objectives")
    return tuple(
        Objective(
            _parse_statistics(each["statistics"]),
            _freeze(each["weights"]),
            each["total"],
            each["peak"],
        )
        for each in entries
    )


def _parse_allocation(entries: dict[str, Any] | None) -> Allocation | ArmAllocation | None:
    if entries is None:
        return None
    kind = ArmAllocation if "attributes" in entries else Allocation
    return kind(**{name: _freeze(value) for name, value in entries.items()})
