"""Label Studio: its exports are answers, whatever annotators did, and tasks are what it takes."""

import json
import xml.etree.ElementTree as ET

import pytest

from activetest.errors import ChoiceError, ColumnsUnclear, LabelError
from activetest.formats import find_format, label_studio
from activetest.labels import exports
from activetest.nouns.file_head import take_head
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from tests.exports import (
    annotate,
    choose,
    write_json_min,
    write_label_studio,
    write_table,
)

ANN = {"id": 1, "email": "ann@example.org", "first_name": "", "last_name": ""}
# The first four are those of people who like quotes, tabs and another script.
NAMES = ['Yes " "" \n \t \t \u0430 \u0431 \u0432', "a,b", "[x]", '{"choices": 1', "plain"]


def read(content: bytes, **columns: str) -> list[exports.Label]:
    return exports.parse_content(content, "x.json", columns=columns)


def take(content: bytes, **columns: str) -> list[tuple]:
    return [(row.id, row.label, row.annotator, row.status) for row in read(content, **columns)]


def make_task(id: str, *annotations: dict, **data) -> tuple[dict, list[dict]]:
    # An id of the data, which Label Studio takes for its own.
    return {"activetest_id": id, "id": "not mine", "text": "t"} | data, list(annotations)


def detect(content: bytes) -> str | None:
    return find_format(take_head(content, "no name"), "ANSWERS")


TASKS = [
    make_task("a", annotate(1, 1, choose("cat")), annotate(2, 2, choose("dog"))),
    make_task("b", annotate(3, ANN, choose("dog"))),
    make_task("c", annotate(4, 1, [], skipped=True)),
    make_task("d"),
    make_task("e", annotate(5, 1, [])),
]


def test_the_full_export_has_several_annotators_skips_and_items_that_wait():
    content = write_label_studio(TASKS)
    assert detect(content) == "label-studio"
    assert take(content) == [
        ("a", "cat", "1", LABELLED),
        ("a", "dog", "2", LABELLED),
        ("b", "dog", "ann@example.org", LABELLED),
        ("c", "", "1", DECLINED),
        ("d", "", "", PENDING),
        ("e", "", "1", PENDING),
    ]
    assert take(write_label_studio(TASKS, key="completions")) == take(content)
    assert [row.place for row in read(content)][:2] == [
        "task 1 (id 101), annotation 1", "task 1 (id 101), annotation 2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "write",
    [write_json_min, write_table, lambda tasks: write_table(tasks, separator="\t")],
    ids=["JSON_MIN", "CSV", "TSV"],
)
def test_the_short_exports_leave_out_skips_and_nothing_else(write):
    content = write(TASKS)
    assert detect(content) == "label-studio"
    assert take(content) == [
        ("a", "cat", "1", LABELLED),
        ("a", "dog", "2", LABELLED),
        ("b", "dog", "ann@example.org", LABELLED),
        ("e", "", "1", PENDING),
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("write", [write_label_studio, write_json_min, write_table])
def test_any_name_of_a_class_comes_back(write, name):
    tasks = [make_task("a", annotate(1, 1, choose(name)))]
    assert take(write(tasks)) == [("a", name.strip(), "1", LABELLED)]


@pytest.mark.parametrize("write", [write_label_studio, write_json_min, write_table])
def test_several_classes_in_one_answer_are_refused(write):
    tasks = [TASKS[1], make_task("a", annotate(7, 1, choose(["cat", "dog"])))]
    with pytest.raises(LabelError, match=r"x.json, .*: several answers .*: 'cat', 'dog'"):
        read(write(tasks))


def test_drafts_and_predictions_are_no_answers():
    tasks = json.loads(write_label_studio([make_task("a")]))
    tasks[0]["drafts"] = [annotate(1, 1, choose("cat"))]
    tasks[0]["predictions"] = [{"model_version": "m", "score": 0.9, "result": choose("dog")}]
    assert take(json.dumps(tasks).encode()) == [("a", "", "", PENDING)]


def test_the_id_that_label_studio_gives_is_taken_for_none_of_ours():
    content = write_label_studio([({"text": "t", "ref": 7, "id": 5}, [])])
    with pytest.raises(LabelError, match=r"task 1 \(id 101\): the data .* no 'activetest_id'") as e:
        read(content)
    assert "columns={'id': 'text'}" in e.value.hint
    assert take(content, id="ref") == [("7", "", "", PENDING)]
    assert e.value.columns["id"] == ["5"] and take(content, id="id") == [("5", "", "", PENDING)]
    for write in (write_json_min, write_table):
        rows = write([({"item": 7, "id": 5}, [annotate(1, 1, choose("cat"))])])
        with pytest.raises(LabelError, match="has no 'activetest_id'"):
            read(rows)
        assert take(rows, id="item") == [("7", "cat", "1", LABELLED)]


def test_of_several_questions_the_user_says_which():
    both = choose("cat", name="species") + choose("dog", name="race")
    content = write_label_studio([make_task("a", annotate(1, 1, both))])
    with pytest.raises(LabelError, match="more than one question: race, species"):
        read(content)
    assert take(content, label="race") == [("a", "dog", "1", LABELLED)]
    with pytest.raises(LabelError, match="no question 'color'; it has race, species"):
        read(content, label="color")
    both = choose("cat", name="label") + choose("dog", name="race")
    content = write_label_studio([make_task("a", annotate(1, 1, both))])
    assert take(content) == [("a", "cat", "1", LABELLED)]
    rows = write_table([make_task("a", annotate(1, 1, choose("cat", name="choice")))])
    with pytest.raises(LabelError, match="no column 'label'; it has .*choice"):
        read(rows)
    assert take(rows, label="choice") == [("a", "cat", "1", LABELLED)]


@pytest.mark.parametrize(
    ("kind", "value", "label"),
    [
        ("number", {"number": 3.5}, "3.5"),
        ("rating", {"rating": 4}, "4"),
        ("pairwise", {"selected": "left"}, "left"),
        ("textarea", {"text": ["a word"]}, "a word"),
    ],
)
def test_numbers_ratings_and_texts_are_answers(kind, value, label):
    result = [{"from_name": "label", "to_name": "x", "type": kind, "value": value}]
    tasks = [make_task("a", annotate(1, 1, result))]
    assert take(write_label_studio(tasks))[0][1] == label


@pytest.mark.parametrize("cell", ['[{"number": 3.5}]', '[{"rating": 4}]', '{"rating": 4}'])
def test_numbers_in_the_short_exports_are_answers(cell):
    row = {"activetest_id": "a", "annotator": "1", "annotation_id": 1, "lead_time": 1.0}
    label = "3.5" if "3.5" in cell else "4"
    short = json.dumps([row | {"label": json.loads(cell)}]).encode()
    assert take(short)[0][1] == label
    table = "activetest_id,annotation_id,annotator,label,lead_time\na,1,1,{},1.0\n"
    assert take(table.format('"' + cell.replace('"', '""') + '"').encode())[0][1] == label


def test_what_is_no_choice_is_refused():
    shape = {"from_name": "label", "to_name": "x", "type": "polygonlabels", "value": {}}
    with pytest.raises(LabelError, match="has no choices, but polygonlabels"):
        read(write_label_studio([make_task("a", annotate(1, 1, [shape]))]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda task: task.update(annotations={}), "list of annotations is of type dict"),
        (lambda task: task.update(annotations=[1]), "an annotation is of type int"),
        (lambda task: task.update(data=[1]), "its data is of type list"),
        (lambda task: task["annotations"][0]["result"][0].update(value=[1]), "value of an answer"),
        (
            lambda task: task["annotations"][0]["result"][0].update(value={"choices": [{}]}),
            "the answer is no class and no number",
        ),
    ],
)
def test_a_damaged_export_names_the_task(change, message):
    tasks = json.loads(write_label_studio(TASKS))
    change(tasks[1])
    # As recognition goes by the keys, whatever they hold.
    with pytest.raises(LabelError, match=rf"^x.json, task 2 \(id 102\).*{message}"):
        read(json.dumps(tasks).encode())


def test_one_annotator_with_two_answers_to_an_item_is_a_conflict():
    tasks = [make_task("a", annotate(1, 1, choose("cat")), annotate(2, 1, choose("dog")))]
    with pytest.raises(LabelError, match=r"'cat' in task 1 .*annotation 1 and labelled 'dog' in"):
        read(write_label_studio(tasks))


def test_deep_json_is_an_error_of_the_file():
    content = write_label_studio(TASKS).replace(b'"meta": {}', b'"meta": ' + b"[" * 10**5, 1)
    assert detect(content) == "label-studio"
    with pytest.raises(LabelError, match="nested too deeply"):
        read(content)
    digits = write_label_studio(TASKS).replace(b'"inner_id": 1', b'"inner_id": ' + b"1" * 10**5, 1)
    with pytest.raises(LabelError, match="a number in it is too long"):
        read(digits)


def write_tasks(shown=("text",), rows=None) -> bytes:
    rows = rows or [{"id": "a", "label": "", "text": "=1"}, {"id": "b", "label": "", "text": None}]
    return label_studio.write_tasks(rows, ("id", "label", *shown), orders=(9, 10), classes=())


def test_tasks_have_the_id_the_text_and_an_order_that_sorts_as_text():
    tasks = json.loads(write_tasks())
    assert [task["data"] for task in tasks] == [
        {"activetest_id": "a", "activetest_order": "0000009", "text": "=1"},
        {"activetest_id": "b", "activetest_order": "0000010", "text": ""},
    ]
    assert not any("predictions" in task for task in tasks)
    assert detect(write_tasks()) == "label-studio"
    assert take(write_tasks()) == [("a", "", "", PENDING), ("b", "", "", PENDING)]


def test_names_of_columns_become_keys_and_the_configuration_uses_the_same():
    shown = ("a b", "a.b", "вопрос", "id ", "$x")
    rows = [{"id": "a", "label": ""} | {key: [1, "x"] for key in shown}] * 2
    data = json.loads(write_tasks(shown, rows))[0]["data"]
    keys = [key for key in data if not key.startswith("activetest")]
    assert keys == ["a_b", "a_b_2", "column", "id_2", "x"] and data["x"] == '[1, "x"]'
    config = ET.fromstring(label_studio.write_config(shown, ['"a" & <b>', "x"]))
    assert [each.get("value") for each in config.iter("Text")] == [f"${key}" for key in keys]
    assert [each.get("value") for each in config.iter("Header")] == [*shown]
    (choices,) = config.iter("Choices")
    assert [each.get("value") for each in choices] == ['"a" & <b>', "x"]
    names = {each.get("name") for each in config.iter("Text")}
    assert choices.get("toName") in names and choices.get("choice") == "single"


@pytest.mark.parametrize("letter", ["\x00", "\x01", "\x1b", "\x0c", "\ufffe", "\uffff"])
def test_what_xml_cannot_hold_is_in_no_configuration(letter):
    with pytest.raises(ChoiceError, match="XML") as caught:
        label_studio.write_config(["text"], ["fine", f"a{letter}"])
    assert "argilla" in caught.value.hint
    shown = ["text", f"no{letter}te"]
    config = ET.fromstring(label_studio.write_config(shown, ["fine", "two\nlines\t", "a\x85"]))
    assert [each.get("value") for each in config.iter("Choice")] == [
        "fine",
        "two\nlines\t",
        "a\x85",
    ]
    assert next(config.iter("Header")).get("value") == "text"


def test_without_classes_the_configuration_asks_for_a_number():
    config = ET.fromstring(label_studio.write_config((), ()))
    assert [each.tag for each in config] == ["Text", "Number"]
    assert config[0].get("value") == "$activetest_id"


def test_tasks_with_anything_else_in_them_are_none_of_ours():
    assert label_studio.list_columns(write_tasks(), "x") == {"text"}
    tasks = json.loads(write_tasks())
    for more in ({"annotations": []}, {"meta": {"note": "mine"}}):
        with pytest.raises(LabelError):
            label_studio.list_columns(json.dumps([*tasks, tasks[0] | more]).encode(), "x")


def comment(text: str) -> list[dict]:
    """The answer to a question for free text."""
    named = {"from_name": "comment", "to_name": "item", "type": "textarea"}
    return [named | {"value": {"text": [text]}}]


def test_a_comment_beside_a_choice_is_no_label():
    answer = choose("cat", name="kind") + comment("ears look pointed")
    content = write_label_studio([make_task("a", annotate(1, 1, answer))])
    assert take(content) == [("a", "cat", "1", LABELLED)]
    assert take(content, label="comment") == [("a", "ears look pointed", "1", LABELLED)]
    only = write_label_studio([make_task("a", annotate(1, 1, comment("x")))])
    assert take(only) == [("a", "x", "1", LABELLED)]


def test_the_hint_about_questions_names_the_shortest_answers():
    both = choose("cat", name="zoo") + choose("a long one", name="animal")
    with pytest.raises(ColumnsUnclear, match="more than one question: animal, zoo") as error:
        read(write_label_studio([make_task("a", annotate(1, 1, both))]))
    assert error.value.hint == "say which gives the labels: `columns={'label': 'zoo'}`"
    assert error.value.questions and error.value.columns["zoo"] == ["cat"]


@pytest.mark.parametrize("write", [write_json_min, write_table])
def test_the_hint_about_a_row_names_a_column_of_the_file(write):
    content = write([make_task("a", annotate(1, 1, choose("cat", name="stars")))])
    with pytest.raises(ColumnsUnclear, match="no column 'label'") as error:
        read(content)
    assert set(error.value.columns) == {"text", "stars"}
    assert error.value.found == {"id": "activetest_id"}
    with pytest.raises(LabelError, match="no column 'choice'"):
        read(content, label="choice")


def test_a_text_that_is_called_data_is_no_task():
    row = {"id": 1, "data": "a note", "label": ["cat"], "meta": {"activetest_id": "a"}}
    assert detect(json.dumps(row).encode()) == "doccano"
    assert take(json.dumps(row).encode()) == [("a", "cat", "", LABELLED)]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_may_be_separated_by_what_a_spreadsheet_saves(separator):
    content = write_table([make_task("a", annotate(1, 1, choose("cat")))], separator=separator)
    assert separator in content.decode().splitlines()[0]
    assert detect(content) == "label-studio"
    assert take(content) == [("a", "cat", "1", LABELLED)]
