"""What the package is made of: loose files, rooms, floors, arrows, and what is not annotated.

    python tests/benchmarks/house.py activetest

A room is a folder of the package, or a file that lies loose at its top. There is an arrow between
two rooms where a file of one imports something of the other; a room stands one floor above the
highest that it imports, and rooms that import each other in a circle are on one floor.
"""

import argparse
import ast
from collections import defaultdict
from pathlib import Path


def main() -> None:
    """Print the figures of a package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="folder of the package")
    package = parser.parse_args().package.resolve()
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
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in trees)
    print(f"files, lines                             {len(trees)}, {lines}")
    print(f"files loose at the top                   {len(loose)}")
    print(f"rooms (folders and loose files)          {len(rooms)}")
    print(f"floors                                   {max(floors(arrows, rooms).values()) + 1}")
    print(f"arrows between rooms                     {sum(map(len, arrows.values()))}")
    print(f"circles of rooms                         {len(circles)}")
    print(f"imports of another room's private names  {len(private)}")
    print(f"parameters, without annotation           {parameters}, {bare}")


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
    name = file.relative_to(package).parts[0].removesuffix(".py")
    return "cli" if name == "__main__" else name


def room_of_name(name: str, package: Path) -> str | None:
    """The room that a dotted name is from; None for the package itself."""
    first = name.split(".")[1]
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


if __name__ == "__main__":
    main()
