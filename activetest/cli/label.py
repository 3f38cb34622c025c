"""activetest label, as a command."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from activetest.cli import interrupts, options, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError, LabelError

if TYPE_CHECKING:
    from activetest.cli.label_screen import View
    from activetest.cli.terminal import Terminal
    from activetest.study.labelling import LabellingSession

EXAMPLES = (
    "activetest label --n 20 --annotator anna",
    "activetest label --show question,answer",
)
# Of a line that is read where there is no screen.
_LONGEST_LINE = 2**16
_HELP = "\n".join(
    (
        "Each answer is saved as soon as you give it: leave whenever you like. The same command "
        "goes on with the first item that has no answer yet.",
        "",
        "Press the key of a class, or / to type its name. Where names are typed, Tab completes "
        "one, Enter takes it, and a command is a colon with its letter, as :u.",
        "",
        "skip: asks about the item again, behind the others",
        "cannot be labelled: saves that nobody can say; the item counts as declined",
        "undo: goes back one item and takes its answer back",
        "more text: the next page of a long text; b shows the page before",
        "quit: ends; nothing is lost",
        "",
        "The model's prediction is hidden, so that it does not lead you.",
    )
)


def run(
    count: options.take("-n, --n N", "Draw N items where none is pending.", int | None) = None,
    show: options.take(
        "--show COL,...",
        "Column of the pool to show; all columns of text unless you name some.",
        completes="columns",
    ) = None,
    annotator: options.take("--annotator NAME", "Who answers.", str, show_default=False) = "",
    again: options.take(
        "--again N",
        "Draw nothing: go through N labelled items that NAME should label as well.",
        int | None,
    ) = None,
    study: options.Folder = None,
) -> None:
    """Label the pending batch in the terminal, item by item."""
    from activetest.cli.terminal import can_draw
    from activetest.study.study import Study

    if again is not None and count is not None:
        raise ChoiceError("-n says how many items to draw, and --again draws none", "leave out -n")
    columns = options.split_names(show)
    session = Study.open(study).label(count, show=columns, annotator=annotator, again=again)
    if session.item is None:
        nothing = "nothing is pending; `study.label(20)` draws 20 items"
        streams.write_lines(to_commands(session.summary or nothing))
        return
    try:
        if can_draw():
            _Conversation(session).run()
        else:
            _read_lines(session)
    except KeyboardInterrupt:
        interrupts.explain(_summarise(session))
        raise
    streams.write_lines(_summarise(session))


def _summarise(session: "LabellingSession") -> str:
    """How far the batch is, and what to do next."""
    count = f"{session.answered:,} of {session.total:,} items answered"
    if session.item is None:
        return f"{count}; activetest report says how good the model is"
    skipped = f", {session.skipped:,} skipped" if session.skipped else ""
    return f"{count}{skipped}; the same command goes on"


def _describe_place(session: "LabellingSession") -> str:
    """The number of this item, and who answers."""
    parts = [f"{min(session.answered + 1, session.total):,} of {session.total:,}"]
    parts += [f"{session.skipped:,} skipped"] * bool(session.skipped)
    return "   ".join([*parts, session.annotator]).rstrip()


class _Conversation:
    """Asks about each item on the whole screen of a terminal."""

    def __init__(self, session: "LabellingSession") -> None:
        from activetest.cli import label_screen

        self._screen = label_screen
        self._session = session
        self._keys = label_screen.assign_keys(session.classes)
        self._commands = label_screen.find_command_keys(self._keys)
        self._page = self._pages = 0
        self._typed = self._start()
        self._message = ""
        self._new_class = ""
        self._styled = "NO_COLOR" not in os.environ

    def run(self) -> None:
        """Until every item has an answer, or somebody leaves."""
        from activetest.cli.terminal import Terminal

        with Terminal() as terminal:
            while True:
                terminal.draw(self._lay_out(*terminal.size))
                key = terminal.read_key()
                if key != "redraw" and not self._handle(key, terminal):
                    return

    def _start(self) -> str | None:
        """The typed text at the beginning: empty, or None where keys answer."""
        return None if self._keys else ""

    def _lay_out(self, columns: int, height: int) -> list[str]:
        """The lines of the screen."""
        had_more = self._pages > 1
        for _ in range(2):
            lines, self._pages = self._screen.lay_out(
                self._view(), columns, height, styled=self._styled
            )
            # Whether there is more decides which commands are shown.
            if had_more == (self._pages > 1):
                break
        return lines

    def _view(self) -> "View":
        """The contents of the screen."""
        item = self._session.item
        names = self._screen.name_keys(self._commands)
        commands = {names[each]: words for each, words in self._screen.WORDS.items()}
        if self._typed is not None:
            commands = self._name_typed_commands()
        elif self._pages < 2:
            del commands[names["more"]]
        if item is None:
            count = f"{self._session.answered:,} of {self._session.total:,} items answered"
            commands = {names["undo"]: "undo", names["quit"]: "quit, also Enter"}
            return self._screen.View(count, "", {}, {}, commands, message=self._message)
        last = f"your answer is {item.answer!r} until you give another" if item.answer else ""
        return self._screen.View(
            head=_describe_place(self._session),
            id=item.id,
            values=item.values,
            classes=self._keys,
            commands=commands,
            typed=self._typed,
            prompt="label" if self._session.classes else "number",
            matches=self._screen.find_matches(self._typed or "", self._session.classes),
            message=self._message or last,
            page=self._page,
        )

    def _name_typed_commands(self) -> dict[str, str]:
        """{how a command is given: what it does} while a name is typed."""
        words = self._screen.WORDS
        shown = {"Enter": "takes it"} | ({"Tab": "completes"} if self._session.classes else {})
        listed = ["skip", "decline", "undo", *(["more"] * (self._pages > 1)), "help", "quit"]
        shown |= {f":{self._screen.COMMANDS[each][0]}": words[each] for each in listed}
        return shown | ({"Esc": "keys"} if self._keys else {})

    def _handle(self, key: str, terminal: "Terminal") -> bool:
        """Do what a key says; whether to go on."""
        self._message = ""
        if self._session.item is None:
            if self._commands.get(key) == "undo":
                self._session.undo()
            return self._commands.get(key) != "quit" and key != "enter"
        if self._typed is not None:
            return self._type(key, terminal)
        label = self._keys.get(key) or self._fold_keys().get(key.casefold())
        if label is not None:
            self._answer(label)
            return True
        command = self._commands.get(key) or self._commands.get(key.casefold())
        return command is None or self._obey(command, terminal)

    def _fold_keys(self) -> Mapping[str, str]:
        """{key in lower case: class} of the keys that differ in more than case."""
        folded = [key.casefold() for key in self._keys]
        return {
            key.casefold(): name
            for key, name in self._keys.items()
            if folded.count(key.casefold()) == 1
        }

    def _type(self, key: str, terminal: "Terminal") -> bool:
        """Change what is typed, or take it; whether to go on."""
        assert self._typed is not None
        if key == "enter":
            return self._take_typed(terminal)
        self._new_class = ""
        if key in ("end", "page up", "page down"):
            return self._obey(self._commands[key], terminal)
        if key == "escape":
            self._typed = self._start()
        elif key == "backspace":
            self._typed = self._typed[:-1]
        elif key == "clear":
            self._typed = ""
        elif key == "tab":
            found = self._screen.find_matches(self._typed, self._session.classes)
            self._typed = found[0] if found else self._typed
        elif len(key) == 1:
            self._typed += key
        return True

    def _take_typed(self, terminal: "Terminal") -> bool:
        """Take what was typed as a class, a number or a command; whether to go on."""
        text = (self._typed or "").strip()
        if not text:
            return True
        name = self._session.find_class(text)
        command = find_command(text)
        if name is None and command is not None:
            self._typed = self._start()
            return self._obey(command, terminal)
        if name is None and self._session.classes:
            matches = self._screen.find_matches(text, self._session.classes)
            if len(matches) == 1 and not self._session.open_classes:
                self._typed, self._message = matches[0], "Enter takes it"
                return True
            if self._session.open_classes and self._new_class != text:
                self._new_class = text
                self._message = (
                    f"the model never predicts {text!r}: Enter takes it as another class"
                )
                return True
        self._answer(text if name is None else name, as_is=name is None and self._new_class == text)
        return True

    def _answer(self, label: str, *, as_is: bool = False) -> None:
        """Record a label, or say what is wrong with it."""
        assert self._session.item is not None
        id = self._session.item.id
        try:
            self._session.answer(label, as_is=as_is)
        except LabelError as error:
            self._message = to_commands(f"{error.problem}; {error.hint}")
            return
        self._move(f"saved: {label} for {id}")

    def _move(self, message: str) -> None:
        """Show the item that is next."""
        self._page, self._typed, self._new_class = 0, self._start(), ""
        self._message = message

    def _obey(self, command: str, terminal: "Terminal") -> bool:
        """Do what a command says; whether to go on."""
        match command:
            case "quit":
                return False
            case "skip":
                self._session.skip()
                self._move("skipped for now")
            case "decline":
                assert self._session.item is not None
                id = self._session.item.id
                self._session.decline()
                self._move(f"saved: {id} cannot be labelled")
            case "undo":
                gone = self._session.undo()
                self._move("taken back" if gone else "there is nothing to undo")
            case "more":
                self._page = (self._page + 1) % self._pages
            case "back":
                self._page = (self._page - 1) % self._pages
            case "type":
                self._typed = ""
            case "help":
                self._show_help(terminal)
        return True

    def _show_help(self, terminal: "Terminal") -> None:
        """Until a key is pressed."""
        key = "redraw"
        while key == "redraw":
            columns, height = terminal.size
            lines = self._screen.wrap(_HELP, min(columns - 1, self._screen.WIDTH))
            terminal.draw([*lines[: height - 2], "", "any key goes back"])
            key = terminal.read_key()


def find_command(text: str) -> str | None:
    """The command that a line stands for: its letter, also with a colon before it."""
    from activetest.cli.label_screen import COMMANDS

    letter = text.strip().removeprefix(":").casefold()
    return next((name for name, keys in COMMANDS.items() if keys[0] == letter), None)


def _read_lines(session: "LabellingSession") -> None:
    """Take an answer from each line of standard input, where there is no screen to ask on.

    Raises LabelError for a line that is none, unless somebody types it.
    """
    number, watched = 0, sys.stdin.isatty()
    while True:
        if session.item is not None:
            streams.say(_write_question(session))
        content = sys.stdin.buffer.readline(_LONGEST_LINE)
        if not content:
            return
        number += 1
        try:
            text = content.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            if not _take_line(session, text):
                return
        except (LabelError, UnicodeDecodeError) as error:
            problem = getattr(error, "problem", "it is not UTF-8")
            hint = getattr(error, "hint", "write it in UTF-8")
            if not watched:
                raise LabelError(
                    f"standard input, line {number}: {problem}",
                    f"{hint}; the answers of the lines before it are saved",
                ) from error
            streams.say(to_commands(f"{problem}; {hint}"))
        if session.item is None and watched:
            return


def _take_line(session: "LabellingSession", text: str) -> bool:
    """Do what a line says: a class or number, a command, or nothing, which skips; whether to go on.

    Raises LabelError for anything else.
    """
    command = None if session.find_class(text) is not None else find_command(text)
    if command == "quit":
        return False
    if command == "undo":
        if not session.undo():
            raise LabelError("there is nothing to undo", "answer the item, or leave with q")
    elif session.item is None:
        if text:
            raise LabelError(
                f"{text!r} is an answer too many", "every item of the batch has an answer"
            )
    elif command == "decline":
        session.decline()
    elif command == "skip" or not text:
        session.skip()
    elif command is None:
        session.answer(text)
    return True


def _write_question(session: "LabellingSession") -> str:
    """The item, and what may be answered, for a terminal that is no screen."""
    from activetest.cli import label_screen

    item = session.item
    assert item is not None
    lines = ["", f"{_describe_place(session)}   id {item.id}"]
    lines += [line for _, line in label_screen.write_values(item.values, label_screen.WIDTH)]
    names = [label_screen.shorten_name(name) for name in session.classes[:20]]
    names += ["..."] * (len(session.classes) > len(names))
    lines += label_screen.flow(names or ["a number"], label_screen.WIDTH)
    words = {"s": "skip", "d": "cannot be labelled", "u": "undo", "q": "quit"}
    lines += label_screen.flow([f":{key} {each}" for key, each in words.items()], 80)
    return "\n".join(lines)
