"""What the user of `init` said, on top of what a study has settled or the defaults."""

from dataclasses import asdict, replace

from activetest import catalog
from activetest.bandits.arms import ACCURACY, CONFUSION
from activetest.errors import ChoiceError, PoolChanged
from activetest.item_statistics.defaults import default_metrics
from activetest.nouns.choices import Choices
from activetest.pool.pool import Pool
from activetest.sampling.choices import checked
from activetest.sampling.question import NONE, usual_floor
from activetest.study.config import roles
from activetest.study.study import Study


def check_seed(seed: int | None, study: Study | None) -> None:
    """Raises ChoiceError for a seed that is none, or not the study's."""
    if seed is None:
        return
    if not 0 <= seed < 2**63:
        raise ChoiceError(
            f"--seed {seed} is not between 0 and 2^63 - 1", hint="leave it out for a random one"
        )
    if study and seed != study.seed:
        raise ChoiceError(
            f"the study was made with seed {study.seed}",
            hint="start another study with --study DIR",
        )


def kept(path: str, study: Study | None, columns: dict) -> dict:
    """What a study has settled about its columns, but for what is wished anew.

    Raises PoolChanged when the pool at path lacks what the study reads.
    """
    if study is None:
        return {}
    schema = roles(study.pool)
    Pool(path, replace(schema, features=(), groups=())).check()
    named = columns.get("groups", schema.groups)
    groups = {
        column
        for group in ([named] if isinstance(named, str) else named)
        for column in group.split("*")
    } - set(schema.group_columns)
    settled = {
        "id": schema.id,
        "outputs": schema.outputs,
        "features": tuple(name for name in schema.features if name not in groups),
        "groups": schema.groups,
        "task": schema.task,
        "positive": schema.positive,
        "threshold": schema.threshold,
        "classes": None if schema.open_classes else schema.classes or None,
    }
    return {key: value for key, value in settled.items() if key not in columns}


def check_features(pool: Pool, study: Study | None) -> None:
    """Raises PoolChanged when rounds were drawn with other features: they are asked for again."""
    if study is None or not study.ledger.surrogates():
        return
    settled = roles(study.pool).features
    if pool.schema.features != settled:
        raise PoolChanged(
            f"rounds were drawn with the features {', '.join(settled) or '(none)'}, "
            f"not with {', '.join(pool.schema.features) or '(none)'}",
            f"keep them with --features '{','.join(settled)}', "
            "or start another study with --study DIR",
        )


def choices(pool: Pool, study: Study | None, wanted: dict) -> Choices:
    """The choices given, on top of the study's or the defaults.

    Raises ChoiceError for one that makes no sense.
    """
    entries = {"uri": pool.uri} | pool.schema.to_dict()
    metrics = default_metrics(entries["task"], entries["kind"])
    regression = pool.schema.task == "regression"
    default = Choices(
        metric=metrics[0], metrics=metrics, surrogate="residual" if regression else "agreement"
    )
    settled = replace(study.choices if study else default, groups=pool.schema.groups)
    wanted = _about_task(wanted, settled, fresh=study is None and not regression)
    if "metric" in wanted:
        named = wanted["metric"]
        # What draws aim at is reported, and recorded by rounds, besides the usual metrics.
        wanted |= {"metric": named[0], "also": named[1:]}
        wanted |= {"metrics": tuple(dict.fromkeys((*metrics, *named)))}
    return checked(asdict(settled) | wanted, entries, where="activetest init")


def priors_note(choices: Choices, pool: Pool) -> tuple[str, ...]:
    """What to know of priors that cannot be what was chosen."""
    silent = pool.schema.kind == "pred"
    if choices.task is None or choices.prior == "uniform" or not silent:
        return ()
    return ("the pool has no probabilities: priors of groups are uniform",)


def _about_task(wanted: dict, settled: Choices, *, fresh: bool) -> dict:
    """The wishes, with what follows from those about a task: see Choices."""
    wanted = dict(wanted)
    task = wanted.get("task", settled.task)
    if task != settled.task:
        idle = ("target", "worst", "compare", "rope")
        idle += ("prior", "strength") if task == NONE else ()
        wanted = {name: getattr(Choices, name) for name in idle} | wanted
    if task == NONE:
        wanted["task"] = None
        if catalog.fact("acquisition", settled.acquisition, "CHOOSES_GROUPS"):
            wanted.setdefault("acquisition", Choices.acquisition)
    elif settled.task is None and task:
        wanted.setdefault("acquisition", "thompson")
        if fresh:
            wanted.setdefault("metric", ACCURACY)
    if "compare" in wanted and isinstance(wanted["compare"], str):
        # Which of several commas parts them is seen when the pool's values are known.
        wanted["compare"] = wanted["compare"].rpartition(",")[::2]
    if "metric" in wanted:
        wanted |= _named(wanted["metric"], wanted.get("task", settled.task))
    chosen = wanted.get("acquisition", settled.acquisition)
    between = [
        bool(catalog.fact("acquisition", name, "CHOOSES_GROUPS"))
        for name in (chosen, settled.acquisition)
    ]
    if between[0] != between[1]:
        wanted.setdefault("floor", usual_floor(chosen))
    return wanted


def _named(metric: tuple[str, ...] | str, task: str | None) -> dict:
    """The metrics by name, and the target: a confusion matrix is none that draws can aim at."""
    named = (metric,) if isinstance(metric, str) else tuple(dict.fromkeys(metric))
    if named[0] != CONFUSION or task in (None, NONE):
        return {"metric": named, "target": ""}
    return {"metric": named[1:] or (ACCURACY,), "target": CONFUSION}
