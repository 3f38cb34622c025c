"""Small changes to a module, one place at a time: `<` to `<=`, a dropped call, a constant plus 1.

Left alone is what no test should read: annotations, docstrings, decorators, the text of messages,
and the arguments of an exception that is raised.
"""

import ast
import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLS = {
    "min": "max",
    "minimum": "maximum",
    "argmin": "argmax",
    "any": "all",
    "floor": "ceil",
    "cumsum": "cumprod",
    "log": "log1p",
    "exp": "expm1",
    "sum": "max",
    "mean": "median",
    "searchsorted": "digitize",
}
CALLS |= {other: name for name, other in CALLS.items() if name not in ("sum", "mean")}
# f(x) becomes x.
UNWRAPPED = {"sqrt", "abs", "sorted", "clip", "round", "unique", "reversed", "strip"}
# Parts of commands whose effect is seen only after a crash or with two writers.
SQL = {"EXTRA": "FULL", "IMMEDIATE": "DEFERRED"}
# Keywords without which the same is computed, or an error of this program is not noticed.
KEYWORDS = {"dtype", "encoding", "strict", "copy", "check", "stacklevel", "hint"}
# Fields of a node that are no behaviour: types, decorators and what is said when something fails.
SKIPPED = {"annotation", "returns", "decorator_list", "type_params", "exc", "cause"}

# The lines of what is run when a module is imported: any test of the module may notice a change.
AT_IMPORT = (0, 0)


@dataclass(frozen=True)
class Change:
    """One change: in which file (relative to the tree), function and lines, and what it is."""

    file: str
    function: str
    line: int
    lines: tuple[int, int]
    before: str
    after: str
    place: int
    kind: int
    # How many like it stand above it in the same function.
    number: int = 0

    @property
    def key(self) -> str:
        """The name of the change, the same after lines above it moved."""
        repeated = f" [{self.number}]" if self.number else ""
        return f"{self.file} {self.function}: {self.before} -> {self.after}{repeated}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.before} -> {self.after}"


def call_name(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    function = node.func
    return getattr(function, "attr", getattr(function, "id", ""))


def is_text(node: ast.AST) -> bool:
    """Whether an operand is text, so that arithmetic on it only raises."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def change_constant(node: ast.Constant) -> Iterator[ast.expr]:
    """A number plus 1 (twice a fraction), the other truth value, a weaker command."""
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(2 * value or 1.0)
    elif isinstance(value, str):
        for word, weaker in SQL.items():
            if word in value:
                yield ast.Constant(value.replace(word, weaker))


def change_call(node: ast.Call) -> Iterator[ast.expr]:
    """Another function, the argument itself, or one keyword fewer."""
    name = call_name(node)
    if name in CALLS:
        other = copy.deepcopy(node)
        if isinstance(other.func, ast.Attribute):
            other.func.attr = CALLS[name]
        elif isinstance(other.func, ast.Name):
            other.func.id = CALLS[name]
        yield other
    if name in UNWRAPPED and (node.args or isinstance(node.func, ast.Attribute)):
        yield copy.deepcopy(node.args[0] if node.args else node.func.value)
    for position, keyword in enumerate(node.keywords):
        if keyword.arg not in KEYWORDS | {None}:
            fewer = copy.deepcopy(node)
            del fewer.keywords[position]
            yield fewer


def change_expression(node: ast.AST) -> Iterator[ast.expr]:
    """The changes of one expression."""
    if isinstance(node, ast.Compare):
        for position, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[position] = COMPARE[type(operator)]()
            yield other
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        if not (is_text(node.left) or is_text(node.right)):
            yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Constant):
        yield from change_constant(node)
    elif isinstance(node, ast.Call):
        yield from change_call(node)
    elif isinstance(node, ast.Slice):
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None:
                other = copy.deepcopy(node)
                setattr(other, part, None)
                yield other


def change_statement(node: ast.AST) -> Iterator[ast.stmt]:
    """The changes of one statement."""
    if isinstance(node, ast.If):
        for truth in (True, False):
            yield ast.If(ast.Constant(truth), node.body, node.orelse)
    elif isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    ):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and not (
        node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    ):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Break):
        yield ast.Continue()


def change_node(node: ast.AST) -> list[ast.AST]:
    """All changes of one node, without those of the nodes in it."""
    if isinstance(node, ast.stmt):
        return list(change_statement(node))
    return list(change_expression(node))


@dataclass(frozen=True)
class Place:
    """A node with its parent, the field and the position where it stands, and its surroundings."""

    node: ast.AST
    parent: ast.AST
    field: str
    position: int | None
    function: str
    lines: tuple[int, int]


def header_lines(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement without those of its body."""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, last)


def is_type_checking(node: ast.AST) -> bool:
    """Whether a statement is read by type checkers only."""
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def walk_places(node: ast.AST, function: str, lines: tuple[int, int]) -> Iterator[Place]:
    """All nodes below one, in the order of the source."""
    for field, value in ast.iter_fields(node):
        if field in SKIPPED or (field == "args" and isinstance(node, ast.Global)):
            continue
        listed = isinstance(value, list)
        for position, child in enumerate(value if listed else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if is_type_checking(child) or isinstance(child, ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.keyword) and child.arg in KEYWORDS:
                continue
            within, around = function, lines
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                within = f"{function}.{child.name}".lstrip(".")
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                # Its defaults are computed at import, and used wherever it runs.
                around = child.body[0].lineno, child.end_lineno or child.lineno
            elif isinstance(child, ast.stmt) and lines != AT_IMPORT:
                around = header_lines(child)
            yield Place(child, node, field, position if listed else None, within, around)
            yield from walk_places(child, within, around)


def list_places(tree: ast.Module) -> list[Place]:
    """All places of a module."""
    return list(walk_places(tree, "", AT_IMPORT))


def show_change(node: ast.AST, other: ast.AST) -> tuple[str, str]:
    """Both as one short line; of a branch its condition."""
    if isinstance(node, ast.If) and isinstance(other, ast.If):
        return f"if {ast.unparse(node.test)}", f"if {ast.unparse(other.test)}"
    return tuple(" ".join(ast.unparse(each).split())[:120] for each in (node, other))  # type: ignore


def find_changes(source: str, file: str) -> list[Change]:
    """All changes of a module, in the order of its lines."""
    changes: list[Change] = []
    counts: dict[str, int] = {}
    for index, place in enumerate(list_places(ast.parse(source))):
        for kind, other in enumerate(change_node(place.node)):
            before, after = show_change(place.node, other)
            line = getattr(place.node, "lineno", getattr(place.parent, "lineno", place.lines[0]))
            found = (file, place.function or "module", line, place.lines, before, after)
            key = Change(*found, index, kind).key
            changes.append(Change(*found, index, kind, counts.get(key, 0)))
            counts[key] = counts.get(key, 0) + 1
    return changes


def apply_change(source: str, change: Change) -> str:
    """The module with one change."""
    tree = ast.parse(source)
    place = list_places(tree)[change.place]
    other = change_node(place.node)[change.kind]
    if place.position is None:
        setattr(place.parent, place.field, other)
    else:
        getattr(place.parent, place.field)[place.position] = other
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def choose_changes(tree: Path, files: list[str], *, seed: int, count: int) -> list[Change]:
    """A random sample of the changes of these files; a change keeps its rank when others come."""

    def rank(change: Change) -> bytes:
        return hashlib.sha256(f"{seed} {change.key}".encode()).digest()

    found = [
        change
        for file in files
        for change in find_changes((tree / file).read_text(encoding="utf-8"), file)
    ]
    return sorted(found, key=rank)[:count]
