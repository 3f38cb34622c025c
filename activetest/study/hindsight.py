"""A report on the first model as if its threshold were another one; nothing of it is kept.

A threshold that was chosen after labels were seen is the best of many by these very labels. Its
intervals have the level with which those at all thresholds hold together, so that it does not
matter by what it was chosen.
"""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from activetest import catalog
from activetest.cache.cache import build_cache
from activetest.errors import ChoiceError, raising_storage_errors
from activetest.estimation.view import ANYTIME, FIXED, SEQUENTIAL
from activetest.item_statistics import specification
from activetest.nouns.arguments import read_number
from activetest.nouns.expression import parse_expression
from activetest.nouns.log import drop_waiting_rounds
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import write_level
from activetest.nouns.report import Note, Weight
from activetest.nouns.study_lists import Model
from activetest.reporting.requirements import parse_requirement
from activetest.study.findings import Request
from activetest.study.folder import CACHE
from activetest.study.models import ModelStudy
from activetest.study.parts import PartStudy
from activetest.study.stored import StoredStudy, make_temporary
from activetest.study.thresholds import OwnThreshold, check_value, choose_class, read_source

if TYPE_CHECKING:
    from activetest.cache.cache import Cache
    from activetest.pool.pool import Pool


class HindsightStudy(ModelStudy):
    """A study as one of its first model with another threshold.

    usual   level of the study
    simple  whether intervals have that level: the threshold was declared before the first draw
    """

    def __init__(self, base: StoredStudy, threshold: OwnThreshold) -> None:
        super().__init__(base, Model(threshold.of, source=f"?{threshold.write()}"))
        self.pool["uri"] = base.pool["uri"]
        self.own, self.usual = threshold, base.choices.level
        self.simple = any(
            not each.rounds and read_source(each.source) == threshold for each in base.list_models()
        )

    def find_level(self, level: float) -> float:
        """The level of single intervals with which those at all thresholds have this one."""
        if self.simple:
            return level
        cache, choices = self.base.cache(), replace(self.base.choices, level=level)
        facts = specification.describe_pool(cache.roles, choices.costs, cache)
        found: float = catalog.load("exports", "curve").find_band_level(
            *(drop_waiting_rounds(self.base.log(cache)), cache, choices, facts),
            cache.classes.index(self.own.chosen),
            seed=self.seed,
        )
        return found

    @property
    def pool_name(self) -> str:
        """Name of the pool in reports, with the threshold."""
        return f"{self.base.pool_name}, threshold {self.own.value:g}"

    def check_pool_is_there(self) -> None:
        """As of the first model, whose file it is."""
        self.base.check_pool_is_there()

    def open_pool(self, *, thorough: bool = False) -> "Pool":
        """The pool of the first model, in which the threshold decides what is predicted."""
        return StoredStudy.open_pool(self, thorough=thorough)

    def cache(self, *, auxiliary: bool = True) -> "Cache":
        """The cache of the pool, which is removed with this object. Raises as that of the study."""
        del auxiliary
        return self._built

    @cached_property
    def _built(self) -> "Cache":
        # The pool is the one that the study was made for.
        self.base.cache(auxiliary=False)
        with raising_storage_errors(self.folder):
            pool = self.open_pool()
            built = build_cache(pool, make_temporary(self) / CACHE)
            return self.provenance().attach(built, pool)

    def complete_request(self, request: Request) -> Request:
        """The request, with intervals for one look.

        Raises ChoiceError where a report is to say what it cannot at another threshold.
        """
        named = [each for text in request.metrics for each in parse_expression(text).models]
        named += [each for text in request.require for each in parse_requirement(text).models]
        if named or request.reference:
            raise ChoiceError(
                "a report at another threshold compares no models",
                f"add it as a model of its own: `study.add('strict', {str(self.own)!r})`",
            )
        if request.interval in (ANYTIME, SEQUENTIAL):
            raise ChoiceError(
                "intervals at another threshold hold for one look", '`interval="fixed"`'
            )
        if request.surface or request.at or request.maps:
            raise ChoiceError(
                "the surface of this study is of the model's own threshold",
                "leave out `threshold`",
            )
        return replace(request, interval=request.interval or FIXED)

    def list_notes(self) -> list[Note]:
        """A note on the level of intervals."""
        usual, value = write_level(self.usual), f"The threshold {self.own.value:g}"
        if self.simple:
            text = f"{value} was declared before the first draw: intervals have {usual}."
            return [Note(text, Weight.ANSWER)]
        text = (
            f"{value} is looked at in hindsight: intervals have {write_level(self.choices.level)}, "
            f"so that those at all thresholds hold together with {usual}, however it was chosen. "
            "`study.curve('roc')` has intervals that hold at each threshold alone."
        )
        return [Note(text, Weight.ANSWER)]


def open_at_threshold(study: StoredStudy, threshold: float | None) -> StoredStudy:
    """The study as one of its first model with this threshold; itself for its own one, and None.

    Raises ChoiceError for a threshold or a model that cannot be.
    """
    if threshold is None:
        return study
    if isinstance(study, PartStudy):
        raise ChoiceError(
            "a report at another threshold is about one pool", "leave `threshold` or `part` out"
        )
    study.check_one_part("a report at another threshold")
    threshold = read_number("threshold", threshold)
    if isinstance(study, ModelStudy):
        raise ChoiceError(
            "`threshold` is about the first model of the study",
            f"`study.add('strict', '{study.model.name}@threshold:{threshold:g}')`",
        )
    check_value(threshold)
    try:
        chosen = choose_class(study.schema)
    except ChoiceError as error:
        raise ChoiceError(error.problem, "leave `threshold` out") from error
    own = OwnThreshold(study.list_models()[0].name, threshold, chosen)
    found = HindsightStudy(study, own)
    if _predict_alike(study.cache(), found.cache()):
        return study
    found.choices = replace(found.choices, level=found.find_level(found.usual))
    return found


def complete_request(study: StoredStudy, request: Request) -> Request:
    """The request, as a study at another threshold completes it."""
    return study.complete_request(request) if isinstance(study, HindsightStudy) else request


def find_own_threshold(study: StoredStudy) -> float | None:
    """The threshold that a report is about in hindsight; None for other reports."""
    return study.own.value if isinstance(study, HindsightStudy) else None


def _predict_alike(first: PoolView, second: PoolView) -> bool:
    """Whether two pools have the same predictions."""
    return all(
        np.array_equal(first.rows(*piece).outputs.pred, second.rows(*piece).outputs.pred)
        for piece in first.chunks()
    )
