"""The help of a command: options in sections, with the values they take, defaults and examples."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from keyword import iskeyword
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from activetest import __version__
from activetest.cli import streams
from activetest.errors import ChoiceError
from activetest.nouns.name_lists import join_names

# Wider lines are hard to read, whatever the terminal.
WIDTH = 100
_OTHERS = "Options"
_SEVERAL = "Options with ,... take several values: separated by commas, or given again."
_COLUMN = 22
ALL = "--help-all"
VERSION = "--version"
# The family of the catalogue whose methods an option names, where it is no declared choice.
_FAMILIES = {"estimator": "estimators", "metric": "metrics"}
# Names of what commands show in an output format, where they are not the commands' own.
_SHOWN = {"inspect": "inspection", "simulate": "simulation"}
# Kinds of numbers as the parser calls them, and how its older versions refuse other text.
_NUMBERS = {"int": "whole number", "integer": "whole number", "float": "number"}
_NOT_A_NUMBER = re.compile(
    r"(?P<quote>['\"])(?P<value>.*)(?P=quote) is not a valid (?P<kind>int|integer|float)\b",
    re.DOTALL,
)


class Command(TyperCommand):
    """A command whose help is made here."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options by section."""
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, one a line."""
        _write_examples(self, formatter)


# The commands and what they do: a command's own file is imported only when the command is used.
COMMANDS = {
    "inspect": "Say what is in a file, which metrics it allows, and the init line to type.",
    "plan": "Say what labels will buy: intervals, and when gates are decided.",
    "init": "Look at a pool, and create its study or change the study's choices.",
    "import": "Create a study from a log of draws made elsewhere.",
    "next": "Show the pending batch, or draw the next items to label.",
    "label": "Label the pending batch in the terminal, item by item.",
    "ingest": "Read labels into the study: all rows of a file, or none.",
    "add": "Add a further model: every label of the study serves it, too.",
    "extend": "Extend the population by further items: every label keeps counting.",
    "report": "Estimate how good the model is, with intervals, and decide gates.",
    "status": "Show where the study stands, and what next would do.",
    "verify": "Check that everything stored is as it was written.",
    "export": "Print the log of draws, the surface or a curve, as CSV.",
    "simulate": "Replay strategies on a pool whose labels are all known.",
    "demo": "Run the whole loop on sample data, in a temporary study.",
    "help": "Show a page of the documentation, or list the pages.",
}


class Group(TyperGroup):
    """The program itself: its commands, and a hint for a mistyped one."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or None."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands, then the options."""
        with formatter.section("Commands"):
            _write_rows(formatter, COMMANDS.items(), width=max(map(len, COMMANDS)) + 2)
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, one a line."""
        _write_examples(self, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the line. Raises ChoiceError, with the nearest name, for no command.

        A mistyped command and --version need no parser of values, which is slow to import.
        """
        if args[:1] == [VERSION] and not ctx.resilient_parsing:
            streams.write(f"activetest {__version__}\n")
            ctx.exit()
        known, name = self.list_commands(ctx), next((each for each in args if each != "--"), "")
        if name and name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            from activetest import catalog

            raise ChoiceError(f"No such command {name!r}", catalog.nearest(name, known))
        return super().parse_args(ctx, args)


@cache
def load_command(name: str) -> Any:
    """The command that activetest/cli/NAME.py declares: the function run, and EXAMPLES.

    NAME_.py where the name is a word of Python.
    """
    module = import_module(f"activetest.cli.{name}{'_' * iskeyword(name)}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=Command, epilog="\n".join(module.EXAMPLES))(module.run)
    return typer.main.get_command(app)


def _find_commands(context: Any, flag: str) -> list[str]:
    """The other commands that have this option."""
    if (above := context.parent) is None:
        return []
    names = [each for each in above.command.list_commands(above) if each != context.command.name]
    found = {each: above.command.get_command(above, each) for each in names}
    return [
        each
        for each, command in found.items()
        if any(flag in parameter.opts for parameter in command.params)
    ]


def explain_usage(error: Any) -> tuple[str, str]:
    """The problem and the hint of what the parser refuses."""
    command = error.ctx.command_path if error.ctx else "activetest"
    see = f"see {command} --help"
    if name := getattr(error, "option_name", None) if hasattr(error, "possibilities") else None:
        import difflib

        known = [flag for each in error.ctx.command.get_params(error.ctx) for flag in each.opts]
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? {see}" if close else see
        if elsewhere := _find_commands(error.ctx, name):
            hint = f"{name} is an option of {join_names(elsewhere)}; {see}"
        return f"No such option: {name}", hint
    if problem := _explain_number(error):
        return problem, see
    return error.format_message(), see


def _explain_number(error: Any) -> str:
    """The problem of a value that is no number, or too small; empty for other mistakes.

    Versions of the parser word it differently: some chain an error with its details, others say it
    in their message alone.
    """
    parameter = getattr(error, "param", None)
    if parameter is None or parameter.param_type_name != "option":
        return ""
    flag = max(parameter.opts, key=len)
    if errors := getattr(error.__cause__, "errors", None):
        detail = errors()[0]
        if detail["type"] == "greater_than_equal":
            return f"{flag} is {detail['input']}, and must be {detail['ctx']['ge']} or more"
        value, kind = detail["input"], detail["type"].split("_")[0]
    else:
        found = _NOT_A_NUMBER.match(error.message)
        if not found:
            return ""
        value, kind = found["value"], found["kind"]
    return f"{flag} is {value!r}, not a {_NUMBERS[kind]}" if kind in _NUMBERS else ""


def list_needed(command: Any) -> list[str]:
    """Of a command with many options those that most people need, in their order."""
    ranks = {
        _name(" ".join(each.opts)): getattr(getattr(each, "rich_help_panel", None), "rank", 0)
        for each in command.params
        if each.param_type_name == "option"
    }
    return sorted(filter(ranks.__getitem__, ranks), key=ranks.__getitem__)


def _write_options(command: Any, context: Any, formatter: Any) -> None:
    from activetest.nouns.declarations import Section

    sections: dict[str, list[tuple[str, str]]] = {}
    arguments = []
    for parameter in command.get_params(context):
        if parameter.param_type_name == "argument":
            arguments.append((parameter.metavar or parameter.name.upper(), parameter.help or ""))
        elif ALL not in parameter.opts and not getattr(parameter, "hidden", False):
            title = getattr(parameter, "rich_help_panel", None) or _OTHERS
            sections.setdefault(title, []).append((_flags(parameter), _explain(parameter, context)))
    if arguments:
        with formatter.section("Arguments"):
            _write_rows(formatter, arguments)
    titles = [section.value.capitalize() for section in Section]
    titles += [each for each in sections if each not in titles]
    needed = list_needed(command)
    if needed and ALL not in context.meta:
        sections = _write_short(formatter, sections, titles, needed, context)
    else:
        for title in (each for each in titles if each in sections):
            with formatter.section(title):
                _write_rows(formatter, sections[title])
    if any(flags.endswith(",...") for rows in sections.values() for flags, _ in rows):
        formatter.write_paragraph()
        formatter.write(f"{_SEVERAL}\n")


def _write_short(
    formatter: Any,
    sections: Mapping[str, Sequence[tuple[str, str]]],
    titles: Sequence[str],
    needed: Sequence[str],
    context: Any,
) -> dict[str, list[tuple[str, str]]]:
    """The options that most people need, and the names of the others by topic; what is explained.

    sections  {title: (flags, meaning) of its options}
    """
    rows = {_name(flags): (flags, text) for each in sections.values() for flags, text in each}
    shown = [rows[name] for name in needed]
    with formatter.section("Options that most people need"):
        _write_rows(formatter, shown)
    others = [
        (
            title,
            ", ".join(name for flags, _ in sections[title] if (name := _name(flags)) not in needed),
        )
        for title in titles
        if title in sections
    ]
    with formatter.section(f"Further options, which {context.command_path} {ALL} explains"):
        _write_rows(formatter, [each for each in others if each[1]], width=12)
    return {"": shown}


def _name(flags: str) -> str:
    """The long spelling of an option, of its flags as --help shows them."""
    return next(each for each in flags.replace(",", " ").split() if each.startswith("--"))


def explain_all(context: typer.Context, value: bool) -> None:
    """Print the help with all options, as --help does of commands that have few."""
    if value and not context.resilient_parsing:
        context.meta[ALL] = True
        typer.echo(context.get_help(), color=context.color)
        raise typer.Exit


def _write_rows(formatter: Any, rows: Iterable[tuple[str, str]], width: int = _COLUMN) -> None:
    """Two columns, the first of this width; names are never broken at their hyphens."""
    indent = " " * formatter.current_indent
    below = indent + " " * width
    for first, text in rows:
        lines = textwrap.wrap(
            text, max(formatter.width - len(below), 20), break_on_hyphens=False
        ) or [""]
        if len(first) + 2 > width:
            formatter.write(f"{indent}{first}\n")
            start = below
        else:
            start = f"{indent}{first:<{width}}"
        formatter.write(f"{start}{lines[0]}".rstrip() + "\n")
        formatter.write("".join(f"{below}{line}\n" for line in lines[1:]))


def _write_examples(command: Any, formatter: Any) -> None:
    if command.epilog:
        examples = command.epilog.splitlines()
        with formatter.section("Example" if len(examples) == 1 else "Examples"):
            for example in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def _flags(parameter: Any) -> str:
    """The option and what stands for its value, as -o, --output FILE."""
    flags = sorted(parameter.opts, key=len)
    value = "" if getattr(parameter, "is_flag", False) else parameter.metavar or "TEXT"
    return " ".join(filter(None, [", ".join(flags), value]))


def _explain(parameter: Any, context: Any) -> str:
    """The meaning of an option, the methods it may name, and its default."""
    parts = [parameter.help or ""]
    family = getattr(getattr(parameter, "rich_help_panel", None), "family", "")
    family = _FAMILIES.get(parameter.name, family)
    if family and family != "columns":
        from activetest import catalog

        known = catalog.usable_names(family, simulated=context.command.name == "simulate")
        parts.append(f"One of {', '.join(known)}.")
    if parameter.metavar == "FORMAT":
        from activetest.cli import options

        shown = _SHOWN.get(context.command.name, context.command.name)
        parts.append(f"One of {', '.join(options.list_formats(shown))}.")
    if default := _default(parameter):
        parts.append(f"[default: {default}]")
    return " ".join(parts)


def _default(parameter: Any) -> str:
    """The default in words; empty where there is none to speak of."""
    stated = getattr(parameter, "show_default", None)
    if isinstance(stated, str):
        return stated
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    return str(default) if plain else ""
