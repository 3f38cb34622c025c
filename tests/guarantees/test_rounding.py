"""Rounding in, rounding out: no last digit changes a number, verdict, mark, note or draw."""

import numpy as np
import pytest

from tests.guarantees import kernels
from tests.guarantees.moved import (
    FURTHER,
    NEAR,
    QUICK,
    SINGLE,
    STUDIES,
    compare_with_moved,
    describe,
    find_differences,
    make_pool,
    move,
    play,
)


def require_none(differences: list[str]) -> None:
    assert not differences, "\n".join([*differences[:20], f"{len(differences)} differences"])


@pytest.mark.parametrize(
    "number", [*QUICK, *(pytest.param(each, marks=pytest.mark.ci) for each in FURTHER)]
)
def test_a_pool_whose_numbers_rounding_moved_gives_the_same_study(number):
    require_none(compare_with_moved(number))


@pytest.mark.slow
@pytest.mark.parametrize("number", [each for each in range(STUDIES) if each not in QUICK + FURTHER])
def test_any_pool_whose_numbers_rounding_moved_gives_the_same_study(number):
    require_none(compare_with_moved(number))


def play_several(numbers: list[int]) -> list:
    """The studies with these numbers, of pools as they are."""
    return [play(number, *make_pool(number, describe(number)["kind"])) for number in numbers]


@pytest.mark.slow
@pytest.mark.skipif(kernels.find_own() is None, reason="only kernels for x86-64 can be chosen")
@pytest.mark.parametrize("kernel", kernels.list_others())
def test_another_kind_of_processor_gives_the_same_studies(kernel):
    numbers = list(range(0, STUDIES, 4))
    try:
        found = kernels.run(kernel, f"{__name__}.play_several", numbers)
    except OSError as unable:
        pytest.skip(str(unable))
    for number, own, other in zip(numbers, play_several(numbers), found, strict=True):
        learns = describe(number)["surrogate"] in ("auto", "linear")
        nothing = SINGLE if learns else NEAR
        require_none(list(find_differences(own, other, f"{number}", nothing=nothing)))


def test_moving_a_pool_changes_numbers_by_a_last_digit_and_nothing_else():
    pool, _ = make_pool(3, "classes")
    moved = move(pool, np.random.default_rng(1))
    for name, values in pool.items():
        if isinstance(values, np.ndarray) and values.dtype == float:
            np.testing.assert_allclose(moved[name], values, rtol=1e-11, atol=0)
            assert (moved[name] != values).sum() > len(values) / 4
        else:
            assert moved[name] is values


def test_a_difference_in_any_place_is_seen():
    study = [{"ids": ["a"], "estimate": 0.5, "reliable": True, "notes": [None]}]
    assert not list(find_differences(study, [study[0] | {"estimate": 0.5 + 1e-8}]))
    for other in ({"ids": ["b"]}, {"estimate": 0.50001}, {"reliable": False}, {"notes": []}):
        assert len(list(find_differences(study, [study[0] | other]))) == 1
