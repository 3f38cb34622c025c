"""Sparse variational Gaussian processes on the attributes of arms (Hensman et al. 2015).

L latent functions share inputs and, if any, an embedding of them: a linear map to D columns. Each
has a constant mean, a kernel and inducing points of its own (Piratla 2021, appendix C). The kernel
is

    scale x exp(-sum_d (x_d - y_d)^2 / (2 length_d^2)),

where eq. (7) has exp(-|x - y|^2 / l): l is 2 length^2. Values u at the m inducing points are
whitened: u = center + R v, where R R^T is their covariance, and v has the prior N(0, 1) and the
belief N(mean, root root^T).

Parameters are a dict of arrays: center (L,), raw_scale (L,), raw_length (L, D), inducing (L, m, W),
mean (L, m) and root (L, m, m), of which the lower triangle counts; where inputs are embedded, also
embedding (W, D). Scale and length are softplus of what is raw.
"""

from functools import cache
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Attributes

# Added to the diagonal of the kernel at the inducing points, as a share of its scale.
_JITTER = 1e-5
# The least variance.
_LEAST = 1e-12


def encode_arms(attributes: Attributes, codes: Array, inputs: str) -> Array:
    """(M, W) inputs of combinations (M, K): a column for each value, or the number of the arm."""
    if inputs == "index":
        return attributes.number(codes)[:, None].astype(float)
    columns = [np.eye(size)[column] for size, column in zip(attributes.sizes, codes.T, strict=True)]
    return np.concatenate(columns, axis=1)


def draw_parameters(
    arms: Array,
    centers: Array,
    *,
    inducing: int,
    embedding: int | None,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """The parameters before any training, for arms (A, W).

    Inducing points are arms; beliefs are the priors, with constant means (L,) at the centers.
    Lengths are such that the exponent is -1 at the mean squared distance of two arms; with a single
    column, as for arms that are numbered, they are log 2.
    """
    latents, width = len(centers), arms.shape[1]
    parameters: dict[str, Array] = {}
    embedded = arms
    if embedding is not None:
        parameters["embedding"] = rng.standard_normal((width, embedding)) / np.sqrt(embedding)
        embedded = arms @ parameters["embedding"]
    columns = embedded.shape[1]
    length = np.log(2)
    if columns > 1:
        # The mean of |x - y|^2 over pairs is twice the sum of the variances.
        length = np.sqrt(max(embedded.var(axis=0).sum(), 1e-6))
    count = min(inducing, len(arms))
    return parameters | {
        "center": np.array(centers, float),
        "raw_scale": np.zeros(latents),
        "raw_length": np.full((latents, columns), np.log(np.expm1(length))),
        "inducing": np.stack([arms[rng.choice(len(arms), count, replace=False)] for _ in centers]),
        "mean": np.zeros((latents, count)),
        "root": np.tile(np.eye(count), (latents, 1, 1)),
    }


def embed(parameters: dict[str, Any], inputs: Any) -> Any:
    """(..., D) inputs (..., W) as the kernel sees them."""
    return inputs @ parameters["embedding"] if "embedding" in parameters else inputs


def compute_kernel(torch: Any, parameters: dict[str, Any], left: Any, right: Any) -> Any:
    """(L, M, N) covariance of embedded inputs (M, D) or (L, M, D) and (N, D) or (L, N, D)."""
    softplus = torch.nn.functional.softplus
    length = softplus(parameters["raw_length"])[:, None].to(right.dtype)
    scale = softplus(parameters["raw_scale"])[:, None, None].to(right.dtype)
    left, right = left / length, right / length
    # The exponent is a product of rows with two columns more: arrays of all pairs
    # are where the time of a fit goes, and so there are only two of them.
    own, other = (-0.5 * each.square().sum(-1, keepdim=True) for each in (left, right))
    left = torch.cat([left, torch.ones_like(own), own + scale.log()], dim=-1)
    right = torch.cat([right, other, torch.ones_like(other)], dim=-1)
    return torch.exp(left @ right.transpose(1, 2))


def project(torch: Any, parameters: dict[str, Any], embedded: Any) -> tuple[Any, Any]:
    """Belief about the latent values at embedded inputs (B, D), given v.

    Returns the (L, m, B) coefficients of v in the latent values, and the (L, B) variance that is
    left where v is known, in the precision of the inputs.
    """
    coefficients, scale = _find_coefficients(torch, parameters, embedded)
    return coefficients, (scale - coefficients.square().sum(1)).clamp(min=_LEAST)


def _find_coefficients(torch: Any, parameters: dict[str, Any], embedded: Any) -> tuple[Any, Any]:
    """The coefficients of project, and the (L, 1) variance of the prior.

    The covariance of the inducing points needs double precision.
    """
    points, kind = embed(parameters, parameters["inducing"]), embedded.dtype
    scale = torch.nn.functional.softplus(parameters["raw_scale"])[:, None]
    inner = compute_kernel(torch, parameters, points, points)
    jitter = _JITTER * scale[:, :, None] * torch.eye(inner.shape[-1], dtype=inner.dtype)
    root = torch.linalg.cholesky(inner + jitter)
    cross = compute_kernel(torch, parameters, points.to(kind), embedded)
    unit = torch.eye(root.shape[-1], dtype=root.dtype)
    coefficients = torch.linalg.solve_triangular(root, unit, upper=False).to(kind) @ cross
    return coefficients, scale.to(kind)


def believe(torch: Any, parameters: dict[str, Any], embedded: Any) -> tuple[Any, Any]:
    """(L, B) mean and variance of the latent values at embedded inputs (B, D)."""
    coefficients, scale = _find_coefficients(torch, parameters, embedded)
    root = torch.tril(parameters["root"])
    # The covariance of v less that of the prior, which its coefficients take off the scale.
    excess = root @ root.transpose(1, 2) - torch.eye(root.shape[-1], dtype=root.dtype)
    mean, quadratic = _make_moments(torch).apply(
        coefficients, excess.to(embedded.dtype), parameters["mean"].to(embedded.dtype)
    )
    center = parameters["center"].to(embedded.dtype)
    return center[:, None] + mean, (scale + quadratic).clamp(min=_LEAST)


@cache
def _make_moments(torch: Any) -> Any:
    """Linear and quadratic forms of all coefficients, as a class that torch can differentiate.

    Coefficients are the largest arrays of a fit: derived by hand, half as many passes over them are
    needed as torch makes of the formulas.
    """

    class Moments(torch.autograd.Function):
        """(L, B) c^T mean and c^T excess c; c is (L, m, B), and excess (L, m, m) symmetric."""

        @staticmethod
        def forward(context: Any, coefficients: Any, excess: Any, mean: Any) -> Any:
            turned = excess @ coefficients
            context.save_for_backward(coefficients, turned, mean)
            linear = (mean[:, None] @ coefficients)[:, 0]
            return linear, (coefficients * turned).sum(1)

        @staticmethod
        def backward(context: Any, of_linear: Any, of_quadratic: Any) -> Any:
            coefficients, turned, mean = context.saved_tensors
            slope = turned * (2 * of_quadratic)[:, None]
            slope.baddbmm_(mean[:, :, None], of_linear[:, None])
            weighed = coefficients * of_quadratic[:, None]
            of_excess = weighed @ coefficients.transpose(1, 2)
            return slope, of_excess, (coefficients @ of_linear[:, :, None])[:, :, 0]

    return Moments


def compute_divergence(torch: Any, parameters: dict[str, Any]) -> Any:
    """KL(N(mean, root root^T) || N(0, 1)) of v, summed over the latent functions."""
    root = torch.tril(parameters["root"])
    diagonal = torch.diagonal(root, dim1=1, dim2=2)
    squares = parameters["mean"].square().sum() + root.square().sum() - diagonal.numel()
    return 0.5 * squares - diagonal.abs().log().sum()
