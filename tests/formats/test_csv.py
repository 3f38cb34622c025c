"""Tables of text are read by what separates their columns."""

import gzip

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
        ("p.txt", "id;pred\na;0,5\n", "separated by semicolons"),
        ("p.txt", "a letter to my bank\nwith two lines\n", "of no format that can be read"),
        ("p.csv", b"id,pred\na\0b,1\n", "NUL bytes"),
        ("p.csv", b"id,pred\n\xe9,1\n", "UTF8"),
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
