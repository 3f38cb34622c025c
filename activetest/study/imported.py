"""A study of draws that were made elsewhere: a log of them becomes the study's rounds and answers.

The meaning of a log's probabilities decides what can be estimated from it. Two designs can be:

sequential   draws without replacement one after another, each with its probability among the items
             that were left: what rounds of our own record. LURE is unbiased, and so is the doubly
             robust estimate for every guess that rests on earlier draws alone.
uniform      every set of items of this size was as likely as any other. Their order says nothing
             then, and may have been lost: it is drawn again.

Guesses are those of the study's surrogate, fitted to the labels of the rounds before rounds 1, 2,
4, 8 and so on.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from activetest import __version__
from activetest.cache.cache import Cache
from activetest.errors import ChoiceError, LabelError, NotEstimable
from activetest.estimation.accounting import FEWEST, Accounted, measure_accounted
from activetest.estimation.repredict import repredict
from activetest.labels.annotators import resolve_answers
from activetest.labels.files import Label, make_label_encoder
from activetest.labels.mapping import make_edit, read_label_map
from activetest.ledger.ledger import Answer, Ledger
from activetest.nouns.answer_fields import check_columns
from activetest.nouns.arguments import reading_arguments
from activetest.nouns.choices import Choices, FloorRule, Selection, Task
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log, Objective, Round, truncate_log
from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.pool.hashing import uniforms
from activetest.rounds.fit import (
    find_drawable_items,
    find_predicted_as,
    fit_surrogate,
    list_learned,
    make_generator,
)
from activetest.rounds.objectives import find_objectives, list_recorded_statistics
from activetest.rounds.weighted import find_counted, find_rates
from activetest.sampling.draw_log import LOG_FIELDS, LoggedLabel, read_draw_log
from activetest.sampling.plan import prepare_round
from activetest.study import label_checks
from activetest.study.declared import add_plan, list_looks
from activetest.study.init import init
from activetest.study.results import Setup
from activetest.study.stored import encode_outcomes
from activetest.system import progress


class Design(StrEnum):
    """How the items of a log were drawn: see the module."""

    SEQUENTIAL = "sequential"
    UNIFORM = "uniform"


# Name that the rounds of a log record in place of an acquisition of ours.
ELSEWHERE = "elsewhere"
# How far probabilities that are to be the same may differ, as a share.
_ALIKE = 1e-6
# From here on the mean of 1 / (q n) is taken for 1.
_SURELY_ONE = 0.7
# Floor of the plan that draws are compared with: each floor of theirs is a mixture with it.
_PLANNED_FLOOR = 0.02
# How far the probabilities of a log may be from summing to one over the pool, as a factor.
_FAR = 100.0
_SEQUENTIAL = f'say so if they are: `design="{Design.SEQUENTIAL}"`'
_REMEDY = (
    "give the probability that each item had among those that were left when it was drawn, or, "
    'where all items were as likely, `design="uniform"`'
)
_REFUSED = {
    "poisson": (
        "items that were drawn independently, each with a probability of its own, make no sequence "
        "of draws",
        "if all had the same probability, they are a uniform sample given their number: "
        '`design="uniform"`; otherwise draw one after another from here on: `study.next(10)`',
    ),
    "inclusion": (
        "the probability that an item is in a sample does not say how likely each draw was",
        "if it was the same for all items, and their number was fixed, "
        f'`design="uniform"`; otherwise {_REMEDY}',
    ),
    "with-replacement": (
        "a study draws without replacement",
        "if draws went on until a fixed number of different items was found, keep the first draw "
        "of each item, and divide its probability by that of all items that were not drawn before: "
        'then it is `design="sequential"`',
    ),
}


@dataclass(frozen=True)
class ImportedLog:
    """A log of draws as the rounds and answers of a study that does not exist yet.

    log       what will be known, with its rounds
    ids       of the draws, in order
    supplied  {id: first round that knew it} of items that were never drawn; one more than the last
              where none did
    answers  all of them, as the ledger spells them
    source   name of the log
    notices  sentences about what it holds
    numeric  whether labels are numbers
    """

    log: Log
    ids: tuple[str, ...]
    supplied: dict[str, int]
    answers: tuple[Answer, ...]
    source: str
    notices: tuple[str, ...]
    numeric: bool = False

    def record(self, ledger: Ledger) -> None:
        """Record everything in a new ledger, in one transaction."""
        starts = np.searchsorted(self.log.round, [each.number for each in self.log.history])
        ends = [*starts[1:], len(self.ids)]
        rounds = [
            (each, self.ids[start:end])
            for each, start, end in zip(self.log.history, starts, ends, strict=True)
        ]
        before: dict[int, list[Answer]] = {}
        for answer in self.answers:
            before.setdefault(self.supplied.get(answer.id, len(rounds) + 1), []).append(answer)
        after = before.pop(len(rounds) + 1, [])
        ledger.record_log(rounds, after, source=self.source, before=before, numeric=self.numeric)


@dataclass(frozen=True)
class Draws:
    """The drawn items of a log, in the order of its rounds and then of its rows.

    ids, places  (D,) names of the items, and where the first row about each stands
    round        (D,) number of the round of each, from 1
    q            (D,) probability of each draw; NaN where the log has none
    numbers      (R,) what the log calls its rounds; 0 where it has none
    """

    ids: list[str]
    places: list[str]
    round: Array
    q: Array
    numbers: list[int]

    def name(self, at: int) -> str:
        """Name of a draw in messages."""
        return f"{self.places[at]}: id {self.ids[at]!r}"

    def take(self, order: Array) -> "Draws":
        """The draws in another order."""
        ids, places = ([each[at] for at in order] for each in (self.ids, self.places))
        return Draws(ids, places, self.round[order], self.q[order], self.numbers)


@dataclass(frozen=True)
class Meaning:
    """A caller's statements about a log: see import_draws.

    design      None where nothing is said: then it is sequential, if it can be
    floor       lowest probability of any item, as a share of its probability in a uniform draw
    drawn_from  predicted classes whose items alone could be drawn; all where there are none
    map, missing, as_is   as for ingest
    """

    design: str | None = None
    floor: float = 0.0
    drawn_from: tuple[str, ...] = ()
    map: Any = None
    missing: tuple[str, ...] = ()
    as_is: bool = False


@reading_arguments
def import_draws(
    pool: Any,
    draws: Any,
    folder: str | Path | None,
    settings: Mapping[str, Any],
    *,
    design: str | None,
    draws_floor: float,
    drawn_from: str | Sequence[str],
    columns: Mapping[str, str] | None,
    map: Any,
    missing: str | Sequence[str],
    as_is: bool,
) -> Setup:
    """Create the study of a pool whose first rounds are those of a log; whole or not at all.

    Arguments are those of Study.from_draws. Raises what init raises, StudyError where there is a
    study already, LabelError for a log that cannot be one of such draws from this pool, and
    ChoiceError for a design that nothing can be estimated from.
    """
    if isinstance(draws, str) and draws == "-":
        raise LabelError("- is no log of draws", "give a path, a frame or rows")
    stdin = draws if hasattr(draws, "readline") else None
    meaning = Meaning(design, draws_floor, tuple(drawn_from), map, tuple(missing), as_is)
    if design in _REFUSED:
        raise ChoiceError(f"`design={design!r}`: {_REFUSED[design][0]}", _REFUSED[design][1])
    if design not in (None, *Design):
        raise ChoiceError(f"`design={design!r}` is no design", f"one of {', '.join(Design)}")
    if not 0 <= draws_floor <= 1:
        raise ChoiceError(f"`draws_floor` is {draws_floor}", "it must be a number from 0 to 1")
    named = check_columns({} if columns is None else columns, LOG_FIELDS, "a log of draws")
    source, rows = read_draw_log("-" if stdin else draws, columns=named, stdin=stdin)

    def plan(cache: Cache, choices: Choices, seed: int) -> ImportedLog:
        return plan_log(rows, source, meaning, cache, choices, seed)

    return init(pool, folder, settings, plan_log=plan)


def plan_log(
    rows: Sequence[LoggedLabel],
    source: str,
    meaning: Meaning,
    cache: Cache,
    choices: Choices,
    seed: int,
) -> ImportedLog:
    """The rounds and answers of a log, checked against the pool.

    seed  of the study. Raises LabelError and ChoiceError as import_draws does.
    """
    rows, answers = _read_answers(rows, source, meaning, cache)
    of_draws, known_to = _split_supplied(rows, source)
    drawn = find_draws(of_draws, source)
    # Rounds are numbered from 1 here.
    supplied = {id: bisect_left(drawn.numbers, first) + 1 for id, first in known_to.items()}
    uniform = meaning.design == Design.UNIFORM
    codes = find_classes(meaning.drawn_from, cache)
    if uniform:
        drawn = _shuffle(drawn, cache, seed)
    log = _make_log(drawn, supplied, answers, cache)
    left = _count_left(drawn, log, codes, cache, source, uniform=uniform)
    if uniform:
        check_uniform(drawn, left, source)
        log = replace(log, q=1 / left)
    else:
        check_probabilities(drawn, left, meaning, source)
    # Draws of ours that are uniform are so in proportion to weights and prices.
    plain = uniform and find_rates(cache) is None
    record = asdict(
        replace(
            choices,
            power=1.0,
            selection=Selection.DRAW.value,
            floor=meaning.floor,
            floor_rule=FloorRule.MIX.value,
        )
    )
    record |= {"acquisition": "uniform", "floor": 1.0} if plain else {"acquisition": ELSEWHERE}
    with progress.step("predicting the draws of the log"):
        log, planned = _fit_rounds(
            log, cache, choices, record, codes, left if plain else None, seed=seed
        )
    shares = log.q * left
    found = _account_for(shares, planned / log.q)
    if found.refuted and meaning.design is None:
        raise LabelError(
            f"{source}: the probabilities account for {100 * found.share:.3g} % of the items "
            "alone: the others had no chance to be drawn, or hardly any, and nothing can be said "
            "of them",
            "give the pool that the items were drawn from, without those that came later, which "
            "`study.extend(FILE)` adds afterwards; or name the predicted classes whose items alone "
            f"could be drawn: `drawn_from`; if all had a chance, {_SEQUENTIAL}, and intervals are "
            "in doubt",
        )
    if found.doubted:
        rounds = (replace(each, doubtful_share=found.share) for each in log.history)
        log = replace(log, history=tuple(rounds))
    return ImportedLog(
        log,
        tuple(drawn.ids),
        supplied,
        tuple(answers),
        source,
        _describe(log, source, shares, found),
        not cache.classes,
    )


def _read_answers(
    rows: Sequence[LoggedLabel], source: str, meaning: Meaning, cache: Cache
) -> tuple[list[LoggedLabel], list[Answer]]:
    """The rows with ids as the pool has them, and the answers that count. Raises LabelError."""
    words = label_checks.check_missing(meaning.missing, cache)
    mapping = {} if meaning.map is None else read_label_map(meaning.map)
    edit = make_edit(mapping, words, label_checks.make_normaliser(cache))
    edit = label_checks.make_restorer(cache, edit, source, notes=[])
    labels = edit([row.label for row in rows])
    edited = [row._replace(label=label) for row, label in zip(rows, labels, strict=True)]
    labels = [row.label for row in edited]
    open_classes = bool(cache.roles.get("open_classes"))
    answers = label_checks.read_answers(labels, cache, source, open_classes=open_classes)
    if open_classes and not meaning.as_is:
        label_checks.check_plausible(answers, answers, labels, cache, source)
    return edited, answers


def _split_supplied(
    rows: Sequence[LoggedLabel], source: str
) -> tuple[list[LoggedLabel], dict[str, float]]:
    """The rows about draws, and {id: first round that knew it} of items that were never drawn.

    Raises LabelError where rows have no round, and do not say which round knew them.
    """
    if all(row.round is None for row in rows):
        return list(rows), {}
    of_draws: list[LoggedLabel] = []
    supplied: dict[str, float] = {}
    answered: set[str] = set()
    for row in rows:
        if row.round is not None:
            of_draws.append(row)
            continue
        if row.known_to is None or row.probability is not None:
            raise _explain_supplied(row, source)
        if row.label.status != PENDING:
            answered.add(row.label.id)
        supplied[row.label.id] = row.known_to
    taken_back = [id for id, first in supplied.items() if id not in answered and first < math.inf]
    if taken_back:
        raise LabelError(
            f"{source}: the label of id {taken_back[0]!r} was taken back after round "
            f"{supplied[taken_back[0]]:g} knew it",
            "leave out the rounds from that one on: estimates use none of them",
        )
    drawn = {row.label.id: row.label for row in of_draws}
    for id in supplied:
        if id in drawn:
            raise LabelError(
                f"{source}, {drawn[id].place}: id {id!r} was drawn, and has rows without a round",
                "every row about an item that was drawn has its round",
            )
    return of_draws, {id: first for id, first in supplied.items() if id in answered}


def _explain_supplied(row: LoggedLabel, source: str) -> LabelError:
    """The error for an item without a round, where others have one."""
    where = f"{source}, {row.label.place}: id {row.label.id!r}"
    if row.label.status == PENDING or row.probability is not None:
        return LabelError(f"{where} has no round", "fill it in")
    return LabelError(
        f"{where} has a label, but no round drew it",
        "an estimate must know from which draw on the label was known: name the first round that "
        "knew it in a column known_to, which is empty where none did",
    )


def find_draws(rows: Sequence[LoggedLabel], source: str) -> Draws:
    """The drawn items, each by its first row. Raises LabelError for one drawn twice.

    Rows about one item are several annotators' answers, or answers that do not count any more.
    """
    draws: dict[str, LoggedLabel] = {}
    seen: dict[tuple[str, str], Label] = {}
    for row in rows:
        label = row.label
        first = draws.setdefault(label.id, row)
        same = (first.round, first.probability) == (row.round, row.probability)
        repeated = None if row.superseded else seen.get((label.id, label.annotator))
        if not same or repeated:
            earlier = repeated or first.label
            raise LabelError(
                f"{source}, {label.place}: id {label.id!r} was drawn in {earlier.place} already",
                "keep the first draw of each item; draws with replacement cannot be imported as "
                'they are: see `design="with-replacement"`; answers of several annotators have '
                "different names in a column annotator",
            )
        if not row.superseded:
            seen[label.id, label.annotator] = label
    found = sorted(draws.values(), key=lambda row: row.round or 0)
    numbers, rounds = np.unique([row.round or 0 for row in found], return_inverse=True)
    return Draws(
        [row.label.id for row in found],
        [row.label.place for row in found],
        rounds + 1,
        np.array([row.probability for row in found], float),
        numbers.tolist(),
    )


def _shuffle(drawn: Draws, cache: Cache, seed: int) -> Draws:
    """Uniform draws in a random order inside rounds: that of the log may follow the labels."""
    hashes = cache.hashes[cache.find(drawn.ids)]
    keys = np.empty(len(hashes))
    for number in range(1, len(drawn.numbers) + 1):
        here = drawn.round == number
        keys[here] = uniforms(hashes[here], seed, number)
    return drawn.take(np.lexsort((keys, drawn.round)))


def find_classes(names: Sequence[str], cache: Cache) -> tuple[int, ...] | None:
    """Codes of the predicted classes whose items could be drawn. Raises ChoiceError."""
    if not names:
        return None
    if cache.roles["task"] == Task.REGRESSION or cache.roles.get("weight"):
        kind = "weights" if cache.roles.get("weight") else "values for predictions"
        raise ChoiceError(f"`drawn_from` is about classes, and the pool has {kind}", "leave it out")
    unknown = [name for name in names if name not in cache.classes]
    if unknown:
        raise ChoiceError(
            f"`drawn_from` names {unknown[0]!r}, which is no class of this pool",
            f"the classes are {', '.join(cache.classes[:12])}",
        )
    return tuple(sorted({cache.classes.index(name) for name in names}))


def _count_left(
    drawn: Draws,
    log: Log,
    codes: tuple[int, ...] | None,
    cache: Cache,
    source: str,
    *,
    uniform: bool,
) -> Array:
    """(D,) items that each draw could be of. Raises LabelError where it was of none of them.

    Items without a probability were chosen by other means, unless draws were uniform: they may be
    any.
    """
    positions, able = log.rows, find_predicted_as(cache, codes)
    counted = find_counted(cache)
    able = able if counted is None else able & counted
    wrong = ~able[positions] & (uniform | ~np.isnan(drawn.q))
    if wrong.any():
        at = int(np.argmax(wrong))
        weightless = counted is not None and not counted[positions[at]]
        raise LabelError(
            f"{source}, {drawn.name(at)} "
            + ("has weight 0 in the pool" if weightless else "is predicted as another class"),
            "leave out items of weight 0: they count in nothing, and probabilities are among the "
            "others"
            if weightless
            else "`drawn_from` names all classes whose items could be drawn",
        )
    before = np.cumsum(able[positions]) - able[positions]
    known = np.sort(log.supplied_round[able[log.supplied_rows]])
    before += np.searchsorted(known, log.round, side="right")
    return np.asarray(able.sum() - before, float)


def check_uniform(drawn: Draws, left: Array, source: str) -> None:
    """Raises LabelError where the log's own probabilities say that draws were not uniform."""
    for number, name in enumerate(drawn.numbers, 1):
        here = drawn.round == number
        given = drawn.q[here]
        if np.isnan(given).all() or np.ptp(given) <= _ALIKE * given.max():
            continue
        # One after another, they are those of as many items as were left.
        if not np.allclose(np.sort(1 / given), np.sort(left[here]), rtol=_ALIKE):
            raise LabelError(
                f"{source}: the probabilities of round {name or 1} differ, so its draws were not "
                "uniform",
                'leave out `design="uniform"`, or the column probability',
            )


def check_probabilities(drawn: Draws, left: Array, meaning: Meaning, source: str) -> None:
    """Raises LabelError for probabilities that cannot be; rounds without any were chosen."""
    missing = np.isnan(drawn.q)
    if missing.all():
        raise LabelError(
            f"{source} has no probabilities",
            'a simple random sample needs none: `design="uniform"`; for other draws, name their '
            "column: `columns={'probability': 'column'}`",
        )
    for number in range(1, len(drawn.numbers) + 1):
        here = np.flatnonzero(drawn.round == number)
        if missing[here].any() and not missing[here].all():
            raise LabelError(
                f"{source}, {drawn.name(here[np.argmax(missing[here])])} has no probability, and "
                "others of its round have one",
                "items that were chosen, not drawn, are in rounds of their own",
            )
        low = drawn.q[here] * left[here[0]] < meaning.floor * (1 - _ALIKE)
        if low.any():
            at = here[np.argmax(low)]
            raise LabelError(
                f"{source}, {drawn.places[at]}: the probability of id {drawn.ids[at]!r} is below "
                f"the floor of {meaning.floor:g} of a uniform draw's",
                "give a lower `draws_floor`, or leave it out",
            )
    check_ends(drawn, left, source)
    if meaning.design is None:
        check_meaning(drawn, left, source)


def check_ends(drawn: Draws, left: Array, source: str) -> None:
    """Raises LabelError for a certain draw while others are left, and an uncertain last one."""
    certain = (drawn.q > 1 - 1e-12) & (left > 1)
    last = (drawn.q < 1 - 1e-6) & (left == 1)
    for wrong, what in ((certain, "{:,} items were left"), (last, "only this item was left")):
        if wrong.any():
            at = int(np.argmax(wrong))
            raise LabelError(
                f"{source}, {drawn.places[at]}: the probability of id {drawn.ids[at]!r} is "
                f"{drawn.q[at]:g}, and {what.format(int(left[at]))}",
                "every item that is left must have a chance in every draw; items that were chosen "
                "for certain have no probability, and rounds of their own"
                if what[0] == "{"
                else _REMEDY,
            )


def check_meaning(drawn: Draws, left: Array, source: str) -> None:
    """Raises LabelError where the probabilities fit another design better.

    With q the probability of a draw among n items, the mean of 1 / (q n) is 1 but for chance. If it
    were the probability that an item is in the sample, the sum of 1 / q over the sample would be
    the number of items, of which each round was a sample, or the log was one.
    """
    known = np.flatnonzero(~np.isnan(drawn.q))
    if len(known) < FEWEST:
        return
    inverse = 1 / drawn.q[known]
    # 1 but for chance where every item could be drawn.
    found = float(np.mean(inverse / left[known]))
    if found > _FAR:
        raise LabelError(
            f"{source}: the probabilities are too small: those of all items of the pool would sum "
            f"to about {1 / found:.2g}, and not to 1",
            f"{_REMEDY}; {_SEQUENTIAL}",
        )
    starts = np.unique(drawn.round, return_index=True)[1]
    starts = starts[~np.isnan(drawn.q[starts])]
    total = float(inverse.sum())
    others = [total / left[starts].sum(), total / left[known[0]]]
    nearest = min(abs(math.log(each)) for each in others)
    # Rounds of one draw each are both.
    if found < _SURELY_ONE and nearest < abs(math.log(found)) / 2:
        raise LabelError(
            f"{source}: the probabilities look like those of being in the sample, and not like "
            f"those of one draw after another, which sum to 1 over the pool: these would sum to "
            f"about {1 / found:,.2g}",
            f"{_REMEDY}; {_SEQUENTIAL}",
        )


def _make_log(
    drawn: Draws, supplied: Mapping[str, int], answers: Sequence[Answer], cache: Cache
) -> Log:
    """The log of these draws and answers, without rounds."""
    known, others = resolve_answers(answers, values=not cache.classes), list(supplied)
    encode = make_label_encoder(cache.classes)
    status, labels = encode_outcomes(drawn.ids, known, encode)
    supplied_status, supplied_labels = encode_outcomes(others, known, encode)
    return Log(
        rows=cache.find(drawn.ids),
        q=drawn.q,
        round=drawn.round,
        status=status,
        labels=labels,
        supplied_rows=cache.find(others) if others else np.empty(0, np.int64),
        supplied_status=supplied_status,
        supplied_labels=supplied_labels,
        supplied_round=np.array(list(supplied.values()), np.int64),
    )


def _fit_rounds(
    log: Log,
    cache: Cache,
    choices: Choices,
    record: dict[str, Any],
    codes: tuple[int, ...] | None,
    uniform: Array | None,
    *,
    seed: int,
) -> tuple[Log, Array]:
    """The log with its rounds and what was predictable before each, and (D,) what a plan gives.

    The plan is one of our own for the same draws; its probabilities are NaN where there is none.

    record   the fields of Choices that the rounds keep
    codes    of the predicted classes whose items could be drawn; None where all could
    uniform  (D,) items that each draw was as likely of; None where draws were not uniform
    """
    history: list[Round] = []
    objectives: tuple[Objective, ...] = ()
    params: Mapping[str, Any] = {}
    fitted, labels = 0, 0
    plan: Array | None = None
    planned = np.full(len(log.rows), np.nan)
    for number in range(1, int(log.round.max()) + 1):
        here = log.round == number
        # A round that begins with the second one, the fourth ... has labels to learn from.
        if number == 1 << (number.bit_length() - 1):
            before = truncate_log(log, number - 1, supplied=number)
            surrogate = fit_surrogate(
                before, cache, choices, rng=make_generator(seed, number, "fit")
            )
            objectives = find_objectives(
                before, cache, surrogate, choices, find_drawable_items(before, cache)
            )
            params, fitted = surrogate.params(), number
            labels = len(list_learned(before, choices)[0])
            plan = None if uniform is not None else _plan(before, cache, choices, codes, surrogate)
        if plan is not None:
            before = truncate_log(log, number - 1, supplied=number)
            planned[here] = _share_plan(plan[log.rows[here]], plan, before)
        count, chosen = int(here.sum()), bool(np.isnan(log.q[here]).any())
        # Without a total nobody takes the weights of other items for known: see estimation.bets.
        total = np.nan if uniform is None else float(uniform[here][0])
        history.append(
            Round(
                number=number,
                rows=log.rows[here],
                q=log.q[here],
                choices=record | ({"selection": Selection.TOP.value} if chosen else {}),
                params=params,
                statistics=(),
                groups=(),
                imputed=np.empty((count, 0)),
                imputed_sum=np.empty((0, 0)),
                count=np.empty(0, np.int64),
                objectives=tuple(replace(each, total=total) for each in objectives),
                fit_round=fitted,
                fit_labels=labels,
                drawn_from=None if chosen else codes,
                version=__version__,
                imported=True,
            )
        )
    # Chosen items need no predictions to be estimated from; rounds record some all the same.
    as_drawn = tuple(replace(each, q=np.ones(len(each.rows))) for each in history)
    predicted = repredict(
        replace(log, history=as_drawn), cache, list_recorded_statistics(choices, cache)
    )
    rounds = tuple(
        replace(each, q=before.q, again=(), imputed_again=None)
        for each, before in zip(predicted.history, history, strict=True)
    )
    looks = list_looks(choices, replace(log, history=rounds), cache)
    rounds = tuple(add_plan(each, choices.aims, looks=looks) for each in rounds)
    return replace(log, history=rounds), planned


def _plan(
    log: Log,
    cache: Cache,
    choices: Choices,
    codes: tuple[int, ...] | None,
    surrogate: Surrogate,
) -> Array | None:
    """(N,) the weight of every item in draws of our own for the metric; None without such a plan.

    Whatever the draws of the log were for: any plan that rests on the pool and on earlier labels
    alone serves to check them.
    """
    if choices.question:
        return None
    own = replace(
        choices,
        acquisition="optimal",
        selection=Selection.DRAW.value,
        power=1.0,
        floor=_PLANNED_FLOOR,
        floor_rule=FloorRule.MIX.value,
    )
    try:
        q = prepare_round(log, cache, own, seed=0, surrogate=surrogate).q
    except (NotEstimable, ChoiceError):
        return None
    return np.asarray(q * find_predicted_as(cache, codes), float)


def _share_plan(drawn: Array, plan: Array, before: Log) -> Array:
    """(n,) probabilities of the items of a round in a plan, each among those left before it.

    drawn   (n,) their weights in the order drawn, plan (N,) of all items
    before  what was known before the round
    """
    left = plan.sum() - plan[before.item_rows].sum() - (np.cumsum(drawn) - drawn)
    return drawn / np.maximum(left, drawn + MARGIN * plan.sum())


def _account_for(shares: Array, planned: Array) -> Accounted:
    """Whether probabilities account for the pool: shares and planned (D,) are q n and g / q."""
    known = ~np.isnan(shares)
    plain = 1 / shares[known]
    return measure_accounted(plain, np.where(np.isnan(planned[known]), plain, planned[known]))


def _describe(log: Log, source: str, shares: Array, accounted: Accounted) -> tuple[str, ...]:
    """Contents of the log, in sentences; shares (D,) are q n of every draw."""
    counts = {status: int((log.status == status).sum()) for status in (LABELLED, PENDING, DECLINED)}
    parts = [f"{counts[LABELLED]:,} labelled"]
    parts += [f"{counts[PENDING]:,} without a label yet"] * bool(counts[PENDING])
    parts += [f"{counts[DECLINED]:,} declined"] * bool(counts[DECLINED])
    rounds = f"{len(log.history):,} round{'s' * (len(log.history) != 1)}"
    lines = [f"{len(log.rows):,} draws of {source} in {rounds}: {', '.join(parts)}"]
    if len(log.supplied_rows):
        lines[0] += f"; and labels of {len(log.supplied_rows):,} items that were not drawn"
    if len(log.rows) >= FEWEST and not np.allclose(shares[~np.isnan(shares)], 1.0):
        lines.append(f"their probabilities account for {accounted}")
    return tuple(lines)
