"""Arms of items whose attributes are uncertain: a share of each item for each arm.

P(arm | item) is that of an attribute model: a file of the family attribute_models, fitted to what
the pool says of attributes alone. It does not change as labels come in, so that the probabilities
of past draws can be computed again; but the arm of an item whose label is an attribute follows its
label once that is known.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.nouns.log import METHODS
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import DECIMALS
from activetest.nouns.rows import Array
from activetest.nouns.surface import Arms, Attributes
from activetest.nouns.uncertain import JointModel, UncertainAttributes
from activetest.pool.groups import LABEL
from activetest.pool.uncertain import list_uncertain
from activetest.system.parallel import map_reduce, one_blas_thread
from activetest.wings.surfaces.choices import AUTO

# Smaller shares of an item are left out, and so are those beyond the largest few; the rest is
# scaled to sum to 1.
SMALLEST_SHARE, MOST_ARMS = 0.01, 20
# Of enough known values the best model is fitted; otherwise probabilities stay as they are.
_BEST, _PLAIN = "full", "raw"


@dataclass(frozen=True)
class FittedAttributes:
    """Known attributes of a pool, and a model of it.

    name  of the model
    """

    data: UncertainAttributes
    model: JointModel
    name: str


def fit_attributes(
    cache: PoolView, attributes: Attributes, codes: Array, model: str
) -> FittedAttributes:
    """The pool's attributes, and the attribute model of this name fitted to it.

    A model that has learned is kept in the cache, for as long as attributes are the same.
    codes (N, K) are those of certain attributes, and anything of the others. Raises UnknownMethod
    for a model that does not exist, and as its fit does.
    """
    data = _read_attributes(cache, attributes, codes)
    name = choose_model(model, data)

    def fit() -> dict[str, Array]:
        # The pool alone decides: the study's seed is for its draws.
        with one_blas_thread():
            joint: JointModel = method.fit(data, rng=np.random.default_rng(0))
        return joint.to_arrays()

    method = catalog.load("attribute_models", name)
    if catalog.fact("attribute_models", name, "NEEDS_GOLD"):
        # Only what learns takes time.
        origin = [name, METHODS, data.compute_digest()]
        found = cache.compute_stored("attribute-model", origin, fit)
    else:
        found = fit()
    return FittedAttributes(data, JointModel.of_arrays(found), name)


def choose_model(model: str, data: UncertainAttributes) -> str:
    """The name of the attribute model: as it is chosen, or by how many values are known."""
    if model != AUTO:
        return model
    enough = catalog.fact("attribute_models", _BEST, "NEEDS_GOLD")
    return _BEST if data.gold.sum() >= enough else _PLAIN


def check_model(name: str) -> None:
    """Raises ChoiceError for a name that no attribute model has."""
    known = (AUTO, *catalog.names("attribute_models"))
    if name not in known:
        raise ChoiceError(f"no attribute model is called {name!r}", catalog.nearest(name, known))
    if name != AUTO:
        catalog.check("attribute_models", name)


def spread_items(fitted: FittedAttributes) -> Arms:
    """The arms of a pool, with P(arm | item) by the model (Piratla 2021, algorithm 1, line 19).

    An item whose attributes are all known is in one arm. Of others, shares below 0.01 and beyond
    the 20 largest are left out, but never the largest; what is left sums to 1. Support is the sum
    of shares.
    """
    parts = [_spread_rows(fitted, rows) for rows in fitted.data.chunks()]
    return _join_shares(fitted.data, *map(np.concatenate, zip(*parts, strict=True)))


def respread_labelled(arms: Arms, fitted: FittedAttributes, rows: Array, labels: Array) -> Arms:
    """The arms where these items (n,) have these labels as the value of the attribute LABEL."""
    if not len(rows):
        return arms
    known = fitted.data.known.copy()
    known[rows, arms.attributes.names.index(LABEL)] = labels
    now = replace(fitted, data=replace(fitted.data, known=known))
    item = np.repeat(np.arange(len(known)), np.diff(arms.membership.indptr))
    number, share = arms.numbers[arms.membership.indices], arms.membership.data
    rest = ~np.isin(item, rows)
    before, after = (item[rest], number[rest], share[rest]), _spread_rows(now, np.unique(rows))
    joined = [np.concatenate(pair) for pair in zip(before, after, strict=True)]
    return _join_shares(now.data, *joined)


def _read_attributes(cache: PoolView, attributes: Attributes, codes: Array) -> UncertainAttributes:
    known = codes.astype(np.int32)
    probs: dict[int, Array] = {}
    uncertain = list(cache.roles.get("uncertain", ()))
    if uncertain:
        table, gold = cache.uncertain_attributes()
        ends = np.cumsum([len(values) for values in cache.roles["uncertain_values"]])
        for column, (name, part) in enumerate(
            zip(uncertain, np.split(table, ends[:-1], axis=1), strict=True)
        ):
            if name in attributes.names:
                position = attributes.names.index(name)
                probs[position], known[:, position] = part, gold[:, column]
    if LABEL in list_uncertain(cache, attributes.names):
        position = attributes.names.index(LABEL)
        probs[position], known[:, position] = _read_classes(cache), -1
    return UncertainAttributes(attributes, probs, known)


def _read_classes(cache: PoolView) -> Array:
    """(N, C) float32 probabilities of the classes."""

    def read_piece(piece: tuple[int, int]) -> list[Array]:
        return [cache.rows(*piece).outputs.known_probs.astype(np.float32)]

    return np.concatenate(map_reduce(cache.chunks(), read_piece, lambda a, b: a + b))


def _spread_rows(fitted: FittedAttributes, rows: Array) -> tuple[Array, Array, Array]:
    """Items, numbers of combinations and shares of these rows, in their order."""
    data = fitted.data
    probs = fitted.model.predict(data, rows)
    kept = _choose_shares(probs)
    place, combination = np.nonzero(kept)
    share = probs[place, combination]
    share /= np.bincount(place, share)[place]
    codes = data.known[rows[place]]
    codes[:, list(data.uncertain)] = data.combinations[combination]
    return rows[place], data.attributes.number(codes), share.astype(np.float32)


def _join_shares(data: UncertainAttributes, item: Array, number: Array, share: Array) -> Arms:
    """The arms with these shares; those of an item stand together or not."""
    from scipy.sparse import csr_matrix

    numbers, arm = np.unique(number, return_inverse=True)
    membership = csr_matrix((share, (item, arm)), shape=(len(data), len(numbers)), dtype=np.float32)
    return Arms(data.attributes, data.attributes.decode(numbers), membership)


def _choose_shares(probs: Array) -> Array:
    """(R, C) bool: the shares to keep."""
    kept = probs >= np.minimum(SMALLEST_SHARE, probs.max(axis=1))[:, None]
    many = np.flatnonzero(kept.sum(axis=1) > MOST_ARMS)
    # Of equal shares the first.
    order = np.argsort(-np.round(probs[many], DECIMALS), axis=1, kind="stable")[:, :MOST_ARMS]
    kept[many] = False
    kept[many[:, None], order] = True
    return np.asarray(kept)
