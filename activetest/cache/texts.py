"""Texts of the items: a learner that foretells classes from them, and facts of them.

Words and groups of three and four letters are hashed to columns (Weinberger et al. 2009), from
which logistic regression by stochastic gradient learns classes in five folds: the model's answers,
or the labels of training rows. Of an open question, whose answers are too many to foretell, a few
facts are columns instead: how long texts and answers are, and how many lines, digits and words
there are.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import log_softmax

from activetest.cache.learners import GRID, MOST_CLASSES, Learner, find_factor
from activetest.nouns.rows import Array
from activetest.pool.columns import read_text
from activetest.pool.ids import hash_rows, hash_text
from activetest.pool.pool import Pool

# Letters of all texts of a column that are read, and of a text at least and at most: its beginning
# and its end.
_LETTERS, _FEWEST, _MOST = 10_000_000, 50, 500
# Columns that hashes choose, for words and for groups of letters.
_HASHED = 1 << 16
# Rows that a fold learns from, times answers, at most.
_WORK = 400_000
# Folds, passes over the rows, and the penalty.
_FOLDS, _PASSES, _PENALTY = 5, 5, 1e-4
# The standard deviations beyond which a fact says no more.
_FARTHEST = 4.0


class Texts:
    """Texts of N items, cut to what is read of them, and their hashes (N,); see learners.Source."""

    most_classes = MOST_CLASSES

    def __init__(self, columns: Sequence[pa.Array], hashes: Array | None = None) -> None:
        """Of columns (N,) large_string, and of their hashes where these are known."""
        self.columns = columns
        if hashes is None:
            hashed = [hash_text(read_text(column, "text")) for column in columns]
            hashes = hash_rows(np.zeros(len(columns[0]), np.uint64), hashed)
        self.hashes = hashes

    def __getitem__(self, rows: Array) -> "Texts":
        return Texts([each.take(pa.array(rows)) for each in self.columns], self.hashes[rows])

    def read(self, rows: Array) -> "Texts":
        """The texts of the items at positions (R,)."""
        return self[rows]

    def hash(self, inputs: "Texts") -> Array:
        """(R,) uint64, the same for texts that are the same."""
        return inputs.hashes

    def list_learners(self, inputs: "Texts", labels: Array, count: int) -> Iterator[Learner]:
        """One, of words and letters."""
        if any(pc.any(pc.match_substring_regex(each, r"\w\w")).as_py() for each in inputs.columns):
            yield _WordsAndLetters(inputs, labels, count)


class _WordsAndLetters:
    """Logistic regression of the answers; a learned row is judged by those that did not see it."""

    def __init__(self, inputs: Texts, answers: Array, count: int) -> None:
        # It takes a while to load, and only where columns are learned.
        from sklearn.linear_model import SGDClassifier

        hashed, self.count = _hash_words(inputs), count
        fold = np.arange(len(answers)) % _FOLDS
        self._models = []
        for each in range(_FOLDS):
            others = np.flatnonzero(fold != each)[: _WORK // count]
            learner = SGDClassifier(
                loss="log_loss", alpha=_PENALTY, max_iter=_PASSES, tol=None, random_state=0
            )
            self._models.append(learner.fit(hashed[others], answers[others]))
        scores = self._score(hashed, fold)
        # Scores are as large as it happens; factors are for those that are about one.
        spread = scores.std() or 1.0
        self.factor = find_factor(scores / spread, answers) / spread
        self.held_out = log_softmax(scores * self.factor, axis=1)

    def predict(self, inputs: Texts) -> Array:
        """(R, C) log-probabilities of rows that it did not learn, each by one of the models."""
        scores = self._score(_hash_words(inputs), inputs.hashes % _FOLDS)
        return np.asarray(log_softmax(scores * self.factor, axis=1))

    def _score(self, hashed: Any, fold: Array) -> Array:
        """(R, C) scores by the model of the fold (R,); of a class that it lacks, its lowest."""
        scores = np.empty((len(fold), self.count))
        for each, model in enumerate(self._models):
            rows = np.flatnonzero(fold == each)
            if len(rows):
                found = model.decision_function(hashed[rows])
                if found.ndim == 1:
                    found = np.column_stack([-found / 2, found / 2])
                scores[rows] = found.min()
                scores[np.ix_(rows, model.classes_)] = found
        return scores


def _hash_words(inputs: Texts) -> Any:
    """(R, W) sparse: of each column its words, and its groups of letters."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import HashingVectorizer

    kinds: tuple[dict[str, Any], ...] = ({}, {"analyzer": "char", "ngram_range": (3, 4)})
    parts = [
        HashingVectorizer(n_features=_HASHED, alternate_sign=False, **kind).transform(
            column.to_pylist()
        )
        for column in inputs.columns
        for kind in kinds
    ]
    return hstack(parts, format="csr")


def read_texts(
    pool: Pool, longest: int | None = None, *, counting: bool = False
) -> tuple[Texts, Array]:
    """The texts of the pool, and (N, F) counts in them: see _count.

    longest   letters of a text that are read; as of find_longest for None
    counting  whether anything is counted; else F is 0

    Raises PoolError where the file is damaged.
    """
    longest = longest or find_longest(pool.files.part_rows[0])
    cut: list[list[pa.Array]] = [[] for _ in pool.schema.texts]
    counts = []
    for lines in pool.texts():
        for column, each in zip(cut, lines, strict=True):
            column.append(cut_lines(each, longest))
        counted = [_count(each) for each in lines] if counting else []
        counts.append(np.hstack(counted) if counted else np.empty((len(lines[0]), 0)))
    whole = [pa.concat_arrays(column) for column in cut]
    return Texts(whole), np.concatenate(counts)


def find_longest(rows: int) -> int:
    """Letters of a text that are read, where there are so many rows."""
    return int(np.clip(_LETTERS // rows, _FEWEST, _MOST))


def store_texts(columns: Sequence[pa.Array]) -> dict[str, Array]:
    """Arrays of numbers that hold columns (N,) of texts; see restore_texts."""
    stored: dict[str, Array] = {}
    for number, column in enumerate(columns):
        text = read_text(column, "text")
        stored |= {f"offsets-{number}": text.offsets, f"letters-{number}": text.letters}
    return stored


def restore_texts(read: Callable[[str], Array], count: int) -> Texts:
    """The texts of so many columns; read gives an array by its name.

    Raises ValueError for what store_texts cannot have given.
    """
    columns = []
    for number in range(count):
        offsets, letters = read(f"offsets-{number}"), read(f"letters-{number}")
        if offsets[0] or (np.diff(offsets) < 0).any() or offsets[-1] != len(letters):
            raise ValueError("texts of training rows do not fit together")
        buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(letters.data)]
        found = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
        columns.append(found.cast(pa.large_string()))
    return Texts(columns)


def cut_lines(lines: pa.Array, longest: int) -> pa.Array:
    """(R,) large_string: the beginning and the end of texts that are longer."""
    ends = longest // 3
    begin = pc.utf8_slice_codeunits(lines, 0, longest - ends)
    end = pc.utf8_slice_codeunits(lines, -ends, None)
    both = pc.binary_join_element_wise(begin, end, pa.scalar("\n", pa.large_string()))
    return pc.if_else(pc.less_equal(pc.utf8_length(lines), longest), lines, both)


def _count(lines: pa.Array) -> Array:
    """(R, 4) how many letters, lines, digits and words there are."""
    counts = [
        pc.utf8_length(lines),
        *(pc.count_substring_regex(lines, each) for each in (r"\n", r"[0-9]", r"\S+")),
    ]
    return np.column_stack([each.to_numpy(zero_copy_only=False) for each in counts])


def find_facts(counts: Array, codes: Array, classes: Sequence[str], first: int) -> Array:
    """(N, F) float32 facts, in units of the first ones: of texts, by counts (N, F), and answers.

    An answer, of codes (N,) among the classes, is long or short, and a whole number or none.
    """
    lengths = np.array([len(name) for name in classes])
    whole = np.array([name.isdecimal() for name in classes], float)
    facts = np.column_stack([np.log1p(counts), np.log1p(lengths)[codes], whole[codes]])
    spread = facts[:first].std(axis=0)
    facts = (facts - facts[:first].mean(axis=0)) / np.where(spread > 0, spread, 1)
    kept = np.clip(facts[:, spread > GRID], -_FARTHEST, _FARTHEST)
    return (np.round(kept / GRID) * GRID).astype(np.float32)
