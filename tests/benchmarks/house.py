"""Structure of the package: loose files, rooms, floors, arrows, records, and what a report runs.

A room is a folder of the package, of which each wing is one, or a file that lies loose at its top.
There is an arrow between two rooms where a file of one imports something of the other; a room
stands one floor above the highest that it imports, and rooms that import each other in a circle are
on one floor.

A record is a dataclass; two are mirrors where they share 8 fields or more. A small step is a
private function of at most five lines that is named once beside its definition; a pass-through only
calls another function with its own parameters. The last rows run the plain loop (init, next,
ingest, report, a gate, status) on the digits of sample_data, each command in an interpreter of its
own, and count the package's modules and their lines that it loads, and the package's functions that
`report` calls, once all of it is loaded.
"""

import ast
import json
import pstats
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import benchmark

# Fields that two records share when they are called mirrors, and lines of a small step.
SHARED, SMALL = 8, 5
SAMPLE = Path(__file__).parents[2] / "sample_data"
LOOP = (
    ("init", str(SAMPLE / "digits.parquet"), "--group", "ink", "--seed", "1"),
    ("next", "--n", "10", "-o", "batch.csv"),
    ("ingest", "answers.csv"),
    ("report",),
    ("report", "--require", "error<=0.5"),
    ("status",),
)


def main() -> None:
    """Print the figures of a package."""
    package = benchmark.read_options(
        __doc__,
        ("package", {"type": Path, "help": "folder of the package"}),
    ).package.resolve()
    trees = {
        file: ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(package.rglob("*.py"))
        if "sample_data" not in file.relative_to(package).parts
    }
    imports = [
        (file, name) for file, tree in trees.items() for name in imported(tree, package.name)
    ]
    arrows = defaultdict(set)
    for file, name in imports:
        here, there = room(file, package), room_of_name(name, package)
        if there and here != there:
            arrows[here].add(there)
    rooms = {room(file, package) for file in trees}
    circles = [each for each in circles_of(arrows, rooms) if len(each) > 1]
    loose = [file for file in trees if file.parent == package]
    private = [name for file, name in imports if is_private_elsewhere(file, name, package)]
    parameters, bare = count_parameters(trees.values())
    records = find_records(trees.values())
    mirrors = [
        pair for pair in combinations(records.values(), 2) if len(set.intersection(*pair)) >= SHARED
    ]
    small, passing = count_small_steps(trees.values())
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in trees)
    print(f"files, lines                             {len(trees)}, {lines}")
    print(f"files loose at the top                   {len(loose)}")
    print(f"rooms (folders and loose files)          {len(rooms)}")
    print(f"floors                                   {max(floors(arrows, rooms).values()) + 1}")
    print(f"arrows between rooms                     {sum(map(len, arrows.values()))}")
    core = sum(len(seen) for name, seen in arrows.items() if not name.startswith("wings/"))
    print(f"arrows between rooms of the core         {core}")
    wings = sum(
        len(file.read_text(encoding="utf-8").splitlines())
        for file in trees
        if file.relative_to(package).parts[0] == "wings"
    )
    print(f"lines of the core, of wings              {lines - wings}, {wings}")
    print(f"circles of rooms                         {len(circles)}")
    print(f"imports of another room's private names  {len(private)}")
    print(f"parameters, without annotation           {parameters}, {bare}")
    counts = f"{len(records)}, {sum(map(len, records.values()))}, {len(mirrors)}"
    print(f"records, fields, mirrors                 {counts}")
    print(f"small steps, pass-throughs               {small}, {passing}")
    play_loop(package)


def imported(tree: ast.Module, package: str) -> list[str]:
    """Dotted names that a file imports from the package."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.split(".")[0] == package]


def room(file: Path, package: Path) -> str:
    """The room a file is in; `python -m` belongs to the command line."""
    parts = file.relative_to(package).with_suffix("").parts
    if parts[0] == "wings" and len(parts) > 2:
        return "/".join(parts[:2])
    return "cli" if parts[0] == "__main__" else parts[0]


def room_of_name(name: str, package: Path) -> str | None:
    """The room that a dotted name is from; None for the package itself."""
    first, *rest = name.split(".")[1:]
    if first == "wings" and rest:
        return f"wings/{rest[0]}"
    exists = (package / first).is_dir() or (package / f"{first}.py").is_file()
    return first if exists else None


def is_private_elsewhere(file: Path, name: str, package: Path) -> bool:
    """Whether a name with a leading underscore is imported by a file of another room."""
    parts = name.split(".")
    private = any(part.startswith("_") and not part.startswith("__") for part in parts[2:])
    return private and room(file, package) != room_of_name(name, package)


def circles_of(arrows: dict[str, set[str]], rooms: set[str]) -> list[set[str]]:
    """Rooms that reach each other, one set each (every room is in one)."""
    reached = {name: reachable(name, arrows) for name in rooms}
    groups = []
    for name in sorted(rooms):
        if not any(name in group for group in groups):
            groups.append({name, *(each for each in reached[name] if name in reached[each])})
    return groups


def reachable(name: str, arrows: dict[str, set[str]]) -> set[str]:
    """Every room that can be reached along arrows."""
    found, waiting = set(), [name]
    while waiting:
        for each in arrows[waiting.pop()] - found:
            found.add(each)
            waiting.append(each)
    return found


def floors(arrows: dict[str, set[str]], rooms: set[str]) -> dict[str, int]:
    """The floor of every room; the cellar is 0."""
    groups = circles_of(arrows, rooms)
    circle = {name: place for place, group in enumerate(groups) for name in group}
    height: dict[int, int] = {}

    def measure(place: int) -> int:
        if place not in height:
            below = {circle[each] for name in groups[place] for each in arrows[name]} - {place}
            height[place] = 1 + max(map(measure, below), default=-1)
        return height[place]

    return {name: measure(circle[name]) for name in rooms}


def count_parameters(trees: list[ast.Module]) -> tuple[int, int]:
    """Parameters of functions (self and cls apart), and those without an annotation."""
    total = bare = 0
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
                every += [each for each in (given.vararg, given.kwarg) if each]
                kept = [each for each in every if each.arg not in ("self", "cls")]
                total += len(kept)
                bare += sum(each.annotation is None for each in kept)
    return total, bare


def find_records(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """{dataclass: names of its own fields}."""
    return {
        node.name: {
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    }


def count_small_steps(trees: Iterable[ast.Module]) -> tuple[int, int]:
    """Private functions of few lines that one place names, and functions that only call another."""
    small = passing = 0
    for tree in trees:
        named = Counter(re.findall(r"\w+", ast.unparse(tree)))
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            private = node.name.startswith("_") and not node.name.startswith("__")
            small += private and named[node.name] == 2 and lines <= SMALL
            passing += len(body) == 1 and is_bare_call(body[0], node.args)
    return small, passing


def is_bare_call(statement: ast.stmt, given: ast.arguments) -> bool:
    """Whether a statement returns a call with all of a function's parameters and nothing else."""
    call = statement.value if isinstance(statement, ast.Return) else None
    own = [each.arg for each in (*given.args, *given.kwonlyargs) if each.arg not in ("self", "cls")]
    if not isinstance(call, ast.Call) or not own:
        return False
    handed = [*call.args, *(each.value for each in call.keywords)]
    return sorted(map(ast.unparse, handed)) == sorted(own)


def play_loop(package: Path) -> None:
    """Run the loop in a new folder, and print what it loads and what a report calls."""
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for words in LOOP:
            if words[0] == "ingest":
                write_answers(Path(folder))
            found.setdefault(words[0], set()).update(run(words, package, folder))
        report = Path(folder, "profile")
        run(("report",), package, folder, report)
        calls = pstats.Stats(str(report)).stats
    for name, modules in (("the loop", set.union(*found.values())), ("status", found["status"])):
        lines = sum(len(Path(each).read_text(encoding="utf-8").splitlines()) for each in modules)
        print(f"modules, lines that {name + ' loads':<20} {len(modules)}, {lines}")
    mine = {key: value[4] for key, value in calls.items() if key[0].startswith(str(package))}
    rooms = {key: room(Path(key[0]), package) for key in mine}
    crossings = sum(
        caller in rooms and rooms[caller] != rooms[key]
        for key, callers in mine.items()
        for caller in callers
    )
    files = len({key[0] for key in mine})
    counts = f"{len(mine)}, {files}, {len(set(rooms.values()))}, {crossings}"
    print(f"a report: functions, files, rooms, arrows {counts}")


def write_answers(folder: Path) -> None:
    """The truth of the items in batch.csv, as answers.csv."""
    key = dict(line.split(",") for line in (SAMPLE / "digits.labels.csv").read_text().split())
    ids = [line.split(",")[0] for line in (folder / "batch.csv").read_text().split()[1:]]
    (folder / "answers.csv").write_text("id,label\n" + "".join(f"{i},{key[i]}\n" for i in ids))


def run(
    words: tuple[str, ...], package: Path, folder: str, profile: Path | None = None
) -> list[str]:
    """Files of the package that a command loads, run in a new interpreter."""
    # A gate is undecided after ten labels.
    call = f"assert main({list(words)!r}) in (0, 3)"
    again = "" if profile is None else f"import cProfile; cProfile.run({call!r}, {str(profile)!r})"
    code = f"""
import json, sys
sys.path.insert(0, {str(package.parent)!r})
from activetest.cli.app import main
{call}
{again}
files = [getattr(each, "__file__", None) or "" for each in [*sys.modules.values()]]
print("\\n" + json.dumps([each for each in files if each.startswith({str(package)!r})]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
