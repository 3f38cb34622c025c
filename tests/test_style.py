"""The habits of the house: lint, format, types, and tests that never just return."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


def run_tool(tool: str, *arguments: str) -> None:
    """Run a tool of the extra `test` on this tree; the test fails with what the tool finds."""
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed: pip install '.[test]'")
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


@pytest.mark.ci
def test_ruff_finds_nothing():
    run_tool("ruff", "check", "--no-cache", "--output-format", "concise")


@pytest.mark.ci
def test_everything_is_formatted():
    run_tool("ruff", "format", "--no-cache", "--check")


@pytest.mark.ci
def test_types_fit(pytestconfig, tmp_path):
    """mypy as pyproject.toml says; it remembers what it read in pytest's cache, if there is one."""
    if np.__version__.startswith("1."):
        pytest.skip("the types of NumPy 1 say less of its functions")
    cache = getattr(pytestconfig, "cache", None)
    folder = cache.mkdir("mypy") if cache else tmp_path
    run_tool("mypy", "--cache-dir", str(folder), "--no-error-summary")


def bare_returns(function: ast.AST) -> list[int]:
    """The lines of a function, apart from functions in it, on which it returns without a value."""
    lines, nodes = [], list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Return) and node.value is None:
            lines.append(node.lineno)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return sorted(lines)


def test_no_test_ends_early_as_if_it_had_passed():
    """A test that has nothing to check is skipped and says why."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {node.name} returns early: use pytest.skip(reason)"
        for file, text in texts.items()
        if re.search(r"\breturn\s*(#.*)?$", text, flags=re.MULTILINE)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for line in bare_returns(node)
    ]
    assert not wrong, "\n".join(wrong)


def test_early_returns_are_found():
    """The walk above sees a return in a branch, and none in a function inside or with a value."""
    code = """
def test_this(name):
    def helper():
        return
    if name == "ase":
        return
    assert name
"""
    (function,) = ast.parse(code).body
    assert bare_returns(function) == [6]


def test_sums_over_named_axes_are_right_where_they_have_no_terms():
    """They go through `contract`; numpy.einsum then multiplies 0 with what lies in memory."""
    files = sorted((ROOT / "activetest").rglob("*.py"))
    found = [
        f"{file.relative_to(ROOT)}: {call}"
        for file in files
        if file.name != "contraction.py"
        for call in re.findall(r"np\.einsum\(\s*\"[^\"]*,[^\"]*\"", file.read_text("utf-8"))
    ]
    assert len(files) > 400 and not found, "\n".join(found)
