"""Print the lowest versions that pyproject.toml names, as constraints of pip.

Arguments NAME==VERSION take the place of those of the same name.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def list_lowest(given: Sequence[str] = ()) -> Iterator[str]:
    """numpy>=1.26 as numpy==1.26, which is 1.26.0 and no other. Raises ValueError without one."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    replaced = {each.split("==")[0]: each for each in given}
    for need in chain(project["dependencies"], *extras):
        # The extras, by their names.
        if need.startswith(f"{project['name']}["):
            continue
        found = re.fullmatch(r"([\w.-]+)>=([\d.]+)(,<[\d.]+)?", need)
        if not found:
            raise ValueError(f"{need} names no lowest version")
        yield replaced.pop(found[1], f"{found[1]}=={found[2]}")
    if replaced:
        raise ValueError(f"pyproject.toml does not name {', '.join(replaced)}")


if __name__ == "__main__":
    print(*list_lowest(sys.argv[1:]), sep="\n")
