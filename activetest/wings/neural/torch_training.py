"""The loop that ensemble, mc-dropout and radial-bnn share: Adam, minibatches, early stopping.

Randomness comes from the given numpy Generator alone: it draws the first weights and the seed of a
torch.Generator of our own, so that torch's global state is neither read nor written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array
from activetest.surrogates._classes import pack_positions
from activetest.system.parallel import one_torch_thread
from activetest.system.progress import Step, step
from activetest.wings.neural.network import Network
from activetest.wings.neural.network_members import LOG_VARIANCES, fit_temperature

# Larger steps and fewer epochs than in ASE, appendix D.3, which has 1e-4 and at most 500.
_LEARNING_RATE = 3e-3
_MOST_EPOCHS = 200
# Training ends after this many epochs and steps without a better validation loss. Ten epochs as in
# ASE; with few rows, ten epochs are only a few steps.
_PATIENCE, _PATIENT_STEPS = 10, 250
# Weights of all networks of a surrogate: 0.5 GB, and with what training needs 2 GB.
_MOST_WEIGHTS = 2**27
# Share of the rows that is held out, the most rows that are, and fewer rows than which none are.
_HELD_OUT, _MOST_HELD_OUT, _FEWEST_ROWS = 0.2, 2000, 10


@dataclass(frozen=True)
class NetworkData:
    """Standardised rows for networks, split into training and held-out rows.

    inputs          (M, W) float32, mean 0 and deviation 1 under the weights
    targets         (M,) class codes, or values with mean 0 and deviation 1 under the weights
    weights         (M,) with mean 1
    train_rows      positions of the rows to learn from
    held_out_rows   positions of the rows for early stopping
    classes         number of classes; 0 for regression
    center, scale   (W,) mean and deviation of the inputs before standardisation
    level, spread   the same of the targets; 0 and 1 for classes
    """

    inputs: Array
    targets: Array
    weights: Array
    train_rows: Array
    held_out_rows: Array
    classes: int
    center: Array
    scale: Array
    level: float = 0.0
    spread: float = 1.0

    @property
    def outputs(self) -> int:
        """Number of outputs of a network: a logit per class, or mean and log-variance."""
        return self.classes or 2

    @property
    def has_held_out(self) -> bool:
        """Whether the rows for early stopping are not among the training rows."""
        return len(self.held_out_rows) < len(self.inputs)


def prepare_network_data(
    inputs: Array,
    labels: Array,
    weights: Array,
    classes: int,
    *,
    rng: np.random.Generator,
    pixels: int = 0,
) -> NetworkData:
    """Network data of M >= 1 rows; a fifth is held out, or nothing with fewer than ten rows.

    The first columns may be the pixels of an image, which stay as they are.
    """
    weights = np.asarray(weights, float) / np.mean(weights)
    center, scale = _center_and_scale(inputs, weights)
    center[:pixels], scale[:pixels] = 0.0, 1.0
    order = rng.permutation(len(inputs))
    held_count = (
        min(int(_HELD_OUT * len(order)), _MOST_HELD_OUT) if len(order) >= _FEWEST_ROWS else 0
    )
    parts = (order[held_count:], order[:held_count]) if held_count else (order, order)
    standardised = ((inputs - center) / scale).astype(np.float32)
    if classes:
        targets, level, spread = np.asarray(labels).astype(np.int64), 0.0, 1.0
    else:
        values = np.asarray(labels, float)
        level, spread = map(float, _center_and_scale(values, weights))
        targets = ((values - level) / spread).astype(np.float32)
    return NetworkData(
        standardised, targets, weights, *parts, classes, center, scale, level, spread
    )


def _center_and_scale(values: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean and deviation of (M, ...) values; constant values have deviation one."""
    center = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - center) ** 2, axis=0, weights=weights))
    return center, np.where(spread > 1e-6, spread, 1.0)


@dataclass(frozen=True)
class TrainedNetworks:
    """Trained networks.

    parameters   arrays in the order of the first ones, from the epoch with the best validation loss
    epochs       number of epochs
    device       "cpu", or "cuda" and which
    """

    parameters: list[Array]
    epochs: int
    device: str


def load_torch(method: str) -> ModuleType:
    """The module torch. Raises ChoiceError, with what to install, if there is none."""
    try:
        import torch
    except ImportError as error:
        raise ChoiceError(
            f"{method} trains networks, and PyTorch is not installed",
            hint="install PyTorch's CPU build first (see its install page), "
            "then: pip install 'activetest[neural]'",
        ) from error
    return torch


def draw_first_layers(
    inputs: int, hidden: tuple[int, ...], outputs: int, count: int, *, rng: np.random.Generator
) -> list[Array]:
    """Weights (E, I, O) and bias (E, O) of each layer in turn, after He et al. 2015 (eq. 10).

    The last layer starts small, so that an untrained network prefers no outcome.
    """
    return draw_layers([*pairwise((inputs, *hidden, outputs))], count, rng=rng)


def draw_layers(
    sizes: Sequence[tuple[int, int]], count: int, *, rng: np.random.Generator
) -> list[Array]:
    """As draw_first_layers, of layers with so many inputs and outputs of each weight.

    Raises ChoiceError for more weights than check_size allows.
    """
    check_size(sizes, count)
    parameters: list[Array] = []
    for into, out in sizes:
        deviation = (2 / into) ** 0.5 if len(parameters) < 2 * len(sizes) - 2 else 0.1 / into**0.5
        parameters += [deviation * rng.standard_normal((count, into, out)), np.zeros((count, out))]
    return [part.astype(np.float32) for part in parameters]


def check_size(sizes: Sequence[tuple[int, int]], count: int) -> None:
    """Raises ChoiceError where so many networks of layers of these sizes would fill the memory."""
    weights = count * sum(into * out for into, out in sizes)
    if weights > _MOST_WEIGHTS:
        raise ChoiceError(
            f"the surrogate would be {count:,} networks with {weights:,} weights, and more than "
            f"{_MOST_WEIGHTS:,} are too many",
            "choose fewer of them or fewer layers, or a smaller width",
        )


def train_networks(
    torch: Any,
    data: NetworkData,
    start: list[Array],
    forward: Callable[..., Any],
    *,
    rng: np.random.Generator,
    penalty: Callable[..., Any] | None = None,
    decay: float = 1e-4,
) -> TrainedNetworks:
    """E networks trained at once, each with shuffles and a stop of its own.

    start     the first parameters, each with a leading axis E
    forward   (parameters, inputs (E, B, W), generator, learning) -> (S, E, B, O) outputs of S
              samples of the weights; the loss is the mean over them
    penalty   (parameters) -> scalar, added to the mean loss of a row
    """
    # Where they stop early is not known before.
    with one_torch_thread(torch), step("training networks", unit="epochs") as training:
        return _train_networks(torch, data, start, forward, rng, penalty, decay, training)


def _train_networks(
    torch: Any,
    data: NetworkData,
    start: list[Array],
    forward: Callable[..., Any],
    rng: np.random.Generator,
    penalty: Callable[..., Any] | None,
    decay: float,
    training: Step,
) -> TrainedNetworks:
    """Train as train_networks says."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    seeds = rng.integers(2**63, size=2).tolist()
    generator = torch.Generator(device).manual_seed(seeds[0])
    inputs, targets, weights = (
        torch.as_tensor(array, device=device)
        for array in (data.inputs, data.targets, data.weights.astype(np.float32))
    )
    train_rows, held_out_rows = (
        torch.as_tensor(array, device=device) for array in (data.train_rows, data.held_out_rows)
    )
    parameters = [torch.tensor(array, device=device, requires_grad=True) for array in start]
    optimizer = torch.optim.Adam(parameters, lr=_LEARNING_RATE, weight_decay=decay, fused=True)
    count, batch = len(start[0]), _batch_size(len(train_rows))
    patience = max(_PATIENCE, _PATIENT_STEPS // -(-len(train_rows) // batch))

    def loss(index: Any, generator: Any, learning: bool) -> Any:
        """(E,) mean weighted loss of rows index (E, B)."""
        outputs = forward(parameters, inputs[index], generator, learning)
        losses = _negative_log_likelihood(torch, outputs, targets[index], data.classes)
        return (losses.mean(dim=0) * weights[index]).mean(dim=-1)

    best = [array.detach().clone() for array in parameters]
    lowest_loss, stale_epochs = torch.full((count,), torch.inf, device=device), 0
    epochs = 0
    while stale_epochs < patience and epochs < _MOST_EPOCHS:
        epochs += 1
        training.advance()
        keys = torch.rand((count, len(train_rows)), generator=generator, device=device)
        for index in train_rows[keys.argsort(dim=1)].split(batch, dim=1):
            optimizer.zero_grad()
            # Networks share no parameters, so that the sum trains each by itself.
            total = loss(index, generator, True).sum()
            (total if penalty is None else total + penalty(parameters)).backward()
            optimizer.step()
        with torch.no_grad():
            # The same noise in every epoch, so that only parameters are compared.
            noise = torch.Generator(device).manual_seed(seeds[1])
            validation_loss = loss(held_out_rows.expand(count, -1), noise, False)
            better = validation_loss < lowest_loss
            lowest_loss = torch.where(better, validation_loss, lowest_loss)
            for kept, array in zip(best, parameters, strict=True):
                kept[better] = array.detach()[better]
        stale_epochs = 0 if bool(better.any()) else stale_epochs + 1
    device_name = f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else "cpu"
    return TrainedNetworks([array.cpu().numpy() for array in best], epochs, device_name)


def _batch_size(count: int) -> int:
    """Rows per step: 1/16 of the rows, rounded up to a power of two, between 32 and 256."""
    return int(np.clip(2 ** np.ceil(np.log2(max(count, 1) / 16)), 32, 256))


def _negative_log_likelihood(torch: Any, outputs: Any, targets: Any, classes: int) -> Any:
    """(S, E, B) of outputs (S, E, B, O) and targets (E, B); Gaussian without its constant."""
    if classes:
        logs = outputs.log_softmax(dim=-1)
        index = targets[None, :, :, None].expand(len(outputs), -1, -1, 1)
        return -logs.gather(-1, index)[..., 0]
    mean, logs = outputs[..., 0], outputs[..., 1].clamp(*LOG_VARIANCES)
    return 0.5 * (logs + (targets - mean) ** 2 * torch.exp(-logs))


def collect_params(
    data: NetworkData,
    trained: TrainedNetworks,
    names: tuple[str, ...],
    *,
    outputs: bool,
    augmented: Array | None = None,
) -> dict[str, Any]:
    """Parameters of an ensemble of networks, and how its inputs are standardised.

    names       of the arrays of a layer; the layer's number is appended
    outputs     whether the black box's outputs are among the inputs
    augmented   (n,) pool positions of the items whose predicted label they learned, or None
    """
    arrays = {
        f"{names[n % len(names)]}_{n // len(names)}": array
        for n, array in enumerate(trained.parameters)
    }
    return (
        arrays
        | {
            "center": data.center,
            "scale": data.scale,
            "level": data.level,
            "spread": data.spread,
            "classes": data.classes,
            "outputs": outputs,
            "temperature": 1.0,
            "epochs": trained.epochs,
            "device": trained.device,
        }
        | ({} if augmented is None else {"augmented": pack_positions(augmented)})
    )


def calibrate_temperature(
    params: dict[str, Any], network: Network, data: NetworkData, inputs: Array
) -> dict[str, Any]:
    """The params with the temperature that fits the held-out rows; see fit_temperature.

    inputs (M, W) before standardisation. Without held-out rows the temperature remains 1.
    """
    if not data.has_held_out:
        return params
    parts = [part.copy() for _, part in network.outputs(inputs[data.held_out_rows])]
    targets, weights = data.targets[data.held_out_rows], data.weights[data.held_out_rows]
    best = fit_temperature(np.concatenate(parts, axis=2), targets, weights, data.classes)
    return params | {"temperature": best}
