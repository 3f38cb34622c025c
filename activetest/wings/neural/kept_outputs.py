"""Outputs of networks for the first items of a pool, kept from one pass over it to the next.

A round and a report pass over the pool several times, and a pass of fifty networks is slow. The
kept items are chosen by position alone: they are the same however many threads there are.
"""

import threading
from collections.abc import Iterator

import numpy as np

from activetest.nouns.rows import Array
from activetest.wings.neural.network import BATCH, Network

# The most bytes of outputs that are kept.
_MOST_BYTES = 64 * 2**20


class KeptOutputs:
    """The outputs (E, O, P) of E networks for the items at positions 0 to P - 1, as far as seen.

    Beside them stands a digest of the inputs that an item had; with others it counts as not seen.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outputs = np.empty((0, 0, 0), np.float32)
        # 0 for an item that was not seen.
        self._digests = np.zeros(0, np.uint64)

    def __reduce__(self) -> tuple[type["KeptOutputs"], tuple[()]]:
        """In another process, no item was seen."""
        return KeptOutputs, ()

    def find_or_compute(
        self, network: Network, positions: Array, inputs: Array, which: Array | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """Pairs (slice of rows, (K, O, B) outputs of networks `which`) that cover inputs (R, W).

        positions (R,) in the pool; which (K,), None for all networks. The caller may overwrite the
        array, and the next pair may.
        """
        self._make_room(network)
        digests = _digest_rows(inputs)
        for start in range(0, len(inputs), BATCH):
            part = slice(start, min(start + BATCH, len(inputs)))
            here = positions[part]
            if here.max() >= len(self._digests):
                [(_, outputs)] = network.outputs(inputs[part], which)
                yield part, outputs
                continue
            new = self._digests[here] != digests[part]
            if new.any():
                [(_, outputs)] = network.outputs(inputs[part])
                self._outputs[:, :, here[new]] = outputs[:, :, new]
                self._digests[here[new]] = digests[part][new]
            outputs = np.take(self._outputs, here, axis=2)
            yield part, outputs if which is None else outputs[which]

    def _make_room(self, network: Network) -> None:
        """Decide how many items are kept, when the first rows come."""
        with self._lock:
            if not len(self._digests):
                width = network.width
                count = _MOST_BYTES // (4 * network.size * width)
                self._outputs = np.empty((network.size, width, count), np.float32)
                self._digests = np.zeros(count, np.uint64)


def _digest_rows(inputs: Array) -> Array:
    """(R,) uint64 above 0: of two different rows of float32 inputs (R, W), almost surely unequal.

    A sum of products with random odd numbers (multilinear hashing).
    """
    odd = np.uint64(1)
    factors = np.random.default_rng(0).integers(2**64, size=inputs.shape[1], dtype=np.uint64) | odd
    # Sums and products wrap around.
    digests: Array = (inputs.view(np.uint32) @ factors) | odd
    return digests
