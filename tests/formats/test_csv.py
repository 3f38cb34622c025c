"""Tables of text are read by what separates their columns."""

import gzip
import shutil
import subprocess

import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.formats import find_format
from activetest.nouns.file_head import take_head
from activetest.pool import convert


def convert_text(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    convert.to_parquet(str(path), str(folder / "out.parquet"))
    return pq.read_table(folder / "out.parquet").to_pydict()


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.txt", "p.json", "p.parquet", "p"])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_the_name_does_not_matter(tmp_path, name, delimiter):
    rows = [("id", "pred", "text"), ("007", "1", "x y"), ("008", "0", '"a, b\tc"')]
    content = "\n".join(map(delimiter.join, rows))
    assert find_format(take_head(content.encode(), name)) == "csv"
    assert convert_text(tmp_path, name, content) == {
        "id": ["007", "008"],
        "pred": [1, 0],
        "text": ["x y", "a, b\tc"],
    }


def test_where_commas_and_tabs_both_fit_the_name_decides(tmp_path):
    assert convert_text(tmp_path, "p.tsv", "pred\na, b\nc\n") == {"pred": ["a, b", "c"]}
    content = "id\ta, b\tpred\n1\t2\t3\n"
    assert list(convert_text(tmp_path, "p.tsv", content)) == ["id", "a, b", "pred"]
    assert list(convert_text(tmp_path, "p.txt", content)) == ["id", "a, b", "pred"]
    with pytest.raises(PoolError, match="Expected 2 columns, got 1"):
        convert_text(tmp_path, "p.csv", content)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("p.txt", "id;pred\na;0,5\nb\n", "Expected 2 columns, got 1"),
        ("p.txt", "a letter to my bank\nwith two lines\n", "of no format that can be read"),
        ("p.csv", b"id,pred\na\0b,1\n", "NUL bytes"),
        ("p.csv", b"id,pred\n\xe9,1\n", "not UTF-8, from line 2 on: it looks like Windows"),
        ("p.bin", b"ab\x00\x03" * 50, "NUL bytes"),
        ("p.parquet", b"\x80\x01\x02\x03" * 50, "not a Parquet file"),
        ("p.txt", b"\xff\xfei\0d\0", "UTF-16"),
        ("p.csv.gz", gzip.compress(b"id,pred\na,1\n", mtime=0), "compressed with gzip"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, problem):
    with pytest.raises(PoolError, match=problem) as caught:
        convert_text(tmp_path, name, content)
    assert name in caught.value.problem and caught.value.hint


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.txt", "p"])
@pytest.mark.parametrize("delimiter", [";", "|"])
def test_semicolons_and_bars_separate_columns_too(tmp_path, name, delimiter):
    rows = [("id", "pred", "text"), ("007", "1", "x, y"), ("008", "0", f'"a{delimiter}\tb"')]
    content = "\ufeff" + "\r\n".join(map(delimiter.join, rows))
    assert convert_text(tmp_path, name, content) == {
        "id": ["007", "008"],
        "pred": [1, 0],
        "text": ["x, y", f"a{delimiter}\tb"],
    }


@pytest.mark.parametrize(
    "content",
    [
        "id,pred,a;b;c;d\n1,2,x\n3,4,y\n",
        'id,"a;b;c",pred\n1,x;y;z,2\n3,u;v;w,4\n',
        "id,pred\na,x;y;z\nb,z\n",
    ],
)
def test_semicolons_inside_of_values_and_names_separate_nothing(tmp_path, content):
    assert "id" in convert_text(tmp_path, "p.csv", content)


def test_the_hint_about_an_encoding_is_a_line_that_reads_the_file(tmp_path):
    path = tmp_path / "my pool.csv"
    path.write_bytes("id,pred\né,1\n“x”,2\n".encode("cp1252"))
    with pytest.raises(PoolError, match="line 2 on: it looks like Windows-1252") as caught:
        convert.to_parquet(str(path), str(tmp_path / "out.parquet"))
    line = caught.value.hint.partition("type: ")[2]
    assert line.startswith("iconv ") and shutil.which("iconv")
    subprocess.run(line, shell=True, check=True)
    convert.to_parquet(str(tmp_path / "my pool-utf-8.csv"), str(tmp_path / "out.parquet"))
    assert pq.read_table(tmp_path / "out.parquet")["id"].to_pylist() == ["é", "“x”"]


def test_other_encodings_are_not_guessed(tmp_path):
    with pytest.raises(PoolError, match=r"is not UTF-8, from line 2 on$"):
        convert_text(tmp_path, "p.csv", b"id,pred\n\x81\x8d,1\n")
