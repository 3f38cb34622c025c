"""Surface variance: the arms of a surface whose labels leave least to be uncertain about.

Piratla 2021, section 3.4, explores the arms of the largest variance; here an arm is worth what a
label there takes off the variance of all arms. Arms without a label come first, once each.
"""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface

CHOOSES_ARMS = True

# Arms that a batch is spread over, and after how many labels it is planned again.
ARMS = 12
# Numbers that planning a batch may look at: of many arms several are chosen at a time.
_AFFORDABLE = 2**31
# An arm with less of a label than this has not been explored.
_EXPLORED = 0.5
_LEAST = 1e-9


@dataclass(frozen=True)
class ArmCounts:
    """Knowledge of A arms; whole numbers where attributes are known.

    support  (A,) items that can be answered
    known    (A,) labels among them
    free     (A,) items that can be drawn
    """

    support: Array
    known: Array
    free: Array


def rank_arms(
    surface: Surface,
    counts: ArmCounts,
    least: int,
    draws: int,
    rng: np.random.Generator,
    *,
    alone: bool = False,
) -> Array:
    """(A,) share of a batch of so many draws that each arm is given; 0 everywhere without arms.

    Of arms with at least `least` items 12 share every 12 draws. They are chosen one after the
    other, each as if a label had come of those before it. alone is the paper's rule: an arm is
    worth its own variance, which is all that a label changes.
    """
    plan = _Plan(surface, counts, least, alone=alone)
    share, ties = np.zeros(len(counts.free)), rng.random(len(counts.free))
    parts = max(1, -(-draws // ARMS))
    cost = parts * ARMS * plan.cost
    at_once = int(min(ARMS, max(1, -(-cost // _AFFORDABLE))))
    for _ in range(parts):
        chosen = plan.choose(min(ARMS, plan.count_open()), at_once, ties)
        if not len(chosen):
            break
        share[chosen] += 1 / len(chosen)
        plan.free[chosen] -= draws / parts / len(chosen)
    return np.asarray(share / max(share.sum(), _LEAST))


class _Plan:
    """A batch in the making.

    The target for arm a is its mean T over its n items, of which r have no label. Given
    phi, psi and an own value rho of the arm, Cov(T, y) of a label y of the arm is
    (Var y + (r - 1) Var rho) / n, and r / n Cov(phi, phi') with those of other arms. The label
    takes Cov^2 / Var y off the variance of each.
    """

    def __init__(self, surface: Surface, counts: ArmCounts, least: int, *, alone: bool) -> None:
        self.free, self.known = counts.free.astype(float), counts.known.astype(float)
        self.in_question = counts.support >= least
        self.rest = np.maximum(counts.support - counts.known, 0)
        self.size = np.maximum(counts.support, _LEAST)
        phi = surface.phi.astype(float)
        self.mean = surface.mean
        self.noise = np.maximum(self.mean * (1 - self.mean), _LEAST)
        self.own = (phi * (1 - phi) / (surface.psi + 1)).mean(axis=0)
        # In single precision: products of matrices of many arms take most of the time.
        centred = (phi - phi.mean(axis=0)) / np.sqrt(len(phi))
        self.centred = centred.astype(np.float32)
        self.alone = alone
        self.cost = self.centred.size * (1 if alone else len(phi))

    def count_open(self) -> int:
        """Arms that can be drawn from."""
        return int((self.in_question & (self.free > 0)).sum())

    def choose(self, count: int, at_once: int, ties: Array) -> Array:
        """Arms of this part of the batch, taken to have a label each afterwards."""
        chosen: list[int] = []
        while len(chosen) < count:
            value = self.find_value()
            open_arms = self.in_question & (self.free > 0)
            open_arms[chosen] = False
            explored = (self.known >= _EXPLORED) | (self.free <= _EXPLORED)
            candidates = np.flatnonzero(open_arms)
            value = level_ties(value[candidates])
            order = np.lexsort((ties[candidates], -value, explored[candidates]))
            for arm in candidates[order[: min(at_once, count - len(chosen))]].tolist():
                chosen.append(arm)
                self.observe(arm)
        return np.array(chosen, np.intp)

    def find_value(self) -> Array:
        """(A,) what a label of each arm takes off the variance of all arms in question."""
        total = (self.centred**2).sum(axis=0) + self.own
        left = self.rest / self.size
        if self.alone:
            return np.asarray(total * left**2)
        weighted = self.centred * (left * self.in_question).astype(np.float32)
        kernel = weighted @ weighted.T
        across = ((kernel @ self.centred) * self.centred).sum(axis=0)
        across -= (left * (self.centred**2).sum(axis=0)) ** 2 * self.in_question
        inside = (self.noise + np.maximum(self.rest - 1, 0) * total) / self.size
        return np.asarray((across + inside**2 * self.in_question) / self.noise)

    def observe(self, arm: int) -> None:
        """Go on as if there were a label of this arm: Kalman's update, by square roots."""
        column = self.centred[:, arm].copy()
        spread = float(column @ column)
        noise = float(self.noise[arm])
        other = max(noise - spread, _LEAST)
        if not self.alone:
            gain = (column @ self.centred) / noise / (1 + np.sqrt(other / noise))
            self.centred -= np.outer(column, gain.astype(np.float32))
        else:
            self.centred[:, arm] *= np.sqrt(max(1 - spread / (spread + other), 0))
        self.own[arm] *= noise / (noise + self.own[arm])
        self.known[arm] += 1
        self.rest[arm] = max(self.rest[arm] - 1, 0)
