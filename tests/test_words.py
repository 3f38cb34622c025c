"""The field's words in names, options, JSON keys, messages and pages; not words of our own.

A practitioner who reads a name or a message knows the term, or finds it in a textbook. The lists
below are of words and sentences that this package once had in place of such terms.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from activetest.cli import formatter
from activetest.cli.app import main
from activetest.study.stored import StoredStudy

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "activetest"

# Words that name nothing of the field, in any part of a name: `brought` in `known_brought`.
TERMS = {
    "brought": "supplied",
    "committee": "ensemble",
    "equip": "attach_auxiliary",
    "foresee": "recorded_predictions",
    "foresees": "recorded_predictions",
    "foreseen": "recorded_predictions",
    "foresight": "recorded_predictions",
    "frozen": "round_state",
    "heard": "exchangeable_counts",
    "lesson": "training_data",
    "lessons": "training_data",
    "obstacle": "why_not_bettable",
    "obstacles": "why_not_bettable",
    "picked": "deterministic",
    "sketch": "background",
    "stakes": "outcome_values",
    "stranger": "unmatched ids",
    "strangers": "unmatched ids",
    "supplement": "auxiliary",
    "supplements": "auxiliary",
    "tally": "effective minority count",
    "twin": "duplicates",
    "twins": "duplicates",
    "uneven": "non_uniform",
    "voter": "members",
    "voting": "members",
    "wager": "increments",
    "wagers": "increments",
    "wish": "settings",
    "wished": "settings",
    "wishes": "settings",
}

# Words that say nothing as a whole name, with or without an underscore before it.
NAMES = {
    "asked": "what was asked for",
    "beside": "provenance",
    "held_up": "variance_inflated",
    "lost": "what was lost",
    "made": "what was made",
    "one": "first, left, or what it is",
    "said": "what was said: message, probs",
    "some": "indices, subset",
    "specs": "specification",
    "told": "imputed",
    "trusted": "reliable",
    "wanted": "what is wanted",
    "worth": "value",
}

# Names of classes that were ordinary words: variables may have them.
CLASSES = {
    "Aim": "Objective",
    "Ground": "cell totals",
    "Known": "TrainingSet",
    "Line": "EstimateRow",
    "Reach": "increment range",
    "Shares": "Allocation",
    "Stake": "tested mean",
    "Support": "weighted minority count",
    "Survey": "group counts",
}

# In tests of betting, and in bets, a stake is what is bet.
BETS = {"_STAKES", "test_stakes_do_not_know_what_they_are_bet_on"}

# Sentences that users no longer read, and what they read now.
SENTENCES = {
    r"labels saved at least": "as good as about N random labels, or: too early to say",
    r"interval not reliable yet": "too early to say what was saved",
    r"too few labels pull it (up|down)": "Rare large losses may not have been sampled yet",
    r"not met yet may weigh": "Rare large losses may not have been sampled yet",
    r"[Ll]abels of the rarer kind": "Only N errors found so far",
    r"not estimable yet": "No estimate yet: label at least 2 of the drawn items",
    r"\bnot shown\b": "no clear difference",
    r"\bOf every group\.": "Starting belief about each group",
    r"practically (are none|none)": "Treat differences smaller than this as equal",
    r"error of \S+\.parquet: ": "The model is wrong on 6.4 % of items",
    r"\b(brought|picked)\b": "supplied by the user, chosen as a top score",
    r"nobody can bet on": "there is no anytime-valid test",
    r"between groups without a floor": "with some selection probabilities equal to 0",
    r"draws are made for the groups": "Sampling is optimised for comparing groups",
    r"draws suit\b": "sampling targets",
    r"costs nothing of what|the 5 % do(es)? not pay for": "the error guarantee, the error budget",
    r"every number of a report stays": "A report changes only when labels arrive",
    r"\b[Nn]othing was saved so far\b": "active sampling has been worse than random so far",
    r"\b(foresight|wagers?|supplements?|strangers?|twins?|committee|voting)\b": "see TERMS",
}


def words_of(name: str) -> list[str]:
    """The words of a name in snake_case or CamelCase, in lower case."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in apart.lower().split("_") if word]


@cache
def better_word(name: str) -> str | None:
    """The field's word for a name of ours; None where the name may stand."""
    if name in BETS:
        return None
    whole = name.strip("_").lower().replace("-", "_")
    found = [TERMS[word] for word in words_of(name.replace("-", "_")) if word in TERMS]
    return CLASSES.get(name.strip("_")) or NAMES.get(whole) or (found[0] if found else None)


def own_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of everything a module defines or binds."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


def prose(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) of the string literals of a module that have a space, but for docstrings."""
    described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, described) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docstrings:
                yield node.lineno, text


def modules(folder: Path) -> Iterator[tuple[Path, ast.AST]]:
    """(file, tree) of the Python files below a folder that belong to this project."""
    for file in sorted(folder.rglob("*.py")):
        if not {"sample_data", "benchmarks"} & set(file.parts):
            yield file.relative_to(ROOT), ast.parse(file.read_text(encoding="utf-8"))


def riddles(names: Iterable[tuple[object, str]]) -> list[str]:
    """A line for each of these (place, name) that there is a better word for."""
    return [f"{place}: {name}: {word}" for place, name in names if (word := better_word(name))]


def refused(texts: Iterable[tuple[object, str]]) -> list[str]:
    """A line for each of these (place, text) that says what users no longer read."""
    return [
        f"{place}: {found.group(0)!r}: {plain}"
        for place, text in texts
        for sentence, plain in SENTENCES.items()
        if (found := re.search(sentence, text))
    ]


# --- in the code


def test_names_of_the_package_are_the_fields_words():
    found = []
    for file, tree in modules(PACKAGE):
        found += riddles([(file, file.stem)])
        found += riddles((f"{file}:{line}", name) for line, name in own_names(tree))
    assert not found, "\n".join(found)


def test_names_of_tests_and_their_helpers_are_the_fields_words():
    """Sentences that name a test may say `made` or `some`; what they call may not."""
    found = []
    for file, tree in modules(ROOT / "tests"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name in BETS:
                continue
            sentence = node.name.startswith("test_")
            terms = [TERMS[word] for word in words_of(node.name) if word in TERMS]
            word = (terms[0] if terms else None) if sentence else better_word(node.name)
            found += [f"{file}:{node.lineno}: {node.name}: {word}"] if word else []
    assert not found, "\n".join(found)


def test_messages_are_plain():
    found = refused(
        (f"{file}:{line}", text) for file, tree in modules(PACKAGE) for line, text in prose(tree)
    )
    assert not found, "\n".join(found)


def test_pages_are_plain():
    pages = [ROOT / "README.md", ROOT / "tests" / "benchmarks" / "README.md"]
    pages += [*sorted((ROOT / ".github").glob("*.md")), *sorted((PACKAGE / "docs").glob("*.md"))]
    found = refused(
        (f"{page.relative_to(ROOT)}:{number}", line)
        for page in pages
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
    )
    assert not found, "\n".join(found)


# --- sentences that open with What, Which or That

_OPENS = re.compile(
    r"(?:^|(?<=[.!?:] ))(?:- )?\**(What|Which|That)\b(?! is,)(?:[^.?!]|\.(?=\w))*([.?!]|$)"
)


def find_openers(text: str) -> list[str]:
    """The sentences that open with one of these words and ask nothing."""
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*[-*|])", text)
    found = (match for each in paragraphs for match in _OPENS.finditer(" ".join(each.split())))
    return [match.group(0) for match in found if match.group(2) != "?"]


def read_comments(source: str) -> list[str]:
    """The comments of a module, those of adjacent lines together."""
    lines = [re.match(r"\s*# (.*)", line) for line in source.splitlines()]
    joined = "\n".join(match.group(1) if match else "\0" for match in lines)
    return [each.strip() for each in joined.split("\0") if each.strip()]


def read_docstrings(tree: ast.AST) -> list[str]:
    """The docstrings of a module, its classes and functions."""
    described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [
        text
        for node in ast.walk(tree)
        if isinstance(node, described) and (text := ast.get_docstring(node))
    ]


def test_no_sentence_of_a_page_opens_with_what_which_or_that_unless_it_asks():
    pages = [ROOT / "README.md", *sorted((ROOT / ".github").glob("*.md"))]
    pages += [ROOT / "tests" / "benchmarks" / "README.md", *sorted((PACKAGE / "docs").glob("*.md"))]
    for page in pages:
        text = re.sub(r"^ {4}.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert find_openers(text) == [], page.name


@pytest.mark.parametrize("folder", ["activetest", "tests"])
def test_no_comment_or_docstring_opens_a_sentence_so(folder):
    found = []
    for file, tree in modules(ROOT / folder):
        source = (ROOT / file).read_text(encoding="utf-8")
        texts = read_comments(source) + read_docstrings(tree)
        found += [f"{file}: {each}" for text in texts for each in find_openers(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What is planned stays. It holds.", 1),
        ("It holds. Which one\nfollows.", 1),
        ("Which one is it? Whatever comes, that is it.", 0),
        ("- **That is advice**, and no more.", 1),
    ],
)
def test_a_sentence_that_opens_so_is_found(text, count):
    assert len(find_openers(text)) == count


# --- in what users see


COMMANDS = sorted(formatter.COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_and_their_help_are_the_fields_words(command, capsys):
    """`--help`, and `--help-all` of commands with many options."""
    assert main([command, "--help"]) == 0
    if formatter.list_needed(formatter.load_command(command)):
        assert main([command, formatter.ALL]) == 0
    text = capsys.readouterr().out
    flags = re.findall(r"--[a-z][a-z-]*", text)
    assert "--help" in flags
    found = riddles((command, flag.strip("-")) for flag in flags)
    found += refused([(command, " ".join(text.split()))])
    assert not found, "\n".join(found)


def keys(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """(place, key) of a JSON value, but for keys that a user chose: names of columns."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not place.endswith("/group"):
                yield place, key
            yield from keys(inner, f"{place}/{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, place)


STUDIES = {
    "estimates": {"metric": ("error", "f1[dog]"), "groups": ("place",)},
    "identify": {"question": "identify", "groups": ("place",)},
    "compare": {"question": "compare", "compare": "barn,tree", "groups": ("place",)},
    "confusion": {"question": "estimate", "metric": "confusion"},
    "reliability": {"question": "identify", "metric": "ece[5]"},
}


@pytest.mark.parametrize("name", STUDIES)
def test_keys_of_reports_are_the_fields_words(name, begin_study, label_draws, capsys):
    label_draws(begin_study(**STUDIES[name]), 30)
    label_draws(StoredStudy.open(), 10)
    found = []
    for command in (["report", "--require", "error<=0.5"], ["status"]):
        capsys.readouterr()
        assert main([*command, "--format", "json"]) in (0, 1, 3)
        document = json.loads(capsys.readouterr().out)
        assert "schema_version" in document
        found += riddles(keys(document, command[0]))
    assert not found, "\n".join(found)


def test_keys_of_simulations_are_the_fields_words(folder, write_pool, capsys):
    write_pool(folder / "pool.parquet", 40)
    lines = [f"item-{row},{'cat' if row % 3 else 'dog'}" for row in range(40)]
    (folder / "key.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    capsys.readouterr()
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--budget", "5,10", "--runs", "2"]
    assert main([*words, "--workers", "1", "--format", "json"]) == 0
    found = riddles(keys(json.loads(capsys.readouterr().out), "simulate"))
    assert not found, "\n".join(found)


# --- the search itself


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def _told(): pass", "_told"),
        ("class Line: pass", "Line"),
        ("def f(known_brought): pass", "known_brought"),
        ("x.stakes = 1", "stakes"),
        ("import json as made", "made"),
        ("for one in []: pass", "one"),
    ],
)
def test_a_word_of_our_own_is_found(code, name):
    (found,) = riddles(each for each in own_names(ast.parse(code)) if each[1] == name)
    assert found.startswith(f"1: {name}: ")


@pytest.mark.parametrize("name", ["zero_one", "line", "probs", "frozenset", "known", "outcome"])
def test_ordinary_names_may_stand(name):
    assert better_word(name) is None


def test_messages_are_searched_and_docstrings_are_not():
    tree = ast.parse('def f():\n    """Was not shown."""\n    return f"{1} not shown", "not-shown"')
    (found,) = refused(prose(tree))
    assert found.startswith("3: 'not shown'")
