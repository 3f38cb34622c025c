"""Pools on which the model, the judge, the annotators or the prices mislead, and random ones.

Each is a recipe: columns from a generator, and how a study of it is set up. `find_recipe` knows
those of RECIPES by name, those of the other files of pools, and random-0, random-1 ...

confidently-wrong     as in hard_pools.py, with every metric
hidden-positives      1.5 % are positive, two thirds of which the model rules out; draws aim at F1
half-hidden           3 % are positive, half of them among the scores of negatives
bad-group             a model that is as good as certain, and often wrong in one of three groups
judge-plus-one        a judge equal to people, but one too high on 3 % of the items
judge-off-by-three    a judge off by three on 1 %
judge-hard-verdicts   verdicts of 0 and 1 against scores that crowd at 0 and 1
judge-verdicts        a judge who passes 3 % of the items that people fail, and fails 1 % of others
pareto, pareto-counts residuals with a heavy tail, and counts with a skewed rate
annotators-J-of-P     J annotators, each right with probability .P; -some: 30 % of the items have
                      answers of all of them, the others of one; -majority: the majority decides
declined              half of the items on which the model is wrong are declined
dear-errors           a tenth of the items costs a hundred times as much, and is often wrong
rare-class            300,000 items, .4 % of them positive; the model is right about low scores
rare-class-hidden     the same, but a quarter of the positives has scores below 1e-4
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import groups
import guard_pools
import hard_pools
import numpy as np
import pyarrow as pa
import rare_pools
import score_pools
import weights

Columns = dict[str, np.ndarray]

OF_LABELS = ("error", "kappa", "balanced-accuracy")
OF_CLASSES = (*OF_LABELS, "brier", "log-loss", "ece")
OF_TWO = (*OF_CLASSES, "precision", "recall", "f1", "specificity", "rate", "mcc", "auroc")
OF_RANDOM = ("error", "kappa", "brier", "log-loss", "ece", "precision", "recall", "f1", "rate")
OF_VALUES = ("mean", "bias", "mae", "rmse", "r2")
RANDOM_POOLS = 50


@dataclass(frozen=True)
class Recipe:
    """One pool, and the study of it.

    make        columns by a generator: label (N,), prob (N, C) or score or pred (N,), and those
                that roles name
    metrics     to ask for; aim: those that draws aim at
    of_groups   metrics to ask for of each group, and of each difference of two
    roles       of columns, as Pool.open has them
    choices     that are not the usual ones
    right       probability of a right answer of each of several annotators, if any
    together    share of the items that all of them answer; one of them answers each of the others
    declined    probability that an item on which the model is wrong is declined
    """

    make: Callable[[np.random.Generator], Columns]
    metrics: tuple[str, ...] = OF_TWO
    aim: tuple[str, ...] = ("error",)
    of_groups: tuple[str, ...] = ()
    roles: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    right: tuple[float, ...] = ()
    together: float = 1.0
    declined: float = 0.0


def classify(
    rng: np.random.Generator,
    confidence: np.ndarray,
    chance: np.ndarray,
    shares: tuple[float, ...] = (0.5, 0.5),
) -> Columns:
    """Predictions (N,) with these shares and confidence, each wrong with its chance."""
    size, classes = len(confidence), len(shares)
    pred = rng.choice(classes, size, p=shares)
    label = (pred + (rng.random(size) < chance) * rng.integers(1, classes, size)) % classes
    said = np.arange(classes) == pred[:, None]
    others = (1 - confidence[:, None]) / (classes - 1)
    return {"label": label, "prob": np.where(said, confidence[:, None], others)}


def mix_confidence(
    rng: np.random.Generator, size: int, share: float, sure: float, wrong: float, ends: tuple
) -> tuple[np.ndarray, np.ndarray]:
    """(N,) confidence and chance of an error: a share is sure and wrong this often, others know."""
    certain = rng.random(size) < share
    confidence = np.where(certain, sure, rng.uniform(*ends, size))
    return confidence, np.where(certain, wrong, 1 - confidence)


def make_hidden(rng: np.random.Generator) -> Columns:
    """Most positives have the scores of negatives."""
    size = 4_000
    label = rng.random(size) < 0.015
    shown = label & (rng.random(size) >= 0.67)
    alarm = ~label & (rng.random(size) < 0.0075)
    score = np.where(alarm, rng.uniform(0.4, 0.95, size), 0.002)
    score = np.where(shown, rng.uniform(0.5, 0.99, size), score)
    return {"label": label.astype(int), "score": score}


def make_half_hidden(rng: np.random.Generator) -> Columns:
    """Half of the positives have the scores of negatives, which are close to 0."""
    size = 4_000
    label = rng.random(size) < 0.03
    shown = label & (rng.random(size) < 0.5)
    low = np.clip(rng.beta(0.3, 60, size), 1e-4, 0.4)
    return {
        "label": label.astype(int),
        "score": np.where(shown, rng.uniform(0.5, 0.99, size), low),
    }


def make_bad_group(rng: np.random.Generator) -> Columns:
    """In group c the model is wrong where it is sure."""
    size = 4_000
    group = rng.choice(["a", "b", "c"], size, p=[0.5, 0.3, 0.2])
    confidence, chance = mix_confidence(rng, size, 0.8, 0.999, 0.001, (0.5, 0.9))
    chance = np.where((group == "c") & (confidence == 0.999), 0.08, chance)
    return classify(rng, confidence, chance) | {"group": group}


def make_judge(rng: np.random.Generator, share: float, step: int) -> Columns:
    """Scores from 1 to 5; the judge is off by `step` on a share of the items, within the scale."""
    label = rng.integers(1, 6, 2_000)
    up, down = label + step <= 5, (label - step >= 1) & (step > 1)
    off = (rng.random(2_000) < share) & (up | down)
    return {"label": label, "said": (label + off * np.where(up, step, -step)).astype(float)}


def make_hard_verdicts(rng: np.random.Generator) -> Columns:
    """People's scores crowd at 0 and 1, and the judge says 0 or 1."""
    label = np.round(rng.beta(0.2, 0.12, 1_000), 2)
    said = (label > 0.5) ^ (rng.random(1_000) < 0.1)
    return {"label": label, "said": said.astype(float)}


def make_verdicts(rng: np.random.Generator) -> Columns:
    """The judge of verdicts and people mostly agree."""
    passed = rng.random(2_000) < 0.7
    said = np.where(passed, rng.random(2_000) >= 0.01, rng.random(2_000) < 0.03)
    words = np.array(["fail", "pass"])
    return {"label": words[passed.astype(int)], "said": words[said.astype(int)]}


def make_pareto(rng: np.random.Generator) -> Columns:
    """Residuals whose squares have no variance."""
    pred = rng.normal(10, 2, 2_000)
    return {"pred": pred, "label": pred + rng.pareto(3, 2_000)}


def make_counts(rng: np.random.Generator) -> Columns:
    """Counts whose rate is exponential around the prediction."""
    pred = np.exp(rng.normal(1, 1, 2_000))
    return {"pred": pred, "label": rng.poisson(pred * rng.exponential(1, 2_000)).astype(float)}


def make_calibrated(rng: np.random.Generator, lowest: float) -> Columns:
    """Confidence from `lowest` to 1, right as often as the model says."""
    confidence = rng.uniform(lowest, 1, 2_000)
    return classify(rng, confidence, 1 - confidence)


def make_dear_errors(rng: np.random.Generator) -> Columns:
    """The model is sure and often wrong where labels are dear."""
    size = 3_000
    dear = rng.random(size) < 0.1
    confidence = np.where(dear, 0.995, rng.uniform(0.7, 1, size))
    columns = classify(rng, confidence, np.where(dear, 0.3, 0.02))
    return columns | {"cost": np.where(dear, 100.0, 1.0)}


def make_rare(rng: np.random.Generator, hidden: float = 0.0) -> Columns:
    """Seven in ten items have a score below 1e-4; a share of the positives is hidden there."""
    size = 300_000
    label = rng.random(size) < 0.00405
    score = np.where(label, rng.beta(1.2, 1.4, size), rng.beta(0.05, 5, size))
    low = label & (rng.random(size) < hidden)
    score = np.where(low, 10 ** rng.uniform(-9, -4, size), score)
    return {"label": label.astype(int), "score": np.clip(score, 1e-12, 1 - 1e-12)}


def make_random(rng: np.random.Generator, settings: Mapping[str, Any]) -> Columns:
    """Columns by the settings of draw_settings."""
    size, names = settings["size"], np.array(list(settings["factors"]))
    sure = settings["share"], settings["sure"], settings["wrong"]
    confidence, chance = mix_confidence(rng, size, *sure, settings["ends"])
    group = rng.choice(names, size, p=settings["sizes"])
    factor = np.array([settings["factors"][each] for each in group])
    chance = np.clip(chance * settings["misjudged"] * factor, 0, 0.6)
    columns = classify(rng, confidence, chance, settings["shares"])
    return columns | ({"group": group} if len(names) > 1 else {})


def draw_settings(seed: int) -> dict[str, Any]:
    """The random parts of a pool: its items, its model, its groups and the floor of draws."""
    rng = np.random.default_rng([seed, 38])
    count = int(rng.choice([1, 2, 3, 5]))
    names = [f"g{place}" for place in range(count)]
    lowest = rng.uniform(0.5, 0.8)
    shares = ((0.5, 0.5), (0.8, 0.2), (0.95, 0.05), (0.4, 0.3, 0.2, 0.1))[rng.integers(4)]
    return {
        "size": int(np.exp(rng.uniform(np.log(800), np.log(10_000)))),
        "shares": shares,
        "share": rng.uniform(0.3, 0.97),
        "sure": 1 - 10 ** rng.uniform(-4, -1.5),
        "wrong": 10 ** rng.uniform(-2.5, -0.8),
        "ends": (lowest, rng.uniform(lowest + 0.1, 0.97)),
        "misjudged": float(np.exp(rng.normal(0, 0.3))),
        "sizes": rng.dirichlet(np.full(count, 3.0)),
        "factors": dict(zip(names, np.exp(rng.normal(0, 0.7 * (count > 1), count)), strict=True)),
        "floor": float(rng.choice([0.1, 0.2, 0.35, 0.35, 0.35, 0.5])),
    }


def random_pool(seed: int) -> Recipe:
    """A pool with random settings."""
    settings = draw_settings(seed)
    grouped = len(settings["factors"]) > 1
    return Recipe(
        partial(make_random, settings=settings),
        OF_RANDOM if len(settings["shares"]) == 2 else (*OF_CLASSES, "f1[0]", "recall[0]"),
        of_groups=("error", "brier") if grouped else (),
        roles={"groups": ("group",)} if grouped else {},
        choices={"floor": settings["floor"]},
    )


def _take_chances(make: hard_pools.Maker, rng: np.random.Generator) -> Columns:
    return classify(rng, *make(rng, 3_000))


def _take_rare(make: rare_pools.Maker, rng: np.random.Generator) -> Columns:
    chance, stated = make(rng, 8_000)
    label = (rng.random(8_000) < chance).astype(int)
    return {"label": label, "score": np.clip(stated, 1e-7, 1 - 1e-7)}


def _take_scores(name: str, rng: np.random.Generator) -> Columns:
    columns = score_pools.POOLS[name](rng)
    left_out = score_pools.TRAINING_ROWS.get(name, 0)
    return {key: values[: len(values) - left_out] for key, values in columns.items()}


def _take_weights(name: str, rng: np.random.Generator) -> Columns:
    table, label = weights.make_table(1_500, int(rng.integers(2**31)))
    return {"label": label.astype(int)} | {each: table[each].to_numpy() for each in ("score", name)}


def _take_evidence(name: str, rng: np.random.Generator) -> Columns:
    # It takes seconds to import.
    import evidence_pools

    made = evidence_pools.POOLS[name](rng)
    outputs = {"pred": made.pred} if made.probs is None else {"prob": made.probs}
    features = [] if made.features is None else made.features.T
    named = {f"f{place}": column for place, column in enumerate(features)}
    return {"label": made.labels} | outputs | named


def _take_uneven(rng: np.random.Generator) -> Columns:
    columns, label = groups.make_uneven(rng)
    return {"label": label} | {name: np.asarray(values) for name, values in columns.items()}


def _ask_annotators(right: tuple[float, ...], method: str = "dawid-skene", together: float = 1.0):
    return Recipe(
        partial(make_calibrated, lowest=0.8),
        ("error", "brier", "recall", "precision", "f1", "rate"),
        choices={"annotators": method},
        right=right,
        together=together,
    )


_SCALE = {"judge": "said", "task": "regression"}
_JUDGED = ("mean", "bias", "mae", "rmse", "mean[1,5]")
_RARE = Recipe(
    make_rare,
    ("recall", "precision", "f1", "rate"),
    ("f1",),
    roles={"threshold": 0.3},
)
RECIPES: dict[str, Recipe] = {
    "confidently-wrong": Recipe(partial(_take_chances, hard_pools.confidently_wrong)),
    "hidden-positives": Recipe(make_hidden, aim=("f1",)),
    "half-hidden": Recipe(make_half_hidden, aim=("f1",)),
    "bad-group": Recipe(
        make_bad_group, of_groups=("error", "brier", "f1"), roles={"groups": ("group",)}
    ),
    "judge-plus-one": Recipe(
        partial(make_judge, share=0.03, step=1), _JUDGED, ("mean",), roles=_SCALE
    ),
    "judge-off-by-three": Recipe(
        partial(make_judge, share=0.01, step=3), _JUDGED, ("mean",), roles=_SCALE
    ),
    "judge-hard-verdicts": Recipe(
        make_hard_verdicts, ("mean", "bias", "mae", "mean[0,1]"), ("mean",), roles=_SCALE
    ),
    "judge-verdicts": Recipe(
        make_verdicts,
        ("rate[pass]", "bias[pass]", "recall[pass]", "specificity[pass]", "kappa", "accuracy"),
        ("rate[pass]",),
        roles={"judge": "said"},
    ),
    "pareto": Recipe(make_pareto, OF_VALUES, ("rmse",)),
    "pareto-counts": Recipe(make_counts, OF_VALUES, ("rmse",)),
    "annotators-3-of-8": _ask_annotators((0.8, 0.8, 0.8)),
    "annotators-2-of-7": _ask_annotators((0.7, 0.7)),
    "annotators-3-of-9": _ask_annotators((0.9, 0.9, 0.9)),
    "annotators-3-of-9-some": _ask_annotators((0.9, 0.9, 0.9), together=0.3),
    "annotators-3-of-8-majority": _ask_annotators((0.8, 0.8, 0.8), "majority"),
    "declined": Recipe(partial(make_calibrated, lowest=0.69), declined=0.5),
    "dear-errors": Recipe(make_dear_errors, roles={"price": "cost"}),
    "rare-class": _RARE,
    "rare-class-hidden": Recipe(
        partial(make_rare, hidden=0.25), _RARE.metrics, _RARE.aim, roles=_RARE.roles
    ),
}
_EVIDENCE = (
    "phonemes", "strokes", "unseen", "words", "rare", "calibrated", "votes", "labels",
)  # fmt: skip
EARLIER: dict[str, Recipe] = {
    f"hard-{name}": Recipe(partial(_take_chances, make))
    for name, make in hard_pools.POOLS.items()
    if name != "confidently-wrong"
}
EARLIER |= {
    f"rare-{name}": Recipe(partial(_take_rare, make), aim=("f1",))
    for name, make in rare_pools.POOLS.items()
}
EARLIER |= {
    f"scores-{name}": Recipe(
        partial(_take_scores, name),
        OF_VALUES,
        ("mean",) if name.startswith("judge") else ("rmse",),
        roles={"judge": "pred", "task": "regression"} if name.startswith("judge") else {},
    )
    for name in score_pools.POOLS
}
EARLIER |= {
    f"evidence-{name}": Recipe(
        partial(_take_evidence, name), OF_LABELS if name in ("votes", "labels") else OF_CLASSES
    )
    for name in _EVIDENCE
}
EARLIER |= {
    f"guard-{name}": Recipe(partial(make, size=3000), (*OF_LABELS, "precision", "recall", "f1"))
    for name, make in guard_pools.POOLS.items()
}
EARLIER |= {
    "uneven-groups": Recipe(
        _take_uneven, OF_CLASSES, of_groups=("error",), roles={"groups": ("region", "shift")}
    ),
    "traffic": Recipe(partial(_take_weights, "traffic"), roles={"weight": "traffic"}),
    "prices": Recipe(partial(_take_weights, "price"), roles={"price": "price"}),
}


def list_pools() -> list[str]:
    """The names of all pools."""
    return [*RECIPES, *EARLIER, *(f"random-{seed}" for seed in range(RANDOM_POOLS))]


def find_recipe(name: str) -> Recipe:
    """The recipe with this name; random-N for any N."""
    kind, _, number = name.rpartition("-")
    if kind == "random" and number.isdigit():
        return random_pool(int(number))
    return (RECIPES | EARLIER)[name]


def make_generator(name: str, seed: int) -> np.random.Generator:
    """The generator of the pool with this name and seed."""
    return np.random.default_rng([seed, *name.encode()])


def open_recipe(name: str, seed: int, folder: Path) -> SimpleNamespace:
    """An open cache, made in a folder, true labels (N,), declined items (N,), facts and schema."""
    recipe, rng = find_recipe(name), make_generator(name, seed)
    columns = recipe.make(rng)
    label = columns.pop("label")
    hard_pools.write_files(
        folder,
        "pool",
        {"id": np.arange(len(label))} | {key: _to_arrow(each) for key, each in columns.items()},
        label,
    )
    pool = open_files(folder, "pool", folder / "cache", recipe.roles)
    wrong = pool.cache.rows(0, pool.cache.size).outputs.pred != pool.truth
    pool.declined = wrong & (rng.random(len(pool.truth)) < recipe.declined)
    return pool


def open_files(
    folder: Path, name: str, where: Path, roles: Mapping[str, Any] = MappingProxyType({})
) -> SimpleNamespace:
    """As open_recipe, of FOLDER/NAME.parquet and its answer key; no item is declined."""
    from activetest.cache.auxiliary import attach_auxiliary
    from activetest.cache.cache import build_cache
    from activetest.item_statistics import specification
    from activetest.pool.pool import Pool
    from activetest.simulation.answer_key import read_answer_key

    pool = Pool.open(str(folder / f"{name}.parquet"), **roles)
    cache, key = build_cache(pool, where), folder / f"{name}.labels.csv"
    cache = attach_auxiliary(cache, pool, {"auto"})
    return SimpleNamespace(
        cache=cache,
        truth=read_answer_key(cache, key, unmatched=pool.schema.open_classes),
        declined=np.zeros(cache.size, bool),
        facts=specification.describe_pool(cache.roles, None, cache),
        schema=pool.schema,
    )


def give_answers(recipe: Recipe, truth: np.ndarray, classes: int, seed: int) -> np.ndarray:
    """(N, J) class that each annotator says of each item in the study of a seed; -1 for none."""
    rng = np.random.default_rng([seed, 4])
    shape = len(truth), len(recipe.right)
    other = (truth[:, None] + rng.integers(1, classes, shape)) % classes
    said = np.where(rng.random(shape) < np.array(recipe.right), truth[:, None], other)
    alone = rng.random(len(truth)) >= recipe.together
    only = rng.integers(shape[1], size=len(truth))
    silent = alone[:, None] & (np.arange(shape[1]) != only[:, None])
    return np.where(silent, -1, said).astype(int)


def _to_arrow(values: np.ndarray) -> Any:
    """A column of a table; of probabilities (N, C), lists."""
    if values.ndim == 1:
        return pa.array(values)
    flat = pa.array(values.astype(np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
