"""The pages name everything there is, each thing in its place, and all they name is there."""

import doctest
import json
import re
import shlex
import shutil
from dataclasses import fields

import pytest

import activetest
from activetest import catalog
from activetest.cli import formatter, pages
from activetest.cli.app import BUG, main
from activetest.cli.options import write_table
from activetest.item_statistics import specification
from activetest.nouns.choices import DECLARATIONS, Choices
from activetest.nouns.curve import CurveKind
from activetest.nouns.expression import parse_expression
from activetest.reporting.requirements import parse_requirement
from tests.documents import (
    DOCUMENTS,
    PAGES,
    ROOT,
    anchors,
    code_blocks,
    commands,
    links,
    named_in_rows,
    prose,
    section,
    tables,
)
from tests.makers import init

COMMANDS = {name: formatter.load_command(name) for name in formatter.COMMANDS}
TOPICS = (
    *("commands", "pools", "labels", "metrics", "groups", "questions", "gates", "limits"),
    *("python", "json", "study", "simulate", "methods", "intervals", "papers", "threats"),
    *("surfaces", "judges", "reports", "pipelines", "spreadsheets", "images", "stopping"),
    *(
        "rounds",
        "glossary",
        "surrogates",
        "logs",
        "tools",
        "attributes",
        "population",
        "assumptions",
        "engines",
        "remote",
        "best",
        "parts",
        "compare",
    ),
    *("results", "gaussian"),
)
# No page but the one of all options is longer.
LONGEST = 250

# Options of programs in tests/benchmarks, which pages may show.
OF_BENCHMARKS = {"--pools", "--aim", "--peers", "--toy", "--ways", "--judged", "--tables"}
OF_BENCHMARKS |= {"--studies"}
SHOWN = [(name, words) for name, text in DOCUMENTS.items() for words in commands(text)]


def options(name: str) -> list[list[str]]:
    """The spellings of every option of a command."""
    return [each.opts for each in COMMANDS[name].params if each.param_type_name == "option"]


# --- form


def test_there_is_a_page_for_every_topic():
    assert set(PAGES) == set(TOPICS)


@pytest.mark.parametrize("topic", PAGES)
def test_a_page_begins_with_its_title_and_a_sentence(topic):
    title, sentence = PAGES[topic].split("\n\n")[:2]
    assert re.fullmatch(r"# \S.*", title)
    assert re.fullmatch(r"[A-Z`].*[.?]", " ".join(sentence.split()))
    assert len(re.findall(r"^# ", prose(PAGES[topic]), flags=re.MULTILINE)) == 1


@pytest.mark.parametrize("topic", PAGES)
def test_a_page_has_short_lines_and_nothing_but_plain_markdown(topic):
    text = PAGES[topic]
    long = [line for line in text.splitlines() if len(line) > 100 and not line.startswith("|")]
    assert long == []
    assert text.isascii() and text.endswith("\n") and not text.endswith("\n\n")
    assert re.findall(r"<(?:/|[a-z]+[ />])", re.sub(r"`[^`]*`", "", prose(text))) == []


@pytest.mark.parametrize("topic", sorted(set(PAGES) - {"commands"}))
def test_a_page_answers_one_question_in_few_lines(topic):
    assert len(PAGES[topic].splitlines()) <= LONGEST
    question = PAGES[topic].split("\n\n")[1]
    assert question.endswith("?")


@pytest.mark.parametrize("topic", PAGES)
def test_every_row_of_a_table_has_a_cell_for_every_column(topic):
    for table in tables(PAGES[topic]):
        assert {len(row) for row in table} == {len(table[0])}, table[0]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(name):
    text = DOCUMENTS[name]
    folder = ROOT if name == "README.md" else pages.FOLDER
    for target in links(text):
        file, _, anchor = target.partition("#")
        path = (folder / file).resolve() if file else None
        assert path is None or path.exists(), target
        if anchor and (path is None or path.suffix == ".md"):
            assert anchor in anchors(path.read_text(encoding="utf-8") if path else text), target


@pytest.mark.parametrize("topic", PAGES)
def test_pages_link_only_to_pages(topic):
    """`activetest help` can show nothing but files of the package."""
    assert {target.partition("#")[0] for target in links(PAGES[topic])} <= {
        "",
        *(f"{other}.md" for other in PAGES),
    }


def test_no_paragraph_stands_twice():
    seen: dict[str, str] = {}
    for name, text in PAGES.items():
        for paragraph in {" ".join(each.split()) for each in prose(text).split("\n\n")}:
            if len(paragraph) > 60 and not paragraph.startswith("|"):
                assert paragraph not in seen, f"{name} and {seen.get(paragraph)}: {paragraph}"
                seen[paragraph] = name


# --- each thing in its place


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_is_in_the_table(name):
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert parameter.help, f"{name} {parameter.opts[0]}"
    first = tables(PAGES["commands"])[0]
    assert any(row[0].startswith(f"`activetest {name}") for row in first)


@pytest.mark.parametrize("name", [name for name in COMMANDS if options(name)])
def test_the_section_of_a_command_has_its_options_and_no_others(name):
    text = section(PAGES["commands"], name)
    rows = {
        flag
        for named in named_in_rows(text)
        for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", named)
    }
    allowed = {spelling for spellings in options(name) for spelling in spellings}
    shared = set() if name != "simulate" else set(re.findall(r"`(--[a-z-]+)`", prose(text)))
    if name == "import":
        assert "All options of [init](#init)" in prose(text)
        shared = {spelling for spellings in options("init") for spelling in spellings}
    missing = [each for each in options(name) if not (rows | shared) & set(each)]
    assert missing == []
    assert rows <= allowed


def test_options_have_rows_on_one_page_alone():
    found = {
        topic
        for topic, text in PAGES.items()
        for table in tables(text)
        for row in table[1:]
        if re.match(r"`--?[a-z]", row[0])
    }
    assert found == {"commands"}


def test_the_table_of_options_is_the_one_that_is_declared():
    assert write_table() in section(PAGES["commands"], "init")


def test_the_commands_that_take_a_study_are_listed():
    listed = re.search(
        r"^((?:`\w+`,\s(?:and )?)+`\w+`)\s+work on a study and take\s`--study DIR`",
        PAGES["commands"],
        re.M,
    )[1]
    taking = {name for name in COMMANDS if ["--study"] in options(name)}
    assert set(re.findall(r"`(\w+)`", listed)) == taking


def test_exit_codes_are_those_of_the_program_and_in_one_table():
    found = [
        (topic, table)
        for topic in PAGES
        for table in tables(PAGES[topic])
        if "exit code" in table[0]
    ]
    assert [topic for topic, _ in found] == ["commands"]
    assert [row[0] for row in found[0][1][1:]] == ["0", "1", "2", "3", str(BUG), "130"]
    for name in ("report",):
        codes = re.findall(r"(?<![\w.])([0-9]), ", COMMANDS[name].help)
        assert sorted(codes) == ["0", "1", "2", "3"]


HOMES = {
    "acquisition": "methods",
    "surrogates": "surrogates",
    "estimators": "methods",
    "intervals": "intervals",
    "metrics": "metrics",
    "surfaces": "surfaces",
    "attribute_models": "attributes",
}


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family in HOMES for name in catalog.names(family)]
)
def test_every_method_has_a_row_on_its_page(family, name):
    assert name in named_in_rows(PAGES[HOMES[family]])


@pytest.mark.parametrize("name", catalog.names("render"))
def test_every_format_is_a_value_of_the_option(name):
    assert f"`{name}`" in section(PAGES["commands"], "report")


@pytest.mark.parametrize("name", catalog.names("metrics"))
def test_every_metric_has_its_paper(name):
    assert name in named_in_rows(PAGES["papers"])


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (family, name)
        for family in HOMES
        if family != "metrics"
        for name in catalog.own_names(family)
    ],
)
def test_every_method_has_its_paper(family, name):
    file = "/".join(catalog._find(family, name).module.split(".")[1:])
    assert f"`{file}.py`" in PAGES["papers"]


def test_every_choice_that_study_toml_holds_is_named():
    named = named_in_rows(PAGES["study"])
    assert [field.name for field in fields(Choices) if field.name not in named] == []


def test_every_setting_is_in_the_page_of_python():
    named = set(re.findall(r"`(\w+)`", PAGES["python"]))
    assert [name for name in DECLARATIONS if name not in named] == []


def test_every_public_name_is_in_a_page_of_python():
    public = [name for name in activetest.__all__ if not name.startswith("_")]
    text = PAGES["python"] + PAGES["results"]
    assert [name for name in public if not re.search(rf"\b{name}\b", text)] == []


# --- all that is named is there


def test_every_option_that_is_named_exists():
    offered = {
        option
        for command in COMMANDS.values()
        for parameter in command.params
        for option in parameter.opts + parameter.secondary_opts
    }
    offered |= {"--help", "--version", "--install-completion", "--show-completion"}
    for name, text in DOCUMENTS.items():
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
        assert named - offered <= OF_BENCHMARKS, name


@pytest.mark.parametrize(("name", "words"), SHOWN, ids=[shlex.join(words) for _, words in SHOWN])
def test_every_command_that_is_shown_can_be_parsed(name, words):
    if len(words) == 1 or words[1].startswith("--"):
        pytest.skip("no command of activetest, but activetest itself")
    command = COMMANDS[words[1]]
    # As the program itself: the command keeps what its first context says.
    names = {"help_option_names": ["-h", "--help"]}
    context = command.make_context("activetest", list(words[2:]), **names)
    assert context.args == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_metric_that_is_shown_with_brackets_exists(name):
    shown = re.findall(r"[`'\"]([a-z0-9-]+)\[[^\]`'\"\s=]+(?: as \w+)?\][`'\"]", DOCUMENTS[name])
    # An attribute in so many bins is written alike, and so is a curve of a class.
    assert set(shown) - {"age", *CurveKind} <= set(catalog.names("metrics"))


def test_every_requirement_that_is_shown_can_be_read():
    shown = [
        requirement
        for text in DOCUMENTS.values()
        for requirement in (
            *re.findall(r"--require '([^']*)'", text),
            *re.findall(r"`(\S+@\S+[<>]=[\d.]+)`", text),
            *re.findall(r"require=\[?\"([^\"]*)\"", text),
        )
    ]
    assert shown
    from activetest.cli.report import split_gates

    for requirement in split_gates(shown):
        metric = parse_expression(parse_requirement(requirement).metric).metric
        name, _ = specification.split_specification(metric)
        assert name in catalog.names("metrics")


# Files of the study, and those that users name as they like.
EXAMPLES = {
    *("pool.parquet", "batch.csv", "labels.csv", "key.csv", "costs.csv", "train.parquet"),
    # Of other programs.
    *("display_predictions.json", "instances.json", "tasks.json"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_file_that_is_named_exists(name):
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|parquet|csv|json))`", DOCUMENTS[name])
    folders = (ROOT, ROOT / "activetest", ROOT / "sample_data")
    missing = [
        each
        for each in named
        if each not in EXAMPLES and not any((folder / each).exists() for folder in folders)
    ]
    assert missing == []


# --- JSON


# Where the fields of each kind of document stand.
FIELDS = ("json", "simulate", "metrics", "reports", "judges", "best")


def read_fields() -> set[str]:
    """Every name in the first column of the tables of fields."""
    tables = [PAGES["json"], *(section(PAGES[topic], "As JSON") for topic in FIELDS[1:])]
    return set().union(*map(named_in_rows, tables))


def read_properties(value: object) -> set[str]:
    """The names of all properties in a JSON Schema."""
    if isinstance(value, list):
        return set().union(*map(read_properties, value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*map(read_properties, value.values()))
    return found | set(value.get("properties", {}))


def test_every_field_of_the_schema_is_documented_and_every_documented_field_is_there():
    properties = read_properties(json.loads(pages.read_schema()))
    named = read_fields()
    words = set(re.findall(r"\w+", " ".join(PAGES[topic] for topic in FIELDS)))
    assert len(properties) > 200
    assert sorted(properties - words) == []
    assert sorted(name for name in named - properties if name.isidentifier()) == []


def test_the_version_of_the_documents_is_the_one_that_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    init(ROOT / "sample_data" / "digits.parquet", seed=1)
    assert main(["status", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    shown = re.findall(r'"schema_version": (\d+)', PAGES["json"])
    assert set(shown) == {str(printed["schema_version"])}
    (shown,) = code_blocks(section(PAGES["json"], "status"))
    assert set(re.findall(r'"(\w+)":', shown)) == set(printed)


# --- examples run


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """A working directory with the sample data, and no study."""
    for name in ("digits.parquet", "digits.labels.csv"):
        shutil.copy(ROOT / "sample_data" / name, tmp_path)
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("topic", [topic for topic in PAGES if "    $ " in PAGES[topic]])
def test_commands_print_what_is_shown(topic, sample, capsys):
    """Commands behind `$ ` run in one folder per page; below each is all that it prints.

    `...` stands for what is left out.
    """
    blocks = [block for block in code_blocks(PAGES[topic]) if block.startswith("$ ")]
    for block in blocks:
        for shown in re.split(r"\n\n?(?=\$ )", block):
            command, _, printed = shown.partition("\n")
            words = shlex.split(command.removeprefix("$ "))
            assert words[0] == "activetest", command
            main(words[1:])
            found = capsys.readouterr()
            text = f"{found.err}{found.out}".strip("\n")
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(printed, text, flags), command


@pytest.mark.parametrize("topic", [topic for topic in PAGES if ">>> " in PAGES[topic]])
def test_examples_in_python_run(topic, sample):
    """In a folder with the sample data."""
    if "import pandas" in PAGES[topic]:
        pytest.importorskip("pandas")
    file = str(pages.FOLDER / f"{topic}.md")
    failed, tried = doctest.testfile(
        file, module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert tried and not failed
