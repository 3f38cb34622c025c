"""The numbers of a study stay as they are from version to version."""

import json
import math
from collections.abc import Iterator

import pytest

from tests.guarantees import kernels
from tests.guarantees.recorded_numbers import RECORDED, SCENARIOS, TOLERANCE, play


def find_differences(recorded: object, found: object, path: str = "") -> Iterator[str]:
    """Where what is found is not what was recorded.

    It may have more keys than that, and further estimates behind those that were recorded.
    """
    if path.endswith("/estimates") and isinstance(found, list) and isinstance(recorded, list):
        found = found[: len(recorded)]
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key, value in recorded.items():
            yield from find_differences(value, found.get(key), f"{path}/{key}")
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for place, pair in enumerate(zip(recorded, found, strict=True)):
            yield from find_differences(*pair, f"{path}/{place}")
    elif isinstance(recorded, float) and isinstance(found, int | float):
        if not math.isclose(recorded, found, rel_tol=TOLERANCE, abs_tol=1e-8):
            yield f"{path}: {recorded} was recorded, now it is {found}"
    elif recorded != found:
        yield f"{path}: {recorded!r} was recorded, now it is {found!r}"


def compare_with_recorded(name: str) -> None:
    """Fails with the first differences of a scenario."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    differences = list(find_differences(recorded[name], play(name)))
    assert not differences, "\n".join(
        [
            *differences[:20],
            f"{len(differences)} differences; see tests/guarantees/recorded_numbers.py",
        ]
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_study_has_the_numbers_that_were_recorded(name):
    compare_with_recorded(name)


def find_all_differences() -> list[str]:
    """Where any scenario differs from what was recorded."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    return [
        f"{name}{each}"
        for name in SCENARIOS
        for each in find_differences(recorded[name], play(name))
    ]


@pytest.mark.ci
@pytest.mark.skipif(kernels.find_own() is None, reason="only kernels for x86-64 can be chosen")
@pytest.mark.parametrize("kernel", kernels.list_others())
def test_another_kind_of_processor_gives_the_same_numbers(kernel):
    try:
        differences = kernels.run(kernel, f"{__name__}.find_all_differences")
    except OSError as unable:
        pytest.skip(str(unable))
    assert not differences, "\n".join([*differences[:20], f"{len(differences)} differences"])


@pytest.mark.parametrize("name", ["weights_and_prices", "worst_groups", "surfaces", "judges"])
def test_a_pool_that_is_read_in_pieces_gives_the_same_numbers(name, monkeypatch):
    monkeypatch.setattr("activetest.cache.cache._CHUNK", 19)
    compare_with_recorded(name)


def test_a_difference_is_found_in_any_place():
    recorded = {"a": [1.0, {"b": None, "c": True}], "d": 2}
    assert not list(find_differences(recorded, recorded | {"more": 3}))
    for other in (
        {"a": [1.00001, {"b": None, "c": True}], "d": 2},
        {"a": [1.0, {"b": 0, "c": True}], "d": 2},
        {"a": [1.0, {"b": None, "c": False}], "d": 2},
        {"a": [1.0], "d": 2},
        {"a": [1.0, {"b": None, "c": True}]},
    ):
        assert len(list(find_differences(recorded, other))) == 1
