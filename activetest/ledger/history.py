"""The log of a ledger, for people and auditors: every draw and every answer ever given, as rows."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from activetest.ledger.contents import GivenAnswer
from activetest.ledger.tables import StoredFile
from activetest.nouns.log import DECLINED, LABELLED

REPLACED, TAKEN_BACK = "replaced", "taken back"
_STATUS = {LABELLED: "labelled", DECLINED: "declined"}


class LoggedRow(NamedTuple):
    """One answer, or a draw without any.

    id             of the item
    round          that drew it; None for items that were never drawn
    probability    of the draw; None without one, and where items were not drawn at random
    label, status  of an answer that counts: labelled or declined; empty for all others
    annotator      who answered
    time           when the answer came; of a draw without an answer, when it was drawn
    source         the file of the answer
    superseded     "replaced" or "taken back", of an answer that does not count any more
    former_label, former_status   of such an answer
    known_to       of an item that was never drawn: the first round that knew its label; None where
                   none did
    """

    id: str
    round: int | None
    probability: float | None
    label: str
    annotator: str
    status: str
    time: str
    source: str
    superseded: str
    former_label: str
    former_status: str
    known_to: int | None = None


class Draw(NamedTuple):
    """One draw: the item's id, its round, and the probability it had, None without."""

    id: str
    round: int
    q: float | None


def list_rows(
    draws: Iterable[Draw],
    times: Mapping[int, str],
    files: Iterable[StoredFile],
    answers: Iterable[GivenAnswer],
    supplied: Mapping[str, int | None] = MappingProxyType({}),
) -> list[LoggedRow]:
    """Every draw with its answers, in the order drawn; then the answers about other items.

    times     {round: when it was drawn}
    supplied  {id: first round that knew it, None when none did} of items that were never drawn

    An answer whose file is not among the files counts, as of a file that has no name.
    """
    by_number = {file.number: file for file in files}
    last: dict[tuple[str, str], int] = {}
    given: dict[str, list[GivenAnswer]] = {}
    for answer in answers:
        given.setdefault(answer.id, []).append(answer)
        if not _is_taken_back(by_number.get(answer.file)):
            last[answer.id, answer.annotator] = answer.number
    rows: list[LoggedRow] = []
    for draw in draws:
        found = given.pop(draw.id, [])
        rows += [_write_row(each, draw, by_number, last) for each in found]
        if not found:
            rows.append(LoggedRow(*draw, "", "", "", times.get(draw.round, ""), "", "", "", ""))
    for id, found in given.items():
        first = supplied.get(id)
        rows += [_write_row(each, None, by_number, last)._replace(known_to=first) for each in found]
    return rows


def _is_taken_back(file: StoredFile | None) -> bool:
    return file is not None and file.undone is not None


def _write_row(
    answer: GivenAnswer,
    draw: Draw | None,
    files: dict[int, StoredFile],
    last: dict[tuple[str, str], int],
) -> LoggedRow:
    file, content = files.get(answer.file), (answer.label, _STATUS.get(answer.status, ""))
    superseded = ""
    if _is_taken_back(file):
        superseded = TAKEN_BACK
    elif last[answer.id, answer.annotator] != answer.number:
        superseded = REPLACED
    (label, status), former = (("", ""), content) if superseded else (content, ("", ""))
    return LoggedRow(
        answer.id,
        draw.round if draw else None,
        draw.q if draw else None,
        label,
        answer.annotator,
        status,
        (file.time or "") if file else "",
        (file.source or "") if file else "",
        superseded,
        *former,
    )
