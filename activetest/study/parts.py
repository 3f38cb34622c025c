"""Parts of the population of a study: each is a stratum, and can be looked at alone.

The files `parts/NAME.parquet` in the study's folder hold the parts that came after the first.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any

from activetest import catalog
from activetest.errors import ChoiceError, StudyError
from activetest.ledger.ledger import Record
from activetest.nouns.choices import NO_QUESTION, Choices, Interval, Selection
from activetest.nouns.log import Log
from activetest.nouns.report import Note, Weight
from activetest.nouns.study_lists import Part
from activetest.reporting.requirements import Requirement
from activetest.rounds.part_pool import PartPool, cut_log
from activetest.study.config import Config
from activetest.study.models import ModelStudy
from activetest.study.stored import StoredStudy

if TYPE_CHECKING:
    from activetest.cache.cache import Cache


def find_part(study: StoredStudy, name: str) -> StoredStudy:
    """The study as one of a part: see StoredStudy.of_part."""
    if isinstance(study, ModelStudy):
        raise ChoiceError(
            f"a report is about the model {study.model.name} or about a part of the population",
            "name one of them",
        )
    (number,) = find_numbers(study, [name]) or (0,)
    return PartStudy(study, study.list_parts()[number - 1], number)


def find_numbers(study: StoredStudy, names: Sequence[str]) -> list[int] | None:
    """The numbers of the parts of these names; None without names, for all.

    Raises ChoiceError, with the nearest name, for a part that is not there.
    """
    if not names:
        return None
    known = [each.name for each in study.list_parts()]
    for name in names:
        if name not in known:
            raise ChoiceError(f"the study has no part {name!r}", catalog.nearest(name, known))
    return [known.index(name) + 1 for name in names]


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


class PartStudy(StoredStudy):
    """A study as one of a part of the population: its items, draws and labels.

    base    the study of all parts
    part    the part
    number  of it
    """

    def __init__(self, base: StoredStudy, part: Part, number: int) -> None:
        self.base, self.part, self.number = base, part, number
        super().__init__(
            base.folder, Config(base.pool, base.choices, base.reports, base.others), base.ledger
        )

    @property
    def pool_name(self) -> str:
        """Name of the pool in reports: that of the study's, with the part."""
        return f"{self.base.pool_name}, part {self.part.name}"

    def record(self) -> Record:
        """The draws from the part, and the answers about its items."""
        found, number = self.ledger.record(), self.number
        of_part = self.ledger.list_rounds_of(number)
        draws = tuple(each for each in found.draws if each.round in of_part)
        cache: Any = self.base.cache(auxiliary=False)
        pool = PartPool(cache, number)
        places = pool.find_places(cache.find(list(found.supplied)))
        inside = places < pool.size
        supplied = dict(compress(found.supplied.items(), inside))
        ids = {each.id for each in draws} | supplied.keys()
        answers = tuple(each for each in found.answers if each.id in ids)
        return replace(found, draws=draws, answers=answers, supplied=supplied)

    def list_parts(self) -> tuple[Part, ...]:
        """The part alone."""
        return (self.part,)

    @property
    def later_parts(self) -> tuple[str, ...]:
        """As the study's: all files are read."""
        return self.base.later_parts

    def cache(self, *, auxiliary: bool = True) -> Any:
        """The pool of the part."""
        return PartPool(self.base.cache(auxiliary=auxiliary), self.number)

    def known_cache(self) -> Any:
        """As cache; of what the study keeps of its pool where that is not at hand."""
        return PartPool(self.base.known_cache(), self.number)

    @property
    def absence(self) -> str | None:
        """As the study's."""
        return self.base.absence

    def log(self, cache: "Cache | PartPool", record: Record | None = None) -> Log:
        """The log of the part."""
        assert isinstance(cache, PartPool)
        whole: Any = cache.whole
        return cut_log(self.base.log(whole, record), cache)
