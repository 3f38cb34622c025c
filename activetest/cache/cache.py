"""The pool as the methods read it: memory-mapped arrays, always rebuildable from the pool."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from operator import add
from pathlib import Path
from platform import node
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from activetest.cache.build import (
    ACROSS,
    READABLE,
    SHARED,
    build_into,
    compute_fingerprint,
    describes_pool,
    list_row_groups,
)
from activetest.cache.parts import (
    EVIDENCE,
    EXTERNAL,
    FACTS,
    FEATURES,
    NO_VOTE,
    PART_VERSION,
    PARTS,
    TRAIN,
    TRAINED,
    VOTE,
    VOTES,
    Part,
    keep_result,
    list_results,
)
from activetest.cache.pieces import open_ids
from activetest.cache.store import MANIFEST, Store, announce_rebuild, mark_damaged
from activetest.errors import CacheDamaged, PoolChanged, StudyError
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.canonical import list_forms
from activetest.nouns.rows import Array, Outputs, Rows, TrainingRows, spread_votes
from activetest.pool.ids import Text, find_positions
from activetest.pool.pool import Pool
from activetest.pool.schema import ROW_PREFIX
from activetest.system.parallel import map_reduce

T = TypeVar("T")

# Rows of a chunk, and probabilities of classes in it; rows at least where there are none.
_CHUNK, _NUMBERS, _FEWEST = 2**16, 2**20, 2**10
# How often a reader goes on: the cache and each of its parts may be damaged.
_ATTEMPTS_TO_READ = 5
# Builds of a cache, each of which another process may replace by its own.
_ATTEMPTS = 3
# Caches that a worker of an engine keeps open.
_KEPT = 4


class Cache:
    """N items in pool order. Positions are those of the pool it was built from; ids outlive it.

    A piece of an array that is not as it was written is read by nobody: the piece is built again
    from the pool, and what holds it reads on. CacheDamaged is raised where that cannot be.

    size          N
    classes       names of the classes, in code order; empty for regression
    numbered      whether a label may be the number of its class, from 0 on
    statistics    (T,) names of the item statistics, see item_statistics.defaults
    fingerprint   hexadecimal: rows, classes, and an order-free sum of hashes of ids and outputs
    group_names   names of the group columns and products
    group_values  (G - 1) lists: the value each code stands for, in order
    part_ends     position behind the last item of each part of the population, and
    part_names    their names: whoever opens the cache of a study that has several says so
    has_features  whether the design holds components of features
    piece_rows    how many items each piece has
    stores        {"": its manifest and arrays, part: those of the part}
    notices       plain sentences: what was corrected while reading
    parts         names of the auxiliary data that is attached: see auxiliary
    unavailable   {surrogate: why, as a plain sentence}: those of past rounds whose auxiliary data
                  is gone or has changed, so that they cannot predict again
    keeps_results  whether what compute_stored computes is kept in the folder
    reopen        opens this cache anew, with its parts, and builds again what is damaged; None, or
                  gives None, where nobody knows how
    """

    def __init__(
        self, folder: Path, parts: Sequence[str] = (), unavailable: Mapping[str, str] | None = None
    ) -> None:
        """Raises CacheDamaged, or OSError, ValueError, KeyError or TypeError where none is."""
        self.folder = folder
        store = Store.read_manifest(folder, *READABLE)
        self.manifest: dict[str, Any] = store.content
        self.size: int = self.manifest["rows"]
        self.classes: tuple[str, ...] = tuple(self.manifest["classes"])
        self.numbered: bool = bool(self.manifest["schema"].get("numbered"))
        self.statistics: tuple[str, ...] = tuple(self.manifest["statistics"])
        self.fingerprint: str = self.manifest["fingerprint"]
        self.group_names: tuple[str, ...] = tuple(self.manifest["group_names"])
        self.group_values: list[list[str]] = self.manifest["group_values"]
        self.part_ends: tuple[int, ...] = (self.size,)
        self.part_names: tuple[str, ...] = ()
        self.has_features: bool = self.manifest["components"] > 0
        self.parts: tuple[str, ...] = tuple(parts)
        self.unavailable: Mapping[str, str] = dict(unavailable or {})
        self.piece_rows: list[int] = [
            sum(rows for rows, _ in piece["row_groups"]) for piece in self.manifest["pieces"]
        ]
        opened = {name: Part.open(folder / name) for name in parts}
        ends = [*accumulate(self.piece_rows)]
        items = [stated for name, stated in store.arrays.items() if name not in SHARED]
        items += [part.arrays[name] for name, part in opened.items() if name != TRAIN]
        whole = ends[-1] == self.size and min(self.piece_rows) > 0
        if not whole or any(stated["stops"] != ends for stated in items):
            raise ValueError("the pieces are not of the pool")
        notices = (part.notices for part in opened.values())
        self.notices: tuple[str, ...] = tuple(chain(self.manifest["notices"], *notices))
        self.stores: dict[str, Store] = {"": store.open_files(), **opened}
        self._ids = open_ids(store)
        if (folder / MANIFEST).read_text(errors="replace") != store.text:
            raise ValueError("another process has replaced the cache")
        self._computed: dict[Hashable, Any] = {}
        self._results: dict[str, tuple[Any, Mapping[str, Array]]] = {}
        self.keeps_results = False
        self.reopen: Callable[[], Cache | None] | None = None
        self._mending = RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere it is opened again, once: neither its items nor results are sent."""
        digests = tuple((name, store.digest) for name, store in self.stores.items())
        unavailable = tuple(self.unavailable.items())
        return _open_elsewhere, (self.folder.absolute(), self.parts, unavailable, digests)

    def attach(self, parts: Sequence[str], unavailable: Mapping[str, str] | None = None) -> "Cache":
        """The same cache with these parts. Raises as Cache does."""
        attached = Cache(self.folder, parts, unavailable)
        attached.keeps_results = self.keeps_results
        return attached

    def close(self) -> None:
        """Close its files, where nothing refers to rows of it any more.

        Windows neither moves nor removes a file that is mapped.
        """
        for store in self.stores.values():
            store.close()
        self._computed.clear()
        self._results.clear()
        for name in ("hashes", "train", "_whole"):
            self.__dict__.pop(name, None)

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1."""
        if self._is_small:
            return self._whole if start <= 0 and stop >= self.size else self._whole[start:stop]
        return self._rows(np.arange(start, min(stop, self.size)), slice(start, stop))

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        positions = np.asarray(indices, np.int64)
        if self._is_small and (positions >= 0).all():
            return self._whole[positions]
        return self._rows(positions, positions)

    @cached_property
    def _whole(self) -> Rows:
        """All items of a small pool, of which nothing is read twice."""
        return self._rows(np.arange(self.size), slice(None))

    @cached_property
    def _is_small(self) -> bool:
        """Whether all items are one chunk."""
        return len(self.chunks()) == 1

    def chunks(self, size: int | None = None) -> list[tuple[int, int]]:
        """(start, stop) of consecutive chunks that cover the pool, each inside of a piece.

        There are fewer rows of many classes in them.
        """
        fewest = 1 if "probs" in self.stores[""].arrays else _FEWEST
        size = size or max(min(_CHUNK, _NUMBERS // max(len(self.classes), 1)), fewest)
        ends = list(accumulate(self.piece_rows))
        return [
            (start, min(start + size, end))
            for begin, end in pairwise([0, *ends])
            for start in range(begin, end, size)
        ]

    def ids(self, indices: Array | Sequence[int]) -> list[str]:
        """The ids of the items at these positions."""
        positions = np.asarray(indices, np.int64)
        found = self._read_checked(lambda: self._ids.read(positions))
        return [f"{self.id_prefix}{id.decode('utf-8', 'surrogateescape')}" for id in found]

    def find(self, ids: list[str]) -> Array:
        """(len(ids),) int64 pool positions, -1 for ids that no item has."""
        prefix = self.id_prefix
        # An empty id stands for those without the prefix: no row has it.
        found = [id[len(prefix) :] if id.startswith(prefix) else "" for id in ids]

        return self._read_checked(
            lambda: find_positions(found, self.stores[""].read("id_order"), self._ids.read)
        )

    def find_alike(self, ids: list[str]) -> Array:
        """As find; an id that no item has is that of the item whose is canonically equal to it."""
        found = self.find(ids)
        missing = [row for row in np.flatnonzero(found < 0) if not ids[row].isascii()]
        for forms in zip(*(list_forms(ids[row]) for row in missing), strict=True):
            known = found[missing]
            found[missing] = np.where(known < 0, self.find(list(forms)), known)
        return found

    def find_text(self, ids: Text) -> Array:
        """As find_alike; ids of items that follow one another in the pool are found at once."""
        first = self.find([ids[0]])[0] if len(ids) else -1
        places = np.arange(first, first + len(ids))
        if first >= 0 and places[-1] < self.size and not self.id_prefix:
            found = Text.join(self._read_checked(lambda: self._ids.read(places)))
            if all(map(np.array_equal, astuple(found), astuple(ids))):
                return places
        return self.find_alike([ids[row] for row in range(len(ids))])

    @property
    def whole(self) -> "Cache":
        """Itself."""
        return self

    @cached_property
    def hashes(self) -> Array:
        """(N,) uint64 hash of each id."""
        return self._read("hashes")

    def uncertain_attributes(self) -> tuple[Array, Array]:
        """Knowledge about the attributes that have probabilities, in the order of the schema.

        (N, V + ...) float32 probabilities of the values of each, side by side, and (N, U) int32
        code of each known value, -1 where it is not known.
        """
        return self._read("attribute_probs"), self._read("attribute_known")

    def scores(self, code: int | None = None) -> Array:
        """(N,) confidence in the predicted class, or probability of the class with this code."""

        def score_chunk(chunk: tuple[int, int]) -> list[Array]:
            outputs = self.rows(*chunk).outputs
            if code is None:
                return [outputs.confidence]
            if outputs.probs is None:
                raise ValueError("the pool has no probabilities")
            return [outputs.probs[:, code]]

        return np.concatenate(map_reduce(self.chunks(), score_chunk, add))

    @property
    def derives_outcomes(self) -> bool:
        """Whether what statistics are when the model is right, or wrong, follows from outputs.

        Where classes are many it is stored.
        """
        return bool(self.classes) and ACROSS[0] not in self.stores[""].arrays

    @property
    def roles(self) -> dict[str, Any]:
        """Meaning of the pool's columns: see Schema."""
        return self.manifest["schema"]

    @property
    def id_prefix(self) -> str:
        """Prefix of the row number in ids; empty where the ids are as in the pool."""
        return "" if self.roles.get("id") else ROW_PREFIX

    @cached_property
    def train(self) -> TrainingRows | None:
        """Labelled rows from elsewhere, None unless they are attached."""
        if TRAIN not in self.stores:
            return None
        labels = self._read("labels", part=TRAIN)
        return TrainingRows(labels, lambda: self._read("features", part=TRAIN))

    def describe_arrays(self) -> dict[str, dict[str, Any]]:
        """Type, shape and checksums of each array, by part: others for other values."""
        return {name: store.arrays for name, store in self.stores.items()}

    def part_fingerprint(self, part: str) -> str | None:
        """The fingerprint of what a part was built from, None without the part."""
        return self.stores[part].content["fingerprint"] if part in self.parts else None

    def part_notices(self, part: str) -> tuple[str, ...]:
        """Sentences about a part, none without it."""
        return tuple(self.stores[part].content["said"]) if part in self.parts else ()

    @property
    def vote_rounds(self) -> tuple[int, ...]:
        """How many rounds were drawn before each further model had a vote: see votes."""
        known = self.part_fingerprint(VOTES)
        return tuple(int(each.partition(":")[0]) for each in known.split("+")) if known else ()

    @cached_property
    def center(self) -> float:
        """A typical prediction: the mean over the first rows; 0 where classes are predicted."""
        return 0.0 if self.classes else float(self.rows(0, 65536).outputs.pred.mean())

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Result of compute() the first time it was called for this key."""
        if key not in self._computed:
            self._computed[key] = compute()
        return self._computed[key]

    @property
    def identity(self) -> list[Any]:
        """The fingerprint, and what the parts were made from."""
        return [self.fingerprint, {each: self.stores[each].digest for each in self.parts}]

    def compute_stored(
        self, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """Result of compute() for this origin: that of the last time, if it was for the same.

        name    of the result
        origin  what it follows from, JSON-ready

        In the cache of a study results are kept for later processes, too.
        """
        if self._results.get(name, (None,))[0] != origin:
            found = (
                keep_result(self.folder, name, origin, compute) if self.keeps_results else compute()
            )
            self._results[name] = origin, found
        return self._results[name][1]

    def matches(self, pool: Pool) -> bool:
        """Whether the pool's files and the roles of its columns are those it was built from."""
        return describes_pool(self.manifest, pool)

    def _read(self, name: str, items: slice | Array = slice(None), *, part: str = "") -> Array:
        """Items of an array of the cache or of a part: see Store.read."""
        return self._read_checked(lambda: self.stores[part].read(name, items))

    def _read_optional(self, name: str, items: slice | Array, *, part: str = "") -> Array | None:
        """Items of an array; None where there is none."""

        def read() -> Array | None:
            store = self.stores.get(part)
            return store.read(name, items) if store and name in store.arrays else None

        return self._read_checked(read)

    def _read_checked(self, read: Callable[[], T]) -> T:
        """Result of read(), when necessary after what is damaged was built again."""
        for _ in range(_ATTEMPTS_TO_READ):
            stores = self.stores
            try:
                return read()
            except CacheDamaged as damage:
                with self._mending:
                    # Another thread may have been first.
                    if stores is self.stores:
                        self._mend(damage)
        return read()

    def _mend(self, damage: CacheDamaged) -> None:
        """Build again what is damaged. Raises the damage where that does not give the same items.

        Raises PoolError where the pool cannot be read, OSError where the cache cannot be written.
        """
        if self.reopen is None:
            raise damage
        mark_damaged(damage)
        mended = self.reopen()
        if mended is None:
            raise damage
        prints = [[cache.part_fingerprint(part) for part in self.parts] for cache in (self, mended)]
        if not _hold_the_same(mended.manifest, self.manifest) or prints[0] != prints[1]:
            # Positions may be others.
            raise damage
        self.stores, self._ids = mended.stores, mended._ids

    def _rows(self, index: Array, selection: Array | slice) -> Rows:
        """The items of a selection, at the positions index (R,); what nobody uses is not read."""

        def read(name: str, part: str = "") -> Callable[[], Array | None]:
            return lambda: self._read_optional(name, selection, part=part)

        def read_outcomes(place: int) -> Callable[[], Array | None]:
            def read_or_derive() -> Array | None:
                stored = self._read_optional(ACROSS[place], selection)
                if stored is not None or not self.classes:
                    return stored
                found = (self._derive_outcome(outputs, t) for t in range(len(self.statistics)))
                return np.stack([outcome[place] for outcome in found])

            return read_or_derive

        def read_weight() -> Array | None:
            weight = read("weight")()
            return None if weight is None else weight / self.manifest["mean_weight"]

        def read_external() -> Array | None:
            external = read(EXTERNAL, EXTERNAL)()
            if external is None or not np.issubdtype(external.dtype, np.integer):
                return external
            return spread_votes(external, len(self.classes))

        def read_votes() -> Array | None:
            votes = read(VOTES, VOTES)()
            if votes is None or not np.issubdtype(votes.dtype, np.integer):
                return votes
            return (votes.astype(np.float32) - NO_VOTE) / VOTE

        outputs = Outputs(self._read("pred", selection), read("probs"), read("std"))
        derive = self._derive_outcome if self.derives_outcomes else None
        return Rows(
            index=index,
            outputs=outputs,
            design=self._read("design", selection),
            codes=self._read("codes", selection),
            right=read_outcomes(0),
            wrong=read_outcomes(1),
            spread=read_outcomes(2),
            features=read(FEATURES, FEATURES),
            evidence=read(EVIDENCE, EVIDENCE),
            facts=read(FACTS, EVIDENCE),
            trained=read(TRAINED, TRAINED),
            external=read_external,
            votes=read_votes,
            weight=read_weight,
            price=read("price"),
            derive=derive,
        )

    def _derive_outcome(self, outputs: Outputs, place: int) -> tuple[Array, Array, Array]:
        """(R,) right, wrong and spread of the statistic at this place: see Rows."""
        right, wrong, spread = right_and_wrong(outputs, self.statistics[place : place + 1])
        return right[0], wrong[0], spread[0]


@lru_cache(_KEPT)
def _open_elsewhere(
    folder: Path,
    parts: tuple[str, ...],
    unavailable: tuple[tuple[str, str], ...],
    digests: tuple[tuple[str, str], ...],
) -> Cache:
    """The cache of another process, whose stores have these digests.

    Raises StudyError where this machine does not see it, CacheDamaged where it is another one.
    """
    try:
        cache = Cache(folder, parts, dict(unavailable))
    except OSError as error:
        raise StudyError(
            f"the worker on {node()} cannot read the cache {folder}: {error.strerror}",
            "keep the study in a folder that every worker sees under this path",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise CacheDamaged(folder, MANIFEST, None, "") from error
    for name, digest in digests:
        if cache.stores[name].digest != digest:
            raise CacheDamaged(folder / name, MANIFEST, None, cache.stores[name].text)
    return cache


def build_cache(
    pool: Pool,
    folder: str | Path,
    *,
    old: Store | None = None,
    known: bool = False,
    kept: Path | None = None,
) -> Cache:
    """Read the pool twice and write its cache, in place of any that is there.

    old, known  of the cache that is there, and of the study: see build.build_into
    kept        where what an interrupted build has done is: see build.build_into

    The folder appears whole or not at all. Raises PoolError for what cannot be right in the pool,
    OSError when the folder cannot be written.
    """
    folder = Path(folder)
    for _ in range(_ATTEMPTS):
        build_into(pool, folder, old, known=known, kept=kept)
        cache = open_cache(folder)
        if cache is not None and cache.matches(pool):
            return cache
    return Cache(folder)


def open_cache(folder: str | Path, parts: Sequence[str] = ()) -> Cache | None:
    """The cache in the folder; None when it is missing, damaged, or of another version."""
    try:
        return _read_cache(Path(folder), parts)
    except CacheDamaged:
        return None


def _read_cache(folder: Path, parts: Sequence[str] = ()) -> Cache | None:
    """The cache in the folder; None if it is missing or of another version. Raises CacheDamaged."""
    try:
        return Cache(folder, parts)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ensure_cache(pool: Pool, folder: str | Path, *, expected: str | None = None) -> Cache:
    """The cache of the pool as it is now: opened, or built again when something has changed.

    expected  the fingerprint the study was made with (default: that of the cache there is)

    Of damaged pieces that were built again the user is told. Raises PoolChanged, with the old cache
    left in place, when ids or outputs are no longer those. Positions may differ from those before:
    ids, not positions, name items across caches.
    """
    folder, damage = Path(folder), None
    try:
        cache = _read_cache(folder)
    except CacheDamaged as found:
        cache, damage = None, found.problem
    old = None if cache is None else cache.stores[""]
    if cache is None:
        # Whatever has happened to its files.
        with suppress(CacheDamaged, OSError, ValueError):
            old = Store.read_manifest(folder, *READABLE)
    same = old is not None and describes_pool(old.content, pool)
    if old is not None:
        expected = expected or old.content["fingerprint"]
        same = same and old.content["fingerprint"] == expected
    if cache is not None and same:
        return _reopening(cache, pool)
    if expected is not None and not same:
        pool.check()
        now, sums = compute_fingerprint(pool)
        if now != expected:
            raise PoolChanged(
                _describe_difference(pool, old, sums),
                hint="restore the pool, or start another study: `Study.create(pool, folder)`",
            )
    if cache is not None:
        cache.close()
    built = build_cache(pool, folder, old=old, known=expected is not None)
    announce_rebuild(damage)
    return _reopening(built, pool)


def _hold_the_same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two manifests are of the same items: an earlier version may hold more arrays."""
    arrays = first["arrays"], second["arrays"]
    left, right = (
        {key: value for key, value in each.items() if key not in ("version", "arrays")}
        for each in (first, second)
    )
    shared = arrays[0].keys() & arrays[1].keys()
    return left == right and all(arrays[0][name] == arrays[1][name] for name in shared)


def _reopening(cache: Cache, pool: Pool) -> Cache:
    """The cache, which builds itself again from the pool where it is damaged, and keeps results."""
    cache.keeps_results = True
    cache.reopen = lambda: ensure_cache(pool, cache.folder, expected=cache.fingerprint)
    return cache


def _describe_difference(pool: Pool, old: Store | None, sums: list[str]) -> str:
    """Sentence on the change, as far as the manifest of the old cache can tell."""
    problem = f"{pool.uri} is not the pool this study was made for"
    if old is None:
        return f"{problem}: its ids or outputs differ"
    if pool.rows != old.content["rows"]:
        return f"{problem}: it has {pool.rows:,} rows and had {old.content['rows']:,}"
    pieces, before = pool.pieces, list_row_groups(old.content)
    if [piece.rows for piece in pieces] != [rows for rows, _ in before]:
        return f"{problem}: its ids or outputs differ"
    changed = [
        piece for piece, new, (_, known) in zip(pieces, sums, before, strict=True) if new != known
    ]
    if not changed:
        return f"{problem}: the roles of its columns differ"
    places = ", ".join(f"{p.start:,} to {p.start + p.rows - 1:,}" for p in changed[:3])
    more = f" and {len(changed) - 3} more row groups" if len(changed) > 3 else ""
    return f"{problem}: ids or outputs differ among rows {places}{more}"


def list_damage(folder: str | Path) -> list[str] | None:
    """Damage to a cache and its parts since they were written; None where there is no cache.

    Every array is read. A cache of another version is none.
    """
    folder, damaged = Path(folder), []
    for name in ("", *PARTS, *list_results(folder)):
        try:
            store = Store.read_manifest(folder / name, *((PART_VERSION,) if name else READABLE))
            damaged += [damage.problem for damage in store.find_damage()]
        except CacheDamaged as damage:
            damaged.append(damage.problem)
        except (OSError, ValueError, KeyError, TypeError):
            if not name:
                return None
    return damaged
