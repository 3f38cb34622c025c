"""The details of a report: what it rests on, for a page that has to stand for itself."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TypeVar

from activetest import __version__, catalog
from activetest.errors import NotEstimable, PoolChanged, PoolError, StudyError
from activetest.estimation.beliefs import is_model_based
from activetest.estimation.view import FIXED, POSTERIOR, View
from activetest.item_statistics.defaults import default_metrics, judge_metrics
from activetest.item_statistics.metric import Facts, Metric
from activetest.labels import annotators
from activetest.nouns.choices import DECLARATIONS, Choices
from activetest.nouns.curve import Curve
from activetest.nouns.declarations import declared
from activetest.nouns.log import Log
from activetest.nouns.records import to_lists
from activetest.nouns.report import EstimateRow
from activetest.nouns.report_details import (
    MOST_CHARACTERS,
    MOST_ITEMS,
    ContestedItem,
    Provenance,
    ReportDetails,
)
from activetest.pool.schema import Schema
from activetest.reporting.annotator_notes import add_confusion
from activetest.reporting.confusion_table import estimate_confusion_table
from activetest.reporting.history import trace_history
from activetest.reporting.rows import HEADLINE, estimate_row
from activetest.reporting.sampled_shares import compare_with_pool
from activetest.reporting.worst_items import find_disputed_items, find_worst_items
from activetest.sampling.question import name_judged, usual_acquisition, usual_floor
from activetest.study.comparison import list_model_names
from activetest.study.export import DrawLog
from activetest.study.folder import INSIDE
from activetest.study.hindsight import HindsightStudy
from activetest.study.labelling import find_columns
from activetest.study.stored import StoredStudy
from activetest.system.safe_text import make_readable, mask_secrets, shorten_readable

T = TypeVar("T")
# The export whose reliability pages show.
_CURVE = "curve"
# Rounds of a log that was imported.
_ELSEWHERE = "an imported log"
# Entries of the pool's schema about its columns.
_OF_POOL = ("id", "outputs", "classes", "features", "task", "positive")
# Runs of rounds of one size that are written out.
_MOST_RUNS = 8


def build_details(
    study: StoredStudy,
    view: View,
    whole: Log,
    facts: Facts,
    metric: Metric,
    headline: EstimateRow,
    kind: str,
    compared: Sequence[str] = (),
) -> ReportDetails:
    """The details of a report with this headline; kind is of its intervals.

    whole     log with the rounds that wait for their first answer, which the view leaves out
    compared  a reference, and the models that are compared with it; none without
    """
    if kind == POSTERIOR or is_model_based(headline.estimator):
        # Past beliefs of the surrogate are not recorded: the history is that of the draws.
        kind = FIXED if kind == POSTERIOR else kind
        level = view.choices.level
        headline = estimate_row(view, metric, HEADLINE, level=level, kind=kind)
    history, band = trace_history(view, metric, headline, kind)
    worst, loss = find_worst_items(view, metric)
    if loss and len(names := list_model_names(study)) > 1:
        loss += f", of {metric.models[0] if metric.models else names[0]}"
        loss += f" beyond that of {metric.models[1]}" if len(metric.models) > 1 else ""
    answers = study.record().answers
    labels = study.list_labels()
    contested = annotators.list_contested(answers)
    shown = contested[:MOST_ITEMS]
    disputed = find_disputed_items(view, compared) if compared else ()
    ids = [*(each.id for each in worst), *(each.id for each in disputed)]
    texts = _read_texts(study, [*ids, *(id for id, _ in shown)])
    values = study.pool["task"] == "regression"
    drawn = any(point.random_lower is not None for point in history)
    return ReportDetails(
        history=history if any(point.estimate is not None for point in history) else (),
        history_of=metric.title,
        history_by=headline.estimator,
        random_band=band.describe() if band and drawn else None,
        confusion=_estimate_or_none(estimate_confusion_table, view),
        reliability=_estimate_or_none(_estimate_reliability, view, facts),
        worst_items=tuple(
            replace(each, text=texts.get(each.id), label=labels.get(each.id, each.label))
            for each in worst
        ),
        loss=loss,
        sampled=compare_with_pool(view),
        raters=add_confusion(annotators.list_annotators(answers), view, answers),
        alpha=annotators.measure_agreement(answers, values=values).alpha,
        contested=tuple(ContestedItem(id, texts.get(id), labels[id], given) for id, given in shown),
        n_contested=len(contested),
        provenance=describe_provenance(
            study.base if isinstance(study, HindsightStudy) else study, whole
        ),
        draws_csv=DrawLog(tuple(study.ledger.list_log()), folder=study.folder).to_csv(),
        disputed=tuple(
            replace(each, text=texts.get(each.id), label=labels.get(each.id, each.label))
            for each in disputed
        ),
    )


def describe_provenance(study: StoredStudy, log: Log) -> Provenance:
    """Where the numbers come from."""
    ledger, times = study.ledger, study.ledger.list_times()
    record, hashes = ledger.record(), ledger.hashes
    rounds = [_write_time(each) for each in times.rounds]
    answered = [_write_time(each) for each in times.answers]
    # In words where another program drew.
    versions = (_ELSEWHERE if each.imported else each.version for each in log.history)
    settings = _list_settings(study)
    return Provenance(
        pool=study.pool_name,
        fingerprint=ledger.fingerprint,
        rows=ledger.rows,
        version=__version__,
        versions=tuple(dict.fromkeys(versions)),
        seed=ledger.seed,
        created=_write_time(times.created),
        first_round=min(filter(None, rounds), default=None),
        last_round=max(filter(None, rounds), default=None),
        first_answer=min(filter(None, answered), default=None),
        last_answer=max(filter(None, answered), default=None),
        rounds=len(log.history),
        draws=len(record.draws),
        answers=len(record.answers),
        settings=tuple(
            (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
            for name, value in settings.items()
        ),
        commands=tuple(_list_commands(study, log, settings, times.files)),
        chain=hashes[-1] if hashes else None,
    )


def _estimate_reliability(view: View, facts: Facts) -> Curve | None:
    """The reliability of the confidence; None where nothing gives curves."""
    if _CURVE not in catalog.names("exports"):
        return None
    found: Curve | None = catalog.load("exports", _CURVE).estimate_for_page(view, facts)
    return found


def _estimate_or_none(estimate: Callable[..., T | None], *about: Any) -> T | None:
    """The estimate; None where there is none, or past surrogates cannot predict it any more."""
    with suppress(NotEstimable, PoolChanged, StudyError):
        return estimate(*about)
    return None


def _read_texts(study: StoredStudy, ids: Sequence[str]) -> dict[str, str]:
    """{id: what its columns of text say, shortened}; empty for a pool without text."""
    ids = list(dict.fromkeys(ids))
    groups = study.schema.group_columns
    try:
        columns = [name for name in find_columns(study) if name not in groups] if ids else []
        if not columns:
            return {}
        shown = study.show(ids, columns)
    except PoolError:
        # The pool is not at hand, or a column has values that Python does not have.
        return {}
    texts = {}
    for at, id in enumerate(ids):
        values = {name: shown[name][at] for name in columns if shown[name][at] is not None}
        parts = [
            str(value) if len(columns) == 1 else f"{name}: {value}"
            for name, value in values.items()
        ]
        if parts:
            texts[id] = _shorten_parts(parts, MOST_CHARACTERS)
    return texts


def _shorten_parts(parts: Sequence[str], most: int) -> str:
    """The parts on lines of their own; what short ones leave of the characters is for long ones."""
    lengths = [len(make_readable(part[:most])) for part in parts]
    left, room = most - (len(parts) - 1), [0] * len(parts)
    for place, at in enumerate(sorted(range(len(parts)), key=lengths.__getitem__)):
        room[at] = min(lengths[at], max(left // (len(parts) - place), 1))
        left -= room[at]
    shortened = [shorten_readable(part, size) for part, size in zip(parts, room, strict=True)]
    return shorten_readable("\n".join(shortened), most)


def _write_time(time: str | None) -> str | None:
    """A time of the ledger as 2026-01-31T12:00:00Z; None for what is no time."""
    with suppress(TypeError, ValueError, OverflowError):
        found = datetime.fromisoformat(time or "")
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return None


def _list_settings(study: StoredStudy) -> dict[str, Any]:
    """{name: value} of the settings that are not what they are by default, as `create` takes them.

    Columns of ids, outputs, classes and features are what the pool's schema says.
    """
    choices, schema = study.choices, study.schema
    usual = _find_usual(choices, schema)
    named = (choices.metric, *choices.also)
    found: dict[str, Any] = {}
    if (judged := name_judged(choices)) != choices.metric:
        found["metric"] = [judged, *([] if named == usual["metric"] else named)]
    elif named != usual["metric"]:
        found["metric"] = list(named) if len(named) > 1 else named[0]
    for name in declared(Choices):
        value = getattr(choices, name)
        if name in ("metric", "costs") or value == usual[name]:
            continue
        found[name] = list(value) if isinstance(value, tuple) else value
    if choices.costs:
        found["costs"] = {
            predicted: dict(zip(schema.classes, row, strict=True))
            for predicted, row in zip(schema.classes, choices.costs, strict=False)
        }
    roles = schema.list_settings()
    roles["groups"] = [name for name in schema.groups if name not in schema.attributes]
    if schema.threshold == Schema.threshold:
        del roles["threshold"]
    found |= {name: to_lists(value) for name, value in roles.items() if value}
    for key in ("train", "other_models"):
        if study.pool.get(key):
            found[key] = mask_secrets(study.pool[key])
    return {name: found[name] for name in DECLARATIONS if name in found and name not in _OF_POOL}


def _find_usual(choices: Choices, schema: Schema) -> dict[str, Any]:
    """The defaults of the choices of a study of such a pool, with such a question."""
    metrics = default_metrics(schema.task, schema.kind, schema.classes)
    if schema.judge:
        metrics = judge_metrics(schema.task, schema.positive)
    elif choices.question and schema.classes:
        metrics = ("accuracy",)
    usual = {each.name: each.default for each in fields(Choices)}
    return usual | {
        "metric": metrics[:1],
        "acquisition": usual_acquisition(choices.question),
        "floor": usual_floor(choices.acquisition, choices.aims),
    }


def _list_commands(
    study: StoredStudy, log: Log, settings: dict[str, Any], files: int
) -> Iterator[str]:
    """Calls that lead to the study, a line each; how often stands behind it."""
    address = study.pool["uri"]
    pool = "frame" if address.startswith(INSIDE) else repr(study.pool_name)
    given = settings | {"seed": study.seed}
    if "costs" in given:
        # A file, on the command line.
        given["costs"] = _Name("costs")
    imported = [each for each in log.history if each.imported]
    words = [pool]
    if imported:
        first, source = imported[0], study.ledger.first_source()
        # Rows and frames are values of a program.
        is_file = source is not None and source not in ("the rows", "the frame")
        words.append(repr(source) if is_file else "draws")
        if first.choices["acquisition"] == "uniform":
            given["design"] = "uniform"
        elif first.choices["floor"]:
            given["draws_floor"] = first.choices["floor"]
        if first.drawn_from is not None:
            classes = study.schema.classes
            given["drawn_from"] = [classes[code] for code in first.drawn_from]
        # The answers of the log are a file.
        files -= bool(source)
    words += [f"{name}={value!r}" for name, value in given.items()]
    yield f"Study.{'from_draws' if imported else 'create'}({', '.join(words)})"
    sizes = [len(each.rows) for each in log.history if not each.imported]
    runs = [(size, len(list(each))) for size, each in groupby(sizes)]
    if len(runs) > _MOST_RUNS:
        yield f"study.next(n){_write_times(len(sizes))}"
    else:
        yield from (f"study.next({size}){_write_times(times)}" for size, times in runs)
    if files > 0:
        yield f"study.ingest(labels){_write_times(files)}"


def _write_times(times: int) -> str:
    """A comment behind a call that was made several times."""
    return f"  # {times:,} times" if times > 1 else ""


class _Name(str):
    """A name of a variable: its repr has no quotes."""

    def __repr__(self) -> str:
        return str(self)
