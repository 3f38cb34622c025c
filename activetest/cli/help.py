"""The help of a command: options in sections, with the values they take, defaults and examples."""

import textwrap
from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from activetest.errors import ChoiceError
from activetest.nouns.choices import DECLARATIONS, Section

# Wider lines are hard to read, whatever the terminal.
WIDTH = 100
_OTHERS = "Options"
_SEVERAL = "What ends in ,... takes several values: with commas, or given again."
_COLUMN = 22
# Which family of the catalogue an option names methods of.
_FAMILIES = {"estimator": "estimators"}


class Command(TyperCommand):
    """A command whose help is made here."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options by section."""
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, one a line."""
        _write_examples(self, formatter)


class Group(TyperGroup):
    """The program itself: its commands, and a hint for a mistyped one."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands, then the options."""
        commands = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            rows = [(each.name, (each.help or "").partition("\n")[0]) for each in commands]
            _write_rows(formatter, rows, width=max(len(name) for name, _ in rows) + 2)
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, one a line."""
        _write_examples(self, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of this name. Raises ChoiceError, with the nearest name, for none."""
        name = args[0]
        known = self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            from activetest import catalog

            raise ChoiceError(f"No such command {name!r}", catalog.nearest(name, known))
        return super().resolve_command(ctx, args)


def explain_usage(error: Any) -> tuple[str, str]:
    """The problem and the hint of what the parser refuses."""
    command = error.ctx.command_path if error.ctx else "activetest"
    see = f"see {command} --help"
    if name := getattr(error, "option_name", None) if hasattr(error, "possibilities") else None:
        import difflib

        known = [flag for each in error.ctx.command.get_params(error.ctx) for flag in each.opts]
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? {see}" if close else see
        return f"No such option: {name}", hint
    return error.format_message(), see


def _write_options(command: Any, context: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    arguments = []
    for parameter in command.get_params(context):
        if parameter.param_type_name == "argument":
            arguments.append((parameter.metavar or parameter.name.upper(), parameter.help or ""))
        elif not getattr(parameter, "hidden", False):
            title = getattr(parameter, "rich_help_panel", None) or _OTHERS
            sections.setdefault(title, []).append((_flags(parameter), _explain(parameter)))
    if arguments:
        with formatter.section("Arguments"):
            _write_rows(formatter, arguments)
    titles = [section.value.capitalize() for section in Section]
    for title in [*titles, *(each for each in sections if each not in titles)]:
        if title in sections:
            with formatter.section(title):
                _write_rows(formatter, sections[title])
    if any(flags.endswith(",...") for rows in sections.values() for flags, _ in rows):
        formatter.write_paragraph()
        formatter.write(f"{_SEVERAL}\n")


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
    """The option and what stands for its value, as -o, --output FILE; without old spellings."""
    declaration = DECLARATIONS.get(parameter.name)
    old = declaration.old_flags if declaration else ()
    flags = sorted((each for each in parameter.opts if each not in old), key=len)
    return " ".join(filter(None, [", ".join(flags), _metavar(parameter)]))


def _metavar(parameter: Any) -> str:
    return "" if getattr(parameter, "is_flag", False) else parameter.metavar or "TEXT"


def _explain(parameter: Any) -> str:
    """What an option means, the methods it may name, and its default."""
    parts = [parameter.help or ""]
    declaration = DECLARATIONS.get(parameter.name)
    family = declaration.completes if declaration else ""
    family = _FAMILIES.get(parameter.name, family)
    if family and family != "columns":
        parts.append(f"One of {', '.join(_methods(family))}.")
    if default := _default(parameter):
        parts.append(f"[default: {default}]")
    return " ".join(parts)


def _methods(family: str) -> Iterable[str]:
    from activetest import catalog

    return catalog.names(family)


def _default(parameter: Any) -> str:
    """The default in words; empty where there is none to speak of."""
    stated = getattr(parameter, "show_default", None)
    if isinstance(stated, str):
        return stated
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    return str(default) if plain else ""
