"""Parts of the population of a study: each is a stratum, and can be looked at alone.

The files `parts/NAME.parquet` in the study's folder hold the parts that came after the first.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from activetest.errors import ChoiceError, StudyError, raising_storage_errors
from activetest.ledger.ledger import LedgerMoved, Record
from activetest.nouns.arguments import read_name
from activetest.nouns.choices import NO_QUESTION, Choices, Interval, Selection
from activetest.nouns.log import Log
from activetest.nouns.name_lists import join_names
from activetest.nouns.report import Note, Weight
from activetest.nouns.rows import Array
from activetest.nouns.study_lists import Part, count_last
from activetest.reporting.part_rows import find_places
from activetest.reporting.requirements import Requirement
from activetest.rounds.part_pool import PartPool, cut_log
from activetest.study.config import Config
from activetest.study.frames import name_pool
from activetest.study.models import ModelStudy
from activetest.study.stored import StoredStudy

if TYPE_CHECKING:
    from activetest.cache.cache import Cache


# Parts that the name of a pool lists.
_NAMED = 3


def find_part(study: StoredStudy, *names: str) -> StoredStudy:
    """The study as one of parts: see StoredStudy.of_part."""
    if isinstance(study, ModelStudy):
        raise ChoiceError(
            f"a report is about the model {study.model.name} or about a part of the population",
            "name one of them",
        )
    return PartStudy(study, find_numbers(study, names) or [])


def find_active(study: StoredStudy) -> StoredStudy:
    """The study as one of the parts that are not retired."""
    return PartStudy(study, list_active(study.list_parts()))


def list_active(parts: Sequence[Part]) -> list[int]:
    """The numbers of the parts that are not retired."""
    return [number for number, each in enumerate(parts, start=1) if not each.retired]


def find_numbers(study: StoredStudy, names: Sequence[str]) -> list[int] | None:
    """The numbers of the parts of these names; without names, of those that are not retired.

    None where none is retired, for all. Raises ChoiceError, with the nearest name, for a part that
    is not there.
    """
    parts = study.list_parts()
    active = list_active(parts)
    if not names:
        return None if len(active) == len(parts) else active
    known = [each.name for each in parts]
    # The last ones are those of the population as it is.
    left = [known[number - 1] for number in active]
    found = {
        active[place - 1] if count_last(name) else place
        for name in names
        for place in find_places([name], left if count_last(name) else known)
    }
    return sorted(found)


def find_drawable(study: StoredStudy, names: Sequence[str]) -> list[int] | None:
    """As find_numbers, of parts to draw from. Raises ChoiceError for one that is retired."""
    numbers, parts = find_numbers(study, names), study.list_parts()
    for number in numbers or ():
        if (part := parts[number - 1]).retired:
            raise ChoiceError(
                f"the part {part.name!r} is retired, and nothing is drawn from it",
                "name another part, or none",
            )
    return numbers


def retire_part(study: StoredStudy, name: str) -> str:
    """Take a part out of the population; a sentence about it. See Study.retire."""
    revision, parts = study.ledger.record().revision, study.list_parts()
    ((number,), active) = find_numbers(study, [read_name("part", name)]) or (0,), list_active(parts)
    if number not in active:
        raise StudyError(f"the part {name!r} is retired already", "nothing was changed")
    if len(active) == 1:
        raise StudyError(
            f"{name!r} is the only part that is not retired, and a population has one at least",
            "extend the study first",
        )
    with raising_storage_errors(study.folder):
        try:
            study.ledger.retire_part(number, revision=revision)
        except LedgerMoved as error:
            problem = "items were drawn or labels were added meanwhile"
            raise StudyError(problem, "try again") from error
    rest = sum(parts[each - 1].rows for each in active if each != number)
    return f"{name} retired: {rest:,} items stay in the population"


def check_choices_of_parts(choices: Choices) -> None:
    """Raises StudyError for choices with which no numbers are joined over parts."""
    if choices.question not in (None, NO_QUESTION):
        raise StudyError(
            f"the question {choices.question!r} is about one pool",
            '`study.change(question="none")` asks none from now on',
        )
    if choices.selection == Selection.TOP:
        raise StudyError(
            "items with the largest scores are chosen, and no estimate joins parts by these",
            '`study.change(selection="draw")` draws them from now on',
        )
    if choices.interval == Interval.SEQUENTIAL:
        raise StudyError(
            "planned looks are about the items that a study began with",
            '`study.change(interval="anytime")` decides gates at any look',
        )


def note_populations(study: StoredStudy, requirements: Sequence[Requirement]) -> list[Note]:
    """How many populations gates about all parts so far were about, where there were several."""
    known = {tuple(gate.conditions.get("parts", ())) for gate in study.ledger.gates()} - {()}
    if len(known) < 2 or all(each.parts for each in requirements):
        return []
    error = (1 - study.choices.level) * len(known)
    text = (
        f"Gates about all parts so far were about {len(known)} populations, each with an error of "
        f"its own: of gates that should fail at all of them, {error:.2g} pass on average at most."
    )
    return [Note(text, Weight.ANSWER)]


def note_retired(study: StoredStudy) -> list[Note]:
    """The parts that left the population."""
    found = [each.name for each in study.ledger.parts() if each.retired]
    if (
        not found
        or not isinstance(study, PartStudy)
        or {*study.numbers} != {*list_active(study.ledger.parts())}
    ):
        return []
    return [Note(f"Retired parts are no part of the population: {join_names(found)}.", Weight.FACT)]


class PartStudy(StoredStudy):
    """A study as one of some parts of the population: their items, draws and labels.

    base     the study of all parts
    numbers  of the parts, in order
    """

    def __init__(self, base: StoredStudy, numbers: Sequence[int]) -> None:
        self.base, self.numbers = base, tuple(sorted(numbers))
        super().__init__(
            base.folder, Config(base.pool, base.choices, base.reports, base.others), base.ledger
        )

    @property
    def pool_name(self) -> str:
        """Name of the pool in reports: that of the first, with the parts."""
        names = [each.name for each in self.list_parts()]
        first = name_pool(self.pool["uri"])
        if len(names) > _NAMED:
            return f"{first}, {len(names)} of its parts"
        return f"{first}, part{'s' * (len(names) > 1)} {join_names(names)}"

    def record(self) -> Record:
        """The draws from the parts, and the answers about their items."""
        found, numbers = self.ledger.record(), self.numbers
        rounds = {each for number in numbers for each in self.ledger.list_rounds_of(number)}
        draws = tuple(each for each in found.draws if each.round in rounds)
        cache: Any = self.base.cache(auxiliary=False)
        pool = PartPool(cache, *numbers)
        places = pool.find_places(cache.find(list(found.supplied)))
        supplied = dict(compress(found.supplied.items(), places < pool.size))
        ids = {each.id for each in draws} | supplied.keys()
        answers = tuple(each for each in found.answers if each.id in ids)
        return replace(found, draws=draws, answers=answers, supplied=supplied)

    def list_parts(self) -> tuple[Part, ...]:
        """These parts."""
        parts = self.base.list_parts()
        return tuple(parts[number - 1] for number in self.numbers)

    @property
    def later_parts(self) -> tuple[str, ...]:
        """As the study's: all files are read."""
        return self.base.later_parts

    def cache(self, *, auxiliary: bool = True) -> Any:
        """The pool of the parts."""
        return PartPool(self.base.cache(auxiliary=auxiliary), *self.numbers)

    def known_cache(self) -> Any:
        """As cache; of what the study keeps of its pool where that is not at hand."""
        return PartPool(self.base.known_cache(), *self.numbers)

    def encode_column(self, name: str) -> Array:
        """As the study's, of the items of the parts."""
        codes = self.cache(auxiliary=False).cut(self.base.encode_column(name))
        found: Array = np.unique(codes, return_inverse=True)[1]
        return found

    def show(self, ids: Sequence[str], columns: Sequence[str]) -> dict[str, list[Any]]:
        """As the study's."""
        return self.base.show(ids, columns)

    @property
    def absence(self) -> str | None:
        """As the study's."""
        return self.base.absence

    def log(self, cache: "Cache | PartPool", record: Record | None = None) -> Log:
        """The log of the parts."""
        assert isinstance(cache, PartPool)
        whole: Any = cache.whole
        return cut_log(self.base.log(whole, record), cache)
