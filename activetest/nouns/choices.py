"""Choices of a user, declared once: meaning, option, values, default and rule of each choice.

From these declarations come the options of `init` and `simulate`, their help, the checks of
`study.toml`, and the table of options in the documentation. To add a choice, add a field here, or
to `choices.py` of the wing that it serves.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from activetest import wings
from activetest.nouns.declarations import (
    Count,
    Declaration,
    Kind,
    Name,
    Names,
    Section,
    Simulated,
    declare,
    declared,
    derive,
)
from activetest.nouns.records import LARGEST, Rule, list_names
from activetest.nouns.written_numbers import DECIMALS

T = TypeVar("T")


class Task(StrEnum):
    """Kind of the model's predictions."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Scale(StrEnum):
    """How outputs say probabilities, where they are no plain ones."""

    LOGITS = "logits"
    LOG_PROBABILITIES = "log-probabilities"
    CONFIDENCE = "confidence"


# In `draw_for`, the differences of all models of a study to its first one.
DIFFERENCE = "difference"
# Takes a question away again; a study without a question stores none.
NO_QUESTION = "none"


class Selection(StrEnum):
    """How scores become items."""

    DRAW = "draw"
    TOP = "top"


class FloorRule(StrEnum):
    """How the floor keeps items of low scores likely."""

    MIX = "mix"
    CLIP = "clip"


class Interval(StrEnum):
    """Guarantee of an interval, or of a gate.

    Draws serve all but the last. Between sequential looks the intervals of reports are fixed ones.
    """

    FIXED = "fixed"
    ANYTIME = "anytime"
    SEQUENTIAL = "sequential"
    POSTERIOR = "posterior"


# More looks spend their error on times that hardly differ.
MOST_LOOKS = 100


class Spending(StrEnum):
    """How the error of a sequential gate is spent over its looks."""

    CUBIC = "cubic"
    POCOCK = "pocock"


class AnnotatorMethod(StrEnum):
    """How several answers to one item become its label."""

    MAJORITY = "majority"
    DAWID_SKENE = "dawid-skene"


class Declined(StrEnum):
    """Treatment of items that were declined."""

    WORST = "worst"
    IGNORE = "ignore"


class Augmentation(StrEnum):
    """Information about items without a label that surrogates learn from the model."""

    OUTPUTS = "outputs"
    AGREEMENT = "agreement"
    NONE = "none"


class Refit(StrEnum):
    """When the surrogate learns again; a whole number of new labels is possible too."""

    EVERY = "every"
    DOUBLING = "doubling"
    NEVER = "never"


# Rules of values of choices. A text of more digits than that is no number to Python.
_MOST_DIGITS = 18
ColumnNames = Annotated[tuple[str, ...], Rule("it must be a list of column names")]
LookCount = Annotated[
    int,
    Rule(
        f"it must be a whole number from 1 to {MOST_LOOKS}", range(1, MOST_LOOKS + 1).__contains__
    ),
]
Share = Annotated[float, Rule("it must be a number from 0 to 1", lambda value: 0 <= value <= 1)]
Level = Annotated[float, Rule("it must be a number between 0 and 1", lambda value: 0 < value < 1)]
Amount = Annotated[
    float,
    Rule(
        "it must be a number above 0; without a budget, leave it out",
        lambda value: 0 < value < LARGEST,
    ),
]
# Beyond this power, those of small scores would be lost.
Power = Annotated[
    float, Rule("it must be a number above 0, at most 16", lambda value: 0 < value <= 16)
]
Square = Annotated[
    tuple[tuple[float, ...], ...],
    Rule(
        "it must be a square of numbers",
        lambda value: all(
            len(row) == len(value) and not any(LARGEST <= abs(each) < math.inf for each in row)
            for row in value
        ),
    ),
]
Schedule = Annotated[
    str,
    Rule(
        "it must be every, doubling, never or a whole number of labels",
        lambda value: (
            value in tuple(Refit)
            or (
                value.isascii()
                and value.isdigit()
                and len(value) <= _MOST_DIGITS
                and int(value) > 0
            )
        ),
    ),
]


def option(name: str) -> str:
    """The option of a choice, as --prior-strength."""
    return DECLARATIONS[name].flag or f"--{name.replace('_', '-')}"


def list_declarations(*, simulated: bool = False) -> dict[str, Declaration]:
    """{name: declaration} of the choices that studies, or `simulate`, take."""
    return {
        name: declaration
        for name, declaration in DECLARATIONS.items()
        if not simulated or declaration.simulated != Simulated.NO
    }


def list_columns() -> dict[str, Declaration]:
    """{name: declaration} of the choices that say what the columns of a pool are."""
    return {each.name: DECLARATIONS[each.name] for each in fields(ColumnChoices)}


def default_words(name: str, *, simulated: bool = False) -> str:
    """The default of a choice in words, in a study or in `simulate`; empty where there is none."""
    declaration = DECLARATIONS[name]
    if simulated and declaration.simulated_default:
        return declaration.simulated_default
    if declaration.default:
        return declaration.default
    value = declaration.value
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, str | int) else ""


@dataclass(frozen=True)
class ColumnChoices:
    """The user's choices about the columns; None where they are left to convention."""

    id: str | None = declare(
        "Column of ids.", Section.DATA, metavar="COL", default="id, or else row-0, row-1 ...",
        completes="columns", rank={"init": 2, "import": 6},
    )  # fmt: skip
    outputs: tuple[str, ...] | None = declare(
        "Column or columns with the model's outputs.", Section.DATA, kind=Kind.NAMES,
        metavar="COL,...", default="found by name", completes="columns",
        rank={"init": 1, "import": 5, "simulate": 7},
    )  # fmt: skip
    features: tuple[str, ...] | None = declare(
        "Columns of features.", Section.DATA, kind=Kind.NAMES, metavar="COL,...",
        default="all other columns of numbers or lists of numbers; none for none",
        completes="columns",
    )  # fmt: skip
    groups: tuple[str, ...] = declare(
        "Column whose values are groups with estimates of their own. A*B combines two columns; "
        "predicted, confidence and confidence-decile come from the model's outputs.",
        Section.GROUPS, value=(), kind=Kind.NAMES, metavar="COL,...", flag="--group",
        default="none; predicted with a question about groups", completes="columns",
        rank={"init": 7, "import": 9},
    )  # fmt: skip
    task: str | None = declare(
        "What the model predicts.", Section.DATA, values=tuple(Task),
        default="regression if predictions are stored as floats or decimals, 0.0 and 1.0 included",
        rank={"init": 3},
    )  # fmt: skip
    positive: str | None = declare(
        "Positive class of a pool with a score.", Section.DATA, metavar="CLASS",
        default="the second class",
    )  # fmt: skip
    threshold: float = declare(
        "Score from which the positive class is predicted.", Section.DATA, value=0.5,
        kind=Kind.NUMBER, metavar="T",
    )  # fmt: skip
    classes: tuple[str, ...] | None = declare(
        "Names of the classes, in the order of the outputs.", Section.DATA, kind=Kind.NAMES,
        metavar="CLASS,...", default="from the column names, or 0, 1, 2 ...",
        rank={"init": 4, "import": 7, "simulate": 8},
    )  # fmt: skip
    weight: str | None = declare(
        "Column with the weight of each item: its traffic, survey weight or number of copies. "
        "Every metric becomes the weighted one. An empty name removes it.",
        Section.DATA, metavar="COL", default="none: all items count alike", completes="columns",
    )  # fmt: skip
    price: str | None = declare(
        "Column with the price of each item's label: draws then buy the most for the money, and "
        "the budget is money. An empty name removes it.",
        Section.DATA, metavar="COL", default="none: all labels cost alike", completes="columns",
    )  # fmt: skip
    attributes: tuple[str, ...] = declare(
        "Columns whose combinations the surface is about; each is a group column, too. A column of "
        "numbers with more than 12 values is cut into 5 bins of equal counts, age[4] into 4. "
        "An empty name removes them all.",
        Section.GROUPS, value=(), kind=Kind.NAMES, metavar="COL,...", default="none",
        completes="columns", needs="findings/surface",
    )  # fmt: skip
    judge: str | None = declare(
        "Column with a judge's verdicts, probabilities or scores, which are the outputs: what "
        "people say is the truth, and reports say how far the judge is from it. An empty name "
        "drops the judge's section of reports.",
        Section.DATA, metavar="COL", default="none", completes="columns", rank={"init": 5},
        needs="findings/judge",
    )  # fmt: skip
    feature_shape: str | None = declare(
        "Height and width of the image that the features are, row by row, as 28x28, or with its "
        "channels, 28x28x3. The surrogate ensemble looks at it with convolutions. An empty name "
        "removes it.",
        Section.DATA, metavar="HxW", default="none: features are a plain list",
        needs="surrogates/ensemble",
    )  # fmt: skip
    other_columns: tuple[str, ...] = declare(
        "Columns with other models' predictions, a class or a value for each item: surrogates take "
        "them as what these models say, and not as features. An empty name removes them all.",
        Section.DATA, value=(), kind=Kind.NAMES, metavar="COL,...", default="none",
        completes="columns",
    )  # fmt: skip
    text: tuple[str, ...] | None = declare(
        "Columns of free text, of a model that predicts classes: what they say of its answers "
        "guides the draws.",
        Section.DATA, kind=Kind.NAMES, metavar="COL,...",
        default="other columns of several words an item; none for none", completes="columns",
    )  # fmt: skip
    scale: str | None = declare(
        "How the model's outputs say probabilities, where they are no plain ones: of logits, their "
        "softmax or sigmoid is taken; a confidence is the probability of the predicted one of two "
        "classes, in a column of its own.", Section.DATA, values=tuple(Scale),
        default="probabilities as they are",
    )  # fmt: skip
    decimal: str | None = declare(
        "Decimal mark of numbers that are written as text, such as 1,234 %, where all of a column "
        "can have either.", Section.DATA, values=DECIMALS, default="the one that it must be",
    )  # fmt: skip


@dataclass(frozen=True)
class StudyChoices:
    """The user's choices about the study itself: files besides the pool, and the seed."""

    train: str | None = declare(
        "File of labelled rows with the pool's features, for surrogates that learn from features. "
        "An empty name removes it.",
        Section.DATA, metavar="FILE",
    )  # fmt: skip
    other_models: str | None = declare(
        "File with other models' outputs for the pool's items: id and surrogate_prob_* or "
        "surrogate_pred_*. An empty name removes it.",
        Section.DATA, metavar="FILE",
    )  # fmt: skip
    seed: int | None = declare(
        "Seed of all random numbers of the study; fixed after the first draw.",
        Section.SAMPLING, kind=Kind.WHOLE, metavar="N", default="a random one",
        simulated=Simulated.NO,
    )  # fmt: skip


@dataclass(frozen=True)
class Choices:
    """The user's choices for the rounds to come; a round records those that it was drawn with.

    metric    the headline, and what draws aim at
    metrics   what rounds record sums for
    groups    names of group columns, products written "A*B"; a question is about the first of them
    attributes  columns whose combinations a surface is about
    also      further metrics that draws aim at
    costs     (C, C) cost of predicting (row) for the truth (column), or None
    question  None where nothing is asked about groups

    The other fields are as declared; those that wings declare follow. Metrics are specifications:
    a name, and what stands in brackets after it.
    """

    metric: Name = declare(
        "Metric to estimate, such as recall[fraud]; items are drawn to suit it. With several, "
        "sampling targets all of them; the first is the main metric.",
        Section.AIM, required=True, kind=Kind.METRICS, metavar="METRIC,...",
        default="error; rmse for regression", simulated=Simulated.NO, completes="metrics",
        rank={"init": 6, "import": 8},
    )  # fmt: skip
    metrics: Annotated[Names, Rule("it must be a list of names", bool)] = derive()
    surrogate: Name = declare(
        "Method that predicts the missing labels.",
        Section.SAMPLING, value="auto", metavar="NAME",
        simulated=Simulated.SEVERAL, completes="surrogates", rank={"simulate": 6},
    )  # fmt: skip
    acquisition: Name = declare(
        "Method that decides which items are drawn more often.",
        Section.SAMPLING, value="optimal", metavar="NAME",
        default="optimal; thompson with a question about groups, surface-variance about a surface, "
        "top-two about the best model",
        simulated=Simulated.SEVERAL,
        simulated_default="optimal and uniform; surface-variance and uniform about a surface; "
        "top-two, non-unanimous and uniform about the best model",
        completes="acquisition", rank={"simulate": 5},
    )  # fmt: skip
    floor: Share = declare(
        "Lowest probability of any item, as a share of its probability in a random draw: from 0 "
        "to 1, where 1 draws at random.",
        Section.SAMPLING, value=0.35, kind=Kind.NUMBER, metavar="F",
        default="0.35; 0.1 for differences of models, the best model, and choices between groups "
        "or combinations",
    )  # fmt: skip
    draw_for: Names = declare(
        "Metrics that items are drawn for, where it is not those to estimate; difference stands "
        "for the differences of all models to the first one. An empty name takes it back.",
        Section.SAMPLING, value=(), kind=Kind.METRICS, metavar="METRIC,...",
        default="the metrics to estimate", simulated=Simulated.NO, completes="metrics",
    )  # fmt: skip
    level: Level = declare(
        "Confidence level of every interval.",
        Section.AIM, value=0.95, kind=Kind.NUMBER, metavar="P",
    )  # fmt: skip
    budget: Amount | None = declare(
        "Labels that you plan to buy, or the money for them where they have prices; you may buy "
        "more. A number of labels that is known before the first draw plans the looks of gates.",
        Section.AIM, kind=Kind.NUMBER, metavar="N",
        simulated=Simulated.NO, rank={"init": 8},
    )  # fmt: skip
    groups: ColumnNames = ()
    attributes: ColumnNames = ()
    also: Names = ()
    annotators: str = declare(
        "How the answers of several annotators to one item become its label.",
        Section.DATA, value=AnnotatorMethod.MAJORITY.value,
        values=tuple(AnnotatorMethod), simulated=Simulated.NO,
    )  # fmt: skip
    declined: str = declare(
        "Items that are declined: worst bounds metrics over all items, each declined one at its "
        "least and at its most, and gates pass if they do at the worse end. ignore leaves them out "
        "of metrics and gates. Fixed after the first draw.",
        Section.AIM, value=Declined.WORST.value,
        values=tuple(Declined), simulated=Simulated.NO,
    )  # fmt: skip
    interval: str = declare(
        "Intervals that draws are made for and reports show: fixed ones hold at one look, anytime "
        "ones at any number of looks. With sequential, intervals are fixed, and gates are decided "
        "at looks that are planned before the first draw.",
        Section.AIM, value=Interval.FIXED.value,
        values=(Interval.FIXED, Interval.ANYTIME, Interval.SEQUENTIAL),
        default="sequential if there is a budget of labels before the first draw, else fixed",
        simulated=Simulated.NO, rank={"init": 9},
    )  # fmt: skip
    looks: LookCount = declare(
        "Number of looks at which sequential gates are decided, in equal steps up to the last one.",
        Section.AIM, value=5, kind=Kind.WHOLE, metavar="K", simulated=Simulated.NO,
    )  # fmt: skip
    last_look: Count | None = declare(
        "Draws after which sequential gates are decided for the last time, within a budget of "
        "labels; needed where the budget is money.",
        Section.AIM, kind=Kind.WHOLE, metavar="N", default="the budget",
        simulated=Simulated.NO,
    )  # fmt: skip
    spending: str = declare(
        "How sequential gates spend their error: cubic leaves most of it to the last look, pocock "
        "gives more of it to early ones.",
        Section.AIM, value=Spending.CUBIC.value, values=tuple(Spending),
        simulated=Simulated.NO,
    )  # fmt: skip
    share_error: bool = declare(
        "Let all models that gates judge by these labels share the error: one of several bad ones "
        "passes no more often than a single one would. Fixed once a gate was asked for.",
        Section.AIM, value=False, kind=Kind.FLAG, default="an error for each model",
        simulated=Simulated.NO,
    )  # fmt: skip
    candidates: Count | None = declare(
        "Number of models, the study's first one included, that share most of the error alike with "
        "--share-error, also those that come later. Fixed after the first draw.",
        Section.AIM, kind=Kind.WHOLE, metavar="K", default="the models before the first draw",
        simulated=Simulated.NO,
    )  # fmt: skip
    costs: Square | None = declare(
        "CSV with the costs of mistakes, for the metric cost: a row for each predicted class, a "
        "column for each true class.",
        Section.AIM, metavar="FILE",
    )  # fmt: skip
    augment: str = declare(
        "What surrogates that learn from features learn beside labels: the model's outputs, which "
        "are inputs, too, unless there are training rows (outputs); predictions of items where "
        "the model is probably right (agreement); or nothing (none).",
        Section.ADVANCED, value=Augmentation.OUTPUTS.value,
        values=tuple(Augmentation),
    )  # fmt: skip
    refit: Schedule = declare(
        "When the surrogate learns again: every round, after K new labels, when there are twice as "
        "many labels as it knew, or never: then it learns once, from all that is known without "
        "labels. A surface is fitted anew as often, or with never every time, and continued in "
        "between.",
        Section.ADVANCED, value=Refit.EVERY.value,
        metavar="every|K|doubling|never",
        values=tuple(Refit),
    )  # fmt: skip
    selection: str = declare(
        "Draw items at random with known probabilities, or take the highest scores, which have no "
        "probabilities.",
        Section.ADVANCED, value=Selection.DRAW.value,
        values=tuple(Selection), simulated=Simulated.SEVERAL,
    )  # fmt: skip
    floor_rule: str = declare(
        "How the floor keeps items of low scores likely: mix blends it with all scores, clip "
        "raises probabilities below it and then scales all of them to a sum of 1, as Active "
        "Testing does with a floor of 0.2.",
        Section.ADVANCED, value=FloorRule.MIX.value,
        values=tuple(FloorRule),
    )  # fmt: skip
    power: Power = declare(
        "Power to which scores are raised before a draw, above 0 and at most 16. Above 1, high "
        "scores are drawn more often.",
        Section.ADVANCED, value=1.0, kind=Kind.NUMBER, metavar="B",
        simulated=Simulated.SEVERAL,
    )  # fmt: skip
    question: str | None = declare(
        "Question about the groups of the first group column: estimate each group, identify the "
        "worst, or compare two. surface asks about all combinations of the attributes, best which "
        "of several models is best. none drops the question.",
        Section.GROUPS, metavar="QUESTION", default="none",
        completes="questions",
    )  # fmt: skip

    @staticmethod
    def from_record(entries: Mapping[str, Any]) -> "Choices":
        """The choices that a round recorded."""
        return Choices(**list_known(fill_older(entries)))

    def of(self, record: type[T]) -> T:
        """These choices, as the wing that declares some of them in this record sees them."""
        assert isinstance(self, record)
        return self

    @property
    def aims(self) -> tuple[str, ...]:
        """Specifications of what items are drawn for; DIFFERENCE may be among them."""
        return self.draw_for or (self.metric, *self.also)

    @property
    def lowest_share(self) -> float:
        """Least probability of an item in a draw, over that in a random draw."""
        return find_lowest_share(vars(self))


if not TYPE_CHECKING:
    # With the fields that wings declare: the core cannot name them, and a wing names them by `of`.
    _RECORDS = [wing.CHOICES for wing in wings.load_each("choices")]
    Choices = dataclass(frozen=True)(
        type("Choices", (*reversed(_RECORDS), Choices), {"__doc__": Choices.__doc__})
    )


def list_known(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of choices, without those of wings that this installation lacks."""
    if wings.is_whole():
        return dict(entries)
    known = list_names(Choices)
    return {name: value for name, value in entries.items() if name in known}


def fill_older(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded choices; where nothing is said about declined items, these were left out."""
    return {"declined": Declined.IGNORE.value, **entries}


def find_lowest_share(choices: Mapping[str, Any]) -> float:
    """Least probability of an item in draws with these entries, over that in a random draw.

    Clipping adds at most the floor to the sum of all probabilities, and divides them by that sum.
    """
    floor = float(choices.get("floor", 0.0))
    clips = choices.get("floor_rule") == FloorRule.CLIP
    return floor / (1 + floor) if clips else floor


# Every choice that users make, in the order of the help.
DECLARATIONS: dict[str, Declaration] = {
    name: declaration
    for section in Section
    for name, declaration in declared(ColumnChoices, StudyChoices, Choices).items()
    if declaration.section == section
}
