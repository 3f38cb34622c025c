"""Radial BNN: a posterior of weights whose distance from its mean is a single number.

Farquhar, Osborne & Gal 2020: each array of weights is mu + sigma * (eps / ||eps||) * |r|, with eps
standard normal of the array's shape and r ~ N(0, 1). Samples stay near the mean however many
weights there are, where those of independent Gaussians lie in a distant shell. The surrogate of
Active Testing (Kossen 2021) and ASE (Kossen 2022) on MNIST: 8 samples in training, 100 in
prediction, early stopping and temperature scaling on rows held out (ASE, appendix D.3). Theirs is
convolutional, with a learning rate of 1e-4 and at most 500 epochs; ours has a rate of 3e-3 and at
most 200, see torch_training.

The divergence from the prior has a small weight: there are many more weights than labels, and the
full divergence would dominate the loss; in the papers early stopping prevents that. Prediction
takes a hundred networks of two layers of 64 units: seven times an ensemble, or about 30 s for a
million rows. radial-bnn[samples=20;layers=1;width=32] has fewer and smaller ones.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates._nothing import has_no_labels, prior_belief, restore_nothing
from activetest.surrogates._training_data import prepare_training_data
from activetest.wings.neural.network import Network, standardise_layer, stored_layers
from activetest.wings.neural.network_members import make_ensemble
from activetest.wings.neural.torch_training import (
    calibrate_temperature,
    check_size,
    collect_params,
    draw_layers,
    load_torch,
    prepare_network_data,
    train_networks,
)

NEEDS_FEATURES = True
AUGMENTS = True

# Networks that predict, their hidden layers, and the units in each.
OPTIONS = {"samples": 100, "layers": 2, "width": 64}

_TRAINING_SAMPLES = 8
_NAMES = ("weights", "bias", "rho_weights", "rho_bias")
# First sigma: distance of a sample from the first mean, relative to the mean's length. On four
# small data sets, samples hardly differed at 0.1, and the log-loss was worse at 0.8.
_FIRST_DISTANCE = 0.3
# Labels that the divergence from the prior, averaged over weights, counts as.
_DIVERGENCE = 200.0


def fit(
    training: TrainingSet,
    *,
    rng: np.random.Generator,
    samples: int = OPTIONS["samples"],
    layers: int = OPTIONS["layers"],
    width: int = OPTIONS["width"],
) -> Ensemble | GaussianEnsemble:
    """The posterior after training rows (or the background sample) and M labels.

    Raises ChoiceError if PyTorch is not installed, and for networks that are too large.
    """
    torch = load_torch("the surrogate 'radial-bnn'")
    training_rows = prepare_training_data(training, rng=rng)
    if not len(training_rows.labels):
        return prior_belief(training, training_rows.augmented, samples)
    data = prepare_network_data(
        training_rows.inputs, training_rows.labels, training_rows.weights, training.classes, rng=rng
    )
    sizes = [*pairwise((training_rows.inputs.shape[1], *(width,) * layers, data.outputs))]
    check_size(sizes, samples)
    start = _first_parameters(sizes, rng=rng)
    penalty = partial(_divergence, torch, _DIVERGENCE / training_rows.weights.sum())
    trained = train_networks(
        torch, data, start, partial(_forward, torch), rng=rng, penalty=penalty, decay=0.0
    )
    params = collect_params(
        data,
        trained,
        _NAMES,
        outputs=training_rows.outputs,
        augmented=training_rows.augmented,
    )
    params |= {"seed": int(rng.integers(2**32)), "samples": samples}
    return restore(
        calibrate_temperature(params, _make_networks(params), data, training_rows.inputs)
    )


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    if has_no_labels(params):
        return restore_nothing(params)
    return make_ensemble(params, _make_networks(params))


def _first_parameters(sizes: Sequence[tuple[int, int]], *, rng: np.random.Generator) -> list[Array]:
    """Means, then rho = log(exp(sigma) - 1), of each layer's weights and bias.

    sizes are the numbers of inputs and outputs of each layer.
    """
    means = draw_layers(sizes, 1, rng=rng)
    parameters = []
    for weights, bias in zip(means[::2], means[1::2], strict=True):
        into, out = weights.shape[1:]
        # Relative to the lengths of He's first weights and of a bias as large as a row of them.
        sigmas = [_FIRST_DISTANCE * (2 * out) ** 0.5, _FIRST_DISTANCE * (2 * out / into) ** 0.5]
        rhos = [
            np.full(part.shape, np.log(np.expm1(sigma)), np.float32)
            for part, sigma in zip((weights, bias), sigmas, strict=True)
        ]
        parameters += [weights, bias, *rhos]
    return parameters


def _forward(torch: Any, parameters: list[Any], inputs: Any, generator: Any, learning: bool) -> Any:
    """(S, 1, B, O) outputs of S sampled networks; inputs (1, B, W)."""
    del learning
    for level in range(0, len(parameters), 4):
        weights, bias, weights_rho, bias_rho = parameters[level : level + 4]
        inputs = inputs.relu() if level else inputs
        inputs = inputs @ _sample_tensor(torch, weights, weights_rho, generator)
        inputs = inputs + _sample_tensor(torch, bias, bias_rho, generator)[:, None]
    return inputs[:, None]


def _sample_tensor(torch: Any, mean: Any, rho: Any, generator: Any) -> Any:
    """(S, ...) samples of an array (1, ...)."""
    shape = (_TRAINING_SAMPLES, *mean.shape[1:])
    noise = torch.randn(shape, generator=generator, device=mean.device)
    distance = torch.randn(len(noise), generator=generator, device=mean.device).abs()
    size = distance / noise.flatten(1).norm(dim=1)
    return mean + _sigma(torch, rho) * noise * size.view(-1, *[1] * (mean.dim() - 1))


def _sigma(torch: Any, rho: Any) -> Any:
    """The softplus of rho, which is positive."""
    return torch.nn.functional.softplus(rho)


def _divergence(torch: Any, share: float, parameters: list[Any]) -> Any:
    """The KL divergence of posterior from prior up to a constant, mean over weights, times share.

    The prior is N(0, deviation^2) with the deviation of He's first weights. Farquhar 2020, (8): the
    posterior's entropy is the sum of log sigma, but for a constant.
    """
    total = size = 0
    for level in range(0, len(parameters), 4):
        deviation = (2 / parameters[level].shape[1]) ** 0.5
        for mean, rho in zip(
            parameters[level : level + 2], parameters[level + 2 : level + 4], strict=True
        ):
            sigma = _sigma(torch, rho)
            # E[w^2] = mu^2 + sigma^2 / D: a direction of length one in D dimensions.
            square = mean**2 + sigma**2 / mean.numel()
            total = total + (0.5 * square / deviation**2 - sigma.log()).sum()
            size += mean.numel()
    return share * total / size


def _make_networks(params: dict[str, Any]) -> Network:
    """Samples of the weights, for raw inputs."""
    rng = np.random.default_rng(params["seed"])
    layers = stored_layers(params, _NAMES)
    branches = []
    for _ in range(params["samples"]):
        first, *others = [
            (_sample_array(weights, rho_weights, rng), _sample_array(bias, rho_bias, rng))
            for weights, bias, rho_weights, rho_bias in layers
        ]
        first = standardise_layer(first, params["center"], params["scale"])
        branches.append((first, *others))
    return Network((), tuple(branches))


def _sample_array(mean: Array, rho: Array, rng: np.random.Generator) -> Array:
    """One sample of an array (1, ...), without its first axis."""
    noise = rng.standard_normal(mean.shape[1:], np.float32)
    sigma = np.logaddexp(0, rho[0])
    size = abs(rng.standard_normal()) / np.linalg.norm(noise)
    return mean[0] + sigma * noise * np.float32(size)
