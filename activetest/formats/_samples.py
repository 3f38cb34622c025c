"""Graded outputs of language models as tables: what the readers of evaluation logs share.

A reader yields a Sample for each graded output. Those of one item (epochs, filters, perturbations,
repetitions) become one row, of which the score is their mean. The file is read twice: first to find
the columns and the mean scores, then for the rows. Only the scores are held in memory.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from activetest.errors import PoolError
from activetest.nouns.class_names import OURS
from activetest.nouns.name_lists import shorten_list

# Text of at most this many letters may be the value of a group.
_SHORT = 100
# Columns of metadata, and of other scores.
_MOST_COLUMNS = 100
# Options of a multiple-choice question.
_MOST_OPTIONS = 1000
_LONGEST_ID = 1000
_NAMES_SHOWN = 8
# Limits of a table: rows, and letters of text.
_ROWS, _LETTERS = 4096, 2**23
# The label of an answer that has no letter of an option; no letter is spelled so.
NO_ANSWER = "[none]"

Value = str | int | float | bool | None


@dataclass(slots=True)
class Sample:
    """One output and what a program says of it.

    id           of the item, which several samples may share
    place        in the file, for messages
    input        what the model was given
    output       what it answered; None where there is no answer
    target       the expected answer
    grades       {scorer or metric: number, word, or None where it gave none}, in the file's order
    problem      why there may be no grade: "error", "limit"; empty for no known reason
    answer       what the scorer took from the output
    choices      the options of a multiple-choice question
    letter       whether answer and target are letters of the choices
    likelihoods  of the choices, as natural logarithms
    targets      {reading of the target: position among the choices}
    correct      what the program says of the most likely choice
    fields       metadata by the name of its column
    label        what a person said
    identity     what is the same for all samples of an item; default: its input
    repeat       which of the samples of its item it is, such as the epoch; empty where nothing says
    """

    id: str
    place: str
    input: str | None = None
    output: str | None = None
    target: str | None = None
    grades: dict[str, float | str | None] = field(default_factory=dict)
    problem: str = ""
    answer: str | None = None
    choices: Sequence[str] | None = None
    letter: bool = False
    likelihoods: Sequence[float] | None = None
    targets: Mapping[str, int] = field(default_factory=dict)
    correct: bool | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    label: float | None = None
    identity: str | None = None
    repeat: str = ""


@dataclass(frozen=True)
class Terms:
    """How a program calls things, for notes.

    format      name of the file format
    sample      what it calls an output, in the singular
    grader      what gives a grade: a scorer, a metric
    repetition  what several samples of one item are: "epochs"
    prefix      before the names of columns that hold other grades
    verdict     a grader that is no column where it always says the same as the first
    """

    format: str
    sample: str = "sample"
    grader: str = "scorer"
    repetition: str = "repetitions"
    prefix: str = "score_"
    verdict: str = ""


def build_tables(
    path: object,
    read: Callable[[], Iterator[Sample]],
    terms: Terms,
    notes: Iterable[str] = (),
    *,
    judge: str | None = None,
) -> Iterator[pa.Table]:
    """The tables of a log; at least one.

    read   gives the samples, the same ones each time
    notes  what is to be said of the file besides
    judge  the column of the grades that every item of the table has; default: those of the first
           grader

    Raises PoolError where there is no sample, or none with a grade or an output, or where two items
    have one id.
    """
    contents = _Contents(path, terms, judge)
    for sample in read():
        contents.add(sample)
    layout = contents.finish()
    document = {
        "format": terms.format,
        "notes": [*notes, *layout.notes],
        **({"judge": layout.judge} if layout.judge else {}),
        # A target is what the model was to answer, and no label of what it did answer.
        "labels": [name for name in ("label",) if name in layout.columns],
    }
    schema = pa.schema(
        list(layout.columns.items()), metadata={OURS: json.dumps(document).encode("ascii")}
    )
    names = list(layout.columns)
    rows: list[dict[str, object]] = []
    letters = 0
    done: set[str] = set()
    yield schema.empty_table()
    for sample in read():
        if sample.id in done or not layout.takes(sample):
            continue
        done.add(sample.id)
        row = layout.build_row(sample)
        rows.append({name: row.get(name) for name in names})
        letters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(rows) >= _ROWS or letters >= _LETTERS:
            yield pa.Table.from_pylist(rows, schema=schema)
            rows, letters = [], 0
    if rows:
        yield pa.Table.from_pylist(rows, schema=schema)


def name_part(sample: Sample, part: str) -> Sample:
    """A sample of one of the tasks that a file or folder has: its id names it, and a column."""
    sample.id = f"{part}/{sample.id}"
    sample.fields = {"task": part, **sample.fields}
    return sample


class _Grades:
    """Grades of one item by one grader: the sum and number of its numbers, and its words."""

    __slots__ = ("count", "total", "words")

    def __init__(self) -> None:
        self.count, self.total = 0, 0.0
        self.words: Counter[str] | None = None

    def add(self, grade: float | str) -> None:
        self.count += 1
        if isinstance(grade, str):
            self.words = self.words or Counter()
            self.words[grade] += 1
        else:
            self.total += grade

    def mean(self) -> float:
        return self.total / self.count

    def word(self) -> str:
        """The most frequent word, the first where several are; numbers beside words are words."""
        words = self.words or Counter()
        return words.most_common(1)[0][0] if words else f"{self.mean():g}"


class _Field:
    """The values that a column of metadata has."""

    def __init__(self) -> None:
        self.count = self.numbers = self.truths = self.longest = 0
        self.like_id = self.like_target = 0
        self.nested, self.whole = False, True

    def add(self, value: object, id: str, target: str | None) -> None:
        if value is None:
            return
        self.count += 1
        if isinstance(value, bool):
            self.truths += 1
        elif isinstance(value, int | float):
            self.numbers += 1
            self.whole &= isinstance(value, int) and abs(value) < 2**62
        elif isinstance(value, str):
            self.longest = max(self.longest, len(value))
        else:
            self.nested = True
            return
        text = str(value).strip()
        self.like_id += text == id.strip()
        self.like_target += target is not None and text == target.strip()

    def find_type(self) -> pa.DataType | None:
        """The type of the column; None where it holds free text or what is no single value."""
        if self.nested or not self.count or self.longest > _SHORT:
            return None
        if self.truths == self.count:
            return pa.bool_()
        if self.numbers == self.count:
            return pa.int64() if self.whole else pa.float64()
        return pa.string()


class _Contents:
    """Contents of the samples of a file, gathered one by one."""

    def __init__(self, path: object, terms: Terms, judge: str | None = None) -> None:
        self.path, self.terms, self.judge = path, terms, judge
        self.grades: dict[str, dict[str, _Grades]] = {}
        self.identities: dict[str, bytes] = {}
        self.samples: Counter[str] = Counter()
        self.graders: dict[str, bool] = {}
        self.wordy: set[str] = set()
        self.fields: dict[str, _Field] = {}
        self.crowded = 0
        self.problems: dict[str, str] = {}
        self.with_output: set[str] = set()
        self.present: set[str] = set()
        self.letters = _Letters()
        self.likely = _Likely()
        self.answers_differ = False
        self.repeats: set[tuple[str, str]] = set()
        self.again = 0

    def add(self, sample: Sample) -> None:
        """Raises PoolError where another item has the id of this one."""
        self._check(sample)
        self.samples[sample.id] += 1
        if sample.repeat:
            self.again += (sample.id, sample.repeat) in self.repeats
            self.repeats.add((sample.id, sample.repeat))
        grades = self.grades.setdefault(sample.id, {})
        graded = False
        for name, grade in sample.grades.items():
            few = len(self.graders) < _MOST_COLUMNS and len(name) <= _SHORT
            if name not in self.graders and not (few and name.isprintable()):
                continue
            # The order is that of the file, whatever has a grade first.
            self.graders.setdefault(name, False)
            if grade is None or (isinstance(grade, float) and not math.isfinite(grade)):
                continue
            self.graders[name] = True
            grades.setdefault(name, _Grades()).add(grade)
            graded = True
            if isinstance(grade, str):
                self.wordy.add(name)
        if not graded and sample.problem:
            self.problems.setdefault(sample.id, sample.problem)
        if sample.output is not None:
            self.with_output.add(sample.id)
        for name in ("input", "output", "target", "answer", "choices", "label"):
            if getattr(sample, name) is not None:
                self.present.add(name)
        self.answers_differ |= (
            sample.answer is not None and sample.answer.strip() != (sample.output or "").strip()
        )
        for name, value in sample.fields.items():
            if name not in self.fields and len(self.fields) >= _MOST_COLUMNS:
                self.crowded += 1
                continue
            self.fields.setdefault(name, _Field()).add(value, sample.id, sample.target)
        self.letters.add(sample, graded)
        self.likely.add(sample)

    def _check(self, sample: Sample) -> None:
        if not sample.id.strip():
            raise PoolError(
                f"{self.path}, {sample.place}: the {self.terms.sample} has no id",
                hint="every item needs an id that can be seen",
            )
        if len(sample.id) > _LONGEST_ID:
            raise PoolError(
                f"{self.path}, {sample.place}: an id has {len(sample.id):,} letters",
                hint=f"ids have at most {_LONGEST_ID:,}",
            )
        same = sample.input if sample.identity is None else sample.identity
        digest = blake2b((same or "").encode("utf-8", "surrogatepass"), digest_size=8).digest()
        if self.identities.setdefault(sample.id, digest) != digest:
            raise PoolError(
                f"{self.path}, {sample.place}: another item is called {sample.id[:50]!r} too",
                hint="give the log of one task",
            )

    @property
    def used_graders(self) -> list[str]:
        """The graders that gave any grade, in the order of the file."""
        return [name for name, used in self.graders.items() if used]

    @property
    def judging_grader(self) -> str:
        """The grader of the judge's column; where there is none of that name, the first."""
        used = self.used_graders
        named = (self.judge or "").removeprefix(self.terms.prefix)
        return named if named in used and self.judge != named else used[0]

    def finish(self) -> "_Layout":
        """Raises PoolError where no sample has a grade or an output."""
        if not self.samples:
            raise PoolError(
                f"{self.path} holds no {self.terms.sample}s",
                hint="give a log that was written with its samples",
            )
        if self.likely.serves:
            return _LikelyLayout(self)
        if self.letters.serves and max(self.samples.values()) == 1:
            return _LetterLayout(self)
        layout = _ScoreLayout(self) if self.used_graders else _Layout(self)
        if not layout.items:
            raise PoolError(
                f"no {self.terms.sample} of {self.path} has a grade or an output",
                hint="give the log of a run that came to an end",
            )
        return layout


class _Layout:
    """The columns of a log without grades, its rows, and what is said of it."""

    judge: str | None = None

    def __init__(self, contents: _Contents) -> None:
        self.contents, self.terms = contents, contents.terms
        self.notes: list[str] = []
        self.columns: dict[str, pa.DataType] = {"id": pa.string()}
        self.items = self.find_items()
        for name in ("input", "choices", "output", "target"):
            if name in contents.present:
                self.columns[name] = pa.string()
        if "answer" in contents.present and contents.answers_differ:
            self.columns["answer"] = pa.string()
        self.say_missing()
        if again := contents.again:
            self.notes.append(
                f"{_count(again, self.terms.sample)} {'stands' if again == 1 else 'stand'} in the "
                "log before, of the same item and repetition: they count as further repetitions"
            )
        self.add_outputs()
        if "label" in contents.present:
            self.columns["label"] = pa.float64()
        self.add_fields()

    def find_items(self) -> set[str]:
        """The items that become rows."""
        return self.contents.with_output

    def takes(self, sample: Sample) -> bool:
        """Whether a row may be built of this sample of its item."""
        return sample.id in self.items and sample.output is not None

    def add_outputs(self) -> None:
        """Columns of what is to be evaluated."""
        self.notes.append(f"no {self.terms.sample} has a grade: there is no score")

    def say_missing(self) -> None:
        """A note on what is left out, and why."""
        missing = [name for name in self.contents.samples if name not in self.items]
        if not missing:
            return
        reasons = Counter(self.contents.problems.get(name, "") for name in missing)
        causes = [
            f"{count} with {'an' if reason[0] in 'aeiou' else 'a'} {reason}"
            for reason, count in reasons.items()
            if reason
        ]
        lack = "grade" if self.contents.used_graders else "output"
        text = f"{len(missing):,} of {_count(len(self.contents.samples), 'item')} "
        text += f"{'has' if len(missing) == 1 else 'have'} no {lack} and "
        text += f"{'is' if len(missing) == 1 else 'are'} left out"
        self.notes.append(text + (f" ({', '.join(causes)})" if causes else ""))

    def add_fields(self) -> None:
        """Columns of metadata, and a note on what becomes none."""
        dropped = []
        for name, values in self.contents.fields.items():
            kind = values.find_type()
            if kind is None or name in self.columns or self.reveals(values):
                dropped += [name] if values.count else []
            else:
                self.columns[name] = kind
        if dropped:
            self.notes.append(
                f"left out as free text, lists, id or target: {shorten_list(dropped, _NAMES_SHOWN)}"
            )
        if self.contents.crowded:
            self.notes.append(f"of the metadata, {_MOST_COLUMNS} columns are read")

    def reveals(self, values: _Field) -> bool:
        """Whether a column of metadata is the id or the target again."""
        return values.count > 1 and values.count in (values.like_id, values.like_target)

    def build_row(self, sample: Sample) -> dict[str, object]:
        """The values of a row, of which those of `columns` count."""
        row: dict[str, object] = {
            "id": clean(sample.id),
            "input": clean(sample.input),
            "output": clean(sample.output),
            "target": clean(sample.target),
            "answer": clean(sample.answer),
            "choices": clean(None if sample.choices is None else _list_choices(sample.choices)),
            "label": sample.label,
        }
        for name in self.contents.fields:
            if (kind := self.columns.get(name)) is not None and name not in row:
                row[name] = _fit(sample.fields.get(name), kind)
        return row


class _ScoreLayout(_Layout):
    """The columns of a log with grades: the first grader's are the score.

    chosen  the grader without whose grade an item is left out
    """

    def find_items(self) -> set[str]:
        self.first = self.contents.used_graders[0]
        self.chosen = self.contents.judging_grader
        return {name for name, grades in self.contents.grades.items() if self.chosen in grades}

    def takes(self, sample: Sample) -> bool:
        grade = sample.grades.get(self.chosen)
        return grade is not None and not (isinstance(grade, float) and not math.isfinite(grade))

    def add_outputs(self) -> None:
        first, contents = self.first, self.contents
        words = first in contents.wordy
        self.judge = "pred" if words else "score"
        self.columns[self.judge] = pa.string() if words else pa.float64()
        self.others = {
            f"{self.terms.prefix}{name}": name
            for name in contents.used_graders
            if not self._repeats(name)
        }
        for column, name in self.others.items():
            self.columns[column] = pa.string() if name in contents.wordy else pa.float64()
        about = [] if first == self.judge else [f"{self.judge} is the {self.terms.grader} {first}"]
        if self.others:
            about.append(
                f"the other {self.terms.grader}s are {shorten_list(self.others, _NAMES_SHOWN)}"
            )
        self.notes += ["; ".join(about)] if about else []
        repeated = sum(contents.grades[name][self.chosen].count > 1 for name in self.items)
        if repeated:
            words = self.chosen in contents.wordy
            how = "the most frequent grade counts" if words else "the score is their mean"
            several = "has" if repeated == 1 else "have"
            self.notes.append(
                f"{repeated:,} of {_count(len(self.items), 'item')} {several} several "
                f"{self.terms.repetition}: {how}, and the output is that of the first"
            )

    def _repeats(self, name: str) -> bool:
        """Whether a grader is the first one, or says no more than that and is not asked for."""
        if name != self.terms.verdict or name == self.chosen:
            return name == self.first
        items = (self.contents.grades[item] for item in self.items)
        return all(
            name in grades
            and self.first in grades
            and grades[name].mean() == grades[self.first].mean()
            for grades in items
        )

    def build_row(self, sample: Sample) -> dict[str, object]:
        row = super().build_row(sample)
        grades = self.contents.grades[sample.id]
        for column, name in {str(self.judge): self.first, **self.others}.items():
            found = grades.get(name)
            if found is not None:
                row[column] = clean(found.word()) if name in self.contents.wordy else found.mean()
        return row


class _LetterLayout(_ScoreLayout):
    """The columns of multiple-choice questions that are answered with a letter."""

    def add_outputs(self) -> None:
        self.columns |= {"pred": pa.string(), "label": pa.string()}
        found = self.contents.letters
        self.notes.append("pred is the letter of the answer, label the letter of the target")
        if found.unanswered:
            self.notes.append(
                f"{_count(found.unanswered, 'answer')} without a letter: pred is {NO_ANSWER}"
            )
        if found.disagreements:
            self.notes.append(
                f"{self.chosen} says otherwise than pred and label for "
                f"{_count(found.disagreements, 'item')}"
            )

    def build_row(self, sample: Sample) -> dict[str, object]:
        row = _Layout.build_row(self, sample)
        row["pred"] = sample.answer if is_letter(sample.answer, sample.choices) else NO_ANSWER
        row["label"] = sample.target
        return row


class _LikelyLayout(_Layout):
    """The columns of multiple-choice questions of which each option has a likelihood."""

    def find_items(self) -> set[str]:
        return self.contents.likely.items

    def takes(self, sample: Sample) -> bool:
        return _softmax(sample.likelihoods) is not None

    def add_outputs(self) -> None:
        likely = self.contents.likely
        self.names = likely.find_names()
        self.reading = likely.find_reading()
        if likely.same_names:
            self.columns |= {f"prob_{name}": pa.float64() for name in self.names}
        else:
            self.columns["prob"] = pa.list_(pa.float64())
        self.columns["pred"] = pa.string()
        self.notes.append(
            "probabilities are the softmax of the log-likelihoods of the options, "
            "and pred is the likeliest option"
        )
        kind = "text" if likely.same_names else "number"
        if likely.shortest != likely.longest:
            self.notes.append(
                f"the questions have {likely.shortest} to {likely.longest} options: "
                "options that a question does not have get probability 0"
            )
        if self.reading is None:
            self.notes.append("no target is one of the options: there is no label")
            return
        self.columns["label"] = pa.string()
        first = "" if likely.same_names else ", from 0 up"
        self.notes.append(
            f"classes are the {kind}s of the options{first}; label is the target, read as "
            f"{'the number' if self.reading == 'number' else 'the ' + self.reading} of an option"
        )
        if wrong := likely.disagreements[self.reading]:
            self.notes.append(f"acc says otherwise than pred and label for {_count(wrong, 'item')}")

    def reveals(self, values: _Field) -> bool:
        """Numbers beside a multiple-choice question may be the target in another spelling."""
        return super().reveals(values) or bool(values.numbers)

    def build_row(self, sample: Sample) -> dict[str, object]:
        row = super().build_row(sample)
        probabilities = _softmax(sample.likelihoods) or []
        padded = probabilities + [0.0] * (self.contents.likely.longest - len(probabilities))
        if self.contents.likely.same_names:
            row |= {f"prob_{name}": value for name, value in zip(self.names, padded, strict=True)}
        row["prob"] = padded
        row["pred"] = self.names[padded.index(max(padded))]
        code = sample.targets.get(self.reading or "")
        row["label"] = None if code is None else self.names[code]
        return row


class _Letters:
    """Whether a log is one of multiple-choice questions that are answered with a letter."""

    def __init__(self) -> None:
        self.fits, self.answered = True, 0
        self.unanswered = self.disagreements = 0

    @property
    def serves(self) -> bool:
        return self.fits and self.answered > 0

    def add(self, sample: Sample, graded: bool) -> None:
        if not graded or not self.fits:
            return
        if not sample.letter or not is_letter(sample.target, sample.choices):
            self.fits = False
        elif not is_letter(sample.answer, sample.choices):
            self.unanswered += 1
        else:
            self.answered += 1
            grade = next((grade for grade in sample.grades.values() if grade is not None), None)
            self.disagreements += grade != float(sample.answer == sample.target)


class _Likely:
    """Whether a log is one of multiple-choice questions of which each option has a likelihood."""

    def __init__(self) -> None:
        self.fits, self.same_names = True, True
        self.items: set[str] = set()
        self.first: list[str] | None = None
        self.shortest, self.longest = _MOST_OPTIONS + 1, 0
        self.resolved: Counter[str] = Counter()
        self.agreements: Counter[str] = Counter()
        self.disagreements: Counter[str] = Counter()

    @property
    def serves(self) -> bool:
        return self.fits and bool(self.items)

    def add(self, sample: Sample) -> None:
        values = sample.likelihoods
        if values is None or not 2 <= len(values) <= _MOST_OPTIONS:
            # A sample without any answer is missing; one with an answer in words is another task.
            self.fits &= values is None and sample.output is None
            return
        probabilities = _softmax(values)
        if probabilities is None or sample.id in self.items:
            return
        self.items.add(sample.id)
        self.shortest = min(self.shortest, len(values))
        self.longest = max(self.longest, len(values))
        names = [clean(choice.strip()) for choice in sample.choices or ()]
        if self.first is None:
            self.first = names
        usable = all(name and name.isprintable() and len(name) <= _SHORT for name in names)
        distinct = len(set(names)) == len(names) == len(values)
        self.same_names &= usable and distinct and names == self.first
        likeliest = probabilities.index(max(probabilities))
        for reading, code in sample.targets.items():
            self.resolved[reading] += 1
            if sample.correct is not None:
                agrees = (likeliest == code) == sample.correct
                (self.agreements if agrees else self.disagreements)[reading] += 1

    def find_names(self) -> list[str]:
        """The names of the options: their text where it is always the same, else numbers."""
        return list(self.first or ()) if self.same_names else [str(k) for k in range(self.longest)]

    def find_reading(self) -> str | None:
        """The reading of the targets that agrees most often with what the program says."""
        return max(
            self.resolved,
            key=lambda reading: (self.agreements[reading], self.resolved[reading]),
            default=None,
        )


def is_letter(answer: str | None, choices: Sequence[str] | None) -> bool:
    """Whether an answer is the capital letter of one of the choices."""
    return (
        answer is not None
        and len(answer) == 1
        and choices is not None
        and 0 <= ord(answer) - ord("A") < min(len(choices), 26)
    )


def read_grade(value: object) -> float | str | None:
    """A grade as a number where it is one, else as a word; None where there is none.

    Text of more than 100 letters is no grade.

    >>> read_grade(True), read_grade("0.5"), read_grade(float("nan")), read_grade("refused")
    (1.0, 0.5, None, 'refused')
    """
    if isinstance(value, str):
        try:
            value = parse_number(value)
        except ValueError:
            word = str(value).strip()
            known = {"true": 1.0, "false": 0.0, "": None}
            return known.get(word.lower(), word if len(word) <= _SHORT else None)
    return read_number(value)


def parse_number(text: str) -> float:
    """The number that a text is. Raises ValueError for any other, and for digits with underscores.

    >>> parse_number("1e3")
    1000.0
    """
    if "_" in text:
        # Python reads 1_000 as 1000, and nobody else does.
        raise ValueError(f"{text[:_SHORT]!r} is no number")
    return float(text)


def read_number(value: object) -> float | None:
    """A finite number, or true and false as 1 and 0; None for anything else."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def read_text(value: object) -> str | None:
    """Text as it is, and other values as JSON; None where there is nothing.

    Several short texts stand in one line, with commas.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def read_id(value: object) -> str | None:
    """An id: text or a whole number, as text; None for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def read_messages(value: object) -> str | None:
    """A prompt, which is text or a list of messages with role and content, as text.

    A single message stands alone; of several, each begins with its role.
    """
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return read_text(value)
    texts = [
        (read_text(each.get("role")) or "", read_content(each.get("content"))) for each in value
    ]
    if len(texts) == 1:
        return texts[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in texts)


def read_content(value: object) -> str:
    """The text of a message, of which pictures and sound are named in brackets."""
    if not isinstance(value, list):
        return read_text(value) or ""
    parts = []
    for part in value:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            parts.append(part["text"])
        elif isinstance(part, dict) and part.get("type") != "reasoning":
            parts.append(f"[{part.get('type')}]"[:_SHORT])
        elif isinstance(part, str):
            parts.append(part)
    return "\n".join(parts)


def prefix_fields(prefix: str, values: object) -> dict[str, Any]:
    """Metadata by the names of its columns; names that cannot be read are left out."""
    if not isinstance(values, dict):
        return {}
    return {
        f"{prefix}{name}": value
        for name, value in values.items()
        if name and name.isprintable() and len(name) <= _SHORT
    }


def clean(text: Any) -> Any:
    """The text without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


def _softmax(values: Sequence[float] | None) -> list[float] | None:
    """Probabilities in proportion to exp(values); None where there are none, or NaN among them."""
    if not values or any(math.isnan(value) or value == math.inf for value in values):
        return None
    highest = max(values)
    if highest == -math.inf:
        return None
    weights = [math.exp(value - highest) for value in values]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _fit(value: object, kind: pa.DataType) -> object:
    """A value as a column of this type takes it."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        return clean(value if isinstance(value, str) else read_text(value))
    if pa.types.is_floating(kind):
        return read_number(value)
    return value


def _list_choices(choices: Sequence[str]) -> str:
    """The options, each behind its letter on a line of its own."""
    return "\n".join(
        f"{chr(ord('A') + code) if code < 26 else code}) {choice}"
        for code, choice in enumerate(choices)
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
