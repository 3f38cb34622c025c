"""Surfaces of Gaussian processes, and the fit they share (Piratla 2021, section 3, appendix C).

A fit has two phases of Adam on the evidence lower bound (15): in the first, the Gaussian processes
and the embedding learn from the arms with labels; in the second, the Gaussian processes alone learn
from all arms, where those without labels have the prior counts of section 4.4. Expectations over
the latent values are taken by Gauss-Hermite quadrature. Arrays with a number for each arm are
computed in single precision, and parameters, their covariances and predictions in double.

Randomness comes from the given numpy Generator alone: it draws the first parameters and the seed of
a torch.Generator of our own, so that torch's global state is neither read nor written.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from types import ModuleType
from typing import Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData
from activetest.system.parallel import one_torch_thread
from activetest.system.progress import Step, step
from activetest.wings.surfaces.surfaces._likelihoods import (
    log_bernoulli,
    log_beta_binomial,
    log_beta_binomial_of_mean,
    log_dirichlet,
    log_gamma,
)
from activetest.wings.surfaces.surfaces._pooling import pool_counts
from activetest.wings.surfaces.surfaces._variational_gp import (
    believe,
    compute_divergence,
    compute_kernel,
    draw_parameters,
    embed,
    encode_arms,
    project,
)

# Options of every method: see the page on surfaces.
_GP_OPTIONS: dict[str, Any] = {
    "link": ("steep", "plain"),
    "inputs": ("embedded", "attributes", "index"),
    "embedding": 20,
    "inducing": 50,
    "steps": 1000,
    "rate": 0.01,
    "update_steps": 50,
    "update_rate": 0.001,
    "prior": 0.1,
    "divergence": 1.0,
}
_SUPERVISION_OPTIONS: dict[str, Any] = {"supervision": ("gamma", "printed")}
_POOLING_OPTIONS: dict[str, Any] = {
    "pool": 5,
    "limit": ("below", "up-to"),
    "neighbours": 3,
    "average": ("kernel", "plain"),
}

# Points of the quadrature over the first and the second latent value, in training and of the mean.
_POINTS, _MEAN_POINTS = (6, 4), (20, 20)
# The most arms with labels that a step sees, and arms without in the second phase.
_MOST_EXPLORED, _MOST_OTHERS = 4096, 256
# Draws of phi and psi: this many, fewer where they would be more numbers than that.
_DRAWS, _MOST_NUMBERS, _FEWEST_DRAWS = 200, 20_000_000, 50
# Arms whose surface is computed at once.
_CHUNK = 4096
# How close phi comes to 0 and 1, and the least psi, alpha and beta.
_MARGIN, _LEAST = 1e-5, 1e-3
# The entry of a state that names the model of its parameters.
_MODEL = "model"
# psi of a method without one: an arm's accuracy is phi itself.
_NO_SCALE = 1e9


@dataclass(frozen=True)
class GpMethod:
    """A surface of the family, and all that tells it from the others.

    name     of the method
    form     "bernoulli": phi alone; "mean-scale": phi and psi; "alpha-beta": alpha and beta
    OPTIONS  what it offers, {name: default}
    """

    name: str
    form: str
    OPTIONS: Mapping[str, Any]

    @property
    def latents(self) -> int:
        """Latent functions."""
        return 1 if self.form == "bernoulli" else 2

    def fit(
        self,
        data: SurfaceData,
        *,
        rng: np.random.Generator,
        earlier: Mapping[str, Array] | None = None,
        **options: Any,
    ) -> Surface:
        """The surface of the data: a fit from the start, or a shorter one from an earlier state.

        An earlier state counts if it is of the same method, options of the model and arms. options
        are those of OPTIONS, with values of their kinds. Raises ChoiceError without torch.
        """
        chosen = {
            name: default[0] if isinstance(default, tuple) else default
            for name, default in self.OPTIONS.items()
        }
        if unknown := set(options) - set(chosen):
            raise ValueError(f"{self.name} has no options {sorted(unknown)}")
        # Only alpha-beta has no link.
        chosen = {"link": "", **chosen, **options}
        torch = load_torch(self.name)
        with one_torch_thread(torch):
            return _fit_surface(torch, self, data, rng, earlier, chosen)


bern_gp = GpMethod("bern-gp", "bernoulli", _GP_OPTIONS)
"""Labels of an arm are right with probability link(f), f a Gaussian process (BernGP, eq. 3)."""

beta_gp = GpMethod("beta-gp", "mean-scale", _GP_OPTIONS)
"""An arm's accuracy is Beta with mean link(f) and scale softplus(g) (BetaGP, 3.1, eqs. 4 to 6)."""

beta_gp_alpha_beta = GpMethod(
    "beta-gp-alpha-beta",
    "alpha-beta",
    {name: each for name, each in _GP_OPTIONS.items() if name != "link"},
)
"""An arm's accuracy is Beta(softplus(f), softplus(g)) (appendix B)."""

beta_gp_sl = GpMethod("beta-gp-sl", "mean-scale", {**_GP_OPTIONS, **_SUPERVISION_OPTIONS})
"""As beta-gp, with the likelihood of the arms' counts given their scales (3.2, eq. 11)."""

beta_gp_slp = GpMethod(
    "beta-gp-slp", "mean-scale", {**_GP_OPTIONS, **_SUPERVISION_OPTIONS, **_POOLING_OPTIONS}
)
"""As beta-gp-sl, where arms with few labels have the mean counts of their neighbours (3.3)."""


def load_torch(name: str) -> ModuleType:
    """The module torch. Raises ChoiceError, with what to install, if there is none."""
    try:
        import torch
    except ImportError as error:
        raise ChoiceError(
            f"the surface '{name}' needs PyTorch, which is not installed",
            hint="install PyTorch's CPU build first (see its install page), "
            "then: pip install 'activetest[neural]'; or choose the surface 'stacked'",
        ) from error
    return torch


def _fit_surface(
    torch: Any,
    method: GpMethod,
    data: SurfaceData,
    rng: np.random.Generator,
    earlier: Mapping[str, Array] | None,
    options: dict[str, Any],
) -> Surface:
    """The surface, with torch on one thread."""
    arms = data.arms
    inputs = encode_arms(arms.attributes, arms.codes, options["inputs"])
    named = [options[name] for name in ("link", "inputs", "embedding", "inducing")]
    model = _mark_model([method.name, arms.attributes.values, arms.codes.tolist(), named])
    seeds = rng.integers(2**63, size=2).tolist()
    start = dict(earlier or {})
    if not (continues := np.array_equal(start.pop(_MODEL, []), model)):
        start = draw_parameters(
            inputs,
            _find_centers(method, options["link"], data.mean),
            inducing=options["inducing"],
            embedding=options["embedding"] if options["inputs"] == "embedded" else None,
            rng=rng,
        )
    parameters = {name: torch.tensor(array, dtype=torch.float64) for name, array in start.items()}
    kind = "update_" if continues else ""
    steps = options[f"{kind}steps"]
    with step("training the surface", 2 * steps) as training:
        _train(
            torch,
            method,
            data,
            torch.as_tensor(inputs),
            parameters,
            options,
            steps=steps,
            rate=options[f"{kind}rate"],
            generator=torch.Generator().manual_seed(seeds[0]),
            training=training,
        )
    draws = max(min(_DRAWS, _MOST_NUMBERS // max(len(arms), 1)), _FEWEST_DRAWS)
    found = {name: tensor.numpy() for name, tensor in parameters.items()}

    def predict_all(codes: Array) -> tuple[Array, Array, Array]:
        with one_torch_thread(torch):
            each = encode_arms(arms.attributes, codes, options["inputs"])
            return _predict(torch, method, options["link"], found, each, draws, seeds[1])

    def predict(codes: Array) -> tuple[Array, Array]:
        return predict_all(codes)[1:]

    mean, phi, psi = predict_all(arms.codes)
    return Surface(method.name, mean, phi, psi, predict, state={**found, _MODEL: model})


def _mark_model(content: list[Any]) -> Array:
    """(16,) uint8: equal for models that share their parameters."""
    return np.frombuffer(blake2b(json.dumps(content).encode(), digest_size=16).digest(), np.uint8)


def _find_centers(method: GpMethod, link: str, mean: float) -> Array:
    """(L,) constant means before any training: the mean of all labels, and a psi of log 2."""
    mean = min(max(mean, 0.02), 0.98)
    if method.form == "alpha-beta":
        return np.log(np.expm1(2 * np.log(2) * np.array([mean, 1 - mean])))
    logit = np.log(mean / (1 - mean))
    center = (logit + 3) / 6 if link == "steep" else logit
    return np.array([center, 0.0][: method.latents])


def _apply_link(torch: Any, link: str, latent: Any) -> Any:
    """Phi of latent values: sigmoid(6 f - 3) or sigmoid(f), eq. (5)."""
    phi = torch.sigmoid(6 * latent - 3 if link == "steep" else latent)
    return _MARGIN + (1 - 2 * _MARGIN) * phi


def _apply_softplus(torch: Any, latent: Any) -> Any:
    """Psi, alpha or beta of latent values, eq. (6)."""
    return _LEAST + torch.nn.functional.softplus(latent)


def _train(
    torch: Any,
    method: GpMethod,
    data: SurfaceData,
    inputs: Any,
    parameters: dict[str, Any],
    options: dict[str, Any],
    *,
    steps: int,
    rate: float,
    generator: Any,
    training: Step,
) -> None:
    """Both phases; parameters are changed."""
    counts = data.counts
    explored = np.flatnonzero(counts.sum(axis=1) > 0)
    others = np.flatnonzero(counts.sum(axis=1) <= 0)
    prior = options["prior"] * np.array([data.mean, 1 - data.mean])
    exact = [_make_grid(torch, count) for count in _POINTS]
    grids = [(points.float(), weights.float()) for points, weights in exact]
    for phase in (1, 2):
        others_left = phase == 2 and len(others) > 0 and options["prior"] > 0
        if not len(explored) and not others_left:
            continue
        pooled = counts[explored]
        if "pool" in options and len(explored):
            pooled = _pool(torch, parameters, inputs[explored], pooled, options)
        labels = torch.as_tensor(pooled + prior)
        observed = torch.as_tensor(counts[explored].sum(axis=1))
        trained = {
            name: tensor.requires_grad_()
            for name, tensor in parameters.items()
            if phase == 1 or name != "embedding"
        }
        optimizer = torch.optim.Adam(trained.values(), lr=rate)
        if phase == 2:
            with torch.no_grad():
                fixed = embed(parameters, inputs)
        for _ in range(steps):
            training.advance()
            optimizer.zero_grad()
            chosen, weight = _draw_arms(torch, len(explored), _MOST_EXPLORED, generator)
            index, seen, known = explored[chosen], labels[chosen], observed[chosen].float()
            if others_left:
                chosen, more = _draw_arms(torch, len(others), _MOST_OTHERS, generator)
                index, weight = np.append(index, others[chosen]), torch.cat([weight, more])
                seen = torch.cat([seen, torch.as_tensor(prior).expand(len(chosen), 2)])
            (right, wrong), weight = seen.float().T, weight.float()
            place = fixed[index] if phase == 2 else embed(parameters, inputs[index])
            mean, variance = believe(torch, parameters, place.float())
            bound = _expect_likelihood(
                torch, method, options, grids, mean, variance, right, wrong, weight
            )
            if "supervision" in options:
                bound = bound + _expect_supervision(
                    torch, options, grids[1], mean[1], variance[1], right + wrong, weight, known
                )
            # The constant means have the prior N(0, 1).
            loss = options["divergence"] * compute_divergence(torch, parameters) - bound
            loss = loss + 0.5 * parameters["center"].square().sum()
            loss.backward()
            optimizer.step()
        for tensor in parameters.values():
            tensor.requires_grad_(False)


def _pool(
    torch: Any, parameters: dict[str, Any], inputs: Any, counts: Array, options: dict[str, Any]
) -> Array:
    """(B, 2) counts of arms with labels, pooled by the kernel of f as it is now."""
    with torch.no_grad():
        place = embed(parameters, inputs)

        def find_kernel(rows: Array) -> Array:
            return np.asarray(compute_kernel(torch, parameters, place[rows], place)[0])

        chosen = {name: options[name] for name in _POOLING_OPTIONS}
        return pool_counts(counts, find_kernel, **chosen)


def _draw_arms(torch: Any, count: int, most: int, generator: Any) -> tuple[Array, Any]:
    """Positions (B,) of the arms that a step sees, and (B,) how many arms each stands for."""
    if count <= most:
        return np.arange(count), torch.ones(count, dtype=torch.float64)
    drawn = torch.randint(count, (most,), generator=generator).numpy()
    return drawn, torch.full((most,), count / most, dtype=torch.float64)


def _make_grid(torch: Any, count: int) -> tuple[Any, Any]:
    """Points (Q,) and weights (Q,) of the expectation under N(0, 1)."""
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return torch.as_tensor(points), torch.as_tensor(weights / weights.sum())


def _spread(grid: tuple[Any, Any], mean: Any, variance: Any) -> Any:
    """(Q, B) values at the points of a grid under N(mean, variance) (B,)."""
    return mean + variance.sqrt() * grid[0][:, None]


def _expect_likelihood(
    torch: Any,
    method: GpMethod,
    options: dict[str, Any],
    grids: list[tuple[Any, Any]],
    mean: Any,
    variance: Any,
    right: Any,
    wrong: Any,
    weight: Any,
) -> Any:
    """The first term of (15): the expected log-likelihood of all labels."""
    first = _spread(grids[0], mean[0], variance[0])[:, None]
    if method.form == "bernoulli":
        value = log_bernoulli(_apply_link(torch, options["link"], first), right, wrong)[:, 0]
        return (weight * (grids[0][1][:, None] * value).sum(0)).sum()
    second = _apply_softplus(torch, _spread(grids[1], mean[1], variance[1]))
    if method.form == "alpha-beta":
        value = log_beta_binomial(torch, _apply_softplus(torch, first), second, right, wrong)
    else:
        phi = _apply_link(torch, options["link"], first)
        value = log_beta_binomial_of_mean(torch, phi, second, right, wrong)
    expected = torch.einsum("p,q,pqb->b", grids[0][1], grids[1][1], value)
    return (weight * expected).sum()


def _expect_supervision(
    torch: Any,
    options: dict[str, Any],
    grid: tuple[Any, Any],
    mean: Any,
    variance: Any,
    total: Any,
    weight: Any,
    observed: Any,
) -> Any:
    """The expected log-density of the counts given psi; observed (E,) are those of the first arms.

    As printed, counts include the prior's, and the log Gamma of the sum of psi is taken at the same
    point of the quadrature for all arms.
    """
    psi = _apply_softplus(torch, _spread(grid, mean, variance))
    if options["supervision"] == "printed":
        value = torch.stack([log_dirichlet(torch, each, total, weight) for each in psi])
        return (grid[1] * value).sum()
    value = log_gamma(torch, psi[:, : len(observed)], observed)
    return (weight[: len(observed)] * grid[1][:, None] * value).sum()


def _predict(
    torch: Any,
    method: GpMethod,
    link: str,
    parameters: dict[str, Array],
    inputs: Array,
    draws: int,
    seed: int,
) -> tuple[Array, Array, Array]:
    """(M,) mean of phi, and draws of phi (S, M) and psi (S, M) or (1, M) at inputs (M, W).

    Draws share the values at the inducing points; what is left of the variance is drawn apart.
    """
    generator = torch.Generator().manual_seed(seed)
    tensors = {name: torch.as_tensor(array) for name, array in parameters.items()}
    latents, points = parameters["mean"].shape
    noise = torch.randn((latents, points, draws), generator=generator, dtype=torch.float64)
    values = tensors["mean"][:, :, None] + torch.tril(tensors["root"]) @ noise
    grids = [_make_grid(torch, count) for count in _MEAN_POINTS]
    pieces = []
    for piece in torch.as_tensor(inputs).split(_CHUNK):
        place = embed(tensors, piece)
        coefficients, left = project(torch, tensors, place)
        own = torch.randn((latents, draws, len(piece)), generator=generator, dtype=torch.float64)
        latent = values.transpose(1, 2) @ coefficients + left.sqrt()[:, None] * own
        latent = latent + tensors["center"][:, None, None]
        mean, variance = believe(torch, tensors, place)
        spread = [_spread(grid, *each) for grid, *each in zip(grids, mean, variance, strict=False)]
        expected = _read_phi(torch, method, link, [spread[0][:, None], *spread[1:]])
        expected = torch.einsum("p,pqb->qb", grids[0][1], expected)
        expected = (grids[1][1][:, None] * expected).sum(0) if len(expected) > 1 else expected[0]
        phi, psi = _read_phi(torch, method, link, latent), _read_psi(torch, method, latent)
        pieces.append([each.numpy() for each in (expected, phi.float(), psi.float())])
    mean, phi, psi = (np.concatenate(each, axis=-1) for each in zip(*pieces, strict=True))
    return mean, phi, psi


def _read_phi(torch: Any, method: GpMethod, link: str, latent: Any) -> Any:
    """The mean of each arm's Beta from its latent values."""
    if method.form == "alpha-beta":
        alpha, beta = (_apply_softplus(torch, each) for each in latent)
        return alpha / (alpha + beta)
    return _apply_link(torch, link, latent[0])


def _read_psi(torch: Any, method: GpMethod, latent: Any) -> Any:
    """The scale of each arm's Beta from its latent values (L, S, M)."""
    if method.form == "bernoulli":
        return torch.full((1, latent.shape[-1]), _NO_SCALE, dtype=torch.float64)
    if method.form == "alpha-beta":
        return _apply_softplus(torch, latent[0]) + _apply_softplus(torch, latent[1])
    return _apply_softplus(torch, latent[1])
