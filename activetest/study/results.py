"""Results of a study's methods: light to import, and readable in a notebook."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from activetest.errors import ChoiceError
from activetest.nouns import report as nouns
from activetest.nouns.answer_fields import BINARY_FORMATS, ID, ORDER
from activetest.nouns.choices import (
    Augmentation,
    Choices,
    Declined,
    FloorRule,
    Interval,
    Refit,
    Selection,
)
from activetest.nouns.report import PASS, Counts, EstimateRow, exit_code
from activetest.nouns.shown import Picture, WholePage
from activetest.system.safe_text import escape_controls, mask_secrets, neutralise_cell

if TYPE_CHECKING:
    from activetest.estimation.looks import LookPlan
    from activetest.pool.schema import Schema
    from activetest.study.stored import StoredStudy


@dataclass(frozen=True)
class Setup:
    """A study's reading of its pool, and how it will draw.

    outcome      "created", "updated" (the study was there already), "checked" (a dry run) or
                 "opened"
    folder       of the study
    uri          the pool that the study reads
    rows         number of items
    schema       the role of every column
    choices      for the rounds to come
    seed         of every random number; None when a dry run left it open
    fingerprint  of the pool
    notices      plain sentences: what was understood, ignored and put right
    looks        of sequential gates; None where none are planned
    """

    outcome: str
    folder: Path
    uri: str
    rows: int
    schema: "Schema"
    choices: Choices
    seed: int | None
    fingerprint: str
    notices: tuple[str, ...]
    looks: "LookPlan | None" = None

    def __str__(self) -> str:
        """A few lines: what was found and decided."""
        outcome = "dry run: nothing written in" if self.outcome == "checked" else self.outcome
        seed = "drawn when the study is created" if self.seed is None else self.seed
        lines = [f"{outcome} {self.folder}", *self.notices, _describe_draws(self.choices)]
        lines += [
            *_describe_aim(
                self.choices, self.rows, self.looks, priced=self.schema.price is not None
            ),
            f"seed: {seed}",
        ]
        # Names of columns and classes stand in them as they are in the pool.
        return mask_secrets("\n".join(map(escape_controls, lines)))

    def __repr__(self) -> str:
        """One line; `str` has everything."""
        return f"<Setup of {self.rows:,} items, {self.outcome} in {self.folder}>"


@dataclass(frozen=True)
class Batch:
    """Items to label, in the order drawn.

    round     number of the latest round among them; None when there are no items
    rows      one dict per item: id, label (empty), and the columns to show
    repeated  they were drawn before and are still waiting
    columns   of the rows, in order
    deterministic   new items are those with the largest scores, not drawn at random
    study     whose labels a file must not lose when the batch is written over it
    requested   how many new items the caller named; None where the default was used, and is of no
                interest
    spreadsheet  CSV is for a spreadsheet: ids that it would run get an apostrophe in front
    again     its items have labels already, and somebody else is to look at them
    orders    of each item, its place among all that the study has drawn, from 1
    for_tools  CSV and JSON lines have activetest_id and activetest_order, as other formats do
    """

    round: int | None
    rows: list[dict[str, Any]]
    repeated: bool
    columns: tuple[str, ...] = ("id", "label")
    deterministic: bool = False
    study: "StoredStudy | None" = field(default=None, repr=False, compare=False)
    requested: int | None = field(default=None, repr=False, compare=False)
    spreadsheet: bool = False
    again: bool = False
    orders: tuple[int, ...] = ()
    for_tools: bool = False

    @property
    def ids(self) -> list[str]:
        """The ids of the items.

        >>> study.next(2).ids
        ['digit-1754', 'digit-1595']
        """
        return [row["id"] for row in self.rows]

    @property
    def positions(self) -> list[int]:
        """The row of each item in the pool, counting from 0: `frame.iloc[batch.positions]`.

        >>> study.next(2).positions
        [1459, 1325]

        Raises PoolChanged when the pool is not what it was.
        """
        if self.study is None:
            raise ValueError("the batch is of no study")
        return [int(row) for row in self.study.cache(auxiliary=False).find(self.ids)]

    def __repr__(self) -> str:
        """One line."""
        return f"<Batch of {self.summary()}>" if self.rows else "<Batch of no items>"

    def __len__(self) -> int:
        """Number of items.

        >>> len(study.next(2))
        2
        """
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The items as dicts.

        >>> for row in study.next(2, show="ink"):
        ...     print(row["id"], row["ink"])
        digit-1754 much
        digit-1595 little
        """
        return iter(self.rows)

    @overload
    def to_csv(self, *, spreadsheet: bool = False) -> str: ...
    @overload
    def to_csv(
        self, path: str | Path, *, spreadsheet: bool = False, force: bool = False
    ) -> None: ...
    def to_csv(
        self, path: str | Path | None = None, *, spreadsheet: bool = False, force: bool = False
    ) -> str | None:
        """CSV with a header, ready for the labels: as text, or written to a file.

        >>> print(study.next(2).to_csv(), end="")
        id,label
        digit-1754,
        digit-1595,
        >>> study.next(2).to_csv("batch.csv")

        An apostrophe stands before texts that a spreadsheet would run as formulas, as =1+1; with
        `spreadsheet` before such ids, too: `ingest` knows them with and without it. Numbers stay.
        A batch of `study.next(format="csv")` has two columns more, for tools with an `id` of their
        own: activetest_id, and activetest_order, the place in the order of drawing.

        A file appears whole or not at all. Raises LabelError when the file at `path` has labels
        that the study does not know or is no batch, unless `force` is set; StorageError when it
        cannot be written or belongs to the study.
        """
        batch = replace(self, spreadsheet=True) if spreadsheet else self
        return batch._write("csv", path, force=force)

    @overload
    def to_jsonl(self) -> str: ...
    @overload
    def to_jsonl(self, path: str | Path, *, force: bool = False) -> None: ...
    def to_jsonl(self, path: str | Path | None = None, *, force: bool = False) -> str | None:
        """JSON lines, one object per item: as text, or written to a file as to_csv does.

        >>> print(study.next(2).to_jsonl(), end="")
        {"id": "digit-1754", "label": ""}
        {"id": "digit-1595", "label": ""}

        A batch of `study.next(format="jsonl")` has the two keys more that CSV has for tools.
        """
        return self._write("jsonl", path, force=force)

    @overload
    def to_label_studio(self) -> str: ...
    @overload
    def to_label_studio(self, path: str | Path, *, force: bool = False) -> None: ...
    def to_label_studio(self, path: str | Path | None = None, *, force: bool = False) -> str | None:
        """Tasks for Label Studio's import: as JSON, or written to a file as to_csv does.

        >>> print(study.next(1).to_label_studio(), end="")
        [
        {"data": {"activetest_id": "digit-1754", "activetest_order": "0000061"}}
        ]

        The data of a task holds the id, the place in the order of drawing, and the shown columns,
        whose names keep letters and digits of ASCII and underscores. It holds no prediction.
        """
        return self._write("label-studio", path, force=force)

    @overload
    def to_argilla(self) -> str: ...
    @overload
    def to_argilla(self, path: str | Path, *, force: bool = False) -> None: ...
    def to_argilla(self, path: str | Path | None = None, *, force: bool = False) -> str | None:
        """Records for Argilla's `dataset.records.from_json`: as JSON, or written to a file.

        >>> record = study.next(1).to_argilla().splitlines()[1]
        >>> print(record[: record.index("fields")])
        {"id": "digit-1754", "

        Id and order stand in the metadata, too. Shown columns are fields, in lower case.
        """
        return self._write("argilla", path, force=force)

    @overload
    def to_xlsx(self) -> bytes: ...
    @overload
    def to_xlsx(self, path: str | Path, *, force: bool = False) -> None: ...
    def to_xlsx(self, path: str | Path | None = None, *, force: bool = False) -> bytes | None:
        """An Excel workbook with a list of the classes: its bytes, or written to a file.

        >>> study.next(2).to_xlsx("batch.xlsx")

        All texts are cells of text, and no formulas. Raises ChoiceError without openpyxl
        (`pip install 'activetest[xlsx]'`), and for an id that no cell can hold.
        """
        if path is not None:
            self._save(path, "xlsx", force=force)
            return None
        return self.encode("xlsx")

    def to(self, format: str) -> str:
        """The batch as text: in one of BATCH_FORMATS but xlsx.

        >>> study.next(2).to("csv").splitlines()[1]
        'digit-1754,'
        """
        if format in BINARY_FORMATS:
            raise ChoiceError(f"{format} is no text", "write it to a file: `study.next(path=path)`")
        return self.encode(format).decode()

    def encode(self, format: str) -> bytes:
        """The batch as the content of a file: in one of BATCH_FORMATS.

        >>> study.next(2).encode("csv").splitlines()[0]
        b'id,label'
        """
        from activetest import catalog
        from activetest.labels.files import write_csv

        if format == "csv":
            columns = (*self.columns, *((ID, ORDER) if self.for_tools else ()))
            cells = (self._write_cells(row, columns) for row in self._list_rows())
            return write_csv([map(neutralise_cell, columns), *cells]).encode()
        if format == "jsonl":
            return "".join(_write_json(row) + "\n" for row in self._list_rows()).encode()
        orders = self._list_orders()
        classes = self.study.schema.classes if self.study else ()
        tasks = catalog.load("formats", format)
        written: bytes = tasks.write_tasks(self.rows, self.columns, orders=orders, classes=classes)
        return written

    def summary(self) -> str:
        """One line about this batch.

        >>> study.next(2).summary()
        'round 4: 2 items drawn'
        """
        count = f"{len(self.rows)} item" + "s" * (len(self.rows) != 1)
        if not self.rows:
            return "nothing is left to draw: every item of the pool is drawn or labelled"
        if self.again:
            return f"{count} with labels, for somebody else to label again (see the column again)"
        if self.repeated:
            verb = "chooses" if self.deterministic else "draws"
            ignored = ""
            if self.requested not in (None, len(self.rows)):
                were = "was" if self.requested == 1 else "were"
                ignored = f", so {self.requested:,} new {'one' if self.requested == 1 else 'ones'} "
                ignored += f"{were} not {'chosen' if self.deterministic else 'drawn'}"
            return f"{count} still waiting for labels{ignored} (`new=True` {verb} others)"
        how = "with the largest scores" if self.deterministic else "drawn"
        short = self.requested is not None and len(self.rows) < self.requested
        end = f" (only {count} {'was' if len(self.rows) == 1 else 'were'} left)" * short
        return f"round {self.round}: {count} {how}{end}"

    def to_frame(self, kind: str = "pandas") -> Any:
        """A frame with a row per item: id, label (empty), and the columns to show.

        >>> study.next(2, show="ink").to_frame("pyarrow").column_names
        ['id', 'label', 'ink']

        kind  "pandas", "polars" or "pyarrow"

        Raises ChoiceError for another kind, and where its package is not installed.
        """
        from activetest.pool.frames import write_frame

        columns = {name: [row[name] for row in self.rows] for name in self.columns}
        columns["label"] = [label or None for label in columns["label"]]
        return write_frame(columns, kind, types={"id": str, "label": str})

    def _repr_html_(self) -> str:
        """The items, for notebooks."""
        from activetest.render.notebook import html

        return html.batch(self.rows, self.columns, self.summary())

    def _list_orders(self) -> tuple[int, ...]:
        """The place of each item in the order of drawing; without draws, in this batch."""
        return self.orders or tuple(range(1, len(self.rows) + 1))

    def _list_rows(self) -> list[dict[str, Any]]:
        """The rows, with the keys for tools where these are asked for."""
        if not self.for_tools:
            return self.rows
        pairs = zip(self.rows, self._list_orders(), strict=True)
        return [row | {ID: row["id"], ORDER: order} for row, order in pairs]

    def _write_cells(self, row: dict[str, Any], columns: Sequence[str]) -> Iterator[Any]:
        """The cells of a row: texts that no spreadsheet runs; ids as they are, for label tools."""
        for name in columns:
            value = row.get(name, "")
            shown = isinstance(value, str) and (name not in ("id", ID) or self.spreadsheet)
            yield neutralise_cell(value) if shown else value

    def _write(self, format: str, path: str | Path | None, *, force: bool) -> str | None:
        """The batch as text, or None once it is written to a file."""
        if path is None:
            return self.to(format)
        self._save(path, format, force=force)
        return None

    def _save(self, path: str | Path, format: str, *, force: bool) -> None:
        from activetest.study.next import save_batch

        save_batch(self.study, path, format, lambda: self, force=force)


@dataclass(frozen=True, repr=False)
class Report(nouns.Report):
    """Everything that is known about the model now.

    estimates, gates, notes, counts, assessment and the other fields are those of
    activetest.nouns.report.Report.

    folder  of the study, no file of which is written over by `save`
    """

    folder: Path | None = field(default=None, compare=False)

    @property
    def headline(self) -> EstimateRow:
        """The estimate to read first.

        >>> headline = study.report().headline
        >>> headline.metric, headline.n_labeled
        ('error', 60)
        """
        return next(row for row in self.estimates if row.headline)

    @property
    def sentence(self) -> str:
        """The headline as a sentence.

        >>> study.report().sentence
        'The model is wrong on 6.4 % of items (95 % confidence: 3.5 % to 14.1 %).'
        """
        from activetest.render import text

        return text.sentence(self)

    @property
    def passed(self) -> bool | None:
        """Whether every gate passed: False if one failed or is undecided, None without gates.

        >>> study.report(require="error<=0.2").passed
        True
        """
        return all(gate.verdict == PASS for gate in self.gates) if self.gates else None

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 1 if a gate failed, else 3 if one is undecided, else 0.

        >>> study.report(require="error<=0.06").exit_code
        3
        """
        return exit_code(self.gates)

    def to_frame(self, kind: str = "pandas") -> Any:
        """A frame with a row per estimate; its columns are the keys of the JSON document.

        >>> study.report().to_frame("pyarrow").column("group").to_pylist()[-3:]
        ['ink=little', 'ink=much', 'ink=some']

        kind  "pandas", "polars" or "pyarrow"

        A group is the text column=value. Raises ChoiceError for another kind, and where its package
        is not installed.
        """
        from activetest.pool.frames import write_frame
        from activetest.render.notebook.columns import list_estimates

        columns, types = list_estimates(self)
        return write_frame(columns, kind, types=types)

    def to_json(self) -> str:
        """The whole report as a JSON document.

        >>> import json
        >>> json.loads(study.report().to_json())["counts"]["labeled"]
        60
        """
        from activetest.render import json

        return json.render(self)

    def to_markdown(self, *, verbose: bool = False) -> str:
        """The report for a pull request or a job summary; all estimates and notes if verbose.

        >>> print(study.report().to_markdown().splitlines()[0])
        ## error of digits.parquet
        """
        from activetest.render import markdown

        return markdown.render(self, verbose=verbose)

    def to_html(self) -> WholePage:
        """The report as a page: what `save` writes to report.html.

        >>> page = study.report(details=True).to_html()
        >>> page
        <WholePage: HTML of ... characters>

        A notebook shows it in a frame. Raises ChoiceError for a report without details.
        """
        from activetest.render import html

        if self.details is None:
            raise ChoiceError(
                "a page shows details, and this report has none", "`study.report(details=True)`"
            )
        return WholePage(html.render(self))

    def plot(self, metric: str | None = None) -> Picture:
        """A metric with its interval, of all items and of each group, as a picture.

        >>> study.report().plot()
        <Picture: SVG of ... characters>

        metric  as reports name it; default: the headline's

        A notebook draws it. Raises ChoiceError for a metric that the report does not show.
        """
        from activetest.render.plots import dots

        return Picture(dots.draw_metric(self, metric))

    def save(
        self,
        path: str | Path | Sequence[str | Path],
        *,
        force: bool = False,
        verbose: bool = False,
        more: str | None = None,
    ) -> None:
        """Write the report to a file, or to several; the ending says the format.

        >>> study.report(require="error<=0.2").save(["report.json", "junit.xml", "summary.md"])

        .json, .md and .txt, and .xml for the gates as JUnit. All files are written, or none. A
        file there is replaced where it is an earlier report in the same format, and with `force`
        whatever it is, but never a file of the study or its pool.

        path     of a file, or several
        force    replace files that are no earlier reports
        verbose  all estimates and notes in Markdown and text; the other formats have all of them
        more     what Markdown and text say about how to see the rest

        Raises ChoiceError for another ending, and for JUnit of a report without gates;
        StorageError for a file that may not or cannot be written.
        """
        from activetest.nouns.arguments import read_flag, read_paths
        from activetest.render.files.documents import find_files
        from activetest.study.report_files import save_report

        extent: dict[str, Any] = {"verbose": verbose} | ({} if more is None else {"more": more})
        files, force = find_files(read_paths("path", path)), read_flag("force", force)
        save_report(self, files, self.folder, force=force, **extent)

    def __str__(self) -> str:
        """The report as text, as wide as the terminal."""
        from activetest.render import text

        return text.render(self)

    def __repr__(self) -> str:
        """One line."""
        return f"<Report of {self.counts.labeled:,} labels: {self.sentence}>"

    def _repr_html_(self) -> str:
        """The report, for notebooks."""
        from activetest.render.notebook import html

        return html.render(self)


class Status(NamedTuple):
    """Where a study stands.

    counts    items drawn, labelled, pending, declined and supplied
    sentence  what `next` would do
    """

    counts: Counts
    sentence: str

    def __str__(self) -> str:
        """The counts and the sentence as text."""
        from activetest.render import text

        return text.status(self.counts, self.sentence)

    def __repr__(self) -> str:
        """One line."""
        labels = f"{self.counts.labeled:,} labelled, {self.counts.pending:,} pending"
        return f"<Status: {labels}; {self.sentence}>"

    def _repr_html_(self) -> str:
        """The counts and the sentence, for notebooks."""
        from activetest.render.notebook import html

        return html.status(self.counts, self.sentence)


def _write_json(row: dict[str, Any]) -> str:
    """A row as JSON, with escapes for what a terminal would obey and what UTF-8 cannot hold."""
    text = json.dumps(row, ensure_ascii=False, default=str)
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _describe_draws(choices: Choices) -> str:
    """Objective of draws, and the question about groups, in one line."""
    from activetest.sampling.question import (
        describe_objective,
        find_fact,
        find_question,
        usual_floor,
    )

    objective = describe_objective(choices)
    verb = "picks" if choices.selection == Selection.TOP else "draws"
    line = f"{verb}: {choices.acquisition} for {objective}, surrogate {choices.surrogate}"
    if not choices.question and choices.floor != usual_floor(choices.acquisition, choices.aims):
        line += f", floor {choices.floor:g}"
    line += "".join(f", {words}" for words in _describe_unusual(choices))
    if question := find_question(choices):
        settings = question.describe_settings(choices)
        parts = (question.describe(choices), settings, f"floor {choices.floor:g}")
        between = find_fact(choices.question, "SEPARATOR") or ", "
        line += f"; question: {between.join(filter(None, parts))}"
        if choices.also:
            line += f"; groups are judged by {question.name_judged(choices)} alone"
    return line


def _describe_aim(
    choices: Choices, rows: int, looks: "LookPlan | None", *, priced: bool
) -> Iterator[str]:
    """Intervals, their level and the budget, where they are not the defaults, and looks; by line.

    rows   items of the pool
    """
    sequential = choices.interval == Interval.SEQUENTIAL
    parts = [choices.interval] * (choices.interval != Choices.interval and not sequential)
    parts += [f"level {choices.level}"] * (choices.level != Choices.level)
    if parts:
        yield f"intervals: {', '.join(parts)}"
    if choices.declined == Declined.IGNORE:
        yield "declined items: ignored, numbers are about items that can be answered"
    if choices.budget is not None:
        unit = "for labels" if priced else f"label{'s' * (choices.budget != 1)}"
        more = f" (the pool has {rows:,} items)" * (not priced and choices.budget > rows)
        yield f"budget: {choices.budget:,} {unit}{more}"
    if looks:
        yield _describe_looks(looks, rows)


def _describe_looks(plan: "LookPlan", rows: int) -> str:
    """When sequential gates are decided: at the latest, when every item that counts is drawn.

    rows   items of the pool
    """
    count = len(plan.due)
    looks = "one look" if count == 1 else f"{count} looks, the last"
    draws = f"{plan.last:,} draw{'s' * (plan.last != 1)}"
    items = "of the pool" if plan.size == rows else "that can be drawn"
    everything = f" (every item {items}, so its value is exact)" * plan.is_exact(plan.last)
    spending = f", spending {plan.spending}" * (plan.spending != Choices.spending and count > 1)
    return f"gates: sequential, {looks} after {draws}{everything}{spending}"


def _describe_unusual(choices: Choices) -> Iterator[str]:
    """Choices about draws that are not the defaults, in words."""
    if choices.augment == Augmentation.AGREEMENT:
        yield "augmented by agreement"
    elif choices.augment == Augmentation.NONE:
        yield "not augmented"
    if choices.refit == Refit.DOUBLING:
        yield "refit doubling"
    elif choices.refit == Refit.NEVER:
        yield "never learning from labels"
    elif choices.refit != Refit.EVERY:
        yield f"refit after {choices.refit} labels"
    if choices.selection == Selection.TOP:
        yield "the top scores, without probabilities"
    if choices.floor_rule == FloorRule.CLIP:
        yield "scores clipped at the floor"
    if choices.power != 1:
        yield f"scores to the power {choices.power:g}"
