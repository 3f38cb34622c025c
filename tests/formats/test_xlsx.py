"""Workbooks: texts are texts, formulas are refused, and small files cannot grow without end."""

import io
import re
import zipfile

import openpyxl
import pytest

from activetest.errors import (
    ChoiceError,
    ColumnsUnclear,
    LabelConflict,
    LabelError,
    TextsShortened,
)
from activetest.formats import find_format, xlsx
from activetest.labels import exports
from activetest.nouns.file_head import take_head
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from tests.exports import write_xlsx

ROWS = [
    {"id": "=1+1", "label": "", "text": "=HYPERLINK('http://x')"},
    {"id": "007", "label": "", "text": 0.5},
    {"id": "a", "label": "", "text": None},
]


def write(rows=ROWS, classes=("cat", "dog"), columns=("id", "label", "text")) -> bytes:
    orders = range(5, 5 + len(rows))
    return xlsx.write_tasks(rows, columns, orders=orders, classes=classes)


def read(content: bytes, **columns: str) -> list:
    return exports.parse_content(content, "book.xlsx", columns=columns)


def change_parts(content: bytes, changes: dict[str, bytes]) -> bytes:
    """The workbook with other contents of these parts."""
    target = io.BytesIO()
    old = zipfile.ZipFile(io.BytesIO(content))
    with old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in {*old.namelist(), *changes}:
            new.writestr(name, changes[name] if name in changes else old.read(name))
    return target.getvalue()


def replace_in_sheet(content: bytes, old: bytes, new: bytes) -> bytes:
    name = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheet = archive.read(name)
    assert old in sheet
    return change_parts(content, {name: sheet.replace(old, new)})


def test_ids_and_texts_are_cells_of_text_and_never_formulas():
    sheet = openpyxl.load_workbook(io.BytesIO(write()))["tasks"]
    rows = [[cell.value for cell in row] for row in sheet]
    assert rows[0] == ["id", "label", "annotator", "status", "text", "activetest_order"]
    assert [row[0] for row in rows[1:]] == ["=1+1", "007", "a"]
    assert [row[5] for row in rows[1:]] == [5, 6, 7]
    assert rows[2][4] == 0.5
    assert {cell.data_type for row in sheet for cell in row} == {"s", "n"}
    assert {sheet["A2"].data_type, sheet["E2"].data_type} == {"s"}
    # Text typed into an empty cell stays text, too: 1-2 is no date.
    assert {sheet[cell].number_format for cell in ("A2", "B2", "C2", "E2")} == {"@"}


def test_the_classes_are_a_list_to_choose_from():
    book = openpyxl.load_workbook(io.BytesIO(write(classes=("a,b", "=1", '"q"'))))
    rules = {
        str(rule.sqref): rule.formula1 for rule in book["tasks"].data_validations.dataValidation
    }
    assert rules == {"B2:B4": "=classes!$A$1:$A$3", "D2:D4": '"declined"'}
    cells = [cell for (cell,) in book["classes"]]
    assert [(cell.value, cell.data_type) for cell in cells] == [
        ("a,b", "s"), ("=1", "s"), ('"q"', "s"),
    ]  # fmt: skip


def test_a_workbook_that_was_filled_in_comes_back():
    book = openpyxl.load_workbook(io.BytesIO(write()))
    sheet = book["tasks"]
    sheet["B2"], sheet["C2"] = "cat", "ann"
    sheet["D3"] = "declined"
    target = io.BytesIO()
    book.save(target)
    assert find_format(take_head(target.getvalue(), "x"), "ANSWERS") == "xlsx"
    found = [(row.id, row.label, row.annotator, row.status) for row in read(target.getvalue())]
    assert found == [
        ("=1+1", "cat", "ann", LABELLED), ("007", "", "", DECLINED), ("a", "", "", PENDING),
    ]  # fmt: skip


def test_numbers_are_the_classes_that_they_stand_for_and_columns_may_have_other_names():
    content = write_xlsx([("note", "item", "answer"), ("n", 17, 3.0), (), ("n", "b", True)])
    rows = read(content, id="item", label="answer")
    assert [(row.place, row.id, row.label) for row in rows] == [
        ("row 2", "17", "3"), ("row 4", "b", "True"),
    ]  # fmt: skip


@pytest.mark.parametrize("cell", ["A2", "B2"])
def test_a_formula_in_place_of_an_answer_names_its_cell(cell):
    row = ["=1+1", "cat"] if cell == "A2" else ["a", "=1+1"]
    with pytest.raises(LabelError, match=f"^book.xlsx, cell {cell}: a formula stands in"):
        read(write_xlsx([("id", "label"), row], formulas=True))
    formula = write_xlsx([("id", "label", "note"), ("a", "cat", "=1+1")], formulas=True)
    assert [row.label for row in read(formula)] == ["cat"]


def test_a_date_in_place_of_an_id_names_its_cell():
    import datetime

    content = write_xlsx([("id", "label"), (datetime.date(2026, 1, 2), "cat")])
    with pytest.raises(LabelError, match=r"cell A2: a date stands in the column 'id'"):
        read(content)


def test_the_sheet_with_the_columns_is_read():
    book = openpyxl.Workbook()
    book.active.append(["how", "to", "label"])
    for row in [("id", "label"), ("a", "cat")]:
        book.create_sheet("mine") if "mine" not in book else None
        book["mine"].append(row)
    target = io.BytesIO()
    book.save(target)
    assert [row.id for row in read(target.getvalue())] == ["a"]
    with pytest.raises(LabelError, match=r"sheet 'Sheet', has no column 'id'; it has what"):
        read(write_xlsx([("what", "label"), ("a", "b")]))


def write_sheets(**sheets: list) -> bytes:
    """A workbook with these rows in each sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def test_all_sheets_with_the_columns_are_read_and_that_is_said():
    guide = [("animal", "means"), ("cat", "a cat")]
    ben = [("ID", "Label "), ("b", "dog")]
    content = write_sheets(guide=guide, anna=[("id", "label"), ("a", "cat")], ben=ben)
    notes = []
    rows = exports.parse_content(content, "book.xlsx", notes=notes)
    assert [(row.id, row.label, row.place) for row in rows] == [
        ("a", "cat", "sheet 'anna', row 2"), ("b", "dog", "sheet 'ben', row 2"),
    ]  # fmt: skip
    assert notes[0].startswith("The sheets 'anna' and 'ben' were read as one file; where each")
    notes = []
    single = write_sheets(guide=guide, anna=[("id", "label"), ("a", "cat")])
    assert exports.parse_content(single, "book.xlsx", notes=notes)[0].place == "row 2"
    assert notes == []


def test_each_sheet_may_be_of_an_annotator_of_its_own():
    sheets = {name: [("id", "label"), ("a", label)] for name, label in (("x", "cat"), ("y", "dog"))}
    with pytest.raises(LabelConflict, match="in sheet 'x', row 2 and labelled 'dog'") as error:
        read(write_sheets(**sheets))
    assert "`columns={'annotator': 'sheet'}` says so" in error.value.hint
    rows = read(write_sheets(**sheets), annotator="sheet")
    assert [(row.label, row.annotator) for row in rows] == [("cat", "x"), ("dog", "y")]
    # A column of that name is one like any other.
    column = [("id", "label", "sheet"), ("a", "cat", "ann")]
    assert read(write_sheets(x=column), annotator="sheet")[0].annotator == "ann"


def test_a_title_may_stand_above_the_header():
    rows = [("Labels of May",), (), ("id", "label"), ("a", "cat")]
    (row,) = read(write_sheets(x=rows))
    assert (row.id, row.label, row.place) == ("a", "cat", "row 4")
    with pytest.raises(LabelError, match="cell B4: a formula"):
        read(write_xlsx([*rows[:1], ("", ""), rows[2], ("a", "=1+1")], formulas=True))


def test_of_sheets_without_the_columns_the_largest_is_named():
    content = write_sheets(
        pivot=[("x", "n"), ("cat", 1)], given=[("item", "answer"), *[("a", "cat")] * 3]
    )
    with pytest.raises(ColumnsUnclear, match="sheet 'given', has no column 'id'") as error:
        read(content)
    assert error.value.columns["answer"][:2] == ["cat", "cat"]
    assert read(content, id="item", label="answer")[0].label == "cat"


@pytest.mark.parametrize("id", ["a\x01", "x" * 32_768, "_x0041_", "\ud800"])
def test_an_id_that_no_cell_can_hold_is_refused(id):
    with pytest.raises(ChoiceError, match="no cell of a workbook can hold the id"):
        write([{"id": id, "label": ""}])


def test_a_shown_text_that_no_cell_can_hold_is_written_out_or_cut_off():
    rows = [{"id": "a", "text": "a\x01" + "x" * 40_000}, {"id": "b", "text": {"a": [1]}}]
    with pytest.warns(TextsShortened, match="1 text is longer than the 32,767 .* of id 'a'"):
        sheet = openpyxl.load_workbook(io.BytesIO(write(rows)))["tasks"]
    assert len(sheet["E2"].value) == 32_767
    assert sheet["E2"].value.startswith("a\\x01xx")
    assert sheet["E2"].value.endswith("x ... (cut off)")
    assert sheet["E3"].value == '{"a": [1]}'


def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is(monkeypatch):
    monkeypatch.setattr(xlsx, "_UNPACKED", 2**20)
    bomb = change_parts(write(), {"xl/sharedStrings.xml": b" " * 2**21})
    assert len(bomb) < 2**15
    with pytest.raises(LabelError, match="unpacks to more than 1 MiB"):
        read(bomb)
    with pytest.raises(LabelError, match="or 10,000 parts"):
        read(change_parts(write(), {f"xl/{number}": b"" for number in range(10_001)}))


@pytest.mark.parametrize(
    "part", ["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"]
)
def test_entities_are_refused(part):
    entity = (
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
    )
    with pytest.raises(LabelError, match=f"{part!r} declares types of its own"):
        read(change_parts(write(), {part: entity}))
    # Also where it is in two blocks of the file.
    far = b"<!--" + b" " * (2**16 - 12) + b"-->" + entity
    with pytest.raises(LabelError, match="declares types of its own"):
        read(change_parts(write(), {part: far}))


def test_entities_are_refused_in_every_spelling_and_under_every_name():
    text = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'
    for part, encoding in (("xl/workbook.xml", "utf-16"), ("xl/worksheets/sheet1.part", "utf-8")):
        with pytest.raises(LabelError, match="declares types of its own"):
            read(change_parts(write(), {part: text.encode(encoding)}))


def test_sheets_are_not_believed_about_their_size(monkeypatch):
    wide = replace_in_sheet(write(), b'<dimension ref="A1:F4"', b'<dimension ref="A1:XFD1048576"')
    assert len(read(wide)) == 3
    far = replace_in_sheet(write(), b'<row r="4"', b'<row r="99999999999"')
    monkeypatch.setattr(xlsx, "_ROWS", 1000)
    with pytest.raises(LabelError, match="more than 1,000 rows"):
        read(far)


def test_cells_that_are_looked_at_are_bounded(monkeypatch):
    cell = '<c r="{}{}" t="inlineStr"><is><t>{}</t></is></c>'.format
    rows = [
        f'<row r="{row}">{cell("A", row, id)}{cell("ALL", row, label)}</row>'
        for row, id, label in ((1, "id", "label"), (2, "a", "cat"), (1_000_000, "b", "dog"))
    ]
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{namespace}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    content = change_parts(write(), {"xl/worksheets/sheet1.xml": sheet.encode()})
    assert len(content) < 10_000
    monkeypatch.setattr(xlsx, "_CELLS", xlsx._CELLS // 2**8)
    # 65,536 cells in 1,000 columns.
    with pytest.raises(LabelError, match="more than 65 rows, .* first 1,000 columns"):
        read(content)
    rows[2] = rows[2].replace("1000000", "65")
    sheet = f'<worksheet xmlns="{namespace}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    content = change_parts(write(), {"xl/worksheets/sheet1.xml": sheet.encode()})
    assert [(row.id, row.label) for row in read(content)] == [("a", "cat"), ("b", "dog")]


def test_links_to_other_workbooks_are_not_followed(tmp_path):
    relations = "xl/_rels/workbook.xml.rels"
    with zipfile.ZipFile(io.BytesIO(write())) as archive:
        known = archive.read(relations)
    kind = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLink"
    link = b'<Relationship Id="rId99" Type="%s" Target="externalLinks/externalLink1.xml"/>' % kind
    content = change_parts(
        write(), {relations: known.replace(b"</Relationships>", link + b"</Relationships>")}
    )
    assert len(read(content)) == 3


@pytest.mark.parametrize("size", [100, 3000, 5000])
def test_a_damaged_workbook_is_an_error(size):
    with pytest.raises(LabelError, match="is no Excel workbook that can be read"):
        read(write()[:size])
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("xl/nothing.txt", "x")
    with pytest.raises(LabelError, match="is no Excel workbook that can be read"):
        read(other.getvalue())


def test_only_workbooks_of_tasks_count_as_tasks():
    assert xlsx.list_columns(write(), "x") == {"text"}
    for rows in ([("id", "label"), ("a", "b")], [("text",)]):
        with pytest.raises(LabelError):
            xlsx.list_columns(write_xlsx(rows), "x")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ChoiceError, match="needs the package openpyxl") as raised:
        write()
    assert re.search(r"pip install", raised.value.hint)
    with pytest.raises(LabelError, match="reading Excel workbooks needs"):
        read(b"PK\x03\x04 xl/")
