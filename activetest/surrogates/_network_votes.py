"""What networks say about rows, as the votes of a committee's members; no torch."""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array, Rows
from activetest.surrogates._box import softmax
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates._inputs import inputs
from activetest.surrogates._network import Network

# Bounds of log-variances, of targets that have variance one: a network that is linear far from its
# examples would make the exponential of that explode.
LOG_VARIANCES = (-8.0, 3.0)
# Temperatures that are tried; 1 is one of them, which is why scaling cannot make things worse.
_TEMPERATURES = np.exp(np.linspace(-2.0, 2.0, 41))
# The logarithm of the temperature has this prior deviation; the rows held out are often few.
_DEVIATION = 0.5


def committee(params: dict, network: Network) -> Ensemble | GaussianEnsemble:
    """The surrogate whose members are the networks.

    Of params (which it gives back as they are) it reads: classes, 0 for values; outputs, whether
    the black box's outputs are inputs; temperature; level and spread of the targets; device.
    """
    if params["classes"]:
        return Ensemble(ClassVotes(params, network))
    return GaussianEnsemble(ValueVotes(params, network))


@dataclass(frozen=True)
class _Votes:
    """Members are networks, made again from what is stored."""

    stored: dict
    network: Network

    @property
    def size(self) -> int:
        """The number of networks."""
        return self.network.size

    @property
    def note(self) -> str:
        """What they were trained on."""
        return f"learned on {self.stored['device']}"

    def params(self) -> dict:
        """What they were made from."""
        return self.stored


@dataclass(frozen=True)
class ClassVotes(_Votes):
    """Their outputs are logits of classes."""

    def probs(self, rows: Rows) -> Array:
        """(R, C) mean over all networks."""
        seen = inputs(rows, outputs=self.stored["outputs"])
        probs = np.empty((len(seen), self.stored["classes"]), np.float32)
        for part, logits in self.network.outputs(seen):
            probs[part] = shares(logits, self.stored["temperature"]).mean(axis=0).T
        return probs

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) of networks `which`."""
        seen = inputs(rows, outputs=self.stored["outputs"])
        draws = np.empty((len(which), len(seen), self.stored["classes"]), np.float32)
        for part, logits in self.network.outputs(seen, which):
            draws[:, part] = shares(logits, self.stored["temperature"]).swapaxes(1, 2)
        return draws


@dataclass(frozen=True)
class ValueVotes(_Votes):
    """Their outputs are a mean and a log-variance, standardised.

    Where the black box's outputs are inputs, the value is what its prediction misses.
    """

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the equal mixture of all networks' Gaussians."""
        mean, variance = (np.empty(len(rows.index)) for _ in range(2))
        for part, means, variances in self._gaussians(rows, None):
            mean[part] = means.mean(axis=0)
            variance[part] = variances.mean(axis=0) + means.var(axis=0)
        return mean, variance

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) means and variances of networks `which`."""
        distinct, place = np.unique(which, return_inverse=True)
        mean, variance = (np.empty((len(distinct), len(rows.index))) for _ in range(2))
        for part, means, variances in self._gaussians(rows, distinct):
            mean[:, part], variance[:, part] = means, variances
        return mean[place], variance[place]

    def _gaussians(self, rows: Rows, which: Array | None):
        """Triples of a slice of rows, and means and variances (K, B) of the label there."""
        stored = self.stored
        start = rows.outputs.pred if stored["outputs"] else np.zeros(len(rows.index))
        for part, outputs in self.network.outputs(inputs(rows, outputs=stored["outputs"]), which):
            means, variances = gaussians(outputs, stored["temperature"])
            yield (
                part,
                start[part] + stored["level"] + stored["spread"] * means,
                stored["spread"] ** 2 * variances,
            )


def shares(logits: Array, temperature: float) -> Array:
    """(K, C, B) softmax over classes of logits / temperature, written over the logits."""
    logits /= np.float32(temperature)
    return softmax(logits, axis=1)


def gaussians(outputs: Array, temperature: float) -> tuple[Array, Array]:
    """(K, B) means and variances, in double precision, from outputs (K, 2, B).

    What the logits of classes are divided by, variances are multiplied with.
    """
    logs = np.clip(outputs[:, 1].astype(float), *LOG_VARIANCES)
    return outputs[:, 0].astype(float), temperature * np.exp(logs)


def log_losses(outputs: Array, targets: Array, classes: int, temperature: float) -> Array:
    """(B,) -log of the mixture's probability, or density, of targets (B,); outputs (K, O, B).

    Targets are class codes, or values in the networks' own standardised units.
    """
    with np.errstate(divide="ignore"):
        if classes:
            probs = shares(outputs.copy(), temperature).mean(axis=0)
            return -np.log(np.maximum(probs[targets, np.arange(len(targets))], 1e-12))
        means, variances = gaussians(outputs, temperature)
        logs = -0.5 * ((targets - means) ** 2 / variances + np.log(2 * np.pi * variances))
        return -(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def temperature(outputs: Array, targets: Array, weights: Array, classes: int) -> float:
    """What to scale by, so that the weighted log-loss of rows held out is smallest.

    outputs (K, O, B); targets and weights (B,). After Guo et al. 2017, as in ASE, appendix D.3; for
    values, variances are scaled. A prior holds it near 1, and as 1 is tried, the log-loss of these
    rows never rises.
    """

    def objective(one):
        loss = weights @ log_losses(outputs, targets, classes, one)
        return loss + 0.5 * (np.log(one) / _DEVIATION) ** 2

    return float(min(_TEMPERATURES, key=objective))
