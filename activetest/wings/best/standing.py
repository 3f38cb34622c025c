"""Estimates of the values of several models, and a posterior of how far apart they are.

Values are doubly robust estimates, with one belief about each label for all models: items on which
all do the same add nothing to a difference. The posterior of differences joins these, as normal
with the covariance of the draws' terms, with a prior: they are jointly normal around 0, and the
variance of a difference is in proportion to the share of items on which both models differ. Few
labels show little of a covariance: it is averaged with what it would be if nothing foretold which
model is right, as if some labels had shown that, and draws of the posterior are those of a t
distribution. So a handful of labels that agree leave about the doubt that a beta distribution has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.estimation import samples
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Metric
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Sample
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.pool import PoolView, SeveralModels
from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import get_surrogate, make_generator, tell_apart
from activetest.rounds.objectives import list_of_models
from activetest.system.parallel import map_reduce

# Labels of items on which models differ that a covariance without any foresight counts as.
_PSEUDO_LABELS = 6.0
# Of the prior: standard deviation of a difference between models that differ on the mean share of
# items, in parts of that share.
_SPREAD = 0.5
# Draws of items that estimates need.
_FEWEST = 2
# Draws of the posterior.
DRAWS = 4000


@dataclass(frozen=True)
class Standing:
    """K models, and what labels say of them.

    models      their names
    higher      whether larger values are better
    mean        (K,) estimated values; NaN without labels
    covariance  (K, K) of their errors; zeros where everything is known
    apart       (K, K) share of items on which two models differ
    scale       width of the metric's range: what an item can change at most
    telling     items with a label on which not all models do the same
    """

    models: tuple[str, ...]
    higher: bool
    mean: Array
    covariance: Array
    apart: Array
    scale: float
    telling: int

    def draw(self, rng: np.random.Generator, count: int = DRAWS) -> Array:
        """(count, K) draws of the posterior of how good models are beside their mean: high is best.

        Deterministic for a state of the generator.
        """
        size = len(self.models)
        basis = np.linalg.qr(np.eye(size) - 1 / size)[0][:, : size - 1]
        center = np.eye(size) - 1 / size
        usual = self.apart[np.triu_indices(size, 1)].mean() if size > 1 else 0.0
        prior = -0.5 * center @ self.apart @ center * usual * (_SPREAD * self.scale) ** 2
        prior = basis.T @ prior @ basis
        freedom = _PSEUDO_LABELS + self.telling
        if np.isnan(self.mean).any():
            location, spread = np.zeros(size - 1), prior
        else:
            sign = 1.0 if self.higher else -1.0
            gain = np.linalg.lstsq(prior + basis.T @ self.covariance @ basis, prior, rcond=None)[
                0
            ].T
            location = gain @ basis.T @ (sign * self.mean)
            spread = prior - gain @ prior
        values, vectors = np.linalg.eigh((spread + spread.T) / 2)
        # The symmetric root is the same whatever the signs of the vectors, which are free.
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        normal = rng.standard_normal((count, size - 1))
        normal /= np.sqrt(rng.chisquare(freedom, (count, 1)) / freedom)
        found: Array = (location + normal @ root.T) @ basis.T
        return found


def measure_standing(
    log: Log,
    pool: PoolView,
    choices: Choices,
    *,
    seed: int,
    surrogate: Surrogate | None = None,
) -> Standing:
    """The standing of the models of a pool after the labels of a log.

    surrogate is what get_surrogate gives, where that is at hand.
    """
    assert isinstance(pool, SeveralModels)
    metric = find_judged(pool, choices)
    statistics = list_of_models(metric, pool)
    count = len(statistics)
    found = Standing(
        models=pool.models,
        higher=catalog.fact("metrics", metric.name, "BETTER") == "higher",
        mean=np.full(count, np.nan),
        covariance=np.zeros((count, count)),
        apart=measure_apart(pool, pool.models),
        scale=metric.upper - metric.lower,
        telling=0,
    )
    surrogate = surrogate or get_surrogate(log, pool, choices, seed=seed)
    joined = Metric("values", statistics, lambda mean: mean[..., 0], metric.lower, metric.upper)
    evidence = samples.collect_evidence(
        log, pool, choices, [joined], seed=seed, surrogate=surrogate
    )
    sample = samples.build_sample(evidence, joined, evidence.groups[0])
    if sample.unknown == 0:
        answered = sample.total[count:].sum() or sample.size
        return replace(found, mean=metric.smooth(sample.total[:count, None] / answered))
    if len(sample.q) < _FEWEST:
        return found
    mean, terms = _find_terms(sample, count)
    residuals = sample.weights[:, None] * (terms - mean)
    seen = residuals.T @ residuals / (1 - (sample.weights**2).sum())
    rows = evidence.drawn[samples.find_metric_steps(evidence, joined)]
    parts = _guess_errors(rows, pool.models) * (sample.weights * rows.mass)[:, None, None]
    parts /= (sample.q * sample.size)[:, None, None]
    blind = np.tensordot(parts, parts, ((0, 1), (0, 1)))
    labelled = evidence.log.item_status == LABELLED
    seen_rows = [rows.outputs.others for rows in (evidence.drawn, evidence.supplied)]
    differ = np.concatenate([tell_apart(each, pool.models) for each in seen_rows])
    telling = int((differ & labelled).sum())
    covariance = (_PSEUDO_LABELS * blind + telling * seen) / (_PSEUDO_LABELS + telling)
    # A metric that counts mistakes changes with their mean by 1 or -1.
    return replace(found, mean=metric.smooth(mean[:, None]), covariance=covariance, telling=telling)


def find_judged(pool: PoolView, choices: Choices) -> Metric:
    """The metric that models are judged by, of the pool's own model."""
    facts = specification.describe_pool(pool.roles, choices.costs, pool)
    return specification.find_metric(choices.metric, facts)


def _find_terms(sample: Sample, count: int) -> tuple[Array, Array]:
    """(K,) means, and (M, K) an unbiased term of each draw for them.

    Terms are doubly robust with what rounds predicted as it is. Where items were declined, means
    are over those that can be answered, and terms are linear around them.
    """
    terms = sample.known_sum + sample.imputed_sum
    terms = (terms + (sample.stats - sample.imputed) / sample.q[:, None]) / sample.size
    mean = sample.weights @ terms
    if terms.shape[1] == count:
        return mean, terms
    share, ratio = mean[count], mean[:count] / mean[count]
    return ratio, ratio + (terms[:, :count] - ratio * terms[:, count:]) / share


def _guess_errors(rows: Rows, models: Sequence[str]) -> Array:
    """(R, K, K) how far K models' mistakes are from their mean, times the root of how likely.

    As if the label were any of the classes that models predict, all of them alike.
    """
    pred = np.stack([rows.outputs.others[name].pred for name in models], axis=1)
    same = pred[:, :, None] == pred[:, None, :]
    first = ~np.tril(same, -1).any(axis=2)
    probs = first / first.sum(axis=1, keepdims=True)
    mean = (probs[..., None] * ~same).sum(axis=1, keepdims=True)
    return np.asarray((~same - mean) * np.sqrt(probs)[..., None])


def measure_apart(pool: PoolView, models: Sequence[str]) -> Array:
    """(K, K) share of items on which two models differ, found once for each pool."""

    def on_piece(piece: tuple[int, int]) -> Array:
        rows = pool.rows(*piece)
        seen = [rows.outputs.others[name].pred for name in models]
        return np.array([[rows.mass @ (a != b) for b in seen] for a in seen], float)

    def find() -> Array:
        return np.asarray(map_reduce(pool.chunks(), on_piece, np.add) / pool.size)

    return pool.compute_once(("apart", *models), find)


@dataclass(frozen=True)
class Contest:
    """Chances of K models to be the best, by draws of a posterior.

    best    (K,) how likely each is the best, or within the rope of it
    regret  (K,) how much worse than the best each is expected to be
    """

    best: Array
    regret: Array

    @property
    def leader(self) -> int:
        """The model with the smallest expected regret."""
        return int(self.regret.argmin())


def judge(draws: Array, rope: float) -> Contest:
    """The contest by draws (S, K) of how good models are."""
    behind = draws.max(axis=1, keepdims=True) - draws
    # Models that do the same are best together, and no last digit parts them.
    return Contest((behind <= rope + MARGIN).mean(axis=0), behind.mean(axis=0))


def weigh_pairs(best: Array, least: float = 0.02) -> tuple[Array, Array]:
    """(P, 2) pairs of models to tell apart, and (P,) their shares, by how likely each is best.

    Top-two Thompson sampling (Russo 2016): a leader i with chance p_i, and a challenger j with
    p_j / (1 - p_i). Pairs with shares below the least are left out.
    """
    p = (best + 1e-4) / (best + 1e-4).sum()
    each = p[:, None] * p[None, :] / (1 - p)[:, None]
    first, second = np.triu_indices(len(p), 1)
    shares = (each + each.T)[first, second]
    kept = shares >= min(least, shares.max())
    shares = shares[kept] / shares[kept].sum()
    return np.stack([first[kept], second[kept]], axis=1), shares


def make_rng(seed: int, number: int) -> np.random.Generator:
    """The generator of a posterior's draws in a round."""
    return make_generator(seed, number, "best")
