import json
import tracemalloc

import pytest

from activetest.errors import PoolError
from activetest.formats import _json_values
from activetest.formats._json_values import read_array, read_lines


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "file.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64, 2**20])
@pytest.mark.parametrize("indent", [None, 3])
def test_elements_are_those_that_json_reads_however_the_file_is_cut(
    write, monkeypatch, chunk, indent
):
    monkeypatch.setattr(_json_values, "_CHUNK", chunk)
    elements = [{"a": 'x"]},[', "b": [1, 2.5e3, None]}, {}, {"ä": "€😀\\"}, {"n": -12}]
    document = {"x": [[{"samples": 1}], "]"], "n": 12345, "samples": elements, "z": [1]}
    path = write(json.dumps(document, indent=indent, ensure_ascii=False).encode())
    assert list(read_array(path, ("samples",))) == list(enumerate(elements, 1))
    path = write({"a": {"b": elements}})
    assert [value for _, value in read_array(path, ("a", "b"))] == elements
    path = write(b"\xef\xbb\xbf \n" + json.dumps(elements, indent=indent).encode() + b"\n")
    assert [value for _, value in read_array(path, ())] == elements


@pytest.mark.parametrize("content", [b"[]", b" [ ] "])
def test_an_empty_array_has_no_elements(write, content):
    assert list(read_array(write(content), ())) == []


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[", b"[{}", b"[{},", b"[{} {}]", b"[,{}]", b"{}", b"[{},]", b"7", b'[{"a": tru',
        b"[\xff]",
    ],
)  # fmt: skip
def test_what_is_no_array_is_an_error(write, content):
    with pytest.raises(PoolError, match=r"file\.json"):
        list(read_array(write(content), ()))


@pytest.mark.parametrize("document", [{}, {"a": 1}, {"b": {"samples": []}}])
def test_an_array_that_is_not_there_is_an_error(write, document):
    with pytest.raises(PoolError, match=r"file\.json has no samples"):
        list(read_array(write(document), ("samples",)))


def test_an_element_beyond_the_bound_is_refused(write, monkeypatch):
    monkeypatch.setattr(_json_values, "LARGEST", 10_000)
    monkeypatch.setattr(_json_values, "_CHUNK", 100)
    path = write([{"a": 1}, {"a": "x" * 50_000}])
    elements = read_array(path, ())
    assert next(elements) == (1, {"a": 1})
    with pytest.raises(PoolError, match="element 2 is larger than"):
        next(elements)


def test_elements_are_read_one_by_one(write):
    """20 MB of elements of 1 MB."""
    path = write({"samples": [{"a": "x" * 10**6} for _ in range(20)]})
    tracemalloc.start()
    assert sum(1 for _ in read_array(path, ("samples",))) == 20
    assert tracemalloc.get_traced_memory()[1] < 10 * 10**6
    tracemalloc.stop()


def test_lines_have_their_numbers_and_positions(write):
    path = write(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"b": 2}')
    assert list(read_lines(path)) == [(1, 0, {"a": 1}), (4, 17, {"b": 2})]
