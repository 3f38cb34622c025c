"""The loop that ensemble, mc-dropout and radial-bnn share: Adam, minibatches, early stopping.

Randomness comes from the given numpy Generator alone: it draws the first weights and the seed of a
torch.Generator of our own, so that torch's global state is neither read nor written.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array
from activetest.surrogates._network import Network
from activetest.surrogates._network_votes import LOG_VARIANCES, temperature

# Larger steps and fewer of them than in ASE, appendix D.3: there 1e-4 and at most 500 epochs.
_LEARNING_RATE = 3e-3
_MOST_EPOCHS = 200
# Epochs without a better validation loss that end the training, ten as there; and so many steps:
# where rows are few, ten epochs are hardly any.
_PATIENCE, _PATIENT_STEPS = 10, 250
# Share of the rows that is held out, at most so many; with fewer rows than this none are.
_HELD_OUT, _MOST_HELD_OUT, _FEWEST_ROWS = 0.2, 2000, 10


@dataclass(frozen=True)
class Examples:
    """What networks learn from: standardised, and split once.

    inputs          (M, W) float32, mean 0 and deviation 1 under the weights
    targets         (M,) class codes, or values with mean 0 and deviation 1 under the weights
    weights         (M,) with mean 1
    learned, held   positions of the rows to learn from, and of those that decide when to stop
    classes         number of classes; 0 for regression
    center, scale   (W,) what was taken from the inputs, and what they were divided by
    level, spread   the same of the targets; 0 and 1 for classes
    """

    inputs: Array
    targets: Array
    weights: Array
    learned: Array
    held: Array
    classes: int
    center: Array
    scale: Array
    level: float = 0.0
    spread: float = 1.0

    @property
    def outputs(self) -> int:
        """How many numbers a network puts out: a logit per class, or mean and log-variance."""
        return self.classes or 2

    @property
    def validated(self) -> bool:
        """Whether the rows held out were not learned from."""
        return len(self.held) < len(self.inputs)


def examples(
    inputs: Array, labels: Array, weights: Array, classes: int, *, rng: np.random.Generator
) -> Examples:
    """Examples of M >= 1 rows; a fifth is held out, or nothing where there are fewer than ten."""
    weights = np.asarray(weights, float) / np.mean(weights)
    center, scale = _location(inputs, weights)
    order = rng.permutation(len(inputs))
    held = min(int(_HELD_OUT * len(order)), _MOST_HELD_OUT) if len(order) >= _FEWEST_ROWS else 0
    parts = (order[held:], order[:held]) if held else (order, order)
    whole = ((inputs - center) / scale).astype(np.float32)
    if classes:
        targets, level, spread = np.asarray(labels).astype(np.int64), 0.0, 1.0
    else:
        level, spread = _location(np.asarray(labels, float), weights)
        targets = ((labels - level) / spread).astype(np.float32)
    return Examples(
        whole, targets, weights, *parts, classes, center, scale, float(level), float(spread)
    )


def _location(values: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean and deviation of (M, ...) values; what does not vary has deviation one."""
    center = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - center) ** 2, axis=0, weights=weights))
    return center, np.where(spread > 1e-6, spread, 1.0)


@dataclass(frozen=True)
class Trained:
    """What training left behind.

    parameters   arrays as they were given, from the epoch with the best validation loss
    epochs       how many ran
    device       "cpu", or "cuda" and which
    """

    parameters: list[Array]
    epochs: int
    device: str


def load_torch(name: str):
    """The module torch; raises ChoiceError, with what to install, where there is none."""
    try:
        import torch
    except ImportError as error:
        raise ChoiceError(
            f"the surrogate '{name}' trains networks, and PyTorch is not installed",
            hint="install PyTorch's CPU build first (see its install page), "
            "then: pip install 'activetest[neural]'",
        ) from error
    return torch


def first_layers(
    inputs: int, hidden: tuple[int, ...], outputs: int, count: int, *, rng: np.random.Generator
) -> list[Array]:
    """Weights (E, I, O) and bias (E, O) of each layer in turn, after He et al. 2015 (eq. 10).

    The last layer starts small: before it has learned, a network has no opinion.
    """
    widths = (inputs, *hidden, outputs)
    parameters = []
    for into, out in zip(widths, widths[1:], strict=False):
        deviation = (2 / into) ** 0.5 if len(parameters) < 2 * len(hidden) else 0.1 / into**0.5
        parameters += [deviation * rng.standard_normal((count, into, out)), np.zeros((count, out))]
    return [part.astype(np.float32) for part in parameters]


def train(
    torch,
    given: Examples,
    start: list[Array],
    forward: Callable,
    *,
    rng: np.random.Generator,
    penalty: Callable | None = None,
    decay: float = 1e-4,
) -> Trained:
    """E networks trained at once, each with shuffles and a stop of its own.

    start     the first parameters, each with a leading axis E
    forward   (parameters, inputs (E, B, W), generator, learning) -> (S, E, B, O) outputs of S
              samples of the weights; the loss is the mean over them
    penalty   (parameters) -> scalar, added to the mean loss of a row
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    seeds = rng.integers(2**63, size=2).tolist()
    generator = torch.Generator(device).manual_seed(seeds[0])
    inputs, targets, weights = (
        torch.as_tensor(part, device=device)
        for part in (given.inputs, given.targets, given.weights.astype(np.float32))
    )
    learned, held = (torch.as_tensor(part, device=device) for part in (given.learned, given.held))
    parameters = [torch.tensor(part, device=device, requires_grad=True) for part in start]
    optimizer = torch.optim.Adam(parameters, lr=_LEARNING_RATE, weight_decay=decay, fused=True)
    count, batch = len(start[0]), _batch(len(learned))
    patience = max(_PATIENCE, _PATIENT_STEPS // -(-len(learned) // batch))

    def loss(index, generator, learning):
        """(E,) mean weighted loss of rows index (E, B)."""
        outputs = forward(parameters, inputs[index], generator, learning)
        each = _negative_log_likelihood(torch, outputs, targets[index], given.classes)
        return (each.mean(dim=0) * weights[index]).mean(dim=-1)

    best = [part.detach().clone() for part in parameters]
    lowest, since = torch.full((count,), torch.inf, device=device), 0
    epochs = 0
    while since < patience and epochs < _MOST_EPOCHS:
        epochs += 1
        keys = torch.rand((count, len(learned)), generator=generator, device=device)
        for index in learned[keys.argsort(dim=1)].split(batch, dim=1):
            optimizer.zero_grad()
            # Networks have no parameter in common: the sum trains each by itself.
            total = loss(index, generator, True).sum()
            (total if penalty is None else total + penalty(parameters)).backward()
            optimizer.step()
        with torch.no_grad():
            # The same noise in every epoch: what is compared are the parameters.
            same = torch.Generator(device).manual_seed(seeds[1])
            value = loss(held.expand(count, -1), same, False)
            better = value < lowest
            lowest = torch.where(better, value, lowest)
            for kept, part in zip(best, parameters, strict=True):
                kept[better] = part.detach()[better]
        since = 0 if bool(better.any()) else since + 1
    name = f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else "cpu"
    return Trained([part.cpu().numpy() for part in best], epochs, name)


def _batch(count: int) -> int:
    """Rows per step: few where rows are few, more where an epoch would take too many steps."""
    return int(np.clip(2 ** np.ceil(np.log2(max(count, 1) / 16)), 32, 256))


def _negative_log_likelihood(torch, outputs, targets, classes: int):
    """(S, E, B) of outputs (S, E, B, O) and targets (E, B); Gaussian without its constant."""
    if classes:
        logs = outputs.log_softmax(dim=-1)
        index = targets[None, :, :, None].expand(len(outputs), -1, -1, 1)
        return -logs.gather(-1, index)[..., 0]
    mean, logs = outputs[..., 0], outputs[..., 1].clamp(*LOG_VARIANCES)
    return 0.5 * (logs + (targets - mean) ** 2 * torch.exp(-logs))


def stored(given: Examples, trained: Trained, names: tuple[str, ...], *, outputs: bool) -> dict:
    """What a ensemble of networks is made from: its parameters and how inputs are read.

    names     what the arrays of a layer are called; named with the layer's number behind
    outputs   the black box's outputs are among the inputs
    """
    arrays = {
        f"{names[n % len(names)]}_{n // len(names)}": part
        for n, part in enumerate(trained.parameters)
    }
    return arrays | {
        "center": given.center,
        "scale": given.scale,
        "level": given.level,
        "spread": given.spread,
        "classes": given.classes,
        "outputs": outputs,
        "temperature": 1.0,
        "epochs": trained.epochs,
        "device": trained.device,
    }


def calibrated(params: dict, network: Network, given: Examples, inputs: Array) -> dict:
    """The params with the temperature that suits the rows held out; see temperature.

    inputs (M, W) as they were before they were standardised. Where nothing could be held out, the
    temperature remains 1.
    """
    if not given.validated:
        return params
    parts = [part.copy() for _, part in network.outputs(inputs[given.held])]
    each = (given.targets[given.held], given.weights[given.held])
    best = temperature(np.concatenate(parts, axis=2), *each, given.classes)
    return params | {"temperature": best}
