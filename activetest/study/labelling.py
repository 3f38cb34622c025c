"""Labels given item by item: each answer is in the ledger before the next item is shown."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from activetest.errors import ChoiceError, LabelConflict, LabelError
from activetest.nouns.answer_fields import USUAL_COUNT
from activetest.nouns.arguments import reading_arguments
from activetest.nouns.log import DECLINED, LABELLED
from activetest.system.safe_text import escape_controls, shorten_readable

if TYPE_CHECKING:
    from activetest.ledger.ledger import Answer
    from activetest.study.stored import StoredStudy

# Name of the source of these answers in the ledger.
SOURCE = "a labelling session"
# The labelled items that are looked through for those that an annotator has not labelled yet.
_EVERY = 2**31
# Letters of a value that a line shows.
_LONGEST = 200
# Without names of columns, so many are shown at most.
_SHOWN = 12
# Columns that may say what a model or a judge thinks, which would lead the annotator.
_OPINION = re.compile(
    r"(^|_)(preds?|predicted|predictions?|judges?|judgements?|verdicts?|grades?|scores?)(_|$)", re.I
)


class Item(NamedTuple):
    """An item to label.

    id      its name in the pool
    values  {column: value} of what is shown with it
    answer  what the same annotator has answered already, None where nothing: an answer that cannot
            be taken back is replaced
    """

    id: str
    values: Mapping[str, Any]
    answer: str | None = None


class LabellingSession:
    """The items that wait for a label, one after another.

    >>> session = study.label(n=3, show="ink")
    >>> while session.item is not None:
    ...     session.answer(key[session.item.id])
    >>> session.answered, session.total
    (3, 3)

    Each answer is on disk when the method returns, as if it were a label file of its own. Whoever
    stops goes on where they were: `study.label()` begins with the first item without an answer.
    """

    def __init__(
        self,
        open_study: Callable[[], "StoredStudy"],
        items: Sequence[Item],
        *,
        answered: Collection[str] = (),
        annotator: str = "",
        again: bool = False,
        summary: str = "",
    ) -> None:
        """A session over items that `begin_session` has found.

        answered  ids of the other items of the batch, which have an answer
        """
        self._open_study = open_study
        self._schema = open_study().schema
        self._items = {item.id: item for item in items}
        self._queue = [item.id for item in items]
        self._skipped: set[str] = set()
        self._history: list[tuple[str, bool]] = []
        self._revisited: set[str] = set()
        self._again = again
        self._finished = set(answered)
        self._annotator, self._summary = annotator, summary

    def __str__(self) -> str:
        """How far it is, and the item to answer now, a line for each value.

        >>> print(study.label(n=3, show="ink"))
        0 of 3 items have an answer; the next one is digit-1754
          ink: much
        """
        done = f"{self.answered:,} of {self.total:,} items have an answer"
        if self.item is None:
            return done
        values = [
            f"  {escape_controls(name)}: {shorten_readable(str(each), _LONGEST)}"
            for name, each in self.item.values.items()
        ]
        return "\n".join([f"{done}; the next one is {escape_controls(self.item.id)}", *values])

    def _repr_html_(self) -> str:
        """The item to answer now, with what is shown of it, for notebooks."""
        from activetest.render.notebook import html

        return html.session(self.item, self.answered, self.total, self.classes)

    @property
    def item(self) -> Item | None:
        """The item to answer now; None when all have an answer.

        >>> study.label(n=3).item.id
        'digit-1754'
        """
        return self._items[self._queue[0]] if self._queue else None

    @property
    def answered(self) -> int:
        """How many items of the batch have an answer, those of earlier sessions included.

        >>> study.label(n=3).answered
        0
        """
        return len(self._finished)

    @property
    def total(self) -> int:
        """How many items the batch has.

        >>> study.label(n=3).total
        3
        """
        return len(self._finished) + len(self._queue)

    @property
    def skipped(self) -> int:
        """How many items were skipped and still wait.

        >>> session = study.label(n=3)
        >>> session.skip()
        >>> session.skipped
        1
        """
        return len(self._skipped)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of the pool; none where labels are numbers.

        >>> study.label(n=3).classes[:3]
        ('0', '1', '2')
        """
        return self._schema.classes

    @property
    def open_classes(self) -> bool:
        """Whether a label may be a class that the model never predicts.

        >>> study.label(n=3).open_classes
        False
        """
        return self._schema.open_classes

    @property
    def annotator(self) -> str:
        """Who answers; empty where nobody is named.

        >>> study.label(n=3, annotator="ann").annotator
        'ann'
        """
        return self._annotator

    @property
    def summary(self) -> str:
        """Line about the items drawn or found when the session began.

        >>> study.label(n=3).summary
        'round 4: 3 items drawn'
        """
        return self._summary

    def find_class(self, text: str) -> str | None:
        """The class that a text equals, as `ingest` reads labels; None where there is none.

        >>> study.label(n=3).find_class(" 02")
        '2'
        """
        from activetest.labels.matching import ClassMatcher

        return ClassMatcher(self.classes, numbered=self._schema.numbered).find(text)

    def answer(self, label: Any, *, as_is: bool = False) -> None:
        """Record the label of the item, and go to the next.

        >>> session = study.label(n=3)
        >>> session.answer("8")
        >>> session.item.id
        'digit-1595'

        Args:
            label: A class or a number.
            as_is: Take a word such as "N/A" for a class that the model never predicts.

        Raises:
            LabelError: The label makes no sense in this pool, or there is no item left.
            LabelConflict: The same annotator has given another answer elsewhere meanwhile; the next
                one replaces it.
        """
        from activetest.labels.matching import says_no_label
        from activetest.labels.values import write_value

        text = write_value(label, SOURCE, "label").strip()
        if not text:
            raise LabelError(
                "the label is empty",
                "skip the item, or say that it cannot be labelled",
            )
        if not as_is and says_no_label(text) and self.find_class(text) is None:
            raise LabelError(
                f"{text!r} seems to say that there is no label",
                "skip the item, or say that it cannot be labelled",
            )
        self._record(LABELLED, text, as_is=as_is)

    def decline(self) -> None:
        """Record that the item cannot be labelled, and go to the next.

        >>> session = study.label(n=3)
        >>> session.decline()
        >>> study.status().counts.declined
        1
        """
        self._record(DECLINED, "")

    def skip(self) -> None:
        """Put the item behind the others; nothing is recorded.

        >>> session = study.label(n=3)
        >>> session.skip()
        >>> session.item.id
        'digit-1595'
        """
        id = self._current()
        self._queue.append(self._queue.pop(0))
        self._skipped.add(id)
        self._history.append((id, False))
        self._drop_answered()

    def undo(self) -> bool:
        """Go back to the previous item, and take its answer back; whether there is one.

        >>> session = study.label(n=3)
        >>> session.answer("8")
        >>> session.undo(), session.item.id
        (True, 'digit-1754')

        A session that has just begun goes back to what the last one answered, if nothing else has
        come since. Where labels have come from elsewhere meanwhile, the answer stays until another
        takes its place.
        """
        if not self._history:
            return self._undo_earlier()
        id, was_recorded = self._history.pop()
        if not was_recorded:
            self._skipped.discard(id)
            self._return_to(id, self._find_own_answer(id))
            return True
        known = self._find_own_answer(id)
        if known is not None and self._take_back(known):
            # The answer that it replaced counts again.
            known = self._find_own_answer(id)
        self._return_to(id, known)
        return True

    def _current(self) -> str:
        """The id of the item to answer. Raises LabelError where none is left."""
        if not self._queue:
            raise LabelError("every item of the batch has an answer", "`study.label(20)`")
        return self._queue[0]

    def _record(self, status: int, label: str, *, as_is: bool = False) -> None:
        from activetest.labels.files import Label
        from activetest.study.ingest import add_rows
        from activetest.study.label_checks import make_normaliser

        id = self._current()
        study = self._open_study()
        label = make_normaliser(self._schema)(label) if label else ""
        row = Label("the answer", id, self._annotator, status, label)
        replace = id in self._revisited
        try:
            add_rows(study, [row], SOURCE, replace=replace, as_is=as_is)
        except LabelConflict as error:
            # The same annotator has answered elsewhere meanwhile.
            known = self._find_own_answer(id)
            self._return_to(id, known)
            raise LabelConflict(
                error.problem, "the next answer here takes the place of the earlier one"
            ) from error
        except LabelError as error:
            if meant := error.mapping.get(label):
                raise LabelError(
                    f"{label!r} is no class",
                    f"did you mean {meant!r}? `as_is=True` takes it for a further class",
                ) from error
            problem = error.problem.removeprefix(f"{SOURCE}, {row.place}: ")
            raise LabelError(problem, error.hint) from error
        self._revisited.discard(id)
        self._queue.pop(0)
        self._skipped.discard(id)
        self._history.append((id, True))
        self._finished.add(id)
        self._drop_answered()

    def _drop_answered(self) -> None:
        """Items that somebody else has answered meanwhile need no answer any more."""
        while self._queue and (id := self._queue[0]) not in self._revisited:
            answers = self._open_study().ledger.record().answers
            known = any(
                each.id == id and (not self._again or each.annotator == self._annotator)
                for each in answers
            )
            if not known:
                return
            self._queue.pop(0)
            self._skipped.discard(id)
            self._finished.add(id)

    def _find_own_answer(self, id: str) -> "Answer | None":
        """This annotator's answer about an item, if any."""
        answers = self._open_study().ledger.record().answers
        mine = (each for each in answers if (each.id, each.annotator) == (id, self._annotator))
        return next(mine, None)

    def _take_back(self, answer: "Answer") -> bool:
        """Whether the last file holds this answer alone, and is taken back."""
        from activetest.ledger.ledger import LedgerMoved

        ledger = self._open_study().ledger
        while True:
            revision = ledger.record().revision
            if ledger.last_file() != (SOURCE, (answer,)):
                return False
            try:
                ledger.undo(revision=revision)
            except LedgerMoved:
                continue
            return True

    def _undo_earlier(self) -> bool:
        """As undo, for the last answer of an earlier session of the same annotator."""
        last = self._open_study().ledger.last_file()
        if last is None or last[0] != SOURCE or len(last[1]) != 1:
            return False
        (answer,) = last[1]
        if answer.annotator != self._annotator or not self._take_back(answer):
            return False
        if answer.id not in self._items:
            columns = next(iter(self._items.values())).values if self._items else ()
            (found,) = _show_items(self._open_study(), [answer.id], tuple(columns))
            self._items[answer.id] = found
        self._return_to(answer.id, self._find_own_answer(answer.id))
        return True

    def _return_to(self, id: str, answer: "Answer | None") -> None:
        """Ask about an item again; answer is what counts unless another takes its place."""
        self._queue = [id] + [each for each in self._queue if each != id]
        self._finished.discard(id)
        words = None
        if answer is not None:
            self._revisited.add(id)
            words = answer.label if answer.status == LABELLED else "declined"
        self._items[id] = self._items[id]._replace(answer=words)

    def __repr__(self) -> str:
        """One line."""
        return f"<LabellingSession: {self.answered} of {self.total} items answered>"


@reading_arguments
def begin_session(
    open_study: Callable[[], "StoredStudy"],
    n: int | None,
    *,
    show: str | Sequence[str] | None,
    annotator: str,
    again: int | None,
) -> LabellingSession:
    """The session over the pending batch, over new draws, or over items that were labelled before.

    n      how many items are drawn where nothing is pending; None draws none
    show   columns to show; None for all columns of text but the outputs
    again  so many labelled items that this annotator has not labelled

    Raises ChoiceError for a number below one or a column that cannot be shown, PoolError for one
    that is not there.
    """
    from activetest.study.next import check_request, next_batch

    if n is not None and again is not None:
        raise ChoiceError(
            "`n` says how many items to draw, and `again` draws none", "leave out `n`"
        )
    study, annotator = open_study(), annotator.strip()
    columns = find_columns(study) if show is None else tuple(show)
    number, setting = (n, "n") if again is None else (again, "again")
    check_request(study, USUAL_COUNT if number is None else number, columns, setting=setting)
    if again is not None:
        ids = _list_again(study, again, annotator)
        items = _show_items(study, ids, columns)
        noun = "item" if len(ids) == 1 else "items"
        summary = f"{len(ids)} labelled {noun} for another opinion"
        return LabellingSession(open_study, items, annotator=annotator, again=True, summary=summary)
    record = study.ledger.record()
    waiting = {draw.id for draw in record.draws} - {answer.id for answer in record.answers}
    if n is None and not waiting:
        return LabellingSession(open_study, [], annotator=annotator)
    batch = next_batch(study, USUAL_COUNT if n is None else n)
    study = open_study()
    items = _show_items(study, batch.ids, columns)
    return LabellingSession(
        open_study,
        items,
        answered=_find_answered(study, batch.ids),
        annotator=annotator,
        summary=batch.summary() if batch.rows or n is not None else "",
    )


def find_columns(study: "StoredStudy") -> tuple[str, ...]:
    """The columns that are shown where none is named: of text, and neither id nor output."""
    from activetest.pool.roles import OTHER_MODELS, is_telling, is_text
    from activetest.study.next import COLUMNS

    pool = study.open_pool()
    schema = pool.schema
    hidden = {*COLUMNS, schema.id, *schema.output_columns}
    hidden |= {column for columns in schema.uncertain_columns for column in columns}
    found = [
        field.name
        for field in pool.files.schema
        if is_text(field.type)
        and field.name not in hidden
        and not is_telling(field.name)
        and not OTHER_MODELS.search(field.name)
        and not _OPINION.search(field.name)
    ]
    return tuple(found[:_SHOWN])


def _show_items(study: "StoredStudy", ids: Sequence[str], columns: Iterable[str]) -> list[Item]:
    """The items with the values of columns."""
    columns = tuple(dict.fromkeys(columns))
    if not columns or not ids:
        return [Item(id, {}) for id in ids]
    shown = study.show(ids, columns)
    return [
        Item(id, {column: shown[column][at] for column in columns}) for at, id in enumerate(ids)
    ]


def _find_answered(study: "StoredStudy", ids: Sequence[str]) -> set[str]:
    """The items of the rounds of these ones that have an answer."""
    record = study.ledger.record()
    rounds = {draw.round for draw in record.draws if draw.id in set(ids)}
    drawn = {draw.id for draw in record.draws if draw.round in rounds}
    return drawn & {answer.id for answer in record.answers}


def _list_again(study: "StoredStudy", count: int, annotator: str) -> list[str]:
    """The labelled items that most deserve another answer, and have none of this annotator."""
    from activetest.study.again import next_again

    if not annotator:
        raise ChoiceError(
            "a second opinion needs the name of who gives it", "say who answers: `annotator=name`"
        )
    answers = study.ledger.record().answers
    mine = {answer.id for answer in answers if answer.annotator == annotator}
    return [id for id in next_again(study, _EVERY).ids if id not in mine][:count]
