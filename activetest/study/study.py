"""The study as Python sees it: every verb of the loop is a method."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from activetest import catalog
from activetest.errors import ActivetestError, ChoiceError, PoolError
from activetest.nouns.arguments import read_flag, read_names
from activetest.nouns.choices import Choices
from activetest.nouns.report_settings import ReportSettings
from activetest.nouns.signature import with_settings
from activetest.study.results import Batch, Report, Setup, Status

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:
    from activetest.ledger.ledger import RetractedFile
    from activetest.nouns.plan import Plan
    from activetest.study.add import AddedModel
    from activetest.study.export import DrawLog
    from activetest.study.extend import ExtendedStudy
    from activetest.study.ingest import Ingested
    from activetest.study.labelling import LabellingSession
    from activetest.study.stored import StoredStudy
    from activetest.study.verify import Verification
    from activetest.wings.curves.study_curve import StudyCurve
    from activetest.wings.groups.choices import QuestionChoices
    from activetest.wings.surfaces.choices import SurfaceChoices
    from activetest.wings.surfaces.study_surface import StudySurface

    class AllChoices(QuestionChoices, SurfaceChoices, Choices):
        """Choices, as they are where no wing is missing."""

# Modules that are slow to import are imported by the methods that use them.


def _with_known_names(method: F) -> F:
    """Raises ChoiceError, with the nearest name, for a keyword that the method does not take."""
    code = method.__code__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    @wraps(method)
    def checked(*args: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                from activetest import catalog

                problem = f"there is no argument {name!r} of study.{method.__name__}"
                raise ChoiceError(problem, catalog.nearest(name, known))
        return method(*args, **named)

    return cast("F", checked)


class Study:
    """All data about one model: its pool, the draws from it, and every label.

    A study is stored in a folder. It is created by `Study.create`, opened by `Study.open`, and
    everything that its methods change is on disk when they return: several programs, the command
    line among them, can use one study.

    >>> study = at.Study.create("digits.parquet", "digits", seed=1)
    >>> batch = study.next(20)
    >>> print(study.ingest({id: key[id] for id in batch.ids}))
    the mapping: 20 new; 0 items pending
    >>> study.report().sentence
    'The model is wrong on 9 % of items (95 % confidence: 3 % to 28 %).'
    """

    def __init__(self, folder: Path, setup: Setup | None = None, *, damaged: bool = False) -> None:
        """The study in a folder that holds one; `Study.open` finds it."""
        self._folder = folder.absolute()
        self._stored: StoredStudy | None = None
        self._stamp: tuple[int, ...] | None = None
        if not damaged:
            self._current()
        self._setup = setup

    @classmethod
    @with_settings()
    def create(
        cls,
        pool: Any,
        folder: str | Path | None = None,
        *,
        models: Mapping[str, Any] | None = None,
        common: bool = False,
        fresh: bool = False,
        require: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> "Study":
        """Create the study of a pool, or open it with other settings.

        >>> study = at.Study.create("digits.parquet", "digits", groups="ink", seed=1)
        >>> study.choices.metric
        'error'

        Where the folder holds a study of the same pool, the settings given change for the rounds to
        come, and all draws and labels stay.

        Args:
            pool: A Parquet file, a folder of them, a file of another format, an address that
                pyarrow opens, or a frame: of pandas, Polars, or anything that speaks the Arrow C
                stream interface; or a file that is open in binary mode. A frame, and what is in
                an open file, are copied into the study.
            folder: Of the study. Default: the environment variable ACTIVETEST_STUDY, else
                `.activetest`.
            models: {name: outputs} of models that a new study begins with, as `add` takes them:
                {"v2": "v2.parquet"}. All are added, or there is no study. Of a pool without
                outputs, the first one is the study's first model.
            common: Keep only the items that all models have; the others are none of the study.
            fresh: Begin anew where an earlier call for the same pool was interrupted.
            require: Gates of its reports, as of `report`, kept in study.toml; "" takes them back.
            **settings: Named below. None leaves a setting to its default or, in a study that is
                there already, as it is. Where several names are possible, one text is one name.
                `costs` may be a mapping {predicted: {true: cost}}, and `compare` two values.

        Raises:
            PoolError: The pool or another file cannot be used.
            PoolChanged: The study in the folder is of another pool.
            ChoiceError: A setting has no meaning, or cannot change any more.
            StudyError: The folder holds something else.
            StorageError: The folder cannot be written.
        """
        from activetest.study.init import init

        setup = init(
            *(_check_pool(pool), folder, settings),
            fresh=fresh,
            models=models,
            common=common,
            require=require,
        )
        return cls(setup.folder, setup)

    @classmethod
    @with_settings()
    def from_draws(
        cls,
        pool: Any,
        draws: Any,
        folder: str | Path | None = None,
        *,
        design: str | None = None,
        draws_floor: float = 0.0,
        drawn_from: str | Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
        map: Any = None,
        missing: str | Sequence[str] = (),
        as_is: bool = False,
        **settings: Any,
    ) -> "Study":
        """Create the study of a pool from a log of draws that were made elsewhere.

        >>> log = study.export()
        >>> again = at.Study.from_draws("digits.parquet", log, "imported", seed=1)
        >>> again.status().counts.labeled
        60

        `next` continues it: later rounds are the study's own. The study is created whole or not at
        all.

        Args:
            pool: As for `create`.
            draws: A file of any format that `ingest` reads, a frame, what `export` gives, or rows:
                mappings with id and label, and the round and the probability of the draw. Rows of a
                round are in the order drawn. An empty label is still to come. A round without
                probabilities has items that were chosen, not drawn. Several rows about one item are
                answers of several annotators.
            folder: Of the study, in which there is none yet. Default: as for `create`.
            design: "sequential": drawn without replacement, one after another, each with its
                probability among the items that were left. "uniform": a simple random sample, which
                needs no probabilities and no order. Default: sequential, unless the probabilities
                look like others.
            draws_floor: Lowest probability that any item had in a draw, as a share of its
                probability in a uniform draw; 0 where it is not known. From 0.35 on, intervals may
                be narrower.
            drawn_from: Predicted classes, where only items predicted as these could be drawn.
            columns: Columns that hold the id, label, annotator, status, round or probability of a
                log that calls them otherwise: {"probability": "q"}.
            map: Class that a label stands for, as for `ingest`.
            missing: Words that stand for no label yet, such as "N/A".
            as_is: Take labels that are no class for classes that the model never predicts.
            **settings: Named below, as for `create`; those about draws hold for the rounds to come.

        Raises:
            LabelError: The log cannot be one of such draws from this pool.
            LabelConflict: An annotator has two labels for an item.
            ChoiceError: Nothing can be estimated from such a design, or a setting has no meaning.
            PoolError: The pool or another file cannot be used.
            StudyError: The folder holds a study already, or something else.
            StorageError: The folder cannot be written.
        """
        from activetest.study.imported import import_draws

        setup = import_draws(
            _check_pool(pool),
            draws,
            folder,
            settings,
            design=design,
            draws_floor=draws_floor,
            drawn_from=drawn_from,
            columns=columns,
            map=map,
            missing=missing,
            as_is=as_is,
        )
        return cls(setup.folder, setup)

    @staticmethod
    @with_settings()
    def check(
        pool: Any,
        folder: str | Path | None = None,
        *,
        models: Mapping[str, Any] | None = None,
        common: bool = False,
        require: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> Setup:
        """Check what `create` would understand and do; nothing is written.

        >>> setup = at.Study.check("digits.parquet", "digits", metric="f1")
        >>> setup.rows, setup.schema.kind, setup.choices.metric
        (1497, 'prob-columns', 'f1')

        Takes and raises what `create` does.
        """
        from activetest.study.init import init

        return init(
            *(_check_pool(pool), folder, settings),
            dry_run=True,
            models=models,
            common=common,
            require=require,
        )

    @classmethod
    def open(cls, folder: str | Path | None = None, *, damaged: bool = False) -> "Study":
        """The study in a folder.

        >>> at.Study.open("study").status().counts.labeled
        60

        Args:
            folder: Of the study, or the folder that holds its `.activetest`. Default: the
                environment variable ACTIVETEST_STUDY, else the nearest `.activetest` in the working
                directory or above.
            damaged: Open a study that cannot be read as well, for `verify` and
                `export(rescue=True)`; the other methods raise what is wrong with it.

        Raises:
            StudyError: There is no study, or it is damaged.
            ChoiceError: Its study.toml has a mistake.
        """
        from activetest.study.folder import find_study

        return cls(find_study(folder, damaged=damaged), damaged=damaged)

    @with_settings()
    def change(
        self,
        *,
        dry_run: bool = False,
        require: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> Setup:
        """Change settings for the rounds to come; draws and labels stay.

        >>> setup = study.change(metric="f1", floor=0.5)
        >>> study.choices.metric, study.choices.floor
        ('f1', 0.5)

        Args:
            dry_run: Check everything and change nothing.
            require: Gates of reports, in place of those of study.toml; "" takes them back.
            **settings: Named below. None leaves a setting as it is.

        Raises:
            ChoiceError: A setting has no meaning, or cannot change any more.
            PoolError: The pool or another file cannot be used.
            PoolChanged: The pool is not what it was.
            StorageError: The study cannot be written.
        """
        from activetest.study.init import init

        setup = init(None, self.folder, settings, dry_run=dry_run, require=require)
        if not dry_run:
            self._current()
            self._setup = setup
        return setup

    @_with_known_names
    def next(
        self,
        n: int = 10,
        *,
        new: bool = False,
        again: int | None = None,
        show: str | Sequence[str] = (),
        part: str | Sequence[str] = (),
        path: str | Path | None = None,
        format: str | None = None,
        spreadsheet: bool = False,
        force: bool = False,
    ) -> Batch:
        """The items to label next: the pending batch, or n new draws when nothing is pending.

        >>> batch = study.next(3, show="ink")
        >>> batch.ids
        ['digit-1754', 'digit-1595', 'digit-0920']

        Draws are stored with their probabilities before this returns: whoever is interrupted gets
        the same items again.

        Args:
            n: How many items to draw.
            new: Draw others although a batch is pending.
            again: Draw nothing, and list so many items that have labels and would gain most by the
                answer of another annotator: disagreements, and labels that nobody else has seen.
                The column again names who answered already. Pending items stay so.
            show: Columns of the pool that the batch shows beside the ids.
            part: Names of the parts of the population that new items are drawn from. Default: all
                of them, those first that lack draws for their sizes.
            path: A file that the batch is written to as well. It is opened before anything is
                drawn, and replaced as a whole.
            format: Of the file: "csv", "jsonl", "label-studio", "argilla" or "xlsx", which needs
                openpyxl. `labelling_config` writes what the two tools need besides. Without one, it
                follows from the ending of path (.jsonl, .xlsx), and is CSV for all others; a
                CSV has id, label and the shown columns alone; with "csv" it has the columns
                activetest_id and activetest_order, too.
            spreadsheet: The CSV is for a spreadsheet: ids that it would run as formulas get an
                apostrophe in front, as shown texts always do. `ingest` takes it away.
            force: Replace the file at path also where it is no batch, or has labels that the study
                does not know; never a file of the study, its pool or another input.

        Raises:
            ChoiceError: n is below one, a column cannot be shown, or a spreadsheet is to be JSON.
            PoolError: The pool has no such column.
            PoolChanged: The pool is not what it was.
            LabelError: The file at path has labels that the study does not know, or is no batch.
            StorageError: The file or the study cannot be written, or the file belongs to the study.
        """
        from activetest.study.next import next_items

        return next_items(
            self._current(),
            n,
            new=new,
            again=again,
            show=show,
            part=part,
            path=path,
            format=format,
            spreadsheet=spreadsheet,
            force=force,
        )

    @_with_known_names
    def labelling_config(self, format: str, *, show: str | Sequence[str] = ()) -> str:
        """How a labelling tool shows the tasks of `next`, and which classes it offers.

        >>> print(study.labelling_config("label-studio", show="ink").splitlines()[1].strip())
        <Text name="item" value="$ink"/>

        Args:
            format: "label-studio", for the labelling interface of a project, or "argilla", for
                `rg.Settings.from_json`.
            show: Columns of the pool that the tasks show.

        Raises:
            ChoiceError: The format has no configuration, or a column cannot be shown.
            PoolError: The pool has no such column.
        """
        from activetest.study.next import write_config

        return write_config(self._current(), format, show)

    @_with_known_names
    def ingest(
        self,
        labels: Any,
        *,
        replace: bool = False,
        dry_run: bool = False,
        map: Any = None,
        missing: str | Sequence[str] = (),
        as_is: bool = False,
        columns: Mapping[str, str] | None = None,
        decimal: str | None = None,
    ) -> "Ingested":
        """Add labels to the study: all of them or none. Known answers change nothing.

        >>> batch = study.next(3)
        >>> print(study.ingest({"digit-1754": 8, "digit-1595": 3}))
        the mapping: 2 new; 1 item pending

        Args:
            labels: A file, a frame, a mapping from id to label, or rows: mappings with id and
                label. Files, frames and rows may have an annotator and a status (labelled or
                declined) as well; other columns are left alone. An empty label is still to come.
                Files are CSV, JSON Lines, Excel workbooks, Parquet, Arrow, and exports of Label
                Studio, Argilla, Prodigy and doccano: the content decides.
            replace: Let labels contradict earlier ones by the same annotator.
            dry_run: Count, and change nothing.
            map: Class that a label stands for: a mapping, or the path of a CSV file with the
                columns from,to. An empty class is no label yet.
            missing: Words that stand for no label yet, such as "N/A".
            as_is: Take labels that are no class for classes that the model never predicts, also
                where none of them is a class, or where they are words such as "N/A".
            columns: Columns that hold the id, label, annotator or status of a file or a frame
                that calls them otherwise: {"id": "image", "label": "choice"}.
            decimal: Decimal mark, "." or ",", of numbers such as "1,234" where all can have
                either.

        Raises:
            LabelError: An id is not in the pool, or a label makes no sense there.
            LabelConflict: A label contradicts a known one.
        """
        from activetest.study.ingest import ingest

        return ingest(
            self._current(),
            labels,
            replace=replace,
            dry_run=dry_run,
            map=map,
            missing=missing,
            as_is=as_is,
            columns=columns,
            decimal=decimal,
        )

    @_with_known_names
    def label(
        self,
        n: int | None = None,
        *,
        show: str | Sequence[str] | None = None,
        annotator: str = "",
        again: int | None = None,
    ) -> "LabellingSession":
        """Label the pending batch item by item; each answer is on disk before the next item.

        >>> session = study.label(n=3)
        >>> while session.item is not None:
        ...     session.answer(key[session.item.id])
        >>> study.status().counts.labeled
        63

        Whoever stops goes on with the first item that has no answer yet. `ingest` is for labels
        that are there already.

        Args:
            n: How many items to draw where nothing is pending. Default: none are drawn.
            show: Columns of the pool that come with each item. Default: all columns of text, except
                ids, the model's outputs and what may reveal the label.
            annotator: Who answers.
            again: Draw nothing, and go through so many items that have labels and would gain most
                by the answer of this annotator.

        Raises:
            ChoiceError: n is below one, a column cannot be shown, or `again` lacks a name.
            PoolError: The pool has no such column.
            PoolChanged: The pool is not what it was.
        """
        from activetest.study.labelling import begin_session

        return begin_session(self._current, n, show=show, annotator=annotator, again=again)

    def undo(self) -> "RetractedFile":
        """Take back what the last `ingest` added: its source, time and number of answers.

        >>> study.undo().answers
        20
        >>> study.status().counts.labeled
        40

        Raises:
            LabelError: There is nothing to take back.
        """
        from activetest.study.ingest import undo

        return undo(self._current())

    @_with_known_names
    def add(self, name: str, file: Any, *, trained_on_labels: bool | None = None) -> "AddedModel":
        """Add a further model of the same items: every label of the study serves it, too.

        >>> import pandas as pd
        >>> frame = pd.read_parquet("digits.parquet")
        >>> frame["prob_3"], frame["prob_8"] = frame["prob_8"], frame["prob_3"]
        >>> print(study.add("swapped", frame, trained_on_labels=False))
        swapped added: all 60 labels count for it, and those to come
        items are drawn for error as before; ...

        Args:
            name: Of the model, in metrics such as `accuracy(v2)`: ASCII letters, digits, `_`, `.`
                and `-`, a letter first, and no class.
            file: Its outputs for all items of the pool: a file of any format that pools have, a
                frame, or an open file. Columns of ids and outputs are called as in the pool. They
                are copied into the study. Or columns of the pool: "pred_v2", or "prob_v2_*", where
                the star stands for the class. Or, for two classes, "model@threshold:0.8": that
                model, but the positive class (else the second one) is predicted where its
                probability is at least 0.8.
            trained_on_labels: Whether labels of this study took part in training or choosing the
                model. Then only draws after this count for it. Needed where there are labels.

        A model that the study has stays as it is: where the same outputs are given again, they are
        put back if they were missing.

        Raises:
            ChoiceError: The name cannot be that of a model, nobody said whether labels took part,
                or there is no such model, or no two classes, for a threshold.
            PoolError: The file lacks items or columns, or has outputs that cannot be right.
            StudyError: There is another model of this name.
            StorageError: The study cannot be written.
        """
        from activetest.study.add import add_model

        return add_model(self._current(), name, file, trained_on_labels=trained_on_labels)

    @_with_known_names
    def extend(self, items: Any, *, part: str | None = None) -> "ExtendedStudy":
        """Extend the population by further items, as of a new week: labels keep counting.

        Every part is a stratum with draws of its own: `report` is about all of them, and
        `report(part="week48")` about one.

        >>> import pandas as pd
        >>> frame = pd.read_parquet("digits.parquet")
        >>> frame["id"] = "new-" + frame["id"]
        >>> print(study.extend(frame, part="week48"))
        week48 added: 1,497 new items, and 2,994 in all parts

        Args:
            items: A file of any format that pools have, a frame, or an open file, with the columns
                of the pool; features may be missing. It is copied into the study. Items that the
                study has already, with the same outputs, stay in the part where they came first.
            part: Its name: ASCII letters, digits, `_`, `.` and `-`, a letter first. Default: the
                name of the file.

        Raises:
            ChoiceError: No part can have this name.
            PoolError: The file lacks columns, has no new items, or other outputs for known ones.
            StudyError: There is such a part, or the study's choices are about one pool.
            StorageError: The study cannot be written.
        """
        from activetest.study.extend import extend_study

        return extend_study(self._current(), items, part=part)

    @_with_known_names
    def retire(self, part: str) -> str:
        """Take a part out of the population: reports and draws are about the others from then on.

        Its labels stay, and surrogates learn from them. A report on it alone is still to be had.

        >>> import pandas as pd
        >>> frame = pd.read_parquet("digits.parquet")
        >>> frame["id"] = "more-" + frame["id"]
        >>> extended = study.extend(frame, part="week49")
        >>> study.retire("week49")
        'week49 retired: 1,497 items stay in the population'

        Args:
            part: Its name.

        Raises:
            ChoiceError: There is no such part.
            StudyError: It is retired already, or the only one that is left.
            StorageError: The study cannot be written.
        """
        from activetest.study.parts import retire_part

        return retire_part(self._current(), part)

    @_with_known_names
    def report(
        self,
        *,
        metrics: str | Sequence[str] | None = None,
        groups: str | Sequence[str] | None = None,
        differences: str | Sequence[str] | None = None,
        model: str | None = None,
        part: str | Sequence[str] = (),
        by: str | None = None,
        reference_part: str | None = None,
        threshold: float | None = None,
        reference: str | None = None,
        rope: float | None = None,
        require: str | Sequence[str] | None = None,
        interval: str | None = None,
        simultaneous: bool = False,
        half_width: float | None = None,
        bound: float | None = None,
        assume: str | Sequence[str] | None = None,
        estimators: str | Sequence[str] | None = None,
        population: bool = False,
        cluster: str | None = None,
        surface: bool = False,
        at: str | Mapping[str, str] | Sequence[str | Mapping[str, str]] = (),
        maps: str | Sequence[str] = (),
        plot: str | Path | Sequence[str | Path] = (),
        force: bool = False,
        details: bool = False,
    ) -> Report:
        """How good the model is, as far as the labels say, and verdicts on gates.

        >>> report = study.report(require="error<=0.2")
        >>> report.sentence
        'The model is wrong on 6.4 % of items (95 % confidence: 3.5 % to 14.1 %).'
        >>> report.passed
        True

        Args:
            metrics: The headline first, as "f1" or "recall[fraud]". Default: the study's.
            groups: Columns of groups to show. Default: all of the study.
            differences: Columns whose groups are compared with each other.
            model: The model to report on. Default: the study's first.
            part: The parts of the population to report on: names, or "last:4". Default: all that
                are not retired.
            by: "part" adds every metric in each part, and its values shrunk together.
            reference_part: A part that the newest one is compared with.
            threshold: Report as if the first model predicted the positive class from this
                probability on, for two classes. Unless it was declared before the first draw, as
                a model of the study, intervals and gates have the level with which those at all
                thresholds hold together.
            reference: A model that all others are compared with: the report has every metric of
                them, and their paired differences to it.
            rope: With a reference: models are called equal whose difference is shown to be at most
                this size.
            require: Gates, as "recall[fraud]>=0.8" or "error@region=EU<=0.1".

                For metrics, groups, differences, require, interval, bound and assume, the section
                [report] of study.toml may say another default; () asks for none.
            interval: "fixed" for one look, "anytime" for any number of them, "posterior" for what
                the surrogate believes. Default: the study's, and "anytime" for gates.
            simultaneous: All intervals of the groups of a column hold together.
            half_width: Adds how many more labels make the headline's interval this narrow.
            bound: The most that one item can cost, for anytime-valid intervals of losses.
            assume: Assumptions that intervals of the whole pool may rest on, for a rare class:
                "rate[fraud]@score<1e-4<=0.0001" says that of the items to which the model
                gives fraud a probability below 1e-4, at most one in 10,000 is fraud. Labels test
                it, and one that they refute is not used.
            estimators: Estimators, with options in brackets as in
                "alt-mas[plug-in=nothing]". Default: the doubly robust estimate and the surrogate's
                own view.
            population: Numbers are about what the pool is a sample of, future items among it, and
                not about this pool: intervals hold the pool's own sampling variance as well.
            cluster: A column of the pool, with population: the pool is a sample of its values, such
                as users, and items of one value may be alike.
            surface: Adds the metric at combinations of the study's attributes. It is there anyway,
                in short, where that is the study's question.
            at: Combinations to show of it, complete or not: "race=Black,sex=Female", or
                {attribute: value}. Several: a list.
            maps: Pairs of attributes to show a map of: "race*age".
            plot: A file for each map, .svg; without maps, one for the groups of the study's
                question and what is believed about them.
            force: Replace files of `plot` that are no earlier pictures of that kind.
            details: Adds `report.details`: what the numbers rest on, from how the headline came
                about to the log of draws.

        Raises:
            ChoiceError: The study lacks a group or an attribute, or a value makes no sense.
            PoolError: The pool has no column of clusters, or one item has none.
            UnknownMethod: There is no metric or estimator of this name.
            PoolChanged: The pool is not what it was.
        """
        from activetest.study.hindsight import open_at_threshold
        from activetest.study.report import report

        current = self._current().of_model(model)
        named = read_names("part", part)
        current = current.of_part(*named) if named else current.active
        return report(
            open_at_threshold(current, threshold),
            by=by,
            reference_part=reference_part,
            metrics=metrics,
            groups=groups,
            differences=differences,
            reference=reference,
            rope=rope,
            require=require,
            interval=interval,
            simultaneous=simultaneous,
            half_width=half_width,
            bound=bound,
            assume=assume,
            estimators=estimators,
            population=population,
            cluster=cluster,
            surface=surface,
            at=at,
            maps=maps,
            plot=plot,
            force=force,
            details=details,
        )

    @_with_known_names
    def surface(
        self, *, path: str | Path | None = None, all: bool = False, force: bool = False
    ) -> "StudySurface":
        """The metric at every combination of the study's attributes, fitted to the labels.

        >>> setup = study.change(attributes=["ink", "predicted"])
        >>> surface = study.surface()
        >>> surface
        <StudySurface: error at 30 combinations of ink, predicted, by stacked>
        >>> surface.at(ink="much").n_pool
        507

        Args:
            path: A file that all combinations are written to as well, .csv or .parquet.
            all: Write those that do not occur in the pool, too, with their predictions.
            force: Replace a file that is there, unless it is the study's.

        Raises:
            ChoiceError: The study has no attributes, its metric has no surface, or the file has
                another ending.
            NotEstimable: There is no label yet.
            PoolChanged: The pool is not what it was.
            StorageError: The file is there already, or cannot be written.
        """
        export, current = catalog.load("exports", "surface"), self._current().active
        current.check_one_part("a surface")
        found: StudySurface = export.open_surface(current, path=path, all=all, force=force)
        return found

    @_with_known_names
    def curve(
        self,
        name: str,
        *,
        simultaneous: bool = False,
        points: int | None = None,
        bins: int | str | None = None,
        path: str | Path | None = None,
        format: str | None = None,
        force: bool = False,
    ) -> "StudyCurve":
        """ROC, precision-recall or reliability as data, with an interval at every point.

        >>> study.curve("roc[8]")
        <StudyCurve: roc[8]: 101 thresholds, 60 labels, 1,497 items; each interval holds alone ...>
        >>> frame = study.curve("reliability", bins=10).to_frame()

        Args:
            name: "roc" or "precision-recall" of a class against all others, "roc[fraud]", without
                a name the positive class of a binary pool; "reliability" of the predicted class, or
                of the probability of a class, "reliability[fraud]".
            simultaneous: All intervals hold together at the study's level, and not each alone.
            points: Most thresholds, from the scores of the pool. Default: 100.
            bins: Of the reliability, as in the brackets of ece: 10, "equal-count,10". Default: 15.
            path: A file that the curve is written to as well.
            format: "csv" or "json". Default: JSON if the file ends with .json, CSV otherwise.
            force: Replace a file that is there, unless it is the study's.

        Raises:
            ChoiceError: There is no such curve or class, or the pool has no probabilities.
            PoolChanged: The pool is not what it was.
            StorageError: The file is there already, or cannot be written.
        """
        export, current = catalog.load("exports", "curve"), self._current().active
        current.check_one_part("a curve")
        found: StudyCurve = export.open_curve(
            current,
            name,
            simultaneous=simultaneous,
            points=points,
            bins=bins,
            path=path,
            format=format,
            force=force,
        )
        return found

    @_with_known_names
    def verify(self, *, contains: str | None = None) -> "Verification":
        """Check everything that is stored: the ledger and its chain, files of rounds, pool, cache.

        >>> print(study.verify().checks[0])
        ledger     ok: 3 rounds, 60 draws, 60 answers, 8 entries in the chain

        Nothing is repaired. Opens a damaged study as well: `Study.open(folder, damaged=True)`.

        Args:
            contains: A hash of the ledger's chain that was noted down earlier, or its first eight
                digits or more: whether the ledger still is that one, with more in it.

        Raises:
            ChoiceError: `contains` is no such hash.
        """
        from activetest.study.verify import verify

        return verify(self.folder, contains=contains)

    @_with_known_names
    def export(
        self, *, rescue: bool = False, path: str | Path | None = None, force: bool = False
    ) -> "DrawLog":
        """The log of draws: every draw with its probability, and every answer ever given.

        >>> study.export().summary()
        '60 draws, 60 answers that count, 0 that do not'

        Args:
            rescue: Read whatever can still be read of a damaged ledger; `problems` of the result
                say what cannot. See `Study.open(folder, damaged=True)`.
            path: A CSV file that the log is written to as well.
            force: Replace a file that is there, unless it is the study's.

        Raises:
            StudyError: The ledger is damaged; with rescue, nothing of it can be read.
            StorageError: The file is there already, or cannot be written.
        """
        from activetest.study.export import export

        return export(self.folder, rescue=rescue, path=path, force=force)

    @_with_known_names
    def plan(
        self,
        *,
        metric: str | None = None,
        half_width: float | None = None,
        require: str | Sequence[str] | None = None,
        power: float | None = None,
        budget: int | None = None,
        doubt: float = 2.0,
    ) -> "Plan":
        """The worth of labels: intervals after so many, and when gates are decided.

        >>> plan = study.plan(half_width=0.03, require="error<=0.15")
        >>> plan.n_labeled, plan.needed.low < plan.needed.high < plan.needed.random
        (60, True)

        From 30 labels of draws on the plan rests on these: its ranges hold 20 to 80 % of what may
        come. Before, it rests on the model's own confidence, and ranges are those of worlds in
        which the odds of an error are `doubt` times lower, the same or higher, and a part of the
        doubt may lie anywhere. Nothing is written.

        Args:
            metric: To plan for. Default: that of the gates, else the study's.
            half_width: Adds how many labels make the interval this narrow.
            require: Gates on this metric for the whole pool; adds how many labels decide each at
                one look, if the truth is 1, 3 or 5 points from the threshold. Default: those in
                study.toml that are about it.
            power: Probability with which they are to be decided. Default: 0.8 and 0.9.
            budget: Labels in all that can be bought. Default: that of the study.
            doubt: By which factor the odds of an error may differ from what the model's confidence
                says; 1 trusts it.

        Raises:
            ChoiceError: A value makes no sense, or gates are about something else.
            NotEstimable: Labels do not show the metric yet.
            PoolChanged: The pool is not what it was.
        """
        from activetest.study.plan import plan

        return plan(
            self._current().active,
            metric=metric,
            half_width=half_width,
            require=require,
            power=power,
            budget=budget,
            doubt=doubt,
        )

    def status(self) -> Status:
        """How many items are drawn, labelled and pending, and what `next` would do.

        >>> study.status().counts.labeled
        60
        """
        from activetest.study.status import status

        return status(self._current().active)

    @property
    def folder(self) -> Path:
        """Where the study is stored.

        >>> study.folder.name
        'study'
        """
        return self._folder

    @property
    def seed(self) -> int:
        """The seed of every random number.

        >>> study.seed
        1
        """
        return self._current().seed

    @property
    def choices(self) -> "AllChoices":
        """Choices for the rounds to come.

        >>> study.choices.groups
        ('ink',)
        """
        return cast("AllChoices", self._current().choices)

    def check_report_files(
        self, path: str | Path | Sequence[str | Path], *, force: bool = False
    ) -> tuple[str, ...]:
        """The formats of files that a report is to be saved to, before it is computed.

        >>> study.check_report_files(["report.json", "summary.md"])
        ('json', 'markdown')

        Args:
            path: Of a file, or several, as `report.save` takes them.
            force: Files that are no earlier reports may be replaced.

        Raises:
            ChoiceError: A file has another ending, or its folder does not exist.
            StorageError: A file is there already, belongs to the study, or cannot be written.
        """
        from activetest.nouns.arguments import read_paths
        from activetest.render.files.documents import find_files
        from activetest.study.report_files import check_files

        files = find_files(read_paths("path", path))
        check_files(files, self.folder, force=read_flag("force", force))
        return tuple(file.format for file in files)

    @property
    def report_settings(self) -> ReportSettings:
        """Settings of reports unless something else is named: [report] of study.toml.

        >>> study.report_settings.require
        ()
        """
        return self._current().reports

    @property
    def report_files(self) -> tuple[Path, ...]:
        """The files of [report] in study.toml, which the command line writes and Python does not.

        >>> study.report().save(study.report_files)

        Raises:
            ChoiceError: A file is elsewhere than in the folder that holds the study, or below it.
        """
        from activetest.study.report_files import locate_files

        stored = self._current()
        return locate_files(stored.reports.output, stored.folder)

    @property
    def setup(self) -> Setup:
        """The study's reading of its pool, and how it will draw.

        >>> study.setup.notices[0]
        '1,497 items, 10 classes: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9'
        """
        from activetest.study.init import describe_setup

        study = self._current()
        if self._setup is None:
            self._setup = describe_setup(study)
        return self._setup

    def __repr__(self) -> str:
        """One line: how many labels the study has, and where it is."""
        try:
            counts = self.status().counts
        except (ActivetestError, OSError) as error:
            return f"<Study in {self.folder}: {error}>"
        return (
            f"<Study in {self.folder}: {counts.n_pool:,} items, {counts.labeled:,} labelled, "
            f"{counts.pending:,} pending>"
        )

    def _repr_html_(self) -> str | None:
        """The counts and what comes next, for notebooks; None where the study cannot be read."""
        from activetest.render.notebook import html

        try:
            counts, sentence = self.status()
        except (ActivetestError, OSError):
            return None
        return html.status(counts, sentence, title=f"Study in {self.folder}")

    def _current(self) -> "StoredStudy":
        """The study as it is stored now: another program may have changed it."""
        from activetest.study.stored import StoredStudy

        # Before it is read: what changes meanwhile is seen the next time.
        stamp = _stamp(self.folder)
        if self._stored is None or stamp is None or stamp != self._stamp:
            self._stored, self._setup = StoredStudy.open(self.folder), None
            self._stamp = stamp
        return self._stored


def _stamp(folder: Path) -> tuple[int, ...] | None:
    """Stamp that changes whenever study.toml is written or ledger.db is another file.

    None where one of them is missing.
    """
    from activetest.study.folder import CONFIG, LEDGER

    try:
        config, ledger = os.stat(folder / CONFIG), os.stat(folder / LEDGER)
    except OSError:
        return None
    # Answers change what is in the ledger, which a study reads anew each time.
    return config.st_mtime_ns, config.st_size, config.st_ino, ledger.st_dev, ledger.st_ino


def _check_pool(pool: Any) -> Any:
    """The pool. Raises PoolError for None."""
    if pool is None:
        raise PoolError("None is no pool", "give a frame, or the address of a file or folder")
    return pool
