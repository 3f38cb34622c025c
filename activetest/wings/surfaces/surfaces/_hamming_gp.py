"""A Gaussian process over arms, whose kernel depends on how many attributes differ, by Laplace.

f is the logit of the statistic's mean. Kernels of the Hamming distance H of K attributes:

- main: 9 + s^2 (1 - H/K), a logistic regression on attribute values with ridge;
- pairs: 9 + s^2 (K - H + .35^2 (K - H)(K - H - 1) / 2) / K, with all pairs of values besides, whose
  columns are scaled by .35;
- deep: 9 + s1^2 (1 - H/K) + s2^2 exp(-H/l), with interactions of every order.

The algorithms are those of Rasmussen & Williams 2006, 3.1 and 5.1; what other arms say of an arm is
the Gaussian that its own term is divided out of (section 3.6.2 with Laplace's terms). Counts may be
fractions. Axes: O arms with labels, D draws, M arms that are asked about.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack
from scipy.special import expit, log_expit

from activetest.nouns.rows import Array

# Prior variance of the logit's mean, and the scale of a pair's column.
BASE, PAIR = 9.0, 0.35
# Hyperparameters are chosen on the arms with most labels, so many at most.
_SEARCHED = 700
# Arms whose labels enter exactly; the labels of others count for themselves alone.
EXACT = 5000
# Random features of one draw from the prior, and places of each one's table.
_FEATURES, _BINS = 24, 4096
_BLOCK = 2048


@dataclass(frozen=True)
class Kernel:
    """A kernel of the Hamming distance.

    name      main, pairs or deep
    start     (P,) logs of the hyperparameters that a search begins with; the centre of their prior
    """

    name: str
    start: tuple[float, ...]

    def tabulate(self, theta: Array, attributes: int) -> Array:
        """(K + 1,) the kernel at every Hamming distance; theta (P,) are logs."""
        same = attributes - np.arange(attributes + 1.0)
        scale = np.exp(2 * theta[0]) / attributes
        if self.name == "pairs":
            same = same + PAIR**2 * same * (same - 1) / 2
        table = BASE + scale * same
        if self.name == "deep":
            table = table + np.exp(2 * theta[1] - np.arange(attributes + 1) * np.exp(-theta[2]))
        return np.asarray(table)


MAIN = Kernel("main", (0.0,))
PAIRS = Kernel("pairs", (0.0,))
DEEP = Kernel("deep", (0.0, -0.7, 0.7))


def count_differences(left: Array, right: Array) -> Array:
    """(M, O) uint8 Hamming distances of codes (M, K) and (O, K)."""
    total = np.zeros((len(left), len(right)), np.uint8)
    for here, there in zip(left.T, right.T, strict=True):
        total += here[:, None] != there[None, :]
    return total


@dataclass(frozen=True)
class Dense:
    """Prior covariance K (O, O) of f at arms with labels, as it stands."""

    matrix: Array

    def apply(self, right: Array) -> Array:
        """(O,) K right."""
        return np.asarray(self.matrix @ right)

    def factorise(self, root: Array) -> "DenseFactor":
        """B = I + root K root, root (O,) of curvatures of the likelihood: by Cholesky's factor."""
        matrix = self.matrix * root[:, None]
        matrix *= root
        matrix.flat[:: len(root) + 1] += 1
        return DenseFactor(cholesky(matrix, lower=True, overwrite_a=True, check_finite=False))


@dataclass(frozen=True)
class DenseFactor:
    """Cholesky's lower factor of B."""

    lower: Array

    @property
    def half_logdet(self) -> float:
        """Half the logarithm of the determinant of B."""
        return float(np.log(np.diagonal(self.lower)).sum())

    def solve(self, right: Array) -> Array:
        """(O, D) or (O,) B^-1 right."""
        return np.asarray(cho_solve((self.lower, True), right, check_finite=False))

    def find_diagonal(self) -> Array:
        """(O,) the diagonal of B^-1."""
        inverse, _ = dtrtri(self.lower, lower=1)
        return np.asarray((inverse**2).sum(axis=0))


@dataclass(frozen=True)
class Sparse:
    """K = columns columns', of sparse columns (O, P), fewer than rows."""

    columns: csr_matrix

    def apply(self, right: Array) -> Array:
        """K right."""
        return np.asarray(self.columns @ (self.columns.T @ right))

    def factorise(self, root: Array) -> "SparseFactor":
        """By Woodbury's identity and the factor of (P, P)."""
        columns = self.columns.multiply(root[:, None]).tocsr()
        gram = (columns.T @ columns).toarray()
        gram.flat[:: len(gram) + 1] += 1
        return SparseFactor(cholesky(gram, lower=True, overwrite_a=True), columns)


@dataclass(frozen=True)
class SparseFactor(DenseFactor):
    """Columns with their roots (O, P), and the lower factor of I + columns' columns."""

    columns: csr_matrix

    def solve(self, right: Array) -> Array:
        """B^-1 right = right - columns (I + columns' columns)^-1 columns' right."""
        return np.asarray(
            right - self.columns @ cho_solve((self.lower, True), self.columns.T @ right)
        )

    def find_diagonal(self) -> Array:
        """The diagonal of B^-1."""
        part = solve_triangular(self.lower, self.columns.T.toarray(), lower=True)
        return np.asarray(1 - (part**2).sum(axis=0))


def make_covariance(
    kernel: Kernel, theta: Array, codes: Array, sizes: tuple[int, ...], distance: Array | None
) -> Dense | Sparse:
    """K at codes (O, K): of sparse columns where these are fewer than arms.

    distance (O, O) are Hamming distances, if they are known already.
    """
    if kernel.name != "deep":
        columns = _make_columns(kernel.name, codes, sizes)
        if columns.shape[1] < len(codes):
            scale = np.exp(theta[0]) / np.sqrt(len(sizes))
            base = csr_matrix(np.full((len(codes), 1), np.sqrt(BASE)))
            return Sparse(hstack([base, scale * columns]).tocsr())
    if distance is None:
        distance = count_differences(codes, codes)
    return Dense(kernel.tabulate(theta, len(sizes))[distance])


def _make_columns(name: str, codes: Array, sizes: tuple[int, ...]) -> csr_matrix:
    """(O, P) one column for each value, and one for each pair of values, that occur."""
    rows, attributes = codes.shape
    parts = [codes[:, k].astype(np.int64) for k in range(attributes)]
    weights = [1.0] * attributes
    widths = list(sizes)
    if name == "pairs":
        for i, j in combinations(range(attributes), 2):
            parts.append(codes[:, i].astype(np.int64) * sizes[j] + codes[:, j])
            weights.append(PAIR)
            widths.append(sizes[i] * sizes[j])
    indices = np.stack(parts, axis=1) + np.cumsum([0, *widths[:-1]])
    seen, place = np.unique(indices, return_inverse=True)
    content = np.tile(weights, rows)
    pointer = np.arange(rows + 1) * len(parts)
    return csr_matrix((content, place.ravel(), pointer), shape=(rows, len(seen)))


@dataclass(frozen=True)
class Mode:
    """The posterior's mode and its curvature.

    latent     (O,) f at the mode
    gradient   (O,) of the log-likelihood there; f is the kernel times it
    root       (O,) square roots of the likelihood's curvatures
    factor     I + root K root
    evidence   Laplace's approximation of the log marginal likelihood
    """

    latent: Array
    gradient: Array
    root: Array
    factor: DenseFactor
    evidence: float

    def solve(self, right: Array) -> Array:
        """(K + W^-1)^-1 right, of right (O, D)."""
        root = self.root[:, None]
        return np.asarray(root * self.factor.solve(root * right))


def find_mode(covariance: Dense | Sparse, counts: Array, begin: Array | None = None) -> Mode:
    """Newton's method, its steps halved where they overshoot; begin (O,) is a gradient there."""
    positive, total = counts[:, 0], counts.sum(axis=1)

    def evaluate(slope: Array) -> tuple[Array, float]:
        latent = covariance.apply(slope)
        fit = positive @ log_expit(latent) + counts[:, 1] @ log_expit(-latent)
        return latent, float(fit - slope @ latent / 2)

    slope = np.zeros(len(counts)) if begin is None else begin
    latent, value = evaluate(slope)
    if begin is not None and value < total.sum() * np.log(0.5):
        slope = np.zeros(len(counts))
        latent, value = evaluate(slope)
    for _ in range(50):
        prob = expit(latent)
        curvature = total * prob * (1 - prob)
        root = np.sqrt(curvature)
        factor = covariance.factorise(root)
        right = curvature * latent + positive - total * prob
        target = right - root * factor.solve(root * covariance.apply(right))
        step, moved = 1.0, evaluate(target)
        while moved[1] < value - 1e-9 and step > 1e-3:
            step /= 2
            moved = evaluate(slope + step * (target - slope))
        gain = moved[1] - value
        slope = slope + step * (target - slope)
        latent, value = moved
        if gain < 1e-4:
            break
    return Mode(latent, slope, root, factor, value - factor.half_logdet)


def search(
    kernel: Kernel,
    codes: Array,
    counts: Array,
    sizes: tuple[int, ...],
    begin: Array,
    evaluations: int,
) -> Array:
    """(P,) logs of the hyperparameters with the largest marginal likelihood, with a weak prior.

    The prior of each is normal about the kernel's start with standard deviation 1. Nelder & Mead
    from begin, with so many evaluations at most.
    """
    most = np.argsort(-counts.sum(axis=1), kind="stable")[:_SEARCHED]
    codes, counts = codes[most], counts[most]
    distance = count_differences(codes, codes)
    slope: Array | None = None

    def loss(theta: Array) -> float:
        nonlocal slope
        theta = np.clip(theta, -4, 4)
        covariance = make_covariance(kernel, theta, codes, sizes, distance)
        mode = find_mode(covariance, counts, slope)
        slope = mode.gradient
        return float(((theta - np.array(kernel.start)) ** 2).sum() / 2 - mode.evidence)

    corners = np.concatenate([begin[None], begin + 0.8 * np.eye(len(begin))])
    options = {"maxfev": evaluations, "initial_simplex": corners, "xatol": 0.05, "fatol": 0.05}
    found = minimize(loss, begin, method="Nelder-Mead", options=options)
    return np.clip(np.asarray(found.x), -4, 4)


@dataclass(frozen=True)
class PriorDraws:
    """D draws of f from the prior that can be evaluated at any combination.

    A draw is a sum of tables: of the values of one attribute, of those of two, and of subsets that
    hold each attribute with probability 1 - exp(-1/l), which have the mean product exp(-H/l).

    base     (D,) the same everywhere
    main     of each attribute, (values, D)
    pairs    [(i, j, table (places, D))]; empty for other kernels
    subsets  (D, F, K) bool, and their tables (D, F, places); empty for other kernels
    mix      (K,) uint64 odd numbers that spread codes over places
    """

    base: Array
    main: list[Array]
    pairs: list[tuple[int, int, Array]]
    subsets: Array
    tables: Array
    mix: Array

    def evaluate(self, codes: Array) -> Array:
        """(M, D) float32 values at codes (M, K)."""
        out = np.tile(self.base.astype(np.float32), (len(codes), 1))
        for column, table in zip(codes.T, self.main, strict=True):
            out += table[column]
        mixed = (codes.astype(np.uint64) + np.uint64(1)) * self.mix
        for i, j, table in self.pairs:
            out += table[_find_place(mixed[:, i] + mixed[:, j])]
        for draw in range(len(self.subsets)):
            for subset, table in zip(self.subsets[draw], self.tables[draw], strict=True):
                place = _find_place(mixed[:, subset].sum(axis=1, dtype=np.uint64))
                out[:, draw] += table[place]
        return out


def _find_place(mixed: Array) -> Array:
    """(M,) place in a table of numbers (M,) uint64."""
    return ((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - 12)).astype(np.intp)


def draw_prior(
    kernel: Kernel, theta: Array, sizes: tuple[int, ...], draws: int, rng: np.random.Generator
) -> PriorDraws:
    """Draws of f from the prior."""
    attributes = len(sizes)
    scale = np.exp(theta[0]) / np.sqrt(attributes)

    def normal(*shape: int) -> Array:
        return np.asarray(rng.standard_normal(shape, dtype=np.float32))

    base = np.sqrt(BASE) * normal(draws)
    main = [np.float32(scale) * normal(size, draws) for size in sizes]
    pairs: list[tuple[int, int, Array]] = []
    if kernel.name == "pairs":
        pairs = [
            (i, j, np.float32(PAIR * scale) * normal(_BINS, draws))
            for i in range(attributes)
            for j in range(i)
        ]
    subsets = np.zeros((0, 0, attributes), bool)
    tables = np.zeros((0, 0, _BINS), np.float32)
    if kernel.name == "deep":
        chance = 1 - np.exp(-np.exp(-theta[2]))
        subsets = rng.random((draws, _FEATURES, attributes)) < chance
        tables = np.float32(np.exp(theta[1]) / np.sqrt(_FEATURES)) * normal(draws, _FEATURES, _BINS)
    mix = rng.integers(1, 2**63, size=attributes, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return PriorDraws(base, main, pairs, subsets, tables, mix)


@dataclass(frozen=True)
class Fit:
    """A Gaussian process given labels.

    kernel, theta   what it is
    codes           (O, K) of the arms whose labels it knows
    sizes           values of each attribute
    mode            the posterior's
    """

    kernel: Kernel
    theta: Array
    codes: Array
    sizes: tuple[int, ...]
    mode: Mode

    def leave_out(self) -> tuple[Array, Array]:
        """(O,) mean and variance of f at every arm, as labels of other arms alone say."""
        diagonal = self.mode.factor.find_diagonal()
        curvature = np.maximum(self.mode.root**2, 1e-12)
        # 1 / (K + W^-1)^-1_ii is the variance of what other arms say and of the term of its own.
        whole = 1 / np.maximum(curvature * diagonal, 1e-12)
        mean = self.mode.latent + self.mode.gradient * (1 / curvature - whole)
        return mean, np.maximum(whole - 1 / curvature, 1e-9)

    def predict(self, codes: Array) -> tuple[Array, Array]:
        """(M,) mean and variance of f at codes (M, K)."""
        table = self.kernel.tabulate(self.theta, len(self.sizes))
        mean, variance = np.empty(len(codes)), np.empty(len(codes))
        for start in range(0, len(codes), _BLOCK):
            block = slice(start, start + _BLOCK)
            known = table[count_differences(codes[block], self.codes)]
            mean[block] = known @ self.mode.gradient
            variance[block] = table[0] - (known.T * self.mode.solve(known.T)).sum(axis=0)
        return mean, np.maximum(variance, 0)

    def make_posterior(
        self, draws: int, rng: np.random.Generator
    ) -> Callable[[Array], tuple[Array, Array]]:
        """From codes (M, K) to the mean (M,) of f and deviations (D, M) from it, in mirrored pairs.

        Matheron's rule: a draw from the prior, corrected by what it lacks at the arms with labels.
        """
        prior = draw_prior(self.kernel, self.theta, self.sizes, draws // 2, rng)
        noise = rng.standard_normal((len(self.codes), draws // 2))
        root = self.mode.root[:, None]
        inner = root * prior.evaluate(self.codes) + noise
        solved = root * self.mode.factor.solve(inner)
        right = np.concatenate([self.mode.gradient[:, None], solved], axis=1).astype(np.float32)
        table = self.kernel.tabulate(self.theta, len(self.sizes)).astype(np.float32)

        def evaluate(codes: Array) -> tuple[Array, Array]:
            mean = np.empty(len(codes), np.float32)
            away = np.empty((draws, len(codes)), np.float32)
            for start in range(0, len(codes), _BLOCK):
                block = slice(start, start + _BLOCK)
                known = table[count_differences(codes[block], self.codes)] @ right
                part = prior.evaluate(codes[block]) - known[:, 1:]
                mean[block] = known[:, 0]
                away[: draws // 2, block], away[draws // 2 :, block] = part.T, -part.T
            return mean, away

        return evaluate


def fit(
    kernel: Kernel,
    theta: Array,
    codes: Array,
    counts: Array,
    sizes: tuple[int, ...],
    begin: Array | None = None,
) -> Fit:
    """The process given counts (O, 2) of arms (O, K)."""
    mode = find_mode(make_covariance(kernel, theta, codes, sizes, None), counts, begin)
    return Fit(kernel, theta, codes, sizes, mode)


# Nodes and weights of the expectation over a normal.
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()


def find_moments(mean: Array, variance: Array) -> tuple[Array, Array]:
    """(O,) mean and variance of sigmoid(f), f normal with these."""
    values = expit(mean[:, None] + np.sqrt(variance)[:, None] * _NODES)
    first = values @ _SHARES
    return first, np.maximum((values - first[:, None]) ** 2 @ _SHARES, 0)
