"""A study that an earlier version made opens, goes on and has the same numbers."""

import json

import pytest

from tests.guarantees.kept_study import (
    EXPECTED,
    MAKERS,
    STUDIES,
    STUDY,
    describe_copy,
    write_kept_study,
)
from tests.guarantees.test_recorded_numbers import find_differences

KEPT = sorted(str(path.parent.relative_to(STUDIES)) for path in STUDIES.glob(f"*/*/{EXPECTED}"))
VERSIONS = sorted({name.split("/")[0] for name in KEPT}, key=lambda each: int(each.split(".")[1]))
OFTEN = (VERSIONS[0], VERSIONS[len(VERSIONS) // 2], VERSIONS[-1])
# Files that each study keeps, besides those that can be built again.
FILES = ["ledger.db", "study.toml"]


def compare_with_expected(folder) -> None:
    expected = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    assert expected["next"] and expected["before"][0]["gates"]
    differences = list(find_differences(expected, describe_copy(folder)))
    assert not differences, "\n".join([*differences[:20], f"{len(differences)} differences"])


def test_studies_of_every_version_from_0_3_on_are_kept():
    assert {
        f"{version}/{kind}"
        for version in [f"0.{minor}.0" for minor in range(3, 12)]
        for kind in MAKERS
    } <= set(KEPT)


@pytest.mark.parametrize(
    "name",
    [
        each if each.split("/")[0] in OFTEN else pytest.param(each, marks=pytest.mark.ci)
        for each in KEPT
    ],
)
def test_a_study_of_an_earlier_version_goes_on_with_the_same_numbers(name):
    compare_with_expected(STUDIES / name)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_study_of_this_version_can_be_kept(tmp_path, kind):
    folder = tmp_path / "kept"
    write_kept_study(folder, kind)
    assert sorted(path.name for path in (folder / STUDY).iterdir()) == FILES
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 250_000
    compare_with_expected(folder)
    expected = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    expected["before"][0]["estimates"][0]["estimate"] += 1e-4
    (folder / EXPECTED).write_text(json.dumps(expected), encoding="utf-8")
    with pytest.raises(AssertionError, match="/before/0/estimates/0/estimate"):
        compare_with_expected(folder)
