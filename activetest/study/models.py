"""Further models of a study: the same items, draws and labels, and outputs of their own.

The file `models/NAME.parquet` in the study's folder holds them, with the other columns of the pool
that have a role; the ledger knows its fingerprint. `caches/NAME` is its cache, which can be removed
at any time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from activetest import catalog
from activetest.errors import ChoiceError, PoolChanged, PoolError, raising_storage_errors
from activetest.ledger.ledger import Record
from activetest.nouns.log import Log, supply_draws_before
from activetest.nouns.study_lists import Model
from activetest.rounds.replay import replay_rounds
from activetest.study.config import Config
from activetest.study.folder import CACHES, INSIDE, MODELS
from activetest.study.stored import StoredStudy, call_outputs_missing, hint_outputs
from activetest.study.thresholds import read_source
from activetest.system import atomic

if TYPE_CHECKING:
    from activetest.cache.cache import Cache
    from activetest.pool.pool import Pool


def find_model(study: StoredStudy, name: str | None) -> StoredStudy:
    """The study as one of a model: see StoredStudy.of_model."""
    if name is None:
        return study
    first = study.base if isinstance(study, ModelStudy) else study
    models = first.list_models()
    if name == models[0].name:
        return first
    known = {each.name: each for each in models}
    if name not in known:
        raise ChoiceError(f"the study has no model {name!r}", catalog.nearest(str(name), [*known]))
    return ModelStudy(first, known[name])


def write_model_address(name: str) -> str:
    """The address, as in study.toml, of the outputs of a further model."""
    return f"{INSIDE}{MODELS}/{name}.parquet"


class ModelStudy(StoredStudy):
    """A study as one of a further model.

    base   the study of the first model
    model  the model; its own draws are those after it came where labels took part in making it

    A model with a threshold of its own has it in `threshold`, which is None for others.
    """

    def __init__(self, base: StoredStudy, model: Model) -> None:
        self.threshold = read_source(model.source)
        own = self.threshold.roles if self.threshold else {}
        if base.pool.get("open_classes"):
            from activetest.pool.joined import read_further

            further = read_further(base.folder / MODELS / f"{model.name}.parquet")
            own = {**own, "classes": [*base.pool["classes"], *further]}
        pool = {**base.pool, "uri": write_model_address(model.name), **own}
        super().__init__(
            base.folder, Config(pool, base.choices, base.reports, base.others), base.ledger
        )
        self.base, self.model = base, model

    @property
    def pool_name(self) -> str:
        """Name of the pool in reports: that of the study's, with the model."""
        return f"{self.base.pool_name}, model {self.model.name}"

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the ids and the model's outputs."""
        return self.model.fingerprint

    @property
    def joined(self) -> None:
        """None: the file of the model has its outputs."""

    @property
    def cache_folder(self) -> Path:
        """The folder of the model's cache, which can be built again."""
        return self.folder / CACHES / self.model.name

    def check_pool_is_there(self) -> None:
        """Raises PoolError, with a hint, where the file of the model is missing."""
        if missing := self.find_missing_pool():
            raise call_outputs_missing(self.model.name, missing, str(self.threshold or "FILE"))

    @property
    def _restoring(self) -> str:
        """A hint for outputs that are not there or not those that were added."""
        return hint_outputs(self.model.name, str(self.threshold or "FILE"))

    @contextmanager
    def _hinting(self) -> Iterator[None]:
        """Errors about the file of outputs say how to get it back."""
        try:
            yield
        except PoolChanged as error:
            raise PoolChanged(
                f"{self.uri} has other ids or outputs than were added as {self.model.name!r}",
                self._restoring,
            ) from error
        except PoolError as error:
            raise PoolError(error.problem, self._restoring) from error

    def open_pool(self, *, thorough: bool = False) -> "Pool":
        """The items with the model's outputs; columns that got a role since are added first.

        Raises PoolError where there is no file of outputs, or no pool to take a column from.
        """
        from activetest.pool.joined import list_joined_columns

        with self._hinting():
            pool = super().open_pool(thorough=thorough)
            if {*list_joined_columns(pool.schema)} <= {*pool.files.schema.names}:
                return pool
        with raising_storage_errors(self.folder):
            self._join_again(pool)
        return super().open_pool(thorough=thorough)

    def _join_again(self, kept: "Pool") -> None:
        """Write the file anew, from the outputs in it and the pool as it is now."""
        from activetest.pool.joined import find_rows, open_outputs, write_joined

        cache, path = self.base.cache(auxiliary=False), Path(self.uri)
        # A link would lead elsewhere.
        atomic.make_folder(path.parent)
        outputs = open_outputs(kept.files, str(path), kept.schema)
        rows, _ = find_rows(outputs, cache.find_text, cache.size)
        with atomic.replacing_file(path, durable=True) as building:
            write_joined(self.base.open_pool(), outputs, rows, building)

    def show(self, ids: Sequence[str], columns: Sequence[str]) -> dict[str, list[Any]]:
        """{column: its values for these items}; outputs are the model's."""
        outputs = [name for name in columns if name in self.schema.output_columns]
        others = [name for name in columns if name not in outputs]
        found = super().show(ids, outputs) | self.base.show(ids, others)
        return {name: found[name] for name in columns}

    def known_cache(self) -> "Cache":
        """As cache: the outputs are in the study."""
        return self.cache()

    def keep_summary(self, cache: "Cache") -> None:
        """Keep nothing: the outputs are in the study."""

    def _ensure_outputs(self, pool: "Pool", place: Path) -> "Cache":
        if place == self.cache_folder:
            atomic.make_folder(place.parent)
        with self._hinting():
            return super()._ensure_outputs(pool, place)

    def log(self, cache: "Cache", record: Record | None = None) -> Log:
        """The log as the methods read it, with surrogates for this model replayed in each round."""
        log = super().log(cache, record)
        if self.model.trained:
            log = supply_draws_before(log, self.model.rounds + 1)
        return replay_rounds(log, cache)
