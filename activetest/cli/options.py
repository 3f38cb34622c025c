"""Options of the commands: those that several take, and those made from declared choices."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from typer import Argument, Context, Option

from activetest.cli import completion, formatter
from activetest.errors import ChoiceError
from activetest.nouns.answer_fields import BETWEEN_PAIRS, FIELDS
from activetest.nouns.declarations import Kind, split_list

Names = list[str] | None
_TYPES = {Kind.NUMBER: float, Kind.WHOLE: int, Kind.FLAG: bool}


class Topic(str):
    """The section of the help that an option stands in.

    rank    of the option among those that most people need, from 1; 0 of all others
    family  of the catalogue whose methods it names, or "columns"; empty for most
    """

    rank: int
    family: str

    def __new__(cls, section: str, rank: int = 0, family: str = "") -> "Topic":
        """The heading of a section."""
        found = super().__new__(cls, section.capitalize())
        found.rank, found.family = rank, family
        return found


def take(
    usage: str,
    help: str,
    type: Any = None,
    *,
    values: Sequence[str] = (),
    completes: str | Callable[[], Iterable[str]] = "",
    topic: str = "",
    rank: int = 0,
    family: str = "",
    **more: Any,
) -> Any:
    """The type of a parameter that is an option.

    usage      as the help writes it, "-o, --output FILE"; of several values "--show COL,...", which
               may be given again and joined by commas. Without a word for a value it is a switch.
    type       of the value; default: text
    values     that it may have, which stand for it in the help
    completes  what a shell completes it with: see completion.make_completer
    topic, rank, family  as of Topic
    more       as of typer.Option
    """
    *flags, last = usage.split(", ")
    words = last.split()
    metavar = " ".join(words[1:]) or "|".join(values)
    several = metavar.endswith(",...")
    usual = bool if not metavar else Names if several else str | None
    return Annotated[
        type or usual,
        Option(
            *flags,
            words[0],
            metavar=metavar or None,
            help=help,
            rich_help_panel=Topic(topic, rank, family),
            autocompletion=completion.make_completer(completes, values, more=several),
            **more,
        ),
    ]


def folder(rank: int = 0) -> Any:
    """The option --study."""
    return take("--study DIR", "Folder of the study.", Path | None, rank=rank)


Folder = folder()
HelpAll = take(
    formatter.ALL, "Explain all options, and exit.", is_eager=True, callback=formatter.explain_all
)


def verbose(help: str = "", *, topic: str = "") -> Any:
    """The option -v: signs of life where there is no terminal, and what else the help says."""
    signs = "Without a terminal, say every ten seconds what is being done."
    return take("-v, --verbose", f"{help} {signs}".strip(), topic=topic)


def engine(*, topic: str = "") -> Any:
    """The option --engine: where the passes of a command over the pool run."""
    help = "Where to compute: threads, processes, ray, or the address of a Ray cluster."
    return take("--engine ENGINE", help, topic=topic, callback=_use_engine)


def _use_engine(context: Context, address: str | None) -> str | None:
    """Passes run on the engine until the command ends. Raises ChoiceError for an unknown one."""
    if address is not None and not context.resilient_parsing:
        from activetest.system import engines

        context.with_resource(engines.using(address))
    return address


def output_files(endings: str, *, topic: str = "") -> Any:
    """The option -o of files that are written beside what is printed, with these endings."""
    help = f"Write this file as well, {endings}; may be given again."
    return take("-o, --output FILE", help, Names, topic=topic)


def pool_address(help: str = "File, folder of Parquet files, or an address.") -> Any:
    """The argument POOL."""
    return Argument(metavar="POOL", help=help)


def output_format(shown: str, *, topic: str = "") -> Any:
    """The option that chooses an output format of what is shown: report, status, simulation ..."""
    return take(
        "--format FORMAT", "Output format.", str, topic=topic, completes=lambda: list_formats(shown)
    )


def list_formats(shown: str = "report") -> tuple[str, ...]:
    """The formats that show this, the default first; a report comes in all of them."""
    from activetest import catalog

    found = (
        name
        for name in catalog.names("render")
        if shown in (catalog.fact("render", name, "SHOWS") or (shown,))
    )
    return tuple(sorted(found, key=lambda name: name != "text"))


def check_format(known: Sequence[str], format: str) -> str:
    """The format. Raises ChoiceError for one that is not known."""
    if format not in known:
        from activetest import catalog

        raise ChoiceError(f"no format is called {format!r}", catalog.nearest(format, tuple(known)))
    return format


def load_format(format: str, function: str) -> ModuleType:
    """The module of an output format that has this function: render, status or simulation.

    Raises UnknownMethod for a format that does not exist, ChoiceError for one that lacks it.
    """
    from activetest import catalog

    check_format(list_formats(), format)
    module = catalog.load("render", format)
    if not hasattr(module, function):
        raise ChoiceError(
            f"the format {format!r} shows no {'report' if function == 'render' else function}",
            f"choose from {', '.join(list_formats(function))}",
        )
    return module


def with_choices(name: str) -> Callable[[Callable], Callable]:
    """Gives a command an option for every declared choice, in place of its **keyword arguments.

    Of `simulate` only those that it takes, and as it takes them; of `inspect` only those that say
    what columns are.
    """
    from activetest import catalog
    from activetest.nouns.choices import default_words, list_columns, list_declarations, option

    simulated = name == "simulate"
    declared = list_columns() if name == "inspect" else list_declarations(simulated=simulated)
    found = []
    for each, declaration in declared.items():
        if not catalog.has(declaration.needs):
            continue
        several = declaration.takes_several(simulated=simulated)
        metavar = declaration.metavar or "|".join(declaration.values)
        metavar += ",..." if several and not metavar.endswith(",...") else ""
        annotation = take(
            f"{option(each)} {metavar}",
            declaration.meaning,
            Names if several else _TYPES.get(declaration.kind, str) | None,
            values=declaration.values,
            completes=declaration.completes,
            topic=declaration.section,
            rank=declaration.rank.get(name, 0),
            family=declaration.completes,
            show_default=default_words(each, simulated=simulated) or False,
        )
        kind = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(each, kind, default=None, annotation=annotation))

    def decorate(command: Callable) -> Callable:
        own = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in inspect.signature(command).parameters.values()
            if each.kind != inspect.Parameter.VAR_KEYWORD
        ]
        vars(command)["__signature__"] = inspect.Signature([*own, *found])
        return command

    return decorate


def read_choices(given: Mapping[str, Any], *, simulated: bool = False) -> dict[str, Any]:
    """The declared choices that were given, as values: lists are split, numbers are numbers.

    Raises ChoiceError for text that is no number.
    """
    from activetest.nouns.choices import DECLARATIONS, option

    found = {}
    for name, value in given.items():
        kind = DECLARATIONS[name].kind
        if value is None or value == []:
            continue
        if not DECLARATIONS[name].takes_several(simulated=simulated):
            found[name] = value
        elif type := _TYPES.get(kind):
            found[name] = read_numbers(option(name), value, type)
        else:
            found[name] = split_list(kind, value)
    return found


def split_names(values: Names) -> tuple[str, ...] | None:
    """Every name that was given; None without any."""
    return split_list(Kind.NAMES, values) if values else None


def split_pairs(flag: str, values: Names) -> dict[str, str]:
    """{name: value} of texts such as "id=image,label=choice". Raises ChoiceError for another.

    A value may hold commas and signs of its own: one ends only before a field with its sign.
    Annotator and status may have none.
    """
    pairs = [
        part.partition("=") for text in values or () for part in BETWEEN_PAIRS.split(text.strip())
    ]
    for name, sign, value in pairs:
        if not (name and sign and (value or name.strip() in FIELDS[2:])):
            raise ChoiceError(
                f"{flag} is {name + sign + value!r}", f"for example {flag} id=image,label=choice"
            )
    return {name.strip(): value.strip() for name, _, value in pairs}


def label_map(rank: int = 0) -> Any:
    """The option --map: what stands for which class, a file, or pairs."""
    return take(
        "--map FILE",
        "Classes that labels stand for: CSV with the columns from,to, or pairs such as "
        "OK=0,fraud=1.",
        rank=rank,
    )


MissingWords = take("--missing WORD,...", "Word that stands for no label yet, such as N/A.")
AsIs = take("--as-is", "Take labels that are no class for classes never predicted.")


def read_map(text: str | None) -> str | dict[str, str] | None:
    """The pairs of a text such as "OK=0,fraud=1"; any other text names a file, as it is.

    Raises ChoiceError for a part that is no pair.
    """
    if text is None or "=" not in text or Path(text).exists():
        return text
    pairs = [part.partition("=") for part in split_list(Kind.NAMES, [text])]
    for label, sign, name in pairs:
        if not (label and sign and name):
            raise ChoiceError(f"--map is {text!r}", "for example --map OK=0,fraud=1")
    return {label.strip(): name.strip() for label, _, name in pairs}


def split_metrics(values: Names) -> tuple[str, ...] | None:
    """Every metric that was given: commas in brackets belong to the name."""
    return split_list(Kind.METRICS, values) if values else None


def read_numbers(flag: str, texts: Iterable[str], type: Callable[[str], Any]) -> tuple[Any, ...]:
    """The numbers in texts such as "1,4". Raises ChoiceError for what is no number."""
    numbers = []
    for text in split_list(Kind.NAMES, texts):
        try:
            numbers.append(type(text))
        except ValueError:
            what = "whole number" if type is int else "number"
            raise ChoiceError(
                f"{flag} is {text!r}, not a {what}", f"for example {flag} 1,4"
            ) from None
    return tuple(numbers)


def write_table(*, simulated: bool = False) -> str:
    """The declared options as a Markdown table, for the documentation."""
    from activetest.nouns.choices import default_words, list_declarations, option

    lines = ["| option | meaning | values | default |", "|---|---|---|---|"]
    for name, declaration in list_declarations(simulated=simulated).items():
        metavar = "" if declaration.values else f" {declaration.metavar}".rstrip()
        values = ", ".join(f"`{value}`" for value in declaration.values)
        meaning = declaration.meaning.replace("*", "\\*")
        default = default_words(name, simulated=simulated)
        lines.append(f"| `{option(name)}{metavar}` | {meaning} | {values} | {default} |")
    return "\n".join(lines) + "\n"


def read_models(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, file) of each NAME=FILE. Raises ChoiceError for what is none, or a name twice."""
    names = set[str]()
    for each in given:
        name, _, file = each.partition("=")
        if not (name and file):
            raise ChoiceError(f"--model {each!r} is not NAME=FILE", "--model v2=new.parquet")
        if name in names:
            raise ChoiceError(f"--model names {name!r} twice", "give each model its own name")
        if file == "-":
            raise ChoiceError(
                f"--model {name} is to come from standard input", f"activetest add {name}=-"
            )
        names.add(name)
        yield name, file
