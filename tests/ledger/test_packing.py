"""Numbers come back bit for bit, and are as many as their places, or refused."""

import json

import numpy as np
import pytest

from activetest.errors import StudyError
from activetest.ledger.packing import (
    compress_matrices,
    decompress_matrices,
    pack_numbers,
    unpack_numbers,
    unpack_several,
)
from activetest.ledger.rounds import unpack_params

RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(7, 7))
NEARLY = HALF @ HALF.T
NEARLY[2, 5] = np.nextafter(NEARLY[2, 5], 9)
VALUE = {
    "symmetric": NEARLY.tolist(),
    "square": RNG.normal(size=(3, 3)).tolist(),
    "special": [[1e300, -1e-300, float("nan")], [float("inf"), -0.0, 5e-324]],
    "whole": [-5, 2**63 - 1, -(2**63)],
    "large": [2**70],
    "mixed": [1, 2.5, "x", None, True],
    "kinds": [[1, 2.5], [True, 2], [2.5, False], [[1.5], [3]]],
    "uneven": [[1], [2, 3], []],
    "flags": [True, False],
    "names": ["a", "b"],
    "one": 1 / 3,
    "nothing": {},
    "none": [],
}


def test_a_value_comes_back_bit_for_bit():
    text, numbers = pack_numbers(VALUE)
    structure = json.loads(text)
    packed = compress_matrices(text, numbers)
    # Of NaN the bits are compared by repr, and so are the signs of zeros and the types.
    assert repr(unpack_numbers(structure, numbers)) == repr(VALUE)
    assert decompress_matrices(structure, packed) == numbers


def test_several_values_of_one_text_are_unpacked_together():
    values = [{"sums": RNG.normal(size=(2, 3)), "total": float(total)} for total in range(3)]
    texts, numbers = zip(*map(pack_numbers, values), strict=True)
    assert len(set(texts)) == 1
    found = unpack_several(json.loads(texts[0]), numbers, arrays=True)
    assert isinstance(found[0]["sums"], np.ndarray)
    for value, again in zip(values, found, strict=True):
        assert np.array_equal(value["sums"], again["sums"]) and value["total"] == again["total"]


def test_a_nearly_symmetric_matrix_takes_little_more_than_half():
    half = RNG.normal(size=(40, 40))
    text, numbers = pack_numbers({"covariance": (half @ half.T).tolist()})
    assert len(compress_matrices(text, numbers)) < 0.55 * len(numbers)


@pytest.mark.parametrize("harm", [b"", b"\0" * 7, b"\0" * 9])
def test_numbers_that_do_not_fit_are_refused(harm):
    text, numbers = pack_numbers(VALUE)
    structure = json.loads(text)
    with pytest.raises(ValueError, match=r"numbers|shape"):
        unpack_numbers(structure, numbers + harm if harm else numbers[:-8])
    for content in (harm, compress_matrices(text, numbers)[:-1], b"x"):
        with pytest.raises(ValueError):
            decompress_matrices(structure, content)
    with pytest.raises(ValueError, match="shape"):
        decompress_matrices({"<f8": [-1]}, compress_matrices(text, numbers))


def test_parameters_that_cannot_be_unpacked_are_an_error_of_the_study():
    text, numbers = pack_numbers({"mode": [1.0, 2.0]})
    packed = compress_matrices(text, numbers)
    assert unpack_params(json.loads(text), packed) == {"mode": [1.0, 2.0]}
    with pytest.raises(StudyError, match="cannot be read"):
        unpack_params(json.loads(text), packed[:-1])["mode"]


def test_names_that_would_be_taken_for_places_are_refused():
    with pytest.raises(ValueError, match="no names"):
        pack_numbers({"<f8": 3})
