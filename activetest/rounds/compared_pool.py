"""A pool whose items were given to several models: what rounds and estimates see of all of them.

Rows are those of the model that the draws were made for, and hold the same items as the other
models' pools have them. Statistics of several models' outputs are expected term by term, each by a
surrogate of its model; where two models do the same, by that of the first, so that the difference
of such items is expected to be what it is: 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from activetest import catalog
from activetest.item_statistics.compared import find_same
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, Round
from activetest.nouns.once import Remembers
from activetest.nouns.pool import PoolOver, PoolView, SeveralModels
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import fit_others, fit_surrogate, list_learned, restore_surrogate
from activetest.rounds.pairs import FIRST, NEITHER, SECOND, find_probs, fit_shifts, write_logits
from activetest.rounds.replay import adapt_round, fit_for_round, list_known


class ComparedPool(PoolOver, SeveralModels):
    """The items of a pool with the outputs of further models, as a PoolView.

    Groups, weights and everything else but outputs are those of the pool. The others' items stand
    in the same order.
    """

    def __init__(
        self,
        model: str,
        pool: PoolView,
        others: Mapping[str, PoolView],
        log: Log,
        further: Sequence[str] = (),
    ) -> None:
        """The pool of a model, those of the others by their names, and the log of all.

        further  classes that others alone predict, where these are open: in the log -2, -3 ...
        """
        super().__init__(pool)
        self._others, self._log, self.models = dict(others), log, (model, *others)
        self._codes = {
            name: SharedCodes(pool.classes, each.classes, further)
            for name, each in others.items()
            if further
        }

    @property
    def identity(self) -> list[Any]:
        """Those of all models."""
        return [super().identity, {name: each.identity for name, each in self._others.items()}]

    def compute_stored(
        self, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """As the pool stores it: for these models."""
        models = blake2b(repr(self.models).encode(), digest_size=4).hexdigest()
        return self._pool.compute_stored(f"{name}-{models}", [origin, self.identity], compute)

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1."""
        others = {name: each.rows(start, stop) for name, each in self._others.items()}
        return self._join_rows(self._pool.rows(start, stop), others)

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        others = {name: each.take(indices) for name, each in self._others.items()}
        return self._join_rows(self._pool.take(indices), others)

    def restore_surrogate(self, round: Round) -> "ComparedSurrogate":
        """The surrogate of a round, and what the others would have had then."""

        def replay(name: str, pool: PoolView) -> Surrogate:
            key = "replayed", name, round.number
            log = self._translate(name, self._log)
            return self.compute_once(key, lambda: fit_for_round(round, log, pool))

        others = {name: replay(name, pool) for name, pool in self._others.items()}
        first, known = restore_surrogate(round, self._pool), list_known(self._log, round.number)
        return self._join(first, others, known, round.choices, list_drawn_for(round))

    def list_classes(self, model: str) -> tuple[str, ...]:
        """Names of the classes of a model, in the order of its codes."""
        return self._others.get(model, self._pool).classes

    def fit_surrogate(
        self, log: Log, choices: Choices, *, rng: np.random.Generator
    ) -> "ComparedSurrogate":
        """The chosen surrogate of every model, fitted to every label that is known."""
        others = {
            name: fit_surrogate(self._translate(name, log), pool, choices, rng=rng)
            for name, pool in self._others.items()
        }
        first, known = fit_surrogate(log, self._pool, choices, rng=rng), list_learned(log, choices)
        return self._join(first, others, known, vars(choices), self.models)

    def fit_others(
        self, round: Round, sets: Sequence[tuple[Array, Array]]
    ) -> list["ComparedSurrogate"]:
        """Surrogates of every model like that of a round, fitted to other positions and labels."""
        adapted = adapt_round(round)
        others = {
            name: fit_others(
                adapted, pool, [(rows, self._read_labels(name, labels)) for rows, labels in sets]
            )
            for name, pool in self._others.items()
        }
        about = round.choices, list_drawn_for(round)
        return [
            self._join(first, {name: each[place] for name, each in others.items()}, known, *about)
            for place, (first, known) in enumerate(
                zip(fit_others(round, self._pool, sets), sets, strict=True)
            )
        ]

    def _join_rows(self, rows: Rows, others: dict[str, Rows]) -> Rows:
        seen = {self.models[0]: rows} | others
        outputs = rows.outputs
        joined = Outputs(
            outputs.pred,
            lambda: outputs.probs,
            lambda: outputs.std,
            {name: self._share_codes(name, each.outputs) for name, each in seen.items()},
        )
        return rows.change(outputs=joined, others=seen)

    def _share_codes(self, name: str, outputs: Outputs) -> Outputs:
        """Outputs of a model with the codes that classes have in the log."""
        codes = self._codes.get(name)
        return outputs if codes is None else Outputs(codes.share(outputs.pred))

    def _read_labels(self, name: str, labels: Array) -> Array:
        """Labels of the log with the codes that classes have in a model's pool."""
        codes = self._codes.get(name)
        return labels if codes is None else codes.read(labels)

    def _translate(self, name: str, log: Log) -> Log:
        """The log with labels as a model's pool has them."""
        labels, supplied = (
            self._read_labels(name, each) for each in (log.labels, log.supplied_labels)
        )
        return replace(log, labels=labels, supplied_labels=supplied)

    def _join(
        self,
        first: Surrogate,
        others: Mapping[str, Surrogate],
        known: tuple[Array, Array],
        choices: Mapping[str, Any],
        drawn_for: Sequence[str],
    ) -> "ComparedSurrogate":
        """The surrogates as one, as the question of a round with these choices joins them.

        drawn_for  the models that the round is about; none for all
        """
        own, question = self.models[0], choices.get("question")
        about = own, {own: first, **others}, len(self.classes)
        labelled = self.take(known[0]), known[1]
        if question and catalog.fact("questions", question, "OF_MODELS"):
            method = catalog.load("questions", question)
            models = drawn_for or self.models
            joined: ComparedSurrogate = method.join_surrogates(*about, labelled, models)
            return joined
        return ComparedSurrogate(*about, labelled)


def list_drawn_for(round: Round) -> tuple[str, ...]:
    """The models that a round's draws were made for, where these were several."""
    named = [name for each in round.objectives for name in each.statistics]
    return tuple(dict.fromkeys(model for name in named for model, _, _ in statistic(name).terms))


class SharedCodes:
    """Codes of classes in the pool of one model, and in the log that several models share.

    The log has the codes of the first pool. Classes that other models alone predict are -2, -3 and
    so on there, and -1 is a class of no model.
    """

    def __init__(self, first: Sequence[str], own: Sequence[str], further: Sequence[str]) -> None:
        """Classes of the first pool, of this model's, and those of the log besides."""
        shared = {name: code for code, name in enumerate(first)}
        shared |= {name: -2 - place for place, name in enumerate(further)}
        codes = {name: code for code, name in enumerate(own)}
        self._shared = np.array([shared[name] for name in own])
        # From the end of an array count codes below 0.
        self._own = np.array([codes.get(name, -1) for name in (*first, *further[::-1])] + [-1])

    def share(self, codes: Array) -> Array:
        """(R,) codes in the log of these codes in the pool."""
        return np.asarray(self._shared[codes])

    def read(self, labels: Array) -> Array:
        """(R,) codes in the pool of these labels in the log; NaN stays."""
        found, known = labels.copy(), np.flatnonzero(~np.isnan(labels))
        found[known] = self._own[labels[known].astype(int)]
        return found


class ComparedSurrogate(Remembers):
    """Surrogates of several models over the same items.

    The one of the pool's own model answers for statistics that name no model.
    """

    def __init__(
        self,
        model: str,
        surrogates: Mapping[str, Surrogate],
        classes: int,
        known: tuple[Rows, Array],
    ) -> None:
        """Those of models by their names, and the name of the pool's own one.

        classes  their number, or 0
        known    items whose labels the surrogates learned from, and these labels
        """
        self.model, self.surrogates, self.classes = model, dict(surrogates), classes
        self.known = known

    @property
    def first(self) -> Surrogate:
        """The one of the pool's own model."""
        return self.surrogates[self.model]

    @property
    def auxiliary_outputs(self) -> tuple[str, ...]:
        """As the first one's."""
        return tuple(getattr(self.first, "auxiliary_outputs", ()))

    @property
    def augmented(self) -> Array | None:
        """As the first one's."""
        return getattr(self.first, "augmented", None)

    def params(self) -> dict[str, Any]:
        """As the first one's: what others learned follows from the log."""
        return self.first.params()

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        compared = [self._counts_mistakes(named) for named in statistics]
        parts = {
            (model or self.model, each): np.empty(0)
            for named, mistakes in zip(statistics, compared, strict=True)
            for model, each, _ in (() if mistakes else named.terms or (("", named, 1.0),))
        }
        for model in dict.fromkeys(model for model, _ in parts):
            about = tuple(each for name, each in parts if name == model)
            found = self._expect(rows, model, about)
            parts |= {(model, each): line for each, line in zip(about, found, strict=True)}
        sums = np.zeros((len(statistics), len(rows.index)))
        for place, named in enumerate(statistics):
            if compared[place]:
                probs, values = self._compare_mistakes(rows, named)
                sums[place] = (probs @ values) * rows.mass
                continue
            for model, each, weight in named.terms or (("", named, 1.0),):
                sums[place] += weight * parts[model or self.model, each]
        return sums

    def _counts_mistakes(self, named: Statistic) -> bool:
        """Whether a statistic is of the mistakes of a model, or of those of two, subtracted."""
        models = [model for model, _, _ in named.terms]
        if not (self.classes and models) or "" in models or models == [self.model]:
            return False
        first, *others = (weight for _, _, weight in named.terms)
        mistakes = all(each.name == "zero_one" for _, each, _ in named.terms)
        return mistakes and others in ([], [-first])

    def _compare_mistakes(self, rows: Rows, named: Statistic) -> tuple[Array, Array]:
        """(R, 3) probabilities and (3,) values of what two models' answers can come to: see pairs.

        Outcomes are that the first model is right, the second, and neither. A model alone is looked
        at beside the pool's own one. Where both do the same, both are right or neither is.
        """
        models, weight = [model for model, _, _ in named.terms], named.terms[0][2]
        first, second = (*models, self.model)[:2]
        preds = rows.outputs.others
        differ = preds[first].pred != preds[second].pred
        if len(models) > 1:
            values = np.array([-1.0, 1.0, 0.0])
            probs = np.tile([0.0, 0.0, 1.0], (len(differ), 1))
        else:
            values = np.array([0.0, 1.0, 1.0])
            wrong = self._expect(rows.unweighted, first, (statistic("zero_one"),))[0]
            probs = np.stack([1 - wrong, np.zeros(len(wrong)), wrong], axis=1)
        if differ.any():
            logits = self._write_logits(rows[np.flatnonzero(differ)], first, second)
            probs[differ] = find_probs(logits, self._fit(first, second))
        values = weight * values
        return probs, values if named.signed else np.abs(values)

    def _fit(self, first: str, second: str) -> Array:
        """(2,) shifts of two models, from labels of items on which they differ."""

        def fit() -> Array:
            rows, labels = self.known
            pred, other = (rows.outputs.others[name].pred for name in (first, second))
            differ = np.flatnonzero(pred != other)
            right = [each[differ] == labels[differ] for each in (pred, other)]
            outcome = np.select(right, [FIRST, SECOND], NEITHER)
            return fit_shifts(self._write_logits(rows[differ], first, second), outcome)

        return self.compute_once(("shifts", first, second), fit)

    def _write_logits(self, rows: Rows, first: str, second: str) -> Array:
        """(R, 3) logits of which of two models is right, by what each surrogate believes alone."""
        plain, mistake = rows.unweighted, (statistic("zero_one"),)
        right = (
            1 - self.surrogates[name].expected(plain.others[name], mistake)[0].astype(float)
            for name in (first, second)
        )
        return write_logits(*right, several=self.classes > 2)

    def _expect(self, rows: Rows, model: str, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) of statistics of one model's outputs, in double precision."""
        if model == self.model:
            return self.first.expected(rows, statistics).astype(float)
        other = rows.others[model]
        found = self.surrogates[model].expected(other, statistics).astype(float)
        own = self.first.expected(rows, statistics)
        for place, each in enumerate(statistics):
            same = find_same(each, rows.outputs, rows.outputs.others[model])
            found[place, same] = own[place, same]
        return found

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Any = None
    ) -> Beliefs:
        """Beliefs about R rows; of several models' outputs over the labels that items may have."""
        if not any(each.terms for each in statistics):
            return self.first.beliefs(rows, statistics, members)
        if len(statistics) == 1 and self._counts_mistakes(statistics[0]):
            probs, values = self._compare_mistakes(rows, statistics[0])
            return Beliefs(probs, values * rows.mass[:, None][None])
        labels, probs = self._weigh_labels(rows)
        outputs = rows.outputs.in_double
        values = np.stack([each.value(outputs, labels) for each in statistics])
        return Beliefs(probs, values * rows.mass[:, None])

    def _weigh_labels(self, rows: Rows) -> tuple[Array, Array]:
        """(R, K) labels that items may have, and how likely they are: the mean over models."""
        plain = rows.unweighted
        found = [self._ask(each, plain.others[name]) for name, each in self.surrogates.items()]
        labels, probs = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        return labels, probs / len(found)

    def _ask(self, surrogate: Surrogate, rows: Rows) -> tuple[Array, Array]:
        """(R, K) labels that items may have, and what one surrogate believes of them."""
        if not self.classes:
            found = surrogate.beliefs(rows, (statistic("label:0.0"),))
            return found.outcome_values[0], found.probs
        codes = range(self.classes)
        probs = surrogate.expected(rows, tuple(statistic(f"true:{code}") for code in codes)).T
        labels = np.broadcast_to(np.arange(self.classes), probs.shape)
        return labels, probs / probs.sum(axis=1, keepdims=True)

    def draw_members(self, count: int, rng: np.random.Generator) -> Any:
        """Members of the first one."""
        return self.first.draw_members(count, rng)

    def totals(
        self, rows: Rows, members: Any, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """As the first one's."""
        return self.first.totals(rows, members, statistics)
