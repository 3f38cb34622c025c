"""Options of the commands: those that several take, and those made from declared choices."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from typer import Argument, Option

from activetest.cli import completion, formatter
from activetest.errors import ChoiceError
from activetest.nouns.answer_fields import BETWEEN_PAIRS, FIELDS
from activetest.nouns.choices import (
    DECLARATIONS,
    Declaration,
    Kind,
    Section,
    default_words,
    list_columns,
    list_declarations,
    option,
    split_list,
)

Names = list[str] | None
_TYPES = {Kind.NUMBER: float, Kind.WHOLE: int}

HelpAll = Annotated[
    bool,
    Option(
        formatter.ALL,
        is_eager=True,
        callback=formatter.explain_all,
        help="Explain all options, and exit.",
    ),
]
Folder = Annotated[Path | None, Option("--study", metavar="DIR", help="Folder of the study.")]


def verbose(help: str = "", *, section: str = "") -> Any:
    """The option -v: signs of life where there is no terminal, and what else the help says."""
    signs = "Without a terminal, say every ten seconds what is being done."
    return Annotated[
        bool,
        Option(
            "--verbose",
            "-v",
            help=f"{help} {signs}".strip(),
            rich_help_panel=section.capitalize() or None,
        ),
    ]


def output_files(endings: str, *, section: str = "") -> Any:
    """The option -o of files that are written beside what is printed, with these endings."""
    return Annotated[
        list[str] | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help=f"Write this file as well, {endings}; may be given again.",
            rich_help_panel=section.capitalize() or None,
        ),
    ]


def pool_address(help: str = "File, folder of Parquet files, or an address.") -> Any:
    """The argument POOL."""
    return Argument(metavar="POOL", help=help)


def name_list(
    help: str, flag: str, metavar: str = "NAME,...", *, completes: str = "", section: str = ""
) -> Any:
    """An option that may be given again, and whose values may be joined by commas."""
    return Annotated[
        Names,
        Option(
            flag,
            metavar=metavar,
            help=help,
            rich_help_panel=section.capitalize() or None,
            autocompletion=_completer(completes, (), more=True),
        ),
    ]


def one_value(
    help: str,
    flag: str,
    values: Sequence[str] = (),
    *,
    metavar: str = "",
    type: Any = str | None,
    section: str = "",
    completes: str = "",
    **more: Any,
) -> Any:
    """An option with one value; of these values where there are any."""
    return Annotated[
        type,
        Option(
            flag,
            metavar=metavar or "|".join(values),
            help=help,
            rich_help_panel=section.capitalize() or None,
            autocompletion=_completer(completes, values, more=False),
            **more,
        ),
    ]


def output_format(shown: str, *, section: str = "") -> Any:
    """The option that chooses an output format of what is shown: report, status, simulation ..."""
    return Annotated[
        str,
        Option(
            "--format",
            metavar="FORMAT",
            help="Output format.",
            rich_help_panel=section.capitalize() or None,
            autocompletion=completion.complete_found(lambda: list_formats(shown)),
        ),
    ]


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


def with_choices(
    *, simulated: bool = False, columns: bool = False
) -> Callable[[Callable], Callable]:
    """Gives a command an option for every declared choice, in place of its **keyword arguments.

    simulated  only those that `simulate` takes, and as it takes them
    columns    only those that say what columns are
    """

    def decorate(command: Callable) -> Callable:
        signature = inspect.signature(command)
        own = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in signature.parameters.values()
            if each.kind != inspect.Parameter.VAR_KEYWORD
        ]
        options = inspect.Signature([*own, *_parameters(simulated, columns)])
        vars(command)["__signature__"] = options
        return command

    return decorate


def read_choices(given: Mapping[str, Any], *, simulated: bool = False) -> dict[str, Any]:
    """The declared choices that were given, as values: lists are split, numbers are numbers.

    Raises ChoiceError for text that is no number.
    """
    return {
        name: _read_list(name, value)
        if DECLARATIONS[name].takes_several(simulated=simulated)
        else value
        for name, value in given.items()
        if value is not None and value != []
    }


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


# What stands for which class: a file, or pairs.
LabelMap = Annotated[
    str | None,
    Option(
        "--map",
        metavar="FILE",
        help="Classes that labels stand for: CSV with the columns from,to, or pairs such as "
        "OK=0,fraud=1.",
    ),
]


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


def drop_missing(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were given."""
    return {name: value for name, value in values.items() if value is not None}


def write_table(*, simulated: bool = False) -> str:
    """The declared options as a Markdown table, for the documentation."""
    lines = ["| option | meaning | values | default |", "|---|---|---|---|"]
    for name, declaration in list_declarations(simulated=simulated).items():
        metavar = "" if declaration.values else f" {declaration.metavar}"
        values = ", ".join(f"`{value}`" for value in declaration.values)
        meaning = declaration.meaning.replace("*", "\\*")
        default = default_words(name, simulated=simulated)
        lines.append(f"| `{option(name)}{metavar}` | {meaning} | {values} | {default} |")
    return "\n".join(lines) + "\n"


def _parameters(simulated: bool, columns: bool) -> list[inspect.Parameter]:
    """The parameters of a command that stand for the declared choices."""
    found = []
    declared = list_columns() if columns else list_declarations(simulated=simulated)
    for name, declaration in declared.items():
        several = declaration.takes_several(simulated=simulated)
        option_info = Option(
            option(name),
            metavar=_metavar(declaration, several),
            help=declaration.meaning,
            rich_help_panel=_title(declaration.section),
            show_default=default_words(name, simulated=simulated) or False,
            autocompletion=_completer(declaration.completes, declaration.values, more=several),
        )
        type = Names if several else _TYPES.get(declaration.kind, str) | None
        parameter = inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[type, option_info],
        )
        found.append(parameter)
    return found


def _read_list(name: str, texts: Sequence[str]) -> tuple[Any, ...]:
    kind = DECLARATIONS[name].kind
    if type := _TYPES.get(kind):
        return read_numbers(option(name), texts, type)
    return split_list(kind, texts)


def _metavar(declaration: Declaration, several: bool) -> str:
    """What stands for the value; of several values, with ,... behind it."""
    metavar = declaration.metavar or "|".join(declaration.values)
    return f"{metavar},..." if several and not metavar.endswith(",...") else metavar


def _title(section: Section) -> str:
    return section.value.capitalize()


def _completer(completes: str, values: Sequence[str], *, more: bool) -> completion.Completer | None:
    if completes == completion.COLUMNS:
        return completion.complete_columns(more=more)
    if completes:
        return completion.complete_methods(completes, more=more)
    return completion.complete_values(values, more=more) if values else None
