"""Pools whose accuracy surface is known, and adult's: what surfaces are measured on.

Synthetic pools have 4,096 arms, the combinations of 12 binary attributes, and 60,000 items: five in
every arm, and the rest by how frequent the values are (those of attribute k have probabilities
between 0.25 and 0.75), so that some arms have a thousand. The logit of an arm's accuracy rho is 1.2
plus effects with standard deviation 1.4 over arms, drawn anew for every seed:

main          a normal effect of each attribute
pairs         a normal effect of each pair of attributes, and none of attributes alone
interactions  normal effects of all triples and of all quadruples, and none of fewer attributes
confidence    as main, and the model's confidence tells a part of what is right: the logit of an
              item's P(right) is that of its arm, centred, plus a normal with standard deviation 1;
              its confidence is 1.5 times that of the item alone, without the arm's effect

large         main effects over 100,000 arms, the combinations of six attributes with up to ten
              values, with five items each; the first 5,000 labels are of different arms

An item of all but the fourth is right with its arm's rho, and has no confidence. The seed also
draws which items are right, and the order in which labels come. Adult's items, answers and surface
are always the same, and the seed draws the order of labels.
"""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import expit

from activetest.nouns.surface import Arms, Attributes, SurfaceData

K, ITEMS, FEWEST = 12, 60_000, 5
CENTRE, SPREAD = 1.2, 1.4
ADULT = ("sex", "race", "age_band", "workclass", "education_band", "marital_status")
SYNTHETIC = ("main", "pairs", "interactions", "confidence")


@dataclass(frozen=True)
class SurfacePool:
    """A pool with its answers, without labels.

    right   (N,) whether the model is right at each item
    rho     (A,) accuracy of each arm: the one that items were drawn with; adult's own share
    order   (N,) positions in the order in which they are labelled
    """

    data: SurfaceData
    right: np.ndarray
    rho: np.ndarray
    order: np.ndarray
    synthetic: bool

    def label(self, count: int) -> SurfaceData:
        """The pool with so many labels, drawn uniformly; more labels contain fewer."""
        items = self.order[:count]
        return SurfaceData(
            arms=self.data.arms,
            items=items,
            values=self.right[items].astype(float),
            weights=np.ones(count),
            confidence=self.data.confidence,
            predicted=self.data.predicted,
            classes=self.data.classes,
        )


def make_pool(name: str, seed: int, folder: Path | None = None) -> SurfacePool:
    """A pool by name; adult's files are in folder."""
    if name == "adult":
        assert folder is not None, "adult needs a folder"
        return _read_adult(folder, seed)
    return make_large(seed) if name == "large" else make_synthetic(name, seed)


def make_synthetic(name: str, seed: int, items: int = ITEMS) -> SurfacePool:
    """A surface of 4,096 arms and a pool of its items."""
    rng = np.random.default_rng([seed, SYNTHETIC.index(name)])
    attributes = Attributes(tuple(f"a{k}" for k in range(K)), (("0", "1"),) * K)
    codes = attributes.decode(np.arange(2**K))
    effect = _draw_effects("main" if name == "confidence" else name, 2 * codes - 1, rng)
    logit = CENTRE + SPREAD * effect / effect.std()
    frequent = rng.uniform(0.25, 0.75, K)
    share = np.where(codes == 1, frequent, 1 - frequent).prod(axis=1)
    support = FEWEST + rng.multinomial(items - FEWEST * 2**K, share / share.sum())
    arm = rng.permutation(np.repeat(np.arange(2**K), support))
    confidence, chance, rho = None, expit(logit)[arm], expit(logit)
    if name == "confidence":
        own = rng.normal(0, 1, items)
        chance = expit(logit[arm] + own)
        confidence = expit(1.5 * (CENTRE + own)).astype(np.float32)
        rho = np.bincount(arm, chance) / support
    right = rng.random(items) < chance
    data = _make_data(Arms.of_items(attributes, codes[arm]), confidence, np.zeros(items, np.int32))
    return SurfacePool(data, right, rho, rng.permutation(items), True)


def make_large(seed: int) -> SurfacePool:
    """A pool with as many arms as a study takes."""
    rng = np.random.default_rng([seed, 100_000])
    sizes = (10, 10, 10, 10, 5, 2)
    values = tuple(tuple(map(str, range(size))) for size in sizes)
    attributes = Attributes(tuple("abcdef"), values)
    codes = attributes.decode(np.arange(100_000))
    effect = sum(rng.normal(0, 1, size)[codes[:, k]] for k, size in enumerate(sizes))
    rho = expit(CENTRE + SPREAD * effect / np.std(effect))
    arm = np.repeat(np.arange(100_000), FEWEST)
    first = FEWEST * rng.choice(100_000, 5000, replace=False)
    others = rng.permutation(np.setdiff1d(np.arange(len(arm)), first))
    data = _make_data(Arms.of_items(attributes, codes[arm]), None, np.zeros(len(arm), np.int32))
    right = rng.random(len(arm)) < rho[arm]
    return SurfacePool(data, right, rho, np.concatenate([first, others]), True)


def _make_data(arms: Arms, confidence: np.ndarray | None, predicted: np.ndarray) -> SurfaceData:
    """A pool of two classes without labels."""
    nothing = np.zeros(0)
    return SurfaceData(arms, nothing.astype(int), nothing, nothing, confidence, predicted, 2)


def _draw_effects(name: str, signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(A,) effects of signs (A, K)."""
    orders = {"main": (1,), "pairs": (2,), "interactions": (3, 4)}[name]
    total = np.zeros(len(signs))
    for order in orders:
        columns = np.stack(
            [signs[:, chosen].prod(axis=1) for chosen in map(list, combinations(range(K), order))],
            axis=1,
        )
        total += columns @ rng.normal(0, columns.shape[1] ** -0.5, columns.shape[1])
    return total


def _read_adult(folder: Path, seed: int) -> SurfacePool:
    """The census pool with six attributes, of which 3,459 combinations occur."""
    from pyarrow import csv, parquet

    table = parquet.read_table(folder / "adult.parquet", columns=[*ADULT, "id", "prob", "pred"])
    key = csv.read_csv(folder / "adult.labels.csv").to_pydict()
    answers = dict(zip(map(str, key["id"]), key["label"], strict=True))
    truth = np.array([answers[str(each)] for each in table["id"].to_pylist()])
    columns = [table[name].to_numpy(zero_copy_only=False) for name in ADULT]
    values, codes = zip(*(np.unique(each, return_inverse=True) for each in columns), strict=True)
    attributes = Attributes(ADULT, tuple(tuple(map(str, each)) for each in values))
    arms = Arms.of_items(attributes, np.stack(codes, axis=1))
    predicted = table["pred"].to_numpy().astype(np.int32)
    probs = np.stack(table["prob"].to_numpy(zero_copy_only=False))
    right = truth.astype(int) == predicted
    data = _make_data(arms, probs[np.arange(len(probs)), predicted].astype(np.float32), predicted)
    rho = np.bincount(arms.of_item, right) / arms.support
    order = np.random.default_rng(seed).permutation(len(right))
    return SurfacePool(data, right, rho, order, False)
