"""Reports: every estimate with its interval, and what to know before believing it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from activetest import catalog
from activetest.cache.cache import Cache
from activetest.errors import ChoiceError
from activetest.estimation.assumptions import check_assumption, parse_assumptions
from activetest.estimation.beliefs import is_model_based
from activetest.estimation.population import Population
from activetest.estimation.view import (
    ANYTIME,
    FIXED,
    INTERVALS,
    POSTERIOR,
    SEQUENTIAL,
    View,
    build_view,
    find_own_view,
)
from activetest.item_statistics import specification
from activetest.item_statistics.defaults import default_shown
from activetest.item_statistics.metric import Facts, Metric
from activetest.labels import annotators
from activetest.nouns.arguments import (
    read_cells,
    read_flag,
    read_name,
    read_names,
    read_number,
    read_paths,
)
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, drop_waiting_rounds
from activetest.nouns.name_lists import join_names
from activetest.nouns.report import (
    REFUTED,
    AssumptionCheck,
    Counts,
    EstimateRow,
    Note,
    Weight,
    sort_notes,
)
from activetest.nouns.study_lists import OF_CONFIG, OF_REPORT
from activetest.reporting import notes as about
from activetest.reporting import rows, verdicts
from activetest.reporting.annotator_notes import note_correction
from activetest.reporting.assumption_notes import write_assumption_notes
from activetest.reporting.models import estimate_models, list_settled
from activetest.reporting.part_rows import PART, estimate_parts, note_change, subtract_part
from activetest.reporting.requirements import Requirement, parse_requirement
from activetest.reporting.rows import HEADLINE
from activetest.sampling.floor import chooses_floor
from activetest.sampling.question import chooses_between
from activetest.study.comparison import (
    check_model_report,
    check_rope,
    compare_models,
    join_models,
    list_differing,
    list_findings,
    list_model_names,
    list_models,
)
from activetest.study.details import build_details
from activetest.study.findings import Context, Request
from activetest.study.hindsight import complete_request, find_own_threshold
from activetest.study.judged import describe_judged, record_judged, set_level
from activetest.study.models import ModelStudy
from activetest.study.parts import note_populations, note_retired
from activetest.study.plots import saving_plots
from activetest.study.results import Report
from activetest.study.status import status
from activetest.study.stored import StoredStudy
from activetest.system.parallel import one_blas_thread
from activetest.system.progress import go_through

# Items by which is measured what the evidence of the pool changes.
_SAMPLE = 1 << 14
# How questions that come later are asked of the same labels.
_HINDSIGHT = (
    "The same labels answer further questions, at any time: `study.report(metrics=['NAME'])` shows "
    "another metric, and `study.change(groups=['COLUMN'])` keeps another group apart in the "
    "reports from then on; it replaces the groups that were there."
)
# A metric with a value for each pair of classes.
_CONFUSION = "confusion"


@one_blas_thread()
def report(
    study: StoredStudy,
    *,
    metrics: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
    differences: str | Sequence[str] | None = None,
    reference: str | None = None,
    by: str | None = None,
    reference_part: str | None = None,
    rope: float | None = None,
    require: str | Sequence[str] | None = None,
    interval: str | None = None,
    simultaneous: bool = False,
    half_width: float | None = None,
    bound: float | None = None,
    assume: str | Sequence[str] | None = None,
    estimators: str | Sequence[str] | None = None,
    population: bool = False,
    cluster: str | None = None,
    surface: bool = False,
    at: str | Mapping[str, str] | Sequence[str | Mapping[str, str]] = (),
    maps: str | Sequence[str] = (),
    plot: str | Path | Sequence[str | Path] = (),
    force: bool = False,
    details: bool = False,
) -> Report:
    """Everything that is known about the model now. Arguments are those of Study.report.

    It changes nothing but that the study records which gates were asked for, before their numbers
    are computed.

    Metrics that are not named are those that the study's draws aim at. Groups are shown by all of
    them, after those by the first; by further cells of a confusion matrix, which are many, where
    metrics are named. Gates are decided by sequential intervals where the study planned looks, else
    by anytime-valid ones; beside sequential gates, intervals are fixed ones. With a bound, larger
    losses count as this.

    Raises UnknownMethod for a name that does not exist, ChoiceError for what this study lacks; an
    estimate that does not exist is a row with a reason.
    """
    usual, choices = study.reports, study.choices
    request = complete_request(
        study,
        Request(
            metrics=read_names("metrics", usual.metric if metrics is None else metrics),
            groups=(usual.group or None) if groups is None else read_names("groups", groups),
            differences=read_names(
                "differences", usual.difference if differences is None else differences
            ),
            reference=None if reference is None else read_name("reference", reference),
            by_part=_read_by(by),
            reference_part=None
            if reference_part is None
            else read_name("reference_part", reference_part),
            rope=None if rope is None else read_number("rope", rope),
            require=read_names("require", _find_required(study) if require is None else require),
            interval=usual.interval if interval is None else read_name("interval", interval),
            simultaneous=read_flag("simultaneous", simultaneous),
            half_width=None if half_width is None else read_number("half_width", half_width),
            bound=usual.bound if bound is None else read_number("bound", bound),
            assume=read_names("assume", usual.assume if assume is None else assume),
            estimators=read_names("estimators", estimators),
            population=read_flag("population", population),
            cluster=None if cluster is None else read_name("cluster", cluster),
            surface=read_flag("surface", surface),
            at=read_cells("at", at),
            maps=read_names("maps", maps),
            details=read_flag("details", details),
            plots=bool(read_paths("plot", plot)),
        ),
    )
    save = saving_plots(choices, request.maps, plot, study.folder, force=read_flag("force", force))
    estimators = request.estimators or _find_usual(
        choices, request.interval, population=request.population
    )
    _check_arguments(estimators, request, choices.level)
    # Gates of a population are decided by fixed intervals, too, at planned looks where there are
    # some.
    interval = request.interval or (choices.interval if request.population else None)
    if request.population:
        _check_population(_find_kind(choices, interval), request.half_width)
    _check_parts(study, request)
    parsed = [set_level(study, parse_requirement(text)) for text in request.require]
    check_model_report(
        study,
        gates=bool(parsed) and interval != FIXED,
        kind=_find_kind(choices, interval),
        surface=request.surface or bool(request.at or request.maps),
    )
    cache = study.known_cache()
    columns, compared = (
        _check_columns(cache, each) for each in (request.groups, request.differences)
    )
    facts = _find_facts(study, cache, request.metrics, [each.metric for each in parsed])
    shown, further, viewed = _choose_metrics(request, choices, facts)
    apart = compare_models(
        *(shown, request.reference, list_model_names(study)), open_classes=facts.open_classes
    )
    required = _bound_all(
        [specification.find_metric(each.metric, facts) for each in parsed], request.bound
    )
    whole = study.log(cache)
    log = drop_waiting_rounds(whole)
    findings = list_findings(Context(study, request, log, cache, facts))
    # Before the first draw it is shown only to those who name it.
    own_view = any(
        map(is_model_based, estimators if request.estimators or _has_begun(whole) else ())
    )
    sampled = _read_population(study, request.cluster, population=request.population)
    about_all = [*viewed, *required, *(metric for each in findings for metric in each.metrics)]
    about_all += (*apart, *list_settled(apart))
    view = build_view(
        *(log, join_models(study, cache, log, list_models(about_all)), choices, about_all),
        seed=study.seed,
        own_view=own_view,
        population=sampled,
    )
    gates, kind = list(zip(parsed, required, strict=True)), _find_kind(choices, interval)
    deciders = [each.find_gate for each in findings]
    view, kinds, checks = _check_gates(view, gates, interval, request.assume, deciders)
    unrecorded = record_judged(
        *(study, parsed, kinds),
        source=OF_CONFIG if require is None else OF_REPORT,
        conditions={
            "population": request.population,
            "cluster": request.cluster,
            "bound": request.bound,
            "assume": [each.assumption for each in checks],
            "parts": list(cache.part_names) if len(cache.part_ends) > 1 else None,
        },
    )
    estimates = [
        rows.estimate_row(view, metric, name, level=choices.level, kind=kind)
        for metric, name in go_through("estimating metrics", [*product(shown, estimators)])
        if request.estimators or not (metric.models and is_model_based(name))
    ]
    estimates[0] = replace(estimates[0], headline=True)
    estimates += estimate_models(view, apart, kind, rope=request.rope)
    answers = study.record().answers
    notes = [
        *about.write_notes(view, estimates, shown[0], answers),
        *note_correction(view, shown, answers),
    ]
    for these in filter(None, (shown if request.metrics else shown[:1], further)):
        together = request.simultaneous
        estimates += [
            *_estimate_parts(view, these, request, kind),
            *rows.estimate_groups(view, these, columns, kind, simultaneous=together),
            *rows.estimate_differences(view, these, compared, simultaneous=together),
        ]
    estimates = rows.mark_one_look(estimates, kind)
    notes += (
        *([] if view.parts else write_assumption_notes(view, checks, shown, estimates, kind)),
        *about.note_kinds(kind, compared, estimates),
        *about.note_uncertain_groups(cache, estimates),
    )
    described = [each.describe(view, columns, kind) for each in findings]
    judged = verdicts.judge_requirements(view, gates, interval, deciders)
    several = annotators.measure_agreement(answers, values=not cache.classes).items > 0
    notes += (
        *about.note_changed_labels(
            study.ledger.count_replaced(), [*estimates, *judged], several_annotators=several
        ),
    )
    # Last of their weight: what is wrong with a number itself comes first.
    judged, about_models = describe_judged(study, cache, view, gates, judged)
    notes += [*_note_pool(study, cache), *unrecorded, *about_models]
    notes += [
        *note_populations(study, parsed),
        *note_retired(study),
        *(note_change(view, shown[0]) if request.by_part else ()),
        *_note_request(request, view, shown[0], estimates[0]),
    ]
    notes += [note for _, about_finding in described for note in about_finding]
    counts, _ = status(study, cache)
    found = Report(
        pool=study.pool_name,
        fingerprint=cache.whole.fingerprint,
        seed=study.seed,
        metric=join_names((choices.metric, *choices.also)),
        surrogate=choices.surrogate,
        acquisition=choices.acquisition,
        selection=choices.selection,
        power=choices.power,
        surrogate_note=getattr(view.evidence.surrogate, "note", None),
        auxiliary_outputs=getattr(view.evidence.surrogate, "auxiliary_outputs", ()),
        floor=_find_floor(whole, choices),
        counts=replace(counts, evidence=_weigh_evidence(view, counts)),
        estimates=tuple(estimates),
        notes=sort_notes(notes),
        gates=judged,
        estimators=request.estimators,
        population=request.population,
        cluster=request.cluster,
        assumptions=checks,
        threshold=find_own_threshold(study),
        weight=cache.roles.get("weight"),
        population_setting="" if request.population or view.parts else "`population=True`",
        hindsight=_HINDSIGHT,
        details=build_details(
            *(study, view, whole, facts, shown[0], estimates[0], kind),
            list_differing(apart),
        )
        if request.details
        else None,
        folder=study.folder,
        **{name: found for contents, _ in described for name, found in contents.items()},
    )
    save(found)
    return found


def _check_parts(study: StoredStudy, request: Request) -> None:
    """Raises StudyError for what is not joined over parts of the population."""
    for given, what in (
        (request.population, "a report on the population behind a pool"),
        (request.assume, "an assumption on rare classes"),
        (request.surface or request.at or request.maps, "a surface"),
    ):
        if given:
            study.check_one_part(what)


def _read_by(by: str | None) -> bool:
    """Whether the report is by parts. Raises ChoiceError for another word."""
    if by is not None and read_name("by", by) != PART:
        raise ChoiceError(f"`by={by!r}` is no way to split a report", f"`by={PART!r}`")
    return by is not None


def _estimate_parts(
    view: View, metrics: Sequence[Metric], request: Request, kind: str
) -> list[EstimateRow]:
    """The rows about parts of the population that were asked for."""
    found = estimate_parts(view, metrics, kind) if request.by_part else []
    if request.reference_part is not None:
        found += subtract_part(view, metrics, request.reference_part, kind)
    return found


def _find_required(study: StoredStudy) -> tuple[str, ...]:
    """The gates of study.toml, which are about the study and not about a further model alone."""
    return () if isinstance(study, ModelStudy) else study.reports.require


def _weigh_evidence(view: View, counts: Counts) -> tuple[str, ...]:
    """The pool's evidence on the model's answers, and what labels have made of it."""
    measure = getattr(view.evidence.surrogate, "measure_evidence", None)
    if not counts.evidence or measure is None:
        return counts.evidence
    factor = measure(view.cache.rows(0, min(_SAMPLE, view.cache.size)))
    change = f"labels so far: it changes the odds of an error {factor:.2g} times, as a rule"
    return (*counts.evidence, change) if factor > 1 else counts.evidence


def _has_begun(log: Log) -> bool:
    """Whether any item was drawn, or its label supplied."""
    return len(log.rows) + len(log.supplied_rows) > 0


def _note_pool(study: StoredStudy, cache: Cache) -> list[Note]:
    """Notes on changes since the study was set up, and on a pool that is not at hand."""
    changed = [
        Note(change, Weight.INVALID) for change in study.provenance().describe_changes(cache.whole)
    ]
    return changed + ([Note(study.absence, Weight.LIMITED)] if study.absence else [])


def _note_request(
    request: Request, view: View, metric: Metric, headline: EstimateRow
) -> Iterator[Note]:
    """Notes on capped losses, and on how many labels an interval needs, where requested."""
    if request.bound is not None:
        capped = f"Losses that have no bound of their own are capped at {request.bound:g}"
        yield Note(f"{capped}, as requested.")
    if request.half_width is not None:
        needed = about.describe_labels_needed(view, metric, headline, request.half_width)
        yield Note(needed, Weight.ANSWER)


def _find_kind(choices: Choices, interval: str | None) -> str:
    """The kind of the intervals that a report shows: fixed ones beside sequential gates."""
    kind = interval or choices.interval
    return FIXED if kind == SEQUENTIAL else kind


def _list_shown(choices: Choices, interval: str | None) -> tuple[str, ...]:
    """The metrics of a report that names none: what draws aim at, or the usual ones of two classes.

    Bets are about one number at a time, and slow: with anytime-valid intervals what draws aim at.
    """
    named = (choices.metric, *choices.also)
    if _find_kind(choices, interval) == ANYTIME:
        return named
    return default_shown(named, choices.metrics)


def _choose_metrics(
    request: Request, choices: Choices, facts: Facts
) -> tuple[list[Metric], list[Metric], list[Metric]]:
    """The metrics of a report; those whose rows of groups come last; and those of its view.

    Where none is named, rows of groups that earlier versions showed keep their places: those by the
    first metric. Cells of a confusion matrix are many.
    """
    shown = _find_metrics(request.metrics or _list_shown(choices, request.interval), facts)
    further = [] if request.metrics else [each for each in shown[1:] if each.name != _CONFUSION]
    # The surrogate's own view draws values for all metrics at once: with those that rounds record,
    # its numbers do not depend on how many of them are shown.
    recorded = (choices.metric, *choices.also, *choices.metrics)
    viewed = _find_metrics(request.metrics or recorded, facts)
    shown, further, viewed = (
        _bound_all(metrics, request.bound) for metrics in (shown, further, viewed)
    )
    return shown, further, viewed


def _bound_all(metrics: list[Metric], bound: float | None) -> list[Metric]:
    """The metrics, with losses capped where there is a bound."""
    if bound is None:
        return metrics
    return [specification.bound_losses(each, bound) for each in metrics]


def _find_usual(choices: Choices, interval: str | None, *, population: bool) -> tuple[str, ...]:
    """The estimators of a report that names none: the headline, and the surrogate's own view."""
    own = find_own_view(choices)
    usual = (own,) if interval == POSTERIOR else (HEADLINE, own)
    return (HEADLINE,) if population else usual


def _check_population(kind: str, half_width: float | None) -> None:
    """Raises ChoiceError for what exists for this pool only."""
    reasons = {
        ANYTIME: "what holds at every look is the value of this pool, from draws whose "
        "probabilities are known; nobody knows how the pool itself was drawn",
        POSTERIOR: "what the surrogate believes is about the items of this pool",
    }
    if kind in reasons:
        raise ChoiceError(
            f"`population=True` has no {kind} interval: {reasons[kind]}",
            '`study.report(population=True, interval="fixed")`',
        )
    if half_width is not None:
        raise ChoiceError(
            "`half_width` plans labels of this pool, and the pool's own sampling variance stays "
            "however many of its items are labelled",
            f"`study.report(half_width={half_width:g})`, without `population`",
        )


def _check_gates(
    view: View,
    gates: list[tuple[Requirement, Metric]],
    interval: str | None,
    assume: Sequence[str],
    deciders: Sequence[verdicts.Decider],
) -> tuple[View, tuple[str, ...], tuple[AssumptionCheck, ...]]:
    """The view with its assumptions, how gates are decided, and what labels say of assumptions.

    Those that labels refute are left out of the view. Raises ChoiceError for gates that cannot be
    decided, for other texts than assumptions, and where a number would not rest on them.
    """
    kinds = verdicts.check_requirements(view, gates, interval, deciders)
    assumptions = parse_assumptions(assume, view.cache)
    others = {_find_kind(view.choices, interval), *kinds} & {ANYTIME, POSTERIOR}
    if assumptions and (others or view.population is not None):
        raise ChoiceError(
            "`assume` is for this pool, in intervals from draws that hold for one look and in "
            "gates at one look or planned ones",
            '`interval="fixed"`' if others else "leave out `population`",
        )
    checks = tuple(
        check_assumption(each, view.evidence, view.choices.level) for each in assumptions
    )
    pairs = zip(assumptions, checks, strict=True)
    used = tuple(each for each, check in pairs if check.verdict != REFUTED)
    return replace(view, assumptions=used), kinds, checks


def _read_population(
    study: StoredStudy, cluster: str | None, *, population: bool
) -> Population | None:
    """Population that the pool is a sample of; None where the report is about the pool.

    Raises ChoiceError for clusters of no population, PoolError for a column that cannot be one.
    """
    if cluster is not None and not population:
        raise ChoiceError(
            f"`cluster={cluster!r}` says what the pool is a sample of",
            f"`study.report(population=True, cluster={cluster!r})`",
        )
    if not population:
        return None
    return Population(None if cluster is None else study.encode_column(cluster))


def _check_arguments(estimators: tuple[str, ...], request: Request, level: float) -> None:
    """Raises UnknownMethod or ChoiceError for what no study has."""
    interval, half_width, bound = request.interval, request.half_width, request.bound
    check_rope(request.rope, request.reference, level)
    known = [
        each
        for each in catalog.names("estimators")
        if not catalog.fact("estimators", each, "SIMULATION_ONLY")
    ]
    for name in estimators:
        bare, _ = catalog.split_options("estimators", name)
        if bare not in known:
            raise ChoiceError(
                f"the estimator {name!r} is for simulations only",
                f"choose from {', '.join(known)}",
            )
    if interval not in (None, *INTERVALS, SEQUENTIAL):
        raise ChoiceError(
            f"there is no interval {interval!r}",
            catalog.nearest(interval, (*INTERVALS, SEQUENTIAL)),
        )
    if half_width is not None and not half_width > 0:
        raise ChoiceError(f"`half_width` is {half_width}", "it is above zero, for example 0.02")
    if bound is not None and not 0 < bound < float("inf"):
        raise ChoiceError(f"`bound` is {bound}", "it is above zero, for example 10")


def _find_floor(log: Log, choices: Choices) -> float:
    """The least probability of an item in the rounds to come, over that in a random draw.

    Where each round chooses its own, and the last one did so for the same metric, that of the last.
    """
    between = chooses_between(choices.acquisition)
    last = log.history[-1] if log.history else None
    if last is not None and last.allocation is None and not last.imported and not between:
        same = (last.choices.get("metric"), last.choices.get("interval")) == (
            choices.metric,
            choices.interval,
        )
        if same and chooses_floor(choices, last.objectives[0]):
            return float(last.choices["floor"])
    return choices.lowest_share


def _find_facts(
    study: StoredStudy, cache: Cache, first: Sequence[str], last: Sequence[str]
) -> Facts:
    """The pool's facts, for metrics named before and after those that draws aim at.

    A judge's mean and bias are on the scale of the first mean among them all.
    """
    choices = study.choices
    scale = specification.find_scale((*first, choices.metric, *choices.also, *last))
    found = specification.describe_pool(cache.roles, choices.costs, cache)
    return replace(found, scale=scale, models=list_model_names(study))


def _find_metrics(specifications: Sequence[str], facts: Facts) -> list[Metric]:
    """The metrics of the specifications, each once, in order."""
    found = {
        metric.title: metric
        for each in specifications
        for metric in specification.find_metrics(each, facts)
    }
    return list(found.values())


def _check_columns(cache: Cache, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The group columns to show. Raises ChoiceError for one that the study lacks."""
    if names is None:
        return cache.group_names
    for name in names:
        if name not in cache.group_names:
            known = ", ".join(cache.group_names) or "none"
            raise ChoiceError(
                f"{name!r} is not a group of this study, whose groups are: {known}",
                about.hint_unknown_group(name, cache.group_names),
            )
    return tuple(dict.fromkeys(names))
