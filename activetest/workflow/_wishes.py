"""What the user of `init` said, on top of what a study has settled or the defaults."""

from dataclasses import asdict, replace

from activetest.choices import checked, metrics_of
from activetest.errors import ChoiceError, PoolChanged
from activetest.evidence import Choices
from activetest.pool import Pool
from activetest.study import Study
from activetest.study_pool import roles


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
    metrics = metrics_of(entries)
    regression = pool.schema.task == "regression"
    default = Choices(
        metric=metrics[0], metrics=metrics, surrogate="residual" if regression else "agreement"
    )
    settled = replace(study.choices if study else default, groups=pool.schema.groups)
    if "metric" in wanted:
        named = wanted["metric"]
        named = (named,) if isinstance(named, str) else tuple(dict.fromkeys(named))
        # What draws aim at is reported, and recorded by rounds, besides the usual metrics.
        wanted |= {"metric": named[0], "also": named[1:]}
        wanted |= {"metrics": tuple(dict.fromkeys((*metrics, *named)))}
    return checked(asdict(settled) | wanted, entries, where="activetest init")
