"""activetest init, as a command."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from activetest.cli import options, streams
from activetest.nouns.choices import Choices, Refit, Selection

if TYPE_CHECKING:
    from activetest.study.init import Initialised

EXAMPLES = (
    "activetest init pool.parquet --metric 'recall[fraud]' --group region",
    "activetest init --metric f1          # changes the study at hand",
)


@options.with_choices()
def init(
    pool: Annotated[
        str | None,
        options.pool_address("Parquet file or folder, CSV, JSON Lines, or an address."),
    ] = None,
    study: options.Folder = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check everything, and change nothing.")
    ] = False,
    **choices: Any,
) -> None:
    """Look at a pool, and create its study or change the study's choices.

    Says what was understood of the pool. Without POOL the choices of the study at hand change.
    """
    from activetest.study.init import init

    initialised = init(pool, study, dry_run=dry_run, **options.read_choices(choices))
    streams.write("\n".join(_describe(initialised)) + "\n")


def _describe(initialised: "Initialised") -> Iterator[str]:
    """What init found and decided, in a few lines."""
    outcomes = {
        "created": "created",
        "updated": "updated",
        "checked": "dry run: nothing written in",
    }
    yield f"{outcomes[initialised.outcome]} {initialised.folder}"
    yield from initialised.notices
    yield _describe_draws(initialised.choices)
    seed = initialised.seed
    yield f"seed: {'drawn when the study is created' if seed is None else seed}"


def _describe_draws(choices: Choices) -> str:
    """What draws aim at, and the question about groups, in one line."""
    from activetest import catalog
    from activetest.sampling.question import describe_prior, describe_question

    between_groups = catalog.fact("acquisition", choices.acquisition, "CHOOSES_GROUPS")
    aims = choices.judged if between_groups else " and ".join((choices.metric, *choices.also))
    verb = "picks" if choices.selection == Selection.TOP else "draws"
    line = f"{verb}: {choices.acquisition} for {aims}, surrogate {choices.surrogate}"
    line += "".join(f", {words}" for words in _describe_unusual(choices))
    if choices.question:
        parts = (describe_question(choices), describe_prior(choices), f"floor {choices.floor:g}")
        line += f"; question: {', '.join(filter(None, parts))}"
        if choices.also:
            line += f"; groups are judged by {choices.judged} alone"
    return line


def _describe_unusual(choices: Choices) -> Iterator[str]:
    """Choices about draws that are not the defaults, in words."""
    if choices.refit == Refit.DOUBLING:
        yield "refit doubling"
    elif choices.refit != Refit.EVERY:
        yield f"refit after {choices.refit} labels"
    if choices.selection == Selection.TOP:
        yield "the top scores, without probabilities"
    if choices.power != 1:
        yield f"scores to the power {choices.power:g}"


COMMAND = init
