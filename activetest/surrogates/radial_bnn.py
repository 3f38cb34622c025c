"""Radial BNN: a posterior of weights whose distance from its mean is a single number.

Farquhar, Osborne & Gal 2020: each array of weights is mu + sigma * (eps / ||eps||) * |r|, with eps
standard normal of the array's shape and r ~ N(0, 1). Samples stay near the mean however many
weights there are, where those of independent Gaussians lie in a distant shell. The surrogate of
Active Testing (Kossen 2021) and ASE (Kossen 2022) on MNIST: 8 samples in training, 100 in
prediction, early stopping and temperature scaling on rows held out (ASE, appendix D.3). Theirs is
convolutional, with a learning rate of 1e-4 and at most 500 epochs; ours has a rate of 3e-3 and at
most 200, see _torch_training.

The divergence from the prior counts for little: weights outnumber labels by far, and in full it
would drown them; in the papers, it is early stopping that keeps it from doing so. Prediction costs
a hundred networks of 64 units: seven times an ensemble, or some 30 s for a million rows.
"""

from functools import partial

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.training import TrainingSet
from activetest.surrogates._inputs import training_data
from activetest.surrogates._network import Network, standardised, stored_layers
from activetest.surrogates._network_votes import committee
from activetest.surrogates._torch_training import (
    calibrated,
    examples,
    first_layers,
    load_torch,
    stored,
    train,
)

NEEDS_FEATURES = True

_HIDDEN = (64, 64)
_TRAINING_SAMPLES, _SAMPLES = 8, 100
_NAMES = ("weights", "bias", "rho_weights", "rho_bias")
# Where sigma begins: how far a sample is from the first mean, over the mean's own length. On four
# small sets, samples of .1 hardly disagreed and those of .8 cost log-loss.
_FIRST_DISTANCE = 0.3
# How many labels the divergence from the prior, averaged over weights, counts as.
_DIVERGENCE = 200.0


def fit(training: TrainingSet, *, rng: np.random.Generator):
    """The posterior after training rows (or the sketch) and M labels, of classes or values.

    Raises ChoiceError where PyTorch is not installed.
    """
    torch = load_torch("radial-bnn")
    taught = training_data(training, rng=rng)
    given = examples(taught.inputs, taught.labels, taught.weights, training.classes, rng=rng)
    start = _start(taught.inputs.shape[1], given.outputs, rng=rng)
    penalty = partial(_divergence, torch, _DIVERGENCE / taught.weights.sum())
    trained = train(
        torch, given, start, partial(_forward, torch), rng=rng, penalty=penalty, decay=0.0
    )
    params = stored(given, trained, _NAMES, outputs=taught.outputs)
    params["seed"] = int(rng.integers(2**32))
    return restore(calibrated(params, _network(params), given, taught.inputs))


def restore(params: dict):
    """The surrogate that params() described."""
    return committee(params, _network(params))


def _start(inputs: int, outputs: int, *, rng: np.random.Generator) -> list[Array]:
    """Means, then rho = log(exp(sigma) - 1), of each layer's weights and bias."""
    means = first_layers(inputs, _HIDDEN, outputs, 1, rng=rng)
    parameters = []
    for weights, bias in zip(means[::2], means[1::2], strict=True):
        into, out = weights.shape[1:]
        # Lengths as He's first weights and a bias as large as one row of them would have.
        sigmas = [_FIRST_DISTANCE * (2 * out) ** 0.5, _FIRST_DISTANCE * (2 * out / into) ** 0.5]
        rhos = [
            np.full(part.shape, np.log(np.expm1(sigma)), np.float32)
            for part, sigma in zip((weights, bias), sigmas, strict=True)
        ]
        parameters += [weights, bias, *rhos]
    return parameters


def _forward(torch, parameters, inputs, generator, learning):
    """(S, 1, B, O) outputs of S sampled networks; inputs (1, B, W)."""
    del learning
    for level in range(0, len(parameters), 4):
        weights, bias, weights_rho, bias_rho = parameters[level : level + 4]
        inputs = inputs.relu() if level else inputs
        inputs = inputs @ _sampled(torch, weights, weights_rho, generator)
        inputs = inputs + _sampled(torch, bias, bias_rho, generator)[:, None]
    return inputs[:, None]


def _sampled(torch, mean, rho, generator):
    """(S, ...) samples of an array (1, ...)."""
    shape = (_TRAINING_SAMPLES, *mean.shape[1:])
    noise = torch.randn(shape, generator=generator, device=mean.device)
    distance = torch.randn(len(noise), generator=generator, device=mean.device).abs()
    size = distance / noise.flatten(1).norm(dim=1)
    return mean + _sigma(torch, rho) * noise * size.view(-1, *[1] * (mean.dim() - 1))


def _sigma(torch, rho):
    """Positive, whatever rho is."""
    return torch.nn.functional.softplus(rho)


def _divergence(torch, share: float, parameters):
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
            # E[w^2] = mu^2 + sigma^2 / D: a direction has length one, spread over D weights.
            square = mean**2 + sigma**2 / mean.numel()
            total = total + (0.5 * square / deviation**2 - sigma.log()).sum()
            size += mean.numel()
    return share * total / size


def _network(params: dict) -> Network:
    """A hundred samples of the weights, for inputs as they come."""
    rng = np.random.default_rng(params["seed"])
    levels = stored_layers(params, _NAMES)
    branches = []
    for _ in range(_SAMPLES):
        first, *others = [
            (_sample(*level[::2], rng), _sample(*level[1::2], rng)) for level in levels
        ]
        first = standardised(first, params["center"], params["scale"])
        branches.append((first, *others))
    return Network((), tuple(branches))


def _sample(mean: Array, rho: Array, rng: np.random.Generator) -> Array:
    """One sample of an array (1, ...), without its first axis."""
    noise = rng.standard_normal(mean.shape[1:], np.float32)
    sigma = np.logaddexp(0, rho[0])
    size = abs(rng.standard_normal()) / np.linalg.norm(noise)
    return mean[0] + sigma * noise * np.float32(size)
