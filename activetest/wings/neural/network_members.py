"""Networks as members of an ensemble, which predict without torch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from activetest.nouns.rows import Array, Rows
from activetest.surrogates._black_box import softmax
from activetest.surrogates._classes import Ensemble, unpack_positions
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates._inputs import input_columns
from activetest.wings.neural.kept_outputs import KeptOutputs
from activetest.wings.neural.network import Network

# Bounds of log-variances, for targets with variance one: networks are linear far from their
# training rows, and the exponential of that would explode.
LOG_VARIANCES = (-8.0, 3.0)
# Temperatures that are tried; 1 is one of them, so that scaling never increases the loss.
_TEMPERATURES = np.exp(np.linspace(-2.0, 2.0, 41))
# Prior standard deviation of the logarithm of the temperature; held-out rows are often few.
_DEVIATION = 0.5


def make_ensemble(params: Mapping[str, Any], network: Network) -> Ensemble | GaussianEnsemble:
    """The surrogate whose members are the networks.

    params are returned by its params() unchanged. These are used: classes, 0 for values; outputs,
    whether the black box's outputs are inputs; temperature; level and spread of the targets;
    device.
    """
    if params["classes"]:
        return Ensemble(ClassNetworks(params, network), unpack_positions(params))
    return GaussianEnsemble(ValueNetworks(params, network))


@dataclass(frozen=True)
class _Networks:
    """Members are networks, restored from stored parameters.

    kept   outputs of all networks for items of the pool that they have seen
    """

    stored: Mapping[str, Any]
    network: Network
    kept: KeptOutputs = field(default_factory=KeptOutputs, init=False, compare=False, repr=False)

    @property
    def size(self) -> int:
        """The number of networks."""
        return self.network.size

    @property
    def note(self) -> str:
        """The device of the training."""
        return f"learned on {self.stored['device']}"

    def params(self) -> dict[str, Any]:
        """The stored parameters."""
        return dict(self.stored)

    def outputs(self, rows: Rows, which: Array | None = None) -> Iterator[tuple[slice, Array]]:
        """Pairs (slice of rows, (K, O, B) outputs of networks `which`) that cover the rows.

        which (K,); None for all networks. The caller may overwrite the array.
        """
        columns = input_columns(rows, outputs=self.stored["outputs"])
        return self.kept.find_or_compute(self.network, rows.index, columns, which)


@dataclass(frozen=True)
class ClassNetworks(_Networks):
    """Networks whose outputs are logits of classes."""

    def probs(self, rows: Rows) -> Array:
        """(R, C) mean over all networks."""
        probs = np.empty((len(rows.index), self.stored["classes"]), np.float32)
        for rows_slice, logits in self.outputs(rows):
            probs[rows_slice] = scaled_softmax(logits, self.stored["temperature"]).mean(axis=0).T
        return probs

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) of networks `which`."""
        draws = np.empty((len(which), len(rows.index), self.stored["classes"]), np.float32)
        for rows_slice, logits in self.outputs(rows, which):
            draws[:, rows_slice] = scaled_softmax(logits, self.stored["temperature"]).swapaxes(1, 2)
        return draws


@dataclass(frozen=True)
class ValueNetworks(_Networks):
    """Networks whose outputs are a mean and a log-variance, standardised.

    If the black box's outputs are inputs, the value is label minus prediction.
    """

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the equal mixture of all networks' Gaussians."""
        mean, variance = (np.empty(len(rows.index)) for _ in range(2))
        for part, means, variances in self._predict(rows, None):
            mean[part] = means.mean(axis=0)
            variance[part] = variances.mean(axis=0) + means.var(axis=0)
        return mean, variance

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) means and variances of networks `which`."""
        distinct, place = np.unique(which, return_inverse=True)
        mean, variance = (np.empty((len(distinct), len(rows.index))) for _ in range(2))
        for part, means, variances in self._predict(rows, distinct):
            mean[:, part], variance[:, part] = means, variances
        return mean[place], variance[place]

    def _predict(self, rows: Rows, which: Array | None) -> Iterator[tuple[slice, Array, Array]]:
        """Triples of a slice of rows, and means and variances (K, B) of the label there."""
        stored = self.stored
        start = rows.outputs.pred if stored["outputs"] else np.zeros(len(rows.index))
        for part, outputs in self.outputs(rows, which):
            means, variances = scaled_gaussians(outputs, stored["temperature"])
            yield (
                part,
                start[part] + stored["level"] + stored["spread"] * means,
                stored["spread"] ** 2 * variances,
            )


def scaled_softmax(logits: Array, temperature: float) -> Array:
    """(K, C, B) softmax over classes of logits / temperature; overwrites the logits."""
    logits /= np.float32(temperature)
    return softmax(logits, axis=1)


def scaled_gaussians(outputs: Array, temperature: float) -> tuple[Array, Array]:
    """(K, B) means and variances, in double precision, from outputs (K, 2, B).

    Variances are multiplied by the temperature, as logits of classes are divided by it.
    """
    logs = np.clip(outputs[:, 1].astype(float), *LOG_VARIANCES)
    return outputs[:, 0].astype(float), temperature * np.exp(logs)


def mixture_log_losses(outputs: Array, targets: Array, classes: int, temperature: float) -> Array:
    """(B,) -log of the mixture's probability, or density, of targets (B,); outputs (K, O, B).

    Targets are class codes, or values in the networks' own standardised units.
    """
    with np.errstate(divide="ignore"):
        if classes:
            probs = scaled_softmax(outputs.copy(), temperature).mean(axis=0)
            return -np.log(np.maximum(probs[targets, np.arange(len(targets))], 1e-12))
        means, variances = scaled_gaussians(outputs, temperature)
        logs = -0.5 * ((targets - means) ** 2 / variances + np.log(2 * np.pi * variances))
        return -(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def fit_temperature(outputs: Array, targets: Array, weights: Array, classes: int) -> float:
    """The temperature with the smallest weighted log-loss on held-out rows.

    outputs (K, O, B); targets and weights (B,). After Guo et al. 2017, as in ASE, appendix D.3; for
    values, variances are scaled. A prior keeps it near 1, and since 1 is tried, the log-loss of
    these rows never increases.
    """

    def objective(candidate: float) -> float:
        loss = weights @ mixture_log_losses(outputs, targets, classes, candidate)
        return loss + 0.5 * (np.log(candidate) / _DEVIATION) ** 2

    return float(min(_TEMPERATURES, key=objective))
