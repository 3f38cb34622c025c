"""The default: several predictions from other arms, each combined with the arm's own labels.

Members are a constant; logistic regressions on attribute values, and on pairs of them; a Gaussian
process in the Hamming distance; boosted trees; and the model's own confidence, where it has one,
averaged over the items of an arm. Each says what to expect of an arm without its own labels, and a
Beta of that mean, whose strength is weighed by the Beta-binomial likelihood of what each arm's
labels were, joins them with the arm's own labels. Shares of the members are softmax weights on the
same likelihoods, averaged over a Bayesian bootstrap of the arms (Yao 2018).

The mean of an arm is left out of its own prediction exactly as its posterior allows (Gaussian
processes, the confidence) or by folds of arms (trees). A label that belongs to several arms counts
in each by its share, so that what other arms say of one still holds part of its labels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import beta as beta_distribution

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData
from activetest.wings.surfaces.surfaces import _boosting as boosting
from activetest.wings.surfaces.surfaces import _confidence as confidence
from activetest.wings.surfaces.surfaces import _hamming_gp as hamming
from activetest.wings.surfaces.surfaces._own_counts import (
    combine_strengths,
    compute_log_likelihoods,
    discount_counts,
    draw_strengths,
    find_strength,
    find_weights,
)

CONTINUES = True

# Draws from what is believed, over all members.
DRAWS = 128
# Evaluations of the marginal likelihood, by the number of hyperparameters.
EVALUATIONS = {1: 8, 2: 16, 3: 24}
# Labels below which hyperparameters stay at the centre of their prior, and strengths begin here.
FEWEST, STRENGTH = 20, 30.0
# A process is fitted again where its strength moves discounted counts by more than this share.
SETTLED = 0.03
# Labels that belong to many arms leave traces in most: an arm with less than this part of a label
# does not enter a process, unless it is among so many.
FAINT, AT_LEAST = 0.05, 1000
PROCESSES = {"main effects": hamming.MAIN, "pairs": hamming.PAIRS, "gaussian process": hamming.DEEP}


@dataclass(frozen=True)
class Prediction:
    """Draws of what a member expects. D draws.

    rest     (D, A) of the items of each arm without a label
    labels   (D, A) of the labels of each arm; the same as rest where items of an arm are alike
    at       from codes (M, K) to (D, M)
    extra    variance of logits that combinations have in addition where they never occur
    """

    rest: Array
    labels: Array
    at: Callable[[Array], Array]
    extra: float = 0.0


@dataclass(frozen=True)
class Member:
    """One model's expectations for every arm.

    mean      (O,) of the labels of arms that have some, as other arms say
    variance  (O,) of that mean
    strength  of its Beta, the most probable one
    draw      of D draws
    state     what a later fit begins with
    """

    mean: Array
    variance: Array
    strength: float
    draw: Callable[[int, np.random.Generator], Prediction]
    state: Mapping[str, Array]


def fit(
    data: SurfaceData, *, rng: np.random.Generator, earlier: Mapping[str, Array] | None = None
) -> Surface:
    """The surface; with the hyperparameters of an earlier state that had labels enough.

    Time grows with the cube of the arms that have labels, up to 5,000 of them; the labels of others
    count for their own arm alone.
    """
    members = _fit_members(data, earlier)
    _, counts = _find_observed(data)
    scores = [
        compute_log_likelihoods(member.strength, counts, member.mean, member.variance)
        for member in members.values()
    ]
    shares = dict(zip(members, find_weights(np.array(scores), DRAWS, rng), strict=True))
    chosen = {name: count for name, count in shares.items() if count}
    total, positive = data.counts.sum(axis=1), data.counts[:, 0]
    own = np.divide(positive, total, out=np.zeros(len(total)), where=total > 0)
    phi = np.empty((DRAWS, len(data.arms)), np.float32)
    psi = np.empty((DRAWS, len(data.arms)), np.float32)
    parts: list[tuple[Prediction, Array]] = []
    start = 0
    for name, count in chosen.items():
        member, rows = members[name], slice(start, start + count)
        part = member.draw(int(count), rng)
        # The labels move what is expected of the rest by what they differ from what was of them.
        strength = draw_strengths(counts, member.mean, member.variance, int(count), rng)[:, None]
        strength = strength.astype(np.float32)
        trust = (total / (strength + total)).astype(np.float32)
        phi[rows] = np.clip(part.rest + trust * (own.astype(np.float32) - part.labels), 0, 1)
        psi[rows] = strength + total
        parts.append((part, strength))
        start += count

    def predict(codes: Array) -> tuple[Array, Array]:
        absent = data.arms.find(codes) < 0
        means, scales = [], []
        for part, strength in parts:
            mean = part.at(codes)
            variance = part.extra * absent * (mean * (1 - mean)) ** 2
            means.append(mean)
            scales.append(combine_strengths(strength, np.clip(mean, 1e-6, 1 - 1e-6), variance))
        return np.concatenate(means), np.concatenate(scales).astype(np.float32)

    searched = data.weights.sum()[None]
    if earlier is not None and not _is_due(data, earlier):
        searched = earlier["searched"]
    return Surface(
        method="stacked",
        mean=phi.mean(axis=0, dtype=float),
        phi=phi,
        psi=psi,
        predict=predict,
        parts={name: float(count) / DRAWS for name, count in chosen.items()},
        state={
            "searched": searched,
            **{
                f"{name}.{key}": values
                for name, member in members.items()
                for key, values in member.state.items()
            },
        },
    )


def _find_observed(data: SurfaceData) -> tuple[Array, Array]:
    """(O,) arms that have labels, and their counts (O, 2)."""
    arms = np.flatnonzero(data.counts.sum(axis=1) > 0)
    return arms, data.counts[arms]


def _is_due(data: SurfaceData, earlier: Mapping[str, Array] | None) -> bool:
    """Whether hyperparameters are looked for: where there are labels enough, and were not then."""
    enough = data.weights.sum() >= FEWEST
    return bool(enough and (earlier is None or earlier["searched"][0] < FEWEST))


def _fit_members(data: SurfaceData, earlier: Mapping[str, Array] | None) -> dict[str, Member]:
    """All members that these labels and this pool allow."""
    search = _is_due(data, earlier)

    def find_state(name: str) -> dict[str, Array]:
        begin = f"{name}."
        return {
            key.removeprefix(begin): values
            for key, values in (earlier or {}).items()
            if key.startswith(begin)
        }

    members = {"constant": _fit_constant(data)}
    if len(_find_observed(data)[0]):
        for name, kernel in PROCESSES.items():
            members[name] = _fit_process(data, kernel, find_state(name), search)
        if data.weights.sum() >= boosting.FEWEST:
            members["boosted trees"] = _fit_trees(data)
    if data.confidence is not None:
        members["confidence"] = _fit_confidence(data, find_state("confidence"), search)
    return members


def _fit_constant(data: SurfaceData) -> Member:
    """Jeffreys's posterior of one mean for all arms."""
    _, counts = _find_observed(data)
    strength = STRENGTH
    for _ in range(2):
        mild = discount_counts(counts, strength)
        first, second = (0.5 + mild.sum(axis=0) - mild).T
        mean = first / (first + second)
        variance = mean * (1 - mean) / (first + second + 1)
        strength = find_strength(counts, mean, variance)
    whole = 0.5 + discount_counts(counts, strength).sum(axis=0)

    def draw(draws: int, rng: np.random.Generator) -> Prediction:
        del rng
        level = beta_distribution.ppf((np.arange(draws) + 0.5) / draws, *whole)
        level = level.astype(np.float32)[:, None]

        def at(codes: Array) -> Array:
            return np.tile(level, (1, len(codes)))

        rest = at(data.arms.codes)
        return Prediction(rest, rest, at)

    return Member(mean, variance, strength, draw, {})


def _fit_process(
    data: SurfaceData, kernel: hamming.Kernel, state: Mapping[str, Array], search: bool
) -> Member:
    """A Gaussian process in the Hamming distance; its strength, then the process again with it."""
    arms, counts = _find_observed(data)
    # The most labelled arms enter exactly, in the order of their codes.
    total = counts.sum(axis=1)
    exact = min(max((total >= FAINT).sum(), AT_LEAST), hamming.EXACT)
    most = np.sort(np.argsort(-total, kind="stable")[:exact])
    codes, inside = data.arms.codes[arms], counts[most]
    numbers, sizes = data.arms.numbers[arms[most]], data.arms.attributes.sizes
    strength, theta = STRENGTH, np.array(kernel.start)
    slope = np.zeros(len(most))
    if state:
        strength, theta = float(state["strength"][0]), state["theta"]
        _, here, there = np.intersect1d(numbers, state["numbers"], return_indices=True)
        slope[here] = state["slope"][there]
    if search:
        mild = discount_counts(inside, strength)
        evaluations = EVALUATIONS[len(theta)]
        theta = hamming.search(kernel, codes[most], mild, sizes, theta, evaluations)
    for _ in range(2):
        mild = discount_counts(inside, strength)
        found = hamming.fit(kernel, theta, codes[most], mild, sizes, slope)
        slope = found.mode.gradient
        mean, variance = _predict_others(found, codes, most)
        strength = find_strength(counts, mean, variance)
        moved = np.abs(discount_counts(inside, strength) - mild).sum()
        if moved < SETTLED * mild.sum():
            break

    def draw(draws: int, rng: np.random.Generator) -> Prediction:
        posterior = found.make_posterior(draws, rng)

        def at(codes: Array) -> Array:
            mean, away = posterior(codes)
            return np.asarray(expit(away + mean))

        rest = at(data.arms.codes)
        return Prediction(rest, rest, at)

    kept = {"theta": theta, "strength": np.array([strength]), "numbers": numbers, "slope": slope}
    return Member(mean, variance, strength, draw, kept)


def _predict_others(found: hamming.Fit, codes: Array, most: Array) -> tuple[Array, Array]:
    """(O,) mean and variance of sigmoid(f) at arms with labels, without their own."""
    latent, spread = np.empty(len(codes)), np.empty(len(codes))
    latent[most], spread[most] = found.leave_out()
    others = np.setdiff1d(np.arange(len(codes)), most)
    if len(others):
        latent[others], spread[others] = found.predict(codes[others])
    return hamming.find_moments(latent, spread)


def _fit_trees(data: SurfaceData) -> Member:
    """Boosted trees: of each fold of arms those that the other folds grew.

    The error of their means is part of the strength.
    """
    arms, counts = _find_observed(data)
    attributes = data.arms.attributes
    codes = data.arms.codes[arms]
    folds = boosting.assign_folds(data.arms.numbers[arms])
    models = boosting.fit_folds(codes, counts, attributes.sizes, folds)

    def at(codes: Array) -> Array:
        folds = boosting.assign_folds(attributes.number(codes))
        mean = np.empty(len(codes), np.float32)
        for k, evaluate in enumerate(models):
            if (folds == k).any():
                mean[folds == k] = evaluate(codes[folds == k])
        return mean

    mean, variance = at(codes).astype(float), np.zeros(len(arms))
    strength = find_strength(counts, mean, variance)

    def draw(draws: int, rng: np.random.Generator) -> Prediction:
        del rng
        rest = np.tile(at(data.arms.codes), (draws, 1))
        return Prediction(rest, rest, lambda codes: np.tile(at(codes), (draws, 1)))

    return Member(mean, variance, strength, draw, {})


def _fit_confidence(data: SurfaceData, state: Mapping[str, Array], search: bool) -> Member:
    """The regression on the model's confidence, and its average over the items of every arm."""
    arms, counts = _find_observed(data)
    theta = state["theta"] if state else confidence.START
    entries = confidence.list_entries(data)
    if search:
        theta = confidence.search(data, entries, theta, EVALUATIONS[2])
    prior = confidence.make_prior(theta, data.classes, data.arms.attributes.sizes)
    found, _ = confidence.regress(entries, prior)
    mean, variance = hamming.find_moments(*confidence.leave_out(entries, found, arms))
    strength = find_strength(counts, mean, variance)

    def draw(draws: int, rng: np.random.Generator) -> Prediction:
        averages = confidence.draw_averages(data, entries, found, draws, rng)
        at, extra = confidence.extend(data, averages.rest)
        return Prediction(averages.rest, averages.labels, at, extra)

    return Member(mean, variance, strength, draw, {"theta": theta})
