"""Temperatures and a joint potential (Cal:Full, Piratla 2021, eq. 13-14, appendix E, algorithm 2).

The potential is N(a) = s J(a) + net(a). J is what the classifiers' own predictions say of
combinations: the logarithm of how often one is predicted in the pool, relative to what independent
attributes would give. The net is a dense network with one hidden layer, 0 before it is trained.
Axes as in nouns.uncertain, and Q = B C candidates, F columns of one-hot codes, H hidden units.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array
from activetest.nouns.uncertain import (
    MOST_COMBINATIONS,
    JointModel,
    UncertainAttributes,
    normalise,
    sum_exponentials,
    sum_scores,
)
from activetest.wings.surfaces.attribute_models.temperature import (
    HIGHEST,
    LOWEST,
    find_gold,
    fit_temperatures,
)

# Items of which an uncertain attribute is known.
NEEDS_GOLD = 20

# Share of the known items that decides when to stop.
_HELD_OUT = 0.25
# Items of each kind in a batch, steps between looks at the held-out items, looks without a better
# one before it stops, and steps at most.
_BATCH, _LOOK, _PATIENCE, _STEPS = 64, 20, 15, 2000
_HIDDEN, _RATE = 32, 0.01
# Shares of J that are tried before the first step.
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Parameters:
    """The parts that are trained.

    log_t   (U,) logarithms of the temperatures
    share   (1,) s
    first   (F, H) weights of the hidden layer
    offset  (H,) its offsets
    second  (H,) weights of the output
    """

    log_t: Array
    share: Array
    first: Array
    offset: Array
    second: Array

    def map(self, change: Any, *others: "Parameters") -> "Parameters":
        """change(values, ...) of every field, of these parameters and of others."""
        return Parameters(
            *(
                change(*(getattr(each, name) for each in (self, *others)))
                for name in ("log_t", "share", "first", "offset", "second")
            )
        )


@dataclass(frozen=True)
class Potential:
    """The inputs of N.

    onehot  (Q, F) codes of the candidates
    prior   (B, C) J
    """

    onehot: Array
    prior: Array

    def evaluate(self, now: Parameters) -> tuple[Array, Array]:
        """(B, C) N, and (Q, H) what the hidden layer answers."""
        hidden = np.tanh(self.onehot @ now.first + now.offset)
        return now.share * self.prior + (hidden @ now.second).reshape(self.prior.shape), hidden

    def differentiate(self, now: Parameters, hidden: Array, slope: Array) -> Parameters:
        """The gradient of what has the gradient slope (B, C) in N; that in log_t is 0."""
        flat = slope.ravel()
        inner = flat[:, None] * now.second * (1 - hidden**2)
        return Parameters(
            np.zeros_like(now.log_t),
            np.array([(slope * self.prior).sum()]),
            self.onehot.T @ inner,
            inner.sum(axis=0),
            hidden.T @ flat,
        )


def fit(data: UncertainAttributes, *, rng: np.random.Generator) -> JointModel:
    """Temperatures and potential of the data.

    Every step takes as many items with known values as without; for these, the predicted values
    stand for the true ones (appendix E). In half of the steps the potential is left out, so that
    temperatures are trained, too. Unlike in the paper, temperatures learn from known values alone:
    predicted values are most likely at an infinite temperature. The likelihood of held-out known
    values decides with what it begins (the temperatures of Cal:Temp and a share of J), and when it
    ends.

    Raises ChoiceError for more than 100,000 combinations or fewer than 20 items with known values.
    """
    known = find_gold(data, NEEDS_GOLD)
    potential = prepare_potential(data)
    known = rng.permutation(known)
    count = max(round(_HELD_OUT * len(known)), 5)
    held, gold = known[:count], known[count:]
    best = _train(data, potential, gold, held, rng)
    return JointModel(np.exp(best.log_t), potential.evaluate(best)[0])


def prepare_potential(data: UncertainAttributes) -> Potential:
    """Codes of the candidates, and J = log (observed + 1) / (expected + 1) of each.

    observed  items of the candidate's context for which its combination is predicted
    expected  items of the context times the pool's shares of each predicted value
    """
    contexts, combinations, _ = data.candidates.shape
    if contexts * combinations > MOST_COMBINATIONS:
        raise ChoiceError(
            f"the attributes have {contexts * combinations:,} combinations, and a joint model of "
            f"more than {MOST_COMBINATIONS:,} cannot be normalised exactly",
            hint='name fewer attributes with `attributes`, or say `attribute_model="temperature"`',
        )
    observed = np.bincount(
        data.context * combinations + data.predicted, minlength=contexts * combinations
    ).reshape(contexts, combinations)
    share = np.ones(combinations)
    for column, position in enumerate(data.uncertain):
        codes = data.combinations[:, column]
        total = np.bincount(codes, observed.sum(axis=0), data.attributes.sizes[position])
        share *= total[codes] / len(data)
    expected = observed.sum(axis=1)[:, None] * share
    flat = data.candidates.reshape(contexts * combinations, -1)
    onehot = [
        flat[:, [column]] == np.arange(size) for column, size in enumerate(data.attributes.sizes)
    ]
    prior = np.log((observed + 1) / (expected + 1))
    return Potential(np.concatenate(onehot, axis=1).astype(float), prior)


def begin(data: UncertainAttributes, width: int, rng: np.random.Generator) -> Parameters:
    """Parameters with a network of width inputs that answers 0."""
    first = rng.standard_normal((width, _HIDDEN)) / np.sqrt(len(data.attributes.names))
    return Parameters(
        np.zeros(len(data.uncertain)), np.zeros(1), first, np.zeros(_HIDDEN), np.zeros(_HIDDEN)
    )


def find_direction(
    data: UncertainAttributes,
    potential: Potential,
    now: Parameters,
    gold: Array,
    unlabelled: Array,
    *,
    dropped: bool,
) -> tuple[float, Parameters]:
    """The objective of a batch, and the direction in which parameters are to change.

    The objective is the mean log likelihood of the known values of items gold, plus, unless the
    potential is dropped, that of the predicted values of items without known ones. The direction is
    its gradient, but for the temperatures, for which it is that of the first term.
    """
    table, hidden = (None, None) if dropped else potential.evaluate(now)
    value, log_t, slope = 0.0, np.zeros_like(now.log_t), np.zeros_like(potential.prior)
    kinds = [(gold, True)]
    if len(unlabelled) and not dropped:
        kinds.append((unlabelled, False))
    for rows, truth in kinds:
        logs = data.read_logs(rows)
        score = sum_scores(data, logs, np.exp(now.log_t))
        if table is not None:
            score = score + table[data.context[rows]]
        inside = data.agree(rows) if truth else _mark(data.predicted[rows], score.shape[1])
        target = np.where(inside, score, -np.inf)
        value += float((sum_exponentials(target) - sum_exponentials(score)).mean())
        change = (normalise(target) - normalise(score)) / len(rows)
        if truth:
            ends = np.cumsum([each.shape[1] for each in logs])[:-1]
            parts = np.split(change @ data.onehot, ends, axis=1)
            inner = [(part * each).sum() for part, each in zip(parts, logs, strict=True)]
            log_t = np.exp(now.log_t) * inner
        np.add.at(slope, data.context[rows], change)
    if table is None or hidden is None:
        zero = now.map(np.zeros_like)
        return value, replace(zero, log_t=log_t)
    return value, replace(potential.differentiate(now, hidden, slope), log_t=log_t)


def _mark(combination: Array, count: int) -> Array:
    """(R, C) bool: one combination for each item."""
    return np.asarray(combination[:, None] == np.arange(count))


def _train(
    data: UncertainAttributes,
    potential: Potential,
    gold: Array,
    held: Array,
    rng: np.random.Generator,
) -> Parameters:
    """The parameters under which what is held out was most likely."""

    def judge(now: Parameters) -> float:
        model = JointModel(np.exp(now.log_t), potential.evaluate(now)[0])
        return model.mean_log_likelihood(data, held)

    start = begin(data, potential.onehot.shape[1], rng)
    start = replace(start, log_t=np.log(fit_temperatures(data, gold)))
    now = max((replace(start, share=np.array([share])) for share in _SHARES), key=judge)
    best, best_value, since = now, judge(now), 0
    unknown = np.flatnonzero(~data.gold)
    mean, square = now.map(np.zeros_like), now.map(np.zeros_like)
    for step in range(1, _STEPS + 1):
        batch = rng.choice(gold, min(_BATCH, len(gold)), replace=False)
        others = rng.choice(unknown, min(_BATCH, len(unknown)), replace=False)
        dropped = bool(rng.random() < 0.5)
        _, slope = find_direction(data, potential, now, batch, others, dropped=dropped)
        mean = mean.map(lambda old, new: 0.9 * old + 0.1 * new, slope)
        square = square.map(lambda old, new: 0.999 * old + 0.001 * new**2, slope)
        now = now.map(_Step(step), mean, square)
        now = replace(now, log_t=np.clip(now.log_t, np.log(LOWEST), np.log(HIGHEST)))
        if step % _LOOK:
            continue
        if (value := judge(now)) > best_value:
            best, best_value, since = now, value, 0
        elif (since := since + 1) >= _PATIENCE:
            break
    return best


@dataclass(frozen=True)
class _Step:
    """A step of Adam upwards (Kingma 2015, algorithm 1); number counts from 1."""

    number: int

    def __call__(self, values: Array, mean: Array, square: Array) -> Array:
        rise = mean / (1 - 0.9**self.number)
        scale = np.sqrt(square / (1 - 0.999**self.number)) + 1e-8
        return np.asarray(values + _RATE * rise / scale)
